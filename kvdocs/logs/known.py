"""Every phrase that is known, from the files in ``phrases/``: each is read when a line may have it.

In: those files, one table a phrase. Out: what to look for in a line, in ``INDEX``, and the
``Phrase`` at each place of it.
"""

from __future__ import annotations

import os
import re
from functools import cache

from kvdocs.facts.tables import Types, check, column, table
from kvdocs.logs.number import Number
from kvdocs.logs.phrase import PLACE, SCOPES, WORDS, Phrase, Quantity

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import Any

# In the order in which they are looked for: what one phrase reads is not read again as another's.
FILES = (
    *("vllm", "vllm_errors", "vllm_metrics"),
    *("sglang", "llama_cpp", "others", "pytorch", "calculations"),
)
_FOLDER = os.path.join(os.path.dirname(__file__), "phrases")
_REQUIRED: dict[str, Types] = dict.fromkeys(("engine", "wording", "hint", "text", "means"), (str,))
_OPTIONAL: dict[str, Types] = {"change": (str,), "also": (list,), "highest": (bool,)}
_NUMBER = "numbers."  # how the fields that say what a number counts begin


def _path(file: str) -> str:
    return os.path.join(_FOLDER, f"{file}.toml")


# File, key and hint of every phrase.
INDEX = tuple(
    (file, key, hint) for file in FILES for key, hint in column(_path(file), "hint").items()
)


@cache
def phrase(place: int) -> Phrase:
    """The phrase at a place of ``INDEX``.

    >>> phrase(0).key, phrase(0).text
    ('vllm.available', 'Available KV cache memory: {memory} GiB')
    """
    file, key, _ = INDEX[place]
    return load_phrase(_path(file), key)


def phrases(*files: str) -> tuple[Phrase, ...]:
    """All phrases of these of ``FILES``; of every file if none is named.

    >>> [one.key for one in phrases("calculations")][-1]
    'any.per_block'
    """
    places = (place for place, one in enumerate(INDEX) if one[0] in (files or FILES))
    return tuple(map(phrase, places))


def load_phrase(path: str | os.PathLike[str], key: str) -> Phrase:
    """One phrase of a file, the rest unread.

    Raises:
        OSError: the file cannot be read.
        ValueError: there is no such phrase, it lacks a field or has one too many, or a number in it
            is not declared, or not in a unit of its family; the message names file, key and field.
    """
    where = f"{path}: {key}"
    fields = table(path, key)
    if fields is None:
        raise ValueError(f"{where}: no phrase is called so")
    counted = {name: fields.pop(name) for name in tuple(fields) if name.startswith(_NUMBER)}
    check(where, fields, _REQUIRED, _OPTIONAL)
    also = tuple(fields.pop("also", ()))
    numbers = dict(_number(where, name, says) for name, says in counted.items())
    names = {*re.findall(PLACE, fields["text"])}.union(*(re.findall(r"<(\w+)>", a) for a in also))
    for name in sorted(names - {number.key for number in numbers} - {*WORDS}):
        raise ValueError(f"{where}: yields {name!r}, but field '{_NUMBER}{name}' is missing")
    return Phrase(key=key, numbers=numbers, also=also, **fields)


def _number(where: str, field: str, says: Any) -> tuple[Number, Quantity]:
    """``numbers.memory = ["GiB", "per rank", 2]``: unit, scope, and decimals where they are set."""
    where = f"{where}: field {field!r}"
    number = Number.__members__.get(field.removeprefix(_NUMBER).upper())
    if number is None:
        raise ValueError(f"{where}: kvdocs/logs/number.py declares no such number; add it there")
    match says:
        case [str(unit), str(scope), *rest] if [*map(type, rest)] in ([], [int]):
            quantity = Quantity(unit, scope, *rest)
        case _:
            raise ValueError(f'{where} is {says!r}, not as ["GiB", "per rank"], or with decimals')
    for value, known in ((unit, number.units), (scope, SCOPES)):
        if value not in known:
            raise ValueError(f"{where} has {value!r}, not one of {', '.join(sorted(known))}")
    return number, quantity
