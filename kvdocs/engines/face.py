"""What engines have in common: how they refuse, what they would change, how they search.

In: nothing. Out: ``Refused``, ``Change``, ``largest``. ``protocol.py`` says what an engine is.
"""

from __future__ import annotations

from kvdocs.startup import dataclass

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

LONGEST = 2**30  # tokens; beyond any real context


class Refused(ValueError):
    """The engine does not hold this model under these flags on this card; the message says why."""


@dataclass(frozen=True)
class Change:
    """Other flags of the same engine: by which flag, and what that is in words."""

    flag: str
    text: str
    flags: Any


def largest(fits: Callable[[int], bool], most: int) -> int:
    """The largest number up to ``most`` that fits; 0 where none does.

    >>> largest(lambda count: count * count <= 50, 100)
    7
    """
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low
