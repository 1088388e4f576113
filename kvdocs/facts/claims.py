"""Cited facts: what engines and hardware do, each with its version, source and date.

In: claims.toml, one table per claim, beside this file. Out: ``Claim`` by dotted key, such as
``vllm.block_size.default``. A file that does not say everything it must is refused, with the key
and the field that are wrong.
"""

from __future__ import annotations

import os
import re
from functools import cache

from kvdocs.facts.tables import Types, check, table, tables
from kvdocs.startup import dataclass

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from fractions import Fraction
    from typing import Any

FILE = os.path.join(os.path.dirname(__file__), "claims.toml")
Value = bool | int | float | str

HOW = ("read", "run")

_FIELDS: dict[str, Types] = {
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


def load_claims(path: str | os.PathLike[str] = FILE) -> dict[str, Claim]:
    """All claims of a file, by dotted key.

    Raises:
        OSError: the file cannot be read.
        ValueError: a line says nothing, or a claim lacks a field, has one too many or one of the
            wrong kind, or its sentence has another number; the message names file, key and field.

    >>> len(load_claims()) > 200
    True
    """
    found = {key: _claim(path, key, table) for key, table in tables(path).items()}
    for key, one in found.items():
        _check_words(f"{path}: {key}", one)
    return found


@cache
def claim(key: str, path: str | os.PathLike[str] = FILE) -> Claim:
    """One claim, read once, the rest of the file unread; ``load_claims`` checks its words too.

    Raises:
        OSError, ValueError: as for ``load_claims``, or there is no such claim.

    >>> found = claim("vllm.block_size.default")
    >>> found.value, found.version
    (16, 'vLLM 0.33.0')
    """
    found = table(path, key)
    if found is None:
        raise ValueError(f"{path}: no claim is called {key!r}")
    return _claim(path, key, found)


def _claim(path: str | os.PathLike[str], key: str, table: dict[str, Any]) -> Claim:
    check(f"{path}: {key}", table, _FIELDS)
    return Claim(key=key, **table)


def _check_words(where: str, claim: Claim) -> None:
    from datetime import date  # loaded here, as only a check of all claims needs it

    if claim.how not in HOW:
        raise ValueError(f"{where}: field 'how' is {claim.how!r}, not one of {', '.join(HOW)}")
    try:
        date.fromisoformat(claim.checked)
    except ValueError as error:
        raise ValueError(f"{where}: field 'checked' is not a date: {error}") from error
    if not _says(claim.value, claim.says):
        raise ValueError(f"{where}: field 'says' does not name the value {claim.value!r}")


def _says(value: Value, sentence: str) -> bool:
    """Whether a value that is a number, with or without a unit, stands in the sentence."""
    number = re.fullmatch(r"([\d,]+(?:\.\d+)?)(?: [A-Za-z]+)?", str(value))
    if number is None:
        return True
    stated = re.findall(r"\d[\d,]*(?:\.\d+)?", sentence)
    return _plain(number[1]) in map(_plain, stated)


def _plain(number: str) -> Fraction:
    from fractions import Fraction

    return Fraction(number.replace(",", ""))
