"""Cited facts: what engines and hardware do, each with its version, source and date.

In: claims.toml (one leaf table per claim) and gpus.toml (one table per card), beside this file.
Out: ``Claim`` by dotted key, such as ``vllm.block_size.default``, and ``Gpu`` by name. A file
that does not say everything it must is refused, with the key and the field that are wrong.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

Value = bool | int | float | str
Types = tuple[type, ...]

HOW = ("read", "run")
NONE: Mapping[str, Types] = {}

_CLAIM_FIELDS: dict[str, Types] = {
    "value": (bool, int, float, str),
    "says": (str,),
    "version": (str,),
    "source": (str,),
    "checked": (str,),
    "how": (str,),
}

_GPU_FIELDS: dict[str, Types] = {
    "name": (str,),
    "sold_as": (str,),
    "memory_mib": (int,),
    "memory_source": (str,),
    "compute_capability": (str,),
    "capability_source": (str,),
    "fp8_storage": (bool,),
    "fp8_arithmetic": (bool,),
}
_GPU_OPTIONAL: dict[str, Types] = {"remark": (str,)}


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


@dataclass(frozen=True)
class Gpu:
    """One card. ``memory_mib`` is the driver's total in MiB, not the figure it is sold by.

    ``fp8_storage``: vLLM 0.33.0 keeps a cache in FP8 on it, below 8.9 for some models only.
    ``fp8_arithmetic``: the card multiplies FP8 numbers itself. ``remark`` may be empty.
    """

    key: str
    name: str
    sold_as: str
    memory_mib: int
    memory_source: str
    compute_capability: str
    capability_source: str
    fp8_storage: bool
    fp8_arithmetic: bool
    remark: str = ""


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
    return {key: _claim(f"{path}: {key}", key, table) for key, table in _leaves(path, _read(path))}


def load_gpus(path: Path | None = None) -> dict[str, Gpu]:
    """All cards of a file, by key; by default those of gpus.toml.

    Raises:
        OSError: the file cannot be read.
        ValueError: as for ``load_claims``.

    >>> load_gpus()["rtx_4090"].memory_mib
    24564
    """
    path = path or Path(__file__).with_name("gpus.toml")
    return {key: _gpu(f"{path}: {key}", key, table) for key, table in _read(path).items()}


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path}: not TOML: {error}") from error


def _leaves(path: Path, table: dict[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """The claims below a table: a table that holds only tables is a level, any other a leaf."""
    for name, inner in table.items():
        key = above + name
        if isinstance(inner, dict) and inner and all(isinstance(v, dict) for v in inner.values()):
            yield from _leaves(path, inner, f"{key}.")
        else:
            yield key, inner


def _claim(where: str, key: str, table: Any) -> Claim:
    _check(where, table, _CLAIM_FIELDS)
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


def _gpu(where: str, key: str, table: Any) -> Gpu:
    _check(where, table, _GPU_FIELDS, _GPU_OPTIONAL)
    if table["memory_mib"] <= 0:
        raise ValueError(f"{where}: field 'memory_mib' is {table['memory_mib']}, not above 0")
    return Gpu(key=key, **table)


def _check(
    where: str, table: Any, required: dict[str, Types], optional: Mapping[str, Types] = NONE
) -> None:
    """Refuse a table that lacks a field, has an unknown one, or one that is empty or mistyped."""
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
        if value == "":
            raise ValueError(f"{where}: field {field!r} is empty")


def gpu_named(name: str) -> Gpu:
    """The card of that name or key, or the only one whose name has these letters in it.

    Raises:
        ValueError: no card, or several.

    >>> gpu_named("RTX 4090").key, gpu_named("h100").key
    ('rtx_4090', 'h100_80gb')
    """
    cards = load_gpus()
    wanted = _letters(name)
    names = {key: {_letters(key), _letters(card.name)} for key, card in cards.items()}
    exactly = [key for key, known in names.items() if wanted and wanted in known]
    partly = [key for key, known in names.items() if wanted and any(wanted in n for n in known)]
    found = exactly or partly
    if found == ["a100_80gb"] and "80" not in wanted:
        raise ValueError(
            f"--gpu {name!r}: the A100 was sold with 40 GB and with 80 GB. Say a100_80gb, or state "
            "the memory of the smaller one with --vram"
        )
    if len(found) == 1:
        return cards[found[0]]
    state = f"fits several cards: {', '.join(found)}" if found else "is not in the table of cards"
    known = ", ".join(f"{card.key} ({card.memory_mib:,} MiB)" for card in cards.values())
    raise ValueError(f"--gpu {name!r} {state}. Known are {known}; or state the memory with --vram")


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower().replace("nvidia", "").replace("geforce", ""))
