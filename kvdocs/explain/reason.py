"""Named reasons why a printed number is not the formula's.

In: reasons.toml beside this file, one table a reason. Out: ``REASONS``, by key. A reason either
predicts the number exactly, or is marked ``inferred``: then it only says in which direction and how
far the number may lie.
"""

from __future__ import annotations

import os

from kvdocs.facts.tables import Types, check, tables
from kvdocs.startup import dataclass

ENGINE = "engine"
CLAIM = "claim"  # what people and calculators say

_FILE = os.path.join(os.path.dirname(__file__), "reasons.toml")
_REQUIRED: dict[str, Types] = dict.fromkeys(("title", "says", "change"), (str,))
_OPTIONAL: dict[str, Types] = {"of": (list,), "inferred": (bool,)}


@dataclass(frozen=True, kw_only=True)
class Reason:
    """A known reason. ``of`` says whose numbers it is for: an engine's, a calculation's, or both.
    ``change`` says what to do."""

    key: str
    title: str
    says: str
    change: str
    of: tuple[str, ...] = (ENGINE, CLAIM)
    inferred: bool = False


def load_reasons(path: str | os.PathLike[str] = _FILE) -> dict[str, Reason]:
    """All reasons of a file, by the name of their table. ``key.variant`` is the reason ``key`` in
    other words: it has the fields of both.

    Raises:
        OSError: the file cannot be read.
        ValueError: a reason lacks a field, has one too many or one of the wrong kind; the message
            names file, key and field.
    """
    found: dict[str, Reason] = {}
    parsed = tables(path)
    for name, table in parsed.items():
        where, key = f"{path}: {name}", name.partition(".")[0]
        fields = {**parsed.get(key, {}), **table}
        check(where, fields, _REQUIRED, _OPTIONAL)
        of = tuple(fields.pop("of", (ENGINE, CLAIM)))
        if not {*of} <= {ENGINE, CLAIM}:
            raise ValueError(f"{where}: field 'of' is {[*of]}, not of {ENGINE!r} and {CLAIM!r}")
        found[name] = Reason(key=key, of=of, **fields)
    return found


REASONS = load_reasons()
