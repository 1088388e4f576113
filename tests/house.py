"""The map of the house: python -m tests.house check, or update. Read by tests/test_floors.py too.

In: the modules of kvdocs, their first sentences and what they import. Out: ``kvdocs/README.md``:
the floors in order, each room with its modules and the rooms it imports. An import counts wherever
it stands: inside a function, for the type checker only, or by name through ``import_module``.
"""

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "kvdocs"
MAP = PACKAGE / "README.md"

# From the ground up. A floor imports itself and floors below it; rooms that share a floor import
# nothing of one another, except on the ground and at the top.
FLOORS: dict[str, tuple[str, ...]] = {
    "The ground": ("", "called", "put_off", "startup", "options", "units", "literal"),
    "The formula": ("formula",),
    "Facts": ("facts",),
    "Logs": ("logs",),
    "Engines": ("engines",),
    "The three questions": ("fit", "workload", "explain"),
    "Evidence": ("evidence",),
    "The site": ("site",),
    "The door": ("cost", "cli", "__main__"),
}
INTRODUCTION = """\
# The house

<!-- make map writes this page from the modules' docstrings and imports; a test holds it. -->

What each module of kvdocs is for, from the ground up. A floor imports itself and the floors below \
it. Rooms on one floor import nothing of one another, except on the ground and at the door. No \
modules import one another in a circle.
"""


def modules() -> dict[str, Path]:
    """Name without ``kvdocs.`` to file, of every module: ``facts.hub``; a package by its name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(known: Mapping[str, Path]) -> dict[str, set[str]]:
    """Each module's imports among ``known``. Not: the packages that Python loads on the way."""
    return {
        name: {found for found in _named(path, known) if found != name}
        for name, path in known.items()
    }


def _named(path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _module(alias.name, known)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: a relative import; write kvdocs.… out"
            for alias in node.names:
                inner = [*_module(f"{node.module}.{alias.name}", known)]
                yield from inner or _module(str(node.module), known)
        elif isinstance(node, ast.JoinedStr):
            yield from _by_name(node, known)


def _module(name: str, known: Mapping[str, Path]) -> Iterator[str]:
    own = name.removeprefix("kvdocs").removeprefix(".")
    if name.partition(".")[0] == "kvdocs" and own in known:
        yield own


def _by_name(text: ast.JoinedStr, known: Mapping[str, Path]) -> Iterator[str]:
    """All modules that ``f"kvdocs.engines.{name}.hold"`` can name; not those of kvdocs.{name}."""
    parts = [v.value if isinstance(v, ast.Constant) else None for v in text.values]
    if re.match(r"kvdocs\.\w", str(parts[0])):
        pattern = "".join(r"\w+" if part is None else re.escape(str(part)) for part in parts)
        yield from (name for name in known if re.fullmatch(pattern, f"kvdocs.{name}"))


def circles(edges: Mapping[str, set[str]]) -> list[set[str]]:
    """The sets of two or more nodes that all reach one another."""
    reach = {node: _reached(node, edges) for node in edges}
    found: list[set[str]] = []
    for node in sorted(edges):
        circle = {other for other in reach[node] if node in reach[other]}
        if len(circle) > 1 and circle not in found:
            found.append(circle)
    return found


def _reached(start: str, edges: Mapping[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    todo = [start]
    while todo:
        for name in edges[todo.pop()] - seen:
            seen.add(name)
            todo.append(name)
    return seen


def room(module: str) -> str:
    """The part of the package that it is in: ``facts`` for ``facts.hub``."""
    return module.partition(".")[0]


def floor(module: str) -> int:
    """Which floor the module is on, from 0.

    Raises:
        KeyError: its room has no floor yet.
    """
    for level, rooms in enumerate(FLOORS.values()):
        if room(module) in rooms:
            return level
    raise KeyError(f"kvdocs/{room(module)} has no floor: add it to FLOORS in tests/house.py")


def first_sentence(path: Path) -> str:
    """What the module says it is for: its docstring up to the first full stop or blank line."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    paragraph = " ".join(text.split("\n\n")[0].split())
    sentence = re.split(r"(?<=[.!?])\s+(?=[A-Z`])", paragraph)[0]
    return sentence.replace("``", "`").replace("|", "\\|").replace("<", "&lt;")


def drawn() -> str:
    """The page as it should be."""
    known = modules()
    edges = imports(known)
    lines = [INTRODUCTION]
    for title, rooms in FLOORS.items():
        lines.append(f"## {title}\n")
        for name in rooms:
            inside = {m: path for m, path in known.items() if m and room(m) == name}
            if inside:
                lines += _room(name, inside, edges)
    return "\n".join(lines).rstrip() + "\n"


def _room(name: str, inside: Mapping[str, Path], edges: Mapping[str, set[str]]) -> list[str]:
    if len(inside) == 1:
        return [f"**[{name}]({name}.py)**: {first_sentence(inside[name])} {_uses(inside, edges)}\n"]
    head = f"**[{name}]({name})**: {first_sentence(inside[name])} {_uses(inside, edges)}\n"
    rows = [
        f"| [{module.removeprefix(name + '.')}]({path.relative_to(PACKAGE).as_posix()}) "
        f"| {first_sentence(path)} |"
        for module, path in inside.items()
        if path.name != "__init__.py" or "." in module
    ]
    return [head, "| Module | What it is for |", "|:--|:--|", *rows, ""]


def _uses(inside: Mapping[str, Path], edges: Mapping[str, set[str]]) -> str:
    rooms = {room(found) for module in inside for found in edges[module]} - {room(min(inside)), ""}
    order = [name for rooms_ in FLOORS.values() for name in rooms_]
    return f"Imports {', '.join(sorted(rooms, key=order.index))}." if rooms else "Imports nothing."


def main() -> int:
    """Write the map, or say whether it is what the modules give."""
    action = sys.argv[1:]
    if action not in (["check"], ["update"]):
        print("python -m tests.house check, or update", file=sys.stderr)
        return 2
    text = drawn()
    if action == ["update"]:
        MAP.write_text(text, encoding="utf-8")
    elif not MAP.exists() or MAP.read_text(encoding="utf-8") != text:
        print("kvdocs/README.md is not what the modules say: make map writes it", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
