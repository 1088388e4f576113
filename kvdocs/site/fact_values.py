"""What a dotted name gives in an expression: a card, a claim, a record, a snippet's constant.

In: what follows the first dot, such as ``vllm.block_size.default`` of ``cited.…``, and what the
names stand for. Out: an ``Answer`` with its source. A snippet is read, never run: the name must be
written at its top level, with its value as a number or text.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import Any

from kvdocs.site.values import Answer, Scope, as_number

PACKAGE = Path(__file__).parents[1]


def gpu(key: str, scope: Scope) -> Answer:
    """The memory of a card in bytes, as its driver reports it.

    Raises:
        ValueError: there is no such card.
    """
    if key not in scope.gpus:
        raise ValueError(f"no GPU is called {key!r} in gpus.toml")
    card = scope.gpus[key]
    count = card.memory_mib * 1024**2
    line = f"{card.name}: {card.memory_mib:,} MiB = {count:,} bytes"
    return Answer(count, (line,), (card.memory_source,))


def cited(key: str, scope: Scope) -> Answer:
    """The value of a claim, or of ``gpus.KEY.FIELD``; text with a memory unit becomes bytes.

    Raises:
        ValueError: there is no such claim.
    """
    if key.startswith("gpus."):
        return _card(key, scope)
    if key not in scope.claims:
        raise ValueError(f"no claim is called {key!r} in claims.toml")
    claim = scope.claims[key]
    source = f"{claim.version}, {claim.source}, {claim.how} {claim.checked}"
    return Answer(as_number(claim.value), (claim.says,), (source,))


def _card(key: str, scope: Scope) -> Answer:
    name, _, field_name = key.removeprefix("gpus.").partition(".")
    card = scope.gpus.get(name)
    if card is None or field_name not in (known.name for known in fields(card)):
        raise ValueError(f"gpus.toml has no {key!r}")
    value = getattr(card, field_name)
    if field_name == "sold_as":
        return Answer(str(value), (f"{card.name}: sold by this name, whatever its driver reports",))
    capability = field_name.startswith(("compute", "capability", "fp8"))
    source = card.capability_source if capability else card.memory_source
    return Answer(as_number(value), (f"{card.name}: {field_name}",), (source,))


def measured(key: str, scope: Scope) -> Answer:
    """A figure of a record, by its path: ``record.key.key``.

    Raises:
        ValueError: no record has it.
    """
    found: Any = scope.records
    for part in key.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    if isinstance(found, bool) or not isinstance(found, int | float | str):
        raise ValueError(f"no record has a figure called {key!r}")
    record = scope.records[key.partition(".")[0]]
    value = Fraction(repr(found)) if isinstance(found, float) else as_number(found)
    return Answer(
        value, (), (f"record {key}, measured {record.get('date', 'on an unknown date')}",)
    )


def snippet(key: str, scope: Scope) -> Answer:
    """A constant of a snippet, ``FILE.NAME``; text with a memory unit becomes bytes.

    Raises:
        ValueError: there is no such file, or no such constant written at its top level.
    """
    stem, _, name = key.partition(".")
    return _constant(scope.snippets / f"{stem}.py", name)


def _constant(path: Path, name: str) -> Answer:
    file = f"{path.parent.name}/{path.name}"
    if not path.is_file():
        raise ValueError(f"there is no file {file}")
    written = constants(path)
    if name not in written:
        known = ", ".join(written) or "none"
        raise ValueError(f"{file} writes no number called {name!r} at its top level, but {known}")
    value = written[name]
    shown = repr(value) if isinstance(value, str) else f"{value:,}"
    return Answer(as_number(value), (f"{file}: {name} = {shown}",))


def code(key: str, scope: Scope) -> Answer:
    """A constant of the package, ``FOLDER.MODULE.NAME``.

    Raises:
        ValueError: there is no such module, or no such constant written at its top level.
    """
    module, _, name = key.rpartition(".")
    return _constant(PACKAGE / (module.replace(".", "/") + ".py"), name)


def constants(path: Path) -> dict[str, int | float | str]:
    """The numbers and texts that a file of Python writes at its top level, by name."""
    found: dict[str, int | float | str] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign):
            names, value = node.targets[0], node.value
            pairs: Iterable[tuple[ast.expr, ast.expr]] = [(names, value)]
            if isinstance(names, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs = zip(names.elts, value.elts, strict=False)
            for name, written in pairs:
                one = written.value if isinstance(written, ast.Constant) else None
                if isinstance(name, ast.Name) and isinstance(one, int | float | str):
                    found[name.id] = one
    return found


def example(key: str, scope: Scope) -> Answer:
    """A figure of the example on the page on workloads.

    Raises:
        ValueError: it has no such figure.
    """
    if scope.example is None:
        raise ValueError("the example of workloads is not known here")
    return scope.example(key)


ROOTS: dict[str, Callable[[str, Scope], Answer]] = {
    "gpu": gpu,
    "cited": cited,
    "measured": measured,
    "snippet": snippet,
    "code": code,
    "example": example,
}
