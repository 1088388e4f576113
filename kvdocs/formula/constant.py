"""What a layer keeps that the tokens of the sequence do not make grow.

In: sizes from the config. Out: bytes, as in ``layers.py``: states of layers without attention,
K and V of an encoder's output, and layers that keep nothing of their own.
"""

from __future__ import annotations

from kvdocs.formula.layers import FullAttention, Layer, plural
from kvdocs.startup import dataclass


@dataclass(frozen=True)
class State(Layer):
    """A fixed number of elements, whatever the length: Mamba, delta rules, short convolutions.

    ``conv`` elements are in the cache's dtype, but never below 16 bits, since 8-bit formats are
    for K and V. ``recurrent`` elements stay in float32, because they are added to at every token
    (transformers 5.24.0 allocates them so in a 16-bit model). Without ``float32`` they are in the
    dtype of ``conv`` (MiniMax, xLSTM).

    >>> State(conv=24_576, recurrent=524_288).bytes(tokens=4096, element_bytes=2)
    2146304
    """

    kind = "state"
    conv: int
    recurrent: int
    float32: bool = True

    @property
    def elements_per_token(self) -> int:
        return 0

    def bytes(self, tokens: int, element_bytes: int, encoder_tokens: int = 0) -> int:
        size = max(2, element_bytes)
        return self.conv * size + self.recurrent * (4 if self.float32 else size)

    def product(self, count: int, tokens: int, element_bytes: int, encoder_tokens: int = 0) -> str:
        size, parts = max(2, element_bytes), []
        if self.conv:
            parts.append(f"{self.conv:,} convolution × {size} bytes")
        if self.recurrent:
            parts.append(f"{self.recurrent:,} recurrent × {4 if self.float32 else size} bytes")
        both = " + ".join(parts)
        return f"{plural(count, 'layer')} × " + (f"({both})" if len(parts) > 1 else both)


@dataclass(frozen=True)
class CrossAttention(FullAttention):
    """K and V of the encoder's output: kv_heads × (k_dim + v_dim) × T_encoder.

    The encoder's length is an input of its own. Where the model fixes it, ``encoder_tokens`` stands
    in when none is given: 1,500 for Whisper's 30 seconds of sound.

    >>> CrossAttention(20, 64, 64, encoder_tokens=1500).bytes(tokens=1, element_bytes=2)
    7680000
    """

    kind = "cross"
    noun = "cross layer"
    encoder_tokens: int | None = None

    @property
    def needs_encoder(self) -> bool:  # type: ignore[override]
        """Whether the length has to be given, because the model does not fix it."""
        return self.encoder_tokens is None

    def bytes(self, tokens: int, element_bytes: int, encoder_tokens: int = 0) -> int:
        return super().bytes(encoder_tokens or self.encoder_tokens or 0, element_bytes)

    def product(self, count: int, tokens: int, element_bytes: int, encoder_tokens: int = 0) -> str:
        length = encoder_tokens or self.encoder_tokens or 0
        return " × ".join(
            [*self.terms(count), f"{length:,} encoder tokens", plural(element_bytes, "byte")]
        )


@dataclass(frozen=True)
class Shared(Layer):
    """Reads the cache of an earlier layer and keeps nothing of its own (Gemma 3n and 4).

    >>> Shared().bytes(tokens=4096, element_bytes=2)
    0
    """

    kind = "shared"

    @property
    def elements_per_token(self) -> int:
        return 0

    def bytes(self, tokens: int, element_bytes: int, encoder_tokens: int = 0) -> int:
        return 0

    def product(self, count: int, tokens: int, element_bytes: int, encoder_tokens: int = 0) -> str:
        return f"{plural(count, 'layer')} {self.why} × 0 bytes"

    why = "reading an earlier cache"


class NoCache(Shared):
    """A layer without attention or state, such as one of experts only (Nemotron-H)."""

    kind = "none"
    why = "without attention"


@dataclass(frozen=True)
class Prompt(FullAttention):
    """K and V of learned tokens that stand before every sequence (CPM-Ant).

    >>> Prompt(32, 128, 128, prompt_tokens=32).bytes(tokens=1, element_bytes=2)
    524288
    """

    kind = "prompt"
    prompt_tokens: int

    def bytes(self, tokens: int, element_bytes: int, encoder_tokens: int = 0) -> int:
        return super().bytes(self.prompt_tokens, element_bytes)

    def product(self, count: int, tokens: int, element_bytes: int, encoder_tokens: int = 0) -> str:
        return " × ".join(
            [
                *self.terms(count),
                f"{self.prompt_tokens:,} prompt tokens",
                plural(element_bytes, "byte"),
            ]
        )
