"""The whole cache of one sequence: its layers added up.

In: the layers. Out: bytes for a number of tokens, the slope, and the derivation as text.
The general form is bytes(T) = sum over layers of what that layer keeps for T tokens.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from kvdocs.formula.dtypes import element_bytes
from kvdocs.formula.layers import FullAttention, Layer
from kvdocs.startup import dataclass
from kvdocs.units import ceil_div

TYPE_CHECKING = False  # as in typing, which takes longer to import than the formula to run
if TYPE_CHECKING:
    from fractions import Fraction

DEFAULT_DTYPE = "bfloat16"


class EncoderLengthMissing(ValueError):
    """The size also depends on the length of the encoder's output, and none was given."""


@dataclass(frozen=True)
class CacheLayout:
    """What a model keeps for one sequence, layer by layer.

    Methods take a number of tokens and a cache dtype (default: 16 bits) and answer in bytes.
    """

    layers: tuple[Layer, ...]

    @property
    def kv_heads(self) -> int:
        """KV heads of the attention layers, the most where they differ; 0 without such layers."""
        return max((x.kv_heads for x in self._attention()), default=0)

    @property
    def head_dim(self) -> int:
        """Elements of one key, the most where they differ; 0 without attention layers."""
        return max((x.k_dim for x in self._attention()), default=0)

    @property
    def longest_window(self) -> int:
        """Tokens of the longest window or chunk; 0 without one."""
        return max((layer.window or 0 for layer in self.layers), default=0)

    @property
    def needs_encoder(self) -> bool:
        """Whether the size also depends on the length of an encoder's output."""
        return any(part.needs_encoder for layer in self.layers for part in layer.parts)

    def groups(self) -> list[tuple[Layer, int]]:
        """What layers keep, equal things counted together, in order of first appearance."""
        return list(Counter(part for layer in self.layers for part in layer.parts).items())

    def bytes(
        self, tokens: int, dtype: str = DEFAULT_DTYPE, encoder_tokens: int | None = None
    ) -> int:
        """Bytes one sequence of ``tokens`` tokens needs.

        ``encoder_tokens`` is the length of the encoder's output, where the model has an encoder.

        Raises:
            ValueError: a length is negative or no whole number, or the dtype is unknown.
            EncoderLengthMissing: the layout needs ``encoder_tokens``, and there are none.
        """
        size = element_bytes(dtype)
        tokens, encoder_tokens = _token_count(tokens), self._encoder_tokens(encoder_tokens)
        return sum(n * part.bytes(tokens, size, encoder_tokens) for part, n in self.groups())

    def slope(
        self, tokens: int = 0, dtype: str = DEFAULT_DTYPE, encoder_tokens: int | None = None
    ) -> int:
        """Bytes the next token adds to a sequence of ``tokens`` tokens.

        Negative where the next token ends a tooth of a sawtooth; see ``period``.
        """
        after = self.bytes(tokens + 1, dtype, encoder_tokens)
        return after - self.bytes(tokens, dtype, encoder_tokens)

    @property
    def period(self) -> int:
        """Tokens after which the growth repeats, once every window is full: 1 for a straight line.

        More than 1 is a sawtooth: tokens wait in full, and every so many of them shrink to one
        entry (DeepSeek V4). There ``slope`` says what one token does, ``long_run_rate`` what a long
        sequence costs.
        """
        from math import lcm  # loaded from a file of its own, which no other answer needs

        return lcm(*(part.period for layer in self.layers for part in layer.parts))

    def long_run_rate(self, dtype: str = DEFAULT_DTYPE) -> int | Fraction:
        """Bytes a token adds once every window is full, on average over one ``period``; exact.

        A whole number wherever it is one.
        """
        start, end = self.past_windows
        grown = self.bytes(end, dtype, 0) - self.bytes(start, dtype, 0)
        if grown % (end - start) == 0:
            return grown // (end - start)
        from fractions import Fraction  # which hardly any model needs

        return Fraction(grown, end - start)

    def slope_past_windows(self, dtype: str = DEFAULT_DTYPE) -> int:
        """``long_run_rate`` in whole bytes, rounded down."""
        return int(self.long_run_rate(dtype))

    @property
    def past_windows(self) -> tuple[int, int]:
        """Two lengths past every window and buffer, one ``period`` apart."""
        parts = [part for layer in self.layers for part in layer.parts]
        step, first = self.period, max((part.even_from for part in parts), default=0)
        start = ceil_div(first, step) * step + step
        return start, start + step

    def constant_bytes(self, dtype: str = DEFAULT_DTYPE, encoder_tokens: int | None = None) -> int:
        """Bytes held before the first token: states and the encoder's output."""
        return self.bytes(0, dtype, encoder_tokens)

    def without_sharing(self, query_heads: int) -> CacheLayout:
        """The counterfactual in which every one of ``query_heads`` heads has its own K and V.

        Raises:
            ValueError: there are layers without KV heads to multiply (a latent, a state).
        """
        layers = [x for x in self.layers if isinstance(x, FullAttention)]
        if len(layers) < len(self.layers):
            raise ValueError("a latent or a state has no KV heads to give to every attention head")
        return CacheLayout(tuple(replace(layer, kv_heads=query_heads) for layer in layers))

    def derivation(
        self, tokens: int = 1, dtype: str = DEFAULT_DTYPE, encoder_tokens: int | None = None
    ) -> list[str]:
        """One line per group of layers, and their sum where there are several.

        >>> from kvdocs.formula.layers import FullAttention
        >>> print(*CacheLayout((FullAttention(4, 128, 128),) * 28).derivation(), sep="\\n")
        2 (K and V) × 28 layers × 4 KV heads × 128 head_dim × 2 bytes = 57,344 bytes
        """
        size = element_bytes(dtype)
        lengths = tokens, size, self._encoder_tokens(encoder_tokens)
        held = [count * part.bytes(*lengths) for part, count in self.groups()]
        lines = [
            f"{part.product(count, *lengths)} = {total:,} bytes"
            for (part, count), total in zip(self.groups(), held, strict=True)
        ]
        if len(held) > 1:
            parts = " + ".join(f"{total:,}" for total in held)
            lines.append(f"{parts} = {sum(held):,} bytes")
        return lines

    def _attention(self) -> list[FullAttention]:
        parts = (part for layer in self.layers for part in layer.parts)
        return [part for part in parts if isinstance(part, FullAttention)]

    def _encoder_tokens(self, given: int | None) -> int:
        if given is None and self.needs_encoder:
            raise EncoderLengthMissing(
                "its decoder also keeps K and V of the encoder's output; give its length"
            )
        return _token_count(given or 0)


def crossover(weights_bytes: int, conversation_bytes: int) -> int:
    """The smallest number of conversations whose caches together exceed the weights.

    Raises:
        ValueError: one of the two is not positive.

    >>> crossover(15_231_233_024, 234_881_024)
    65
    """
    if weights_bytes <= 0 or conversation_bytes <= 0:
        raise ValueError("weights and conversation must both take at least one byte")
    return weights_bytes // conversation_bytes + 1


def _token_count(tokens: int) -> int:
    if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 0:
        raise ValueError(f"a sequence has a whole number of tokens, not {tokens!r}")
    return tokens
