"""The numbers of the memory chart: what is flat, what each conversation adds, where it is full.

What for: ``memory.py`` draws them. In: exact byte counts of one model on one card. Out: sums and
crossings by integer and rational arithmetic, never rounded before they are written.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from kvdocs.formula import crossover


@dataclass(frozen=True)
class Wedge:
    """One model on one card; sizes in bytes, ``tokens`` in each conversation.

    ``memory_bytes`` is the ceiling, ``other_bytes`` what is neither weights nor cache.
    Raises ValueError where a size is not positive (``other_bytes`` may be 0) or the weights do not
    fit.
    """

    model: str
    weights_bytes: int
    bytes_per_conversation: int
    tokens: int
    memory_bytes: int
    memory_name: str
    other_bytes: int

    def __post_init__(self) -> None:
        sizes = (self.weights_bytes, self.bytes_per_conversation, self.tokens, self.memory_bytes)
        if min(sizes) < 1 or self.other_bytes < 0:
            raise ValueError(f"{self.model}: sizes and tokens must be positive, got {self!r}")
        if self.free_bytes < 0:
            raise ValueError(
                f"{self.model} does not fit on {self.memory_name}: weights and other memory are "
                f"{self.flat_bytes:,} bytes of {self.memory_bytes:,}"
            )

    @property
    def flat_bytes(self) -> int:
        """Bytes that no conversation changes: weights and other memory."""
        return self.weights_bytes + self.other_bytes

    @property
    def free_bytes(self) -> int:
        """Bytes left for the cache."""
        return self.memory_bytes - self.flat_bytes

    @property
    def users_max(self) -> int:
        """Whole conversations that fit."""
        return self.free_bytes // self.bytes_per_conversation

    @property
    def full_at(self) -> Fraction:
        """Conversations, not rounded, at which the wedge meets the ceiling."""
        return Fraction(self.free_bytes, self.bytes_per_conversation)

    @property
    def even_at(self) -> Fraction:
        """Conversations, not rounded, at which the cache is as large as the weights."""
        return Fraction(self.weights_bytes, self.bytes_per_conversation)

    @property
    def outweighs_from(self) -> int:
        """The first whole number of conversations whose cache is larger than the weights."""
        return crossover(self.weights_bytes, self.bytes_per_conversation)

    def total(self, users: int | Fraction) -> Fraction:
        """Return the bytes that ``users`` conversations need, with everything below them."""
        return self.flat_bytes + users * Fraction(self.bytes_per_conversation)
