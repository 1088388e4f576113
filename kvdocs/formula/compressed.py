"""Layers that keep one entry for several tokens (DeepSeek V4).

In: sizes from the config. Out: bytes, as in ``layers.py``. Between two entries the tokens wait in
a buffer in full, so the bytes rise token by token and fall with every entry: a sawtooth.
"""

from __future__ import annotations

from kvdocs.formula.layers import Layer, plural
from kvdocs.startup import dataclass


@dataclass(frozen=True)
class Compressed(Layer):
    """One ``entry`` for every ``rate`` tokens; the tokens since the last one wait, uncompressed.

    ``waiting`` counts the elements of one waiting token. With ``overlap``, each entry also reads
    the window before its own, whose values (in the cache's dtype) and gates (float32) are kept:
    ``overlap`` elements of each. Classes DeepseekV4HCACache and DeepseekV4CSACache of
    transformers 5.24.0.

    >>> layer = Compressed(rate=4, entry=640, waiting=2560, overlap=2560)
    >>> [layer.bytes(tokens, element_bytes=2) for tokens in (3, 4, 5)]
    [15360, 16640, 21760]
    """

    kind = "compressed"
    noun = "compressed layer"
    rate: int
    entry: int
    waiting: int
    overlap: int = 0

    @property
    def period(self) -> int:  # type: ignore[override]
        """Tokens that one entry stands for."""
        return self.rate

    @property
    def elements_per_token(self) -> int:
        """Elements a token adds at first, before it is compressed."""
        return self.waiting

    def bytes(self, tokens: int, element_bytes: int, encoder_tokens: int = 0) -> int:
        entries, waiting = divmod(tokens, self.rate)
        held = (entries * self.entry + waiting * self.waiting) * element_bytes
        return held + (self.overlap * (element_bytes + 4) if entries else 0)

    def product(self, count: int, tokens: int, element_bytes: int, encoder_tokens: int = 0) -> str:
        entries, waiting = divmod(tokens, self.rate)
        parts = [f"{entries:,} entries × {self.entry:,}", f"{waiting:,} waiting × {self.waiting:,}"]
        held = f"({' + '.join(parts)}) × {plural(element_bytes, 'byte')}"
        if self.overlap and entries:
            held = f"({held} + {self.overlap:,} overlap × ({element_bytes} + 4) bytes)"
        return f"{plural(count, self.noun)} × {held}"
