"""The house: imports run one way, the formula needs nothing, and the command line starts light."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "kvdocs"
FLOORS = ["units", "formula", "facts", "logs", "engines", "questions", "evidence", "site", "cli"]
TOP = {
    "__init__": "units",
    "literal": "units",
    "startup": "units",
    "__main__": "cli",
    "cost": "cli",
    "cost_engine": "cli",
    "fit": "questions",
    "workload": "questions",
    "explain": "questions",
}
HEAVY = {"torch", "transformers", "pandas", "numpy", "mkdocs", "huggingface_hub"}


def _floor(path):
    top = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return FLOORS.index(TOP.get(top, top))


def _imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: p.name)
def test_no_module_imports_a_higher_floor(path):
    for name in _imports(path):
        if name.startswith("kvdocs."):
            top = name.split(".")[1]
            if top in FLOORS or top in TOP:
                assert FLOORS.index(TOP.get(top, top)) <= _floor(path), f"{path} imports {name}"


def test_the_readme_names_every_module_in_the_order_of_the_floors():
    text = (PACKAGE.parent / "README.md").read_text(encoding="utf-8")
    rows = [re.findall(r"`kvdocs/(\w+)", line) for line in text.splitlines() if line[:3] == "| `"]
    named = [name for row in rows for name in row]
    there = {
        path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in PACKAGE.rglob("*.py")
    }
    assert {*named} == there - {"__init__", "__main__"}
    floors = [FLOORS.index(TOP.get(name, name)) for name in named]
    assert floors == sorted(floors)


@pytest.mark.parametrize("path", sorted((PACKAGE / "formula").rglob("*.py")), ids=lambda p: p.name)
def test_the_formula_needs_the_standard_library_only(path):
    allowed = sys.stdlib_module_names | {"kvdocs"}
    assert {name.split(".")[0] for name in _imports(path)} <= allowed


@pytest.mark.parametrize(
    "floor", ["units", "formula", "facts", "logs", "engines", "fit", "workload", "explain", "site"]
)
def test_torch_and_transformers_are_imported_in_evidence_only(floor):
    files = [PACKAGE / "units.py"] if floor == "units" else (PACKAGE / floor).rglob("*.py")
    for path in files:
        assert not {name.split(".")[0] for name in _imports(path)} & {"torch", "transformers"}


# Folders that others are working on: each leaves this list with its last missing docstring.
LATER = {"explain", "logs", "site"}


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: p.name)
def test_what_is_public_says_what_it_does(path):
    """A method may leave that to the class of the package that it overrides a method of."""
    missing = list(_undocumented(ast.parse(path.read_text(encoding="utf-8")).body, []))
    if path.relative_to(PACKAGE).parts[0] not in LATER:
        assert not missing, f"{path}: no docstring: {', '.join(missing)}"


def _undocumented(body, bases):
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            inherited = any(node.name in _documented(base) for base in bases)
            if not inherited and not ast.get_docstring(node):
                yield node.name
            if isinstance(node, ast.ClassDef):
                yield from _undocumented(node.body, _bases(node))


def _bases(node):
    return [base.id for base in node.bases if isinstance(base, ast.Name)]


@cache
def _classes():
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py"))
    nodes = (node for tree in trees for node in ast.walk(tree))
    return {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}


def _documented(name):
    """The methods that a class of the package, or one above it, has a docstring for."""
    node = _classes().get(name)
    if node is None:
        return set()
    methods = [each for each in node.body if isinstance(each, ast.FunctionDef)]
    own = {each.name for each in methods if ast.get_docstring(each)}
    return own.union(*map(_documented, _bases(node)))


@pytest.mark.parametrize(
    "arguments",
    [
        ["cost", "Qwen/Qwen2.5-7B-Instruct"],
        ["cost", "google/gemma-3-4b-it", "--json"],
        ["explain", "kvdocs/facts/reports.toml", "--model", "Qwen/Qwen3-14B"],
        *(
            ["fit", "google/gemma-3-4b-it", "--available", "9GiB", "--engine", engine]
            for engine in ("vllm", "transformers", "llama.cpp")
        ),
        ["--help"],
    ],
)
def test_the_command_line_answers_without_heavy_imports(arguments):
    code = (
        "import sys\nfrom kvdocs.cli import main\n"
        f"try:\n    main({arguments!r})\nexcept SystemExit:\n    pass\n"
        "print('LOADED', *sorted({name.split('.')[0] for name in sys.modules}))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.rpartition("LOADED")[2].split())
    assert not loaded & HEAVY


def test_the_lock_names_every_requirement_and_no_address():
    import tomllib

    root = PACKAGE.parent
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lock = (root / "requirements.lock").read_text(encoding="utf-8")
    pins = [line for line in lock.splitlines() if line and not line.startswith("#")]
    assert all(line.count("==") == 1 and "/" not in line and "@" not in line for line in pins)
    names = {line.partition("==")[0].lower().replace("_", "-") for line in pins}
    wanted = {name for extra in project["optional-dependencies"].values() for name in extra}
    assert {n.lower().replace("_", "-") for n in wanted if not n.startswith("kvdocs")} <= names
