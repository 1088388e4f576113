"""The whole cache of one sequence: its layers added up.

In: the layers. Out: bytes for a number of tokens, the slope, and the derivation as text.
The general form is bytes(T) = sum over layers of what that layer keeps for T tokens.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from kvdocs.formula.layers import FullAttention, Layer, plural

DTYPE_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "fp8_e4m3": 1, "fp8_e5m2": 1}
DTYPE_SHORT = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "fp8": "fp8_e4m3"}
DEFAULT_DTYPE = "bfloat16"


def dtype_name(text: str) -> str:
    """The full name of a cache dtype.

    Raises:
        ValueError: not a dtype whose elements take a whole number of bytes.

    >>> dtype_name("fp8"), dtype_name("float16")
    ('fp8_e4m3', 'float16')
    """
    name = DTYPE_SHORT.get(text, text)
    if name not in DTYPE_BYTES:
        known = ", ".join([*DTYPE_BYTES, *DTYPE_SHORT])
        raise ValueError(f"unknown cache dtype {text!r}; choose one of {known}")
    return name


@dataclass(frozen=True)
class CacheLayout:
    """What a model keeps for one sequence, layer by layer.

    Methods take a number of tokens and a cache dtype (default: 16 bits) and answer in bytes.
    """

    layers: tuple[Layer, ...]

    @property
    def kv_heads(self) -> int:
        """KV heads of the attention layers, the most where they differ; 0 without such layers."""
        return max((x.kv_heads for x in self.layers if isinstance(x, FullAttention)), default=0)

    @property
    def head_dim(self) -> int:
        """Elements of one key, the most where they differ; 0 without attention layers."""
        return max((x.k_dim for x in self.layers if isinstance(x, FullAttention)), default=0)

    def groups(self) -> list[tuple[Layer, int]]:
        """Equal layers counted together, in order of first appearance."""
        return list(Counter(self.layers).items())

    def bytes(self, tokens: int, dtype: str = DEFAULT_DTYPE) -> int:
        """Bytes one sequence of ``tokens`` tokens needs.

        Raises:
            ValueError: ``tokens`` is negative or no whole number, or the dtype is unknown.
        """
        size = DTYPE_BYTES[dtype_name(dtype)]
        tokens = _token_count(tokens)
        return sum(count * layer.bytes(tokens, size) for layer, count in self.groups())

    def slope(self, tokens: int = 0, dtype: str = DEFAULT_DTYPE) -> int:
        """Bytes the next token adds to a sequence of ``tokens`` tokens."""
        return self.bytes(tokens + 1, dtype) - self.bytes(tokens, dtype)

    def slope_past_windows(self, dtype: str = DEFAULT_DTYPE) -> int:
        """Bytes a token adds once every window is full."""
        return self.slope(max((layer.window or 0 for layer in self.layers), default=0), dtype)

    def constant_bytes(self, dtype: str = DEFAULT_DTYPE) -> int:
        """Bytes held before the first token: zero for attention layers."""
        return self.bytes(0, dtype)

    def without_sharing(self, query_heads: int) -> CacheLayout:
        """The counterfactual in which every one of ``query_heads`` heads has its own K and V.

        Raises:
            ValueError: the layers have no KV heads to multiply (a latent cache).
        """
        layers = [x for x in self.layers if isinstance(x, FullAttention)]
        if len(layers) < len(self.layers):
            raise ValueError("a latent cache has no KV heads to give to every attention head")
        return CacheLayout(tuple(replace(layer, kv_heads=query_heads) for layer in layers))

    def derivation(self, tokens: int = 1, dtype: str = DEFAULT_DTYPE) -> list[str]:
        """One line per group of layers, and their sum where there are several.

        >>> from kvdocs.formula.layers import FullAttention
        >>> print(*CacheLayout((FullAttention(4, 128, 128),) * 28).derivation(), sep="\\n")
        2 (K and V) × 28 layers × 4 KV heads × 128 head_dim × 2 bytes = 57,344 bytes
        """
        size = DTYPE_BYTES[dtype_name(dtype)]
        held = [count * layer.bytes(tokens, size) for layer, count in self.groups()]
        lines = [
            f"{_product(layer, count, tokens, size)} = {total:,} bytes"
            for (layer, count), total in zip(self.groups(), held, strict=True)
        ]
        if len(held) > 1:
            parts = " + ".join(f"{total:,}" for total in held)
            lines.append(f"{parts} = {sum(held):,} bytes")
        return lines


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


def _product(layer: Layer, count: int, tokens: int, element_bytes: int) -> str:
    terms = layer.terms(count)
    if tokens != 1:
        terms.append(_kept(layer, tokens))
    return " × ".join([*terms, plural(element_bytes, "byte")])


def _kept(layer: Layer, tokens: int) -> str:
    if layer.window is not None and tokens > layer.window:
        return f"{layer.window:,} tokens (the window)"
    return f"{tokens:,} tokens"


def _token_count(tokens: int) -> int:
    if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 0:
        raise ValueError(f"a sequence has a whole number of tokens, not {tokens!r}")
    return tokens
