"""Cited facts: what engines and hardware do, each with its version, source and date.

In: claims.toml, one leaf table per claim, beside this file. Out: ``Claim`` by dotted key, such as
``vllm.block_size.default``. A file that does not say everything it must is refused, with the key
and the field that are wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

from kvdocs.facts.tables import Types, check, read

Value = bool | int | float | str

HOW = ("read", "run")

_CLAIM_FIELDS: dict[str, Types] = {
    "value": (bool, int, float, str),
    "says": (str,),
    "version": (str,),
    "source": (str,),
    "checked": (str,),
    "how": (str,),
}


@dataclass(frozen=True)
class Claim:
    """One cited fact.

    ``value`` carries its unit in its text where it has one (``"6.15 GiB"``). ``says`` is the
    sentence a reader sees. ``checked`` is an ISO date. ``how`` is ``read`` (found in the source)
    or ``run`` (executed).
    """

    key: str
    value: Value
    says: str
    version: str
    source: str
    checked: str
    how: str


def load_claims(path: Path | None = None) -> dict[str, Claim]:
    """All claims of a file, by dotted key; by default those of claims.toml.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is not TOML, or a claim lacks a field, has one too many or one of the
            wrong kind, or its sentence has another number; the message names file, key and field.

    >>> claim = load_claims()["vllm.block_size.default"]
    >>> claim.value, claim.version
    (16, 'vLLM 0.33.0')
    """
    path = path or Path(__file__).with_name("claims.toml")
    return {key: _claim(f"{path}: {key}", key, table) for key, table in _leaves(path, read(path))}


def _leaves(path: Path, table: dict[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """The claims below a table: a table that holds only tables is a level, any other a leaf."""
    for name, inner in table.items():
        key = above + name
        if isinstance(inner, dict) and inner and all(isinstance(v, dict) for v in inner.values()):
            yield from _leaves(path, inner, f"{key}.")
        else:
            yield key, inner


def _claim(where: str, key: str, table: Any) -> Claim:
    check(where, table, _CLAIM_FIELDS)
    if table["how"] not in HOW:
        raise ValueError(f"{where}: field 'how' is {table['how']!r}, not one of {', '.join(HOW)}")
    try:
        date.fromisoformat(table["checked"])
    except ValueError as error:
        raise ValueError(f"{where}: field 'checked' is not a date: {error}") from error
    if not _says(table["value"], table["says"]):
        raise ValueError(f"{where}: field 'says' does not name the value {table['value']!r}")
    return Claim(key=key, **table)


def _says(value: Value, sentence: str) -> bool:
    """Whether a value that is a number, with or without a unit, stands in the sentence."""
    number = re.fullmatch(r"([\d,]+(?:\.\d+)?)(?: [A-Za-z]+)?", str(value))
    if number is None:
        return True
    stated = re.findall(r"\d[\d,]*(?:\.\d+)?", sentence)
    return _plain(number[1]) in map(_plain, stated)


def _plain(number: str) -> Fraction:
    return Fraction(number.replace(",", ""))
