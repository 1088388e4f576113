"""The lines of a sum of memory, and the cited figures that some of them are.

In: keys of claims. Out: ``Term``s in bytes, each with its source.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kvdocs.facts.claims import claim
from kvdocs.literal import Literal

MIB = 2**20


@dataclass(frozen=True)
class Term:
    """One line of the sum. ``bytes`` is what counts in the sure answer, ``best`` in the best one;
    they differ where only a range is known. ``sign`` is 1 for what is there, -1 for what goes."""

    name: str
    sign: int
    bytes: int
    best: int
    source: str

    def as_json(self) -> dict[str, str | int]:
        """The term under its documented keys."""
        return {
            "name": self.name,
            "sign": self.sign,
            "bytes": self.bytes,
            "best_bytes": self.best,
            "source": self.source,
        }


def total(terms: Iterable[Term]) -> int:
    """Bytes left for the cache, with every range at its worse end; of one rank."""
    return sum(term.sign * term.bytes for term in terms)


def total_at_best(terms: Iterable[Term]) -> int:
    """Bytes left for the cache, with every range at its better end; of one rank."""
    return sum(term.sign * term.best for term in terms)


def cited_range(key: str) -> tuple[int, int]:
    """The two ends of a cited range, in bytes."""
    texts = (str(claim(f"{key}.{end}").value) for end in ("least", "most"))
    least, most = (Literal.parse(text) for text in texts)
    return int(least.number * least.scale), int(most.number * most.scale)


def cited(key: str) -> str:
    """The sources of both ends of such a range."""
    return ", ".join(claim(f"{key}.{end}").source for end in ("least", "most"))
