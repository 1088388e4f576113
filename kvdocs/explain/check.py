"""One comparison of a printed number with the formula, and what is to be said about it."""

from __future__ import annotations

from dataclasses import field
from fractions import Fraction

from kvdocs.explain.reason import Reason
from kvdocs.startup import dataclass


@dataclass(frozen=True)
class Check:
    """One comparison: ``printed`` as the log has it, ``formula`` as it would be by ours.

    ``low`` to ``high`` is what would print alike; it only decides whether the two agree.
    ``reasons`` hold together; each of ``instead`` would explain the number as well alone.
    """

    key: str
    title: str
    line: int = field(compare=False)
    printed: Fraction
    low: Fraction
    high: Fraction
    formula: Fraction
    unit: str
    reasons: tuple[Reason, ...] = ()
    instead: tuple[Reason, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether the formula's number would print like the one that was."""
        return self.low <= self.formula <= self.high

    @property
    def ratio(self) -> Fraction | None:
        """Printed ÷ formula; None where the formula gives 0."""
        return self.printed / self.formula if self.formula else None

    @property
    def contradicts(self) -> bool:
        """Neither equal nor explained."""
        return not self.agrees and not self.reasons
