"""TOML files of facts: read, and refused where a table does not say everything it must.

In: the path of a file; a table and the kinds that its fields must have. Out: the tables, or a
``ValueError`` that names file, key and field.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Types = tuple[type, ...]
NONE: Mapping[str, Types] = {}


def read(path: Path) -> dict[str, Any]:
    """The tables of a file.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not TOML.
    """
    return parsed(path.read_text(encoding="utf-8"), path)


def parsed(text: str, path: Path) -> dict[str, Any]:
    """The tables in ``text``, which errors say is from ``path``.

    Raises:
        ValueError: it is not TOML.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path}: not TOML: {error}") from error


def check(
    where: str, table: Any, required: dict[str, Types], optional: Mapping[str, Types] = NONE
) -> None:
    """Refuse a table that lacks a field, has an unknown one, or one that is empty or mistyped.

    Raises:
        ValueError: the message begins with ``where``.
    """
    if not isinstance(table, dict):
        raise ValueError(f"{where}: is {table!r}, not a table")
    for field in required:
        if field not in table:
            raise ValueError(f"{where}: missing field {field!r}")
    known = required | dict(optional)
    for field, value in table.items():
        if field not in known:
            raise ValueError(f"{where}: unknown field {field!r}")
        if type(value) not in known[field]:  # exact: true is no integer here
            wanted = " or ".join(kind.__name__ for kind in known[field])
            raise ValueError(f"{where}: field {field!r} is {value!r}, not {wanted}")
        if value in ("", []):
            raise ValueError(f"{where}: field {field!r} is empty")
