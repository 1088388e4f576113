"""The house: imports run one way, the formula needs nothing, and the command line starts light."""

import ast
import re
import subprocess
import sys
from functools import cache

import pytest

from tests import house
from tests.house import FLOORS, MAP, PACKAGE, circles, drawn, floor, imports, modules, room

HEAVY = {"torch", "transformers", "pandas", "numpy", "mkdocs", "huggingface_hub"}
MODULES = modules()
IMPORTS = imports(MODULES)

# Modules that import one another today. The list may only get shorter.
CIRCLES = [
    {"evidence.vllm.backends", "evidence.vllm.sparse", "evidence.vllm.specs"},
    {"site.example_workload", "site.scope"},
]


@pytest.mark.parametrize("module", MODULES)
def test_no_module_imports_a_higher_floor(module):
    for name in IMPORTS[module]:
        assert floor(name) <= floor(module), f"kvdocs.{module} imports kvdocs.{name}"


def test_rooms_on_one_floor_import_nothing_of_one_another():
    shared = [rooms for rooms in list(FLOORS.values())[1:-1] if len(rooms) > 1]
    assert ("fit", "workload", "explain") in shared
    for module, names in IMPORTS.items():
        for rooms in shared:
            if room(module) in rooms:
                assert not {room(name) for name in names} & {*rooms} - {room(module)}, module


def test_no_modules_import_one_another_in_a_circle():
    assert [found for found in circles(IMPORTS) if not any(found <= old for old in CIRCLES)] == []


@pytest.mark.parametrize("circle", CIRCLES, ids=lambda circle: "-".join(sorted(circle)))
def test_a_circle_that_is_gone_is_off_the_list(circle):
    assert any(found <= circle for found in circles(IMPORTS)), "take it out of CIRCLES"


def test_serving_is_gone():
    assert not (PACKAGE / "serving").exists()


def test_imports_count_wherever_they_stand(tmp_path, monkeypatch):
    sources = {
        "a.py": "def f():\n    from kvdocs.b import g\n",
        "b.py": "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    import kvdocs.c\n",
        "c.py": "from importlib import import_module\ndef f(x): import_module(f'kvdocs.d.{x}.e')\n",
        "d/x/e.py": "from kvdocs import a\n",
        "d/y.py": "from kvdocs import a\n",
    }
    for name, source in sources.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    monkeypatch.setattr(house, "PACKAGE", tmp_path)
    assert circles(imports(modules())) == [{"a", "b", "c", "d.x.e"}]


def test_the_map_is_what_the_modules_say():
    assert MAP.read_text(encoding="utf-8") == drawn(), "make map writes it"


@pytest.mark.parametrize("module", MODULES)
def test_every_module_says_what_it_is_for(module):
    assert len(house.first_sentence(MODULES[module])) > 10


def test_the_readme_names_every_module_in_the_order_of_the_floors():
    text = (PACKAGE.parent / "README.md").read_text(encoding="utf-8")
    rows = [re.findall(r"`kvdocs/(\w+)", line) for line in text.splitlines() if line[:3] == "| `"]
    named = [name for row in rows for name in row]
    assert {*named} == {room(module) for module in MODULES} - {"", "__main__"}
    floors = [floor(name) for name in named]
    assert floors == sorted(floors)


def _roots(module):
    """The first names of what a module imports: torch, json, kvdocs."""
    tree = ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8")))
    for node in tree:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module.partition(".")[0]


@pytest.mark.parametrize("module", [name for name in MODULES if floor(name) <= 1])
def test_the_formula_needs_the_standard_library_only(module):
    assert {*_roots(module)} <= sys.stdlib_module_names | {"kvdocs"}


@pytest.mark.parametrize("module", [name for name in MODULES if room(name) != "evidence"])
def test_torch_and_transformers_are_imported_in_evidence_only(module):
    assert not {*_roots(module)} & {"torch", "transformers", "vllm", "xllamacpp"}


# Folders that others are working on: each leaves this list with its last missing docstring.
LATER = {"site"}


@pytest.mark.parametrize("module", [name for name in MODULES if room(name) not in LATER])
def test_what_is_public_says_what_it_does(module):
    """A method may leave that to the class of the package that it overrides a method of."""
    body = ast.parse(MODULES[module].read_text(encoding="utf-8")).body
    missing = list(_undocumented(body, []))
    assert not missing, f"{module}: no docstring: {', '.join(missing)}"


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
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in MODULES.values())
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
