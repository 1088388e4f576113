"""One named reason why a printed number is not the formula's.

In: its words, and the factors it makes. Out: a ``Reason``. It either predicts the number exactly,
or is marked ``inferred``: then it only says in which direction and how far the number may lie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction

from kvdocs.explain.subject import Subject
from kvdocs.startup import dataclass

ENGINE = "engine"
CLAIM = "claim"  # what people and calculators say


@dataclass(frozen=True, kw_only=True)
class Reason:
    """A known reason.

    ``factors`` are what it multiplies the formula's number by, None where no factor tells it.
    ``of`` says whose numbers it is for: an engine's, a calculation's, or both. ``change`` says what
    to do.
    """

    key: str
    title: str
    says: str
    change: str
    factors: Callable[[Subject], Iterable[Fraction | int]] | None = None
    of: tuple[str, ...] = (ENGINE, CLAIM)
    inferred: bool = False
