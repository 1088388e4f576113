"""What ONE layer keeps for ONE sequence, where that grows with the tokens.

In: sizes from the config. Out: bytes for a number of tokens, and the product they come from as
text. Index keys and layers that keep several things are in ``several.py``; states, encoder output
and compressed entries, which grow otherwise, in ``constant.py`` and ``compressed.py``. A layer
that keeps something else is one more small class.
"""

from __future__ import annotations

from kvdocs.startup import dataclass


class Layer:
    """What every kind of layer answers. Sizes are counted in elements, not bytes."""

    kind = ""  # without an annotation these are the class's, not fields of a layer
    noun = "layer"
    window: int | None = None
    needs_encoder = False  # whether the size depends on the length of an encoder's output
    period = 1  # tokens after which the size has grown by a whole step

    @property
    def even_from(self) -> int:
        """Tokens from which on it grows evenly, or no more."""
        return self.window or 0

    @property
    def elements_per_token(self) -> int:
        """Elements one token adds while it is kept."""
        raise NotImplementedError

    def terms(self, count: int) -> list[str]:
        """The product for ``count`` such layers and one token, in the article's order."""
        raise NotImplementedError

    def tokens_kept(self, tokens: int) -> int:
        """How many of ``tokens`` tokens the layer still holds."""
        return tokens if self.window is None else min(tokens, self.window)

    def width(self, element_bytes: int) -> int:
        """Bytes of one element where the cache has ``element_bytes``."""
        return element_bytes

    def bytes(self, tokens: int, element_bytes: int, encoder_tokens: int = 0) -> int:
        """Bytes held after ``tokens`` tokens, at ``element_bytes`` bytes an element.

        ``encoder_tokens`` counts the encoder's output; only cross-attention keeps it.
        """
        return self.elements_per_token * self.tokens_kept(tokens) * self.width(element_bytes)

    def product(self, count: int, tokens: int, element_bytes: int, encoder_tokens: int = 0) -> str:
        """``bytes`` of ``count`` such layers as a product in words and numbers."""
        terms = self.terms(count)
        if self.window is not None and tokens > self.window:
            terms.append(f"{self.window:,} tokens (the {self.kind.split()[-1]})")
        elif tokens != 1:
            terms.append(f"{tokens:,} tokens")
        return " × ".join([*terms, plural(self.width(element_bytes), "byte")])

    @property
    def parts(self) -> tuple[Layer, ...]:
        """What the layer keeps, one by one; most keep one thing."""
        return (self,)


@dataclass(frozen=True)
class FullAttention(Layer):
    """K and V of every token: kv_heads × (k_dim + v_dim) × T.

    >>> FullAttention(kv_heads=4, k_dim=128, v_dim=128).bytes(tokens=1, element_bytes=2)
    2048
    """

    kind = "full"
    kv_heads: int
    k_dim: int
    v_dim: int

    @property
    def elements_per_token(self) -> int:
        return self.kv_heads * (self.k_dim + self.v_dim)

    def terms(self, count: int) -> list[str]:
        layers, heads = plural(count, self.noun), plural(self.kv_heads, "KV head")
        if self.k_dim == self.v_dim:
            return ["2 (K and V)", layers, heads, f"{self.k_dim} head_dim"]
        if self.v_dim == 0:
            return [layers, heads, f"{self.k_dim} head_dim of K that serves as V"]
        return [layers, heads, f"({self.k_dim} k_dim + {self.v_dim} v_dim)"]


@dataclass(frozen=True)
class SlidingWindow(FullAttention):
    """K and V of the last ``window`` tokens: kv_heads × (k_dim + v_dim) × min(T, window).

    >>> SlidingWindow(kv_heads=8, k_dim=64, v_dim=64, window=128).bytes(4096, element_bytes=2)
    262144
    """

    kind = "window"
    noun = "sliding layer"
    window: int


class Chunk(SlidingWindow):  # with the fields of a window, so no dataclass of its own
    """K and V of one chunk at most: tokens attend within their own chunk only (Llama 4).

    >>> Chunk(kv_heads=8, k_dim=128, v_dim=128, window=8192).bytes(10_000, element_bytes=2)
    33554432
    """

    kind = "chunk"
    noun = "chunked layer"


@dataclass(frozen=True)
class PromptAndWindow(FullAttention):
    """K and V of the whole prompt, and of the last ``generated`` tokens after it (Unlimited-OCR).

    Every token counts as one of the prompt here. That is exact until ``generated`` tokens follow
    it; from then on the cache no longer grows, and is that of the prompt and so many tokens. vLLM
    0.33.0 plans with the same figure (RSWASpec, v1/kv_cache_interface.py:816).

    >>> PromptAndWindow(kv_heads=10, k_dim=128, v_dim=128, generated=128).bytes(4096, 2)
    20971520
    """

    kind = "prompt and window"
    generated: int


@dataclass(frozen=True)
class Latent(Layer):
    """One compressed vector for all heads, and one rotary key: (kv_lora_rank + rope_dim) × T.

    No factor 2 and no heads: K and V are computed from the same latent when they are needed.

    >>> Latent(kv_lora_rank=512, rope_dim=64).bytes(tokens=1, element_bytes=2)
    1152
    """

    kind = "latent"
    kv_lora_rank: int
    rope_dim: int

    @property
    def elements_per_token(self) -> int:
        return self.kv_lora_rank + self.rope_dim

    def terms(self, count: int) -> list[str]:
        return [plural(count, self.noun), f"({self.kv_lora_rank} latent + {self.rope_dim} rope)"]


def plural(count: int, noun: str) -> str:
    """
    >>> plural(1, "KV head"), plural(28, "layer")
    ('1 KV head', '28 layers')
    """
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
