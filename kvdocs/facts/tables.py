"""Files of facts: one table a fact, one line a field. They are TOML whose values JSON reads alike.

In: the path of a file, and the name of one table where only that is wanted. Out: tables, or a
``ValueError`` that names file, line and field. Reading lines is all that the command line has time
for: it needs five of the claims, and a parser of all TOML takes longer than the answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable
    from typing import Any

Types = tuple[type, ...]
NONE: Mapping[str, Types] = {}


def tables(path: str | os.PathLike[str]) -> dict[str, dict[str, Any]]:
    """All tables of a file, by the name in their heading.

    Raises:
        OSError: the file cannot be read.
        ValueError: a line is neither a heading nor a field, or says something twice.
    """
    return _parsed(path, enumerate(_text(path).splitlines(), 1))


def table(path: str | os.PathLike[str], key: str) -> dict[str, Any] | None:
    """The table ``key`` of a file, the rest unread; None where there is none.

    Raises:
        OSError, ValueError: as for ``tables``, of the lines of this table.
    """
    text = "\n" + _text(path)
    start = text.find(f"\n[{key}]\n")
    if start < 0:
        return None
    end = text.find("\n[", start + 1)
    lines = text[start + 1 : end if end >= 0 else None].splitlines()
    return _parsed(path, enumerate(lines, text.count("\n", 0, start + 1)))[key]


def column(path: str | os.PathLike[str], field: str) -> dict[str, Any]:
    """One field of every table of a file, by the name in their heading, the rest unread.

    Raises:
        OSError: the file cannot be read.
        ValueError: a table is without it, or stands there twice, or the field says nothing.
    """
    found: dict[str, Any] = {}
    for text in ("\n" + _text(path)).split("\n[")[1:]:
        key = text[: text.find("]\n")]
        _, mark, rest = text.partition(f"\n{field} = ")
        if key in found:
            raise ValueError(f"{path}: a second table {key!r}")
        if not mark:
            raise ValueError(f"{path}: {key}: missing field {field!r}")
        found[key] = _value(f"{path}: {key}", field, rest.partition("\n")[0])
    return found


def _text(path: str | os.PathLike[str]) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _parsed(
    path: str | os.PathLike[str], lines: Iterable[tuple[int, str]]
) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    fields: dict[str, Any] | None = None
    for number, line in lines:
        where = f"{path}: line {number}"
        if line.startswith("[") and line.endswith("]"):
            if line[1:-1] in found:
                raise ValueError(f"{where}: a second table {line[1:-1]!r}")
            fields = found[line[1:-1]] = {}
        elif line and not line.startswith("#"):
            name, mark, value = line.partition(" = ")
            if not mark or fields is None:
                raise ValueError(f"{where}: is {line!r}, not a field of a table, as name = value")
            if name in fields:
                raise ValueError(f"{where}: a second {name!r}")
            fields[name] = _value(where, name, value)
    return found


def _value(where: str, name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise ValueError(
            f"{where}: field {name!r} is {text!r}, not a number, true, false, a list or a text in "
            "double quotes, on one line"
        ) from None


def check(
    where: str,
    table: Mapping[str, Any],
    required: Mapping[str, Types],
    optional: Mapping[str, Types] = NONE,
) -> None:
    """Refuse a table that lacks a field, has an unknown one, or one that is empty or mistyped.

    Raises:
        ValueError: the message begins with ``where``.
    """
    for field in required:
        if field not in table:
            raise ValueError(f"{where}: missing field {field!r}")
    known = {**required, **optional}
    for field, value in table.items():
        if field not in known:
            raise ValueError(f"{where}: unknown field {field!r}")
        if type(value) not in known[field]:  # exact: true is no integer here
            wanted = " or ".join(kind.__name__ for kind in known[field])
            raise ValueError(f"{where}: field {field!r} is {value!r}, not {wanted}")
        if value in ("", []):
            raise ValueError(f"{where}: field {field!r} is empty")
