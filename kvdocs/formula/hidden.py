"""Layers that keep their own input instead of K and V, and compute those anew (XLNet, Reformer).

In: sizes from the config. Out: bytes, as in ``layers.py``.
"""

from __future__ import annotations

from kvdocs.formula.layers import Layer, plural
from kvdocs.startup import dataclass


@dataclass(frozen=True)
class HiddenStates(Layer):
    """The layer's input of every token: hidden_size × T. No heads, and no factor 2.

    >>> HiddenStates(hidden_size=1024).bytes(tokens=1, element_bytes=2)
    2048
    """

    kind = "hidden"
    hidden_size: int

    @property
    def elements_per_token(self) -> int:
        return self.hidden_size

    def terms(self, count: int) -> list[str]:
        return [plural(count, self.noun), f"{self.hidden_size:,} hidden_size"]


@dataclass(frozen=True)
class HiddenWindow(HiddenStates):
    """The layer's input of the last ``window`` tokens.

    >>> HiddenWindow(hidden_size=1024, window=512).bytes(tokens=4096, element_bytes=2)
    1048576
    """

    kind = "hidden window"
    window: int


@dataclass(frozen=True)
class Buckets(Layer):
    """In which bucket each hash put each token, as 8-byte integers: heads × hashes × T.

    None as long as the sequence fits one ``chunk``, since nothing is hashed then.

    >>> Buckets(heads=12, hashes=1, chunk=64).bytes(tokens=65, element_bytes=2)
    6240
    """

    kind = "buckets"
    heads: int
    hashes: int
    chunk: int

    @property
    def even_from(self) -> int:
        return self.chunk + 1

    @property
    def elements_per_token(self) -> int:
        return self.heads * self.hashes

    def tokens_kept(self, tokens: int) -> int:
        return tokens if tokens > self.chunk else 0

    def terms(self, count: int) -> list[str]:
        both = [plural(self.heads, "head"), f"{self.hashes:,} bucket" + "s" * (self.hashes > 1)]
        return [plural(count, "hashing layer"), *both]

    def width(self, element_bytes: int) -> int:
        return 8

    def product(self, count: int, tokens: int, element_bytes: int, encoder_tokens: int = 0) -> str:
        return super().product(count, self.tokens_kept(tokens), element_bytes)
