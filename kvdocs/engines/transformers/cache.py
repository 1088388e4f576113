"""How transformers' own caches hold a layout, and what they take beside what the model needs.

In: a layout, a number of tokens, a cache dtype. Out: bytes of one sequence, exact.
Source: cache_utils.py of transformers 5.24.0, which the lines below are of; every rule here is
held against real caches in ``evidence`` and in the tests.

A cache grows by concatenation. Nothing is reserved, so nothing is left over, but each step makes
a tensor's new copy beside its old one.
"""

from __future__ import annotations

from collections.abc import Mapping

from kvdocs.engines.transformers.copies import copies_heads
from kvdocs.formula.config import EffectiveConfig
from kvdocs.formula.constant import CrossAttention, Shared
from kvdocs.formula.dtypes import dtype_of, element_bytes
from kvdocs.formula.hidden import Buckets, HiddenStates, HiddenWindow
from kvdocs.formula.layers import FullAttention, Latent, Layer, PromptAndWindow
from kvdocs.formula.layout import DEFAULT_DTYPE, CacheLayout
from kvdocs.formula.several import IndexKeys, Several
from kvdocs.startup import dataclass

RELEASE = (5, 24, 0)  # the one that is described where no other is named
# The first release that caches a type's latent. Before it, K and V of every head were cached:
# models/deepseek_v3/modeling_deepseek_v3.py:421 of 4.57.6, and for types with an index
# models/deepseek_v32/modeling_deepseek_v32.py:458 of 5.17.0.
EXPANDED_BEFORE = {
    "deepseek_v2": (5, 15),
    "deepseek_v3": (5, 15),
    "kimi_k2": (5, 15),
    "deepseek_v32": (5, 18),
    "glm_moe_dsa": (5, 18),
}


@dataclass(frozen=True)
class Held:
    """Bytes of one sequence: what its tensors show, and the memory behind them."""

    shown: int
    stored: int


def kept_by_transformers(layer: Layer, tokens: int, new: int) -> tuple[int, int]:
    """Tokens a cache layer shows, and tokens in the memory behind it, after a step of ``new``.

    A layer joins what it showed before and the new tokens, and a plain layer shows the result.
    A sliding layer shows only the last window - 1 of them, because the next token will bring
    itself; the memory behind is freed when the next step makes its own. So after a long prompt
    all of it is still stored, and after a decoded token min(tokens, window), the formula.

    Classes ``DynamicLayer`` and ``DynamicSlidingWindowLayer`` (lines 104 and 196), the same from
    4.57 to 5.24. XLNet shows its whole window (cache_mem, modeling_xlnet.py:906).

    >>> from kvdocs.formula.layers import SlidingWindow
    >>> sliding = SlidingWindow(kv_heads=8, k_dim=64, v_dim=64, window=128)
    >>> kept_by_transformers(sliding, 4096, new=4096), kept_by_transformers(sliding, 4097, new=1)
    ((127, 4096), (127, 128))
    """
    if layer.window is None:
        return tokens, tokens
    most = layer.window - (not isinstance(layer, HiddenWindow))
    return min(tokens, most), min(tokens - new, most) + new


def bytes_by_transformers(
    layer: Layer, tokens: int, new: int, element_bytes: int, encoder_tokens: int = 0
) -> tuple[int, int]:
    """Bytes a cache layer shows, and bytes in the memory behind it, after a step of ``new``.

    Waiting tokens of a compressed layer are a slice of all that were joined in the step, as those
    of a sliding layer are (DeepseekV4HCACache of transformers 5.24.0).
    """
    shown = stored = 0
    for part in layer.parts:
        kept, behind = kept_by_transformers(part, tokens, new)
        if part.window is not None:
            shown += part.elements_per_token * kept * element_bytes
            stored += part.elements_per_token * behind * element_bytes
            continue
        own = part.bytes(tokens, element_bytes, encoder_tokens)
        if isinstance(part, Buckets):
            own = _buckets(part, tokens, new)
        shown += own
        stored += own + behind_slice(part, tokens, new, element_bytes)
    return shown, stored


def behind_slice(part: Layer, tokens: int, new: int, element_bytes: int) -> int:
    """Bytes behind the slice of waiting tokens that it does not show, after a step of ``new``.

    The tokens that a step compresses stay in memory until the next step makes its own slice, so
    after each token that completes an entry (DeepseekV4HCACache.store_compression_weights).

    >>> from kvdocs.formula.compressed import Compressed
    >>> layer = Compressed(rate=4, entry=640, waiting=2560)
    >>> [behind_slice(layer, tokens, 1, element_bytes=2) for tokens in (63, 64, 65)]
    [0, 20480, 0]
    """
    if part.period == 1:
        return 0
    joined = (tokens - new) % part.period + new - tokens % part.period
    return joined * part.elements_per_token * element_bytes


def held(
    layout: CacheLayout,
    tokens: int,
    new: int,
    dtype: str = DEFAULT_DTYPE,
    encoder_tokens: int = 0,
) -> Held:
    """What a ``DynamicCache`` holds of ``tokens`` tokens, the last ``new`` of them in one step.

    A prompt is one step: ``new`` equals ``tokens``.
    """
    size = element_bytes(dtype)
    shown = stored = 0
    for part, count in layout.groups():
        one = bytes_by_transformers(part, tokens, new, size, encoder_tokens)
        shown += count * one[0]
        stored += count * one[1]
    return Held(shown, stored)


def peak_of_next_token(
    layout: CacheLayout, tokens: int, new: int, dtype: str = DEFAULT_DTYPE
) -> int | None:
    """The most the cache takes while one more token joins what ``held`` describes, in bytes.

    A plain layer replaces K, then V, each while its old copy still lives (lines 136-137); a
    sliding layer makes both before it lets the old ones go (lines 242-247). Layers take turns.
    None where a layer does not grow by concatenation: states, compressed entries, an encoder.
    """
    size = element_bytes(dtype)
    parts = [part for layer in layout.layers for part in layer.parts]
    if not all(_concatenates(part) for part in parts):
        return None
    now = peak = held(layout, tokens, new, dtype).stored
    for part in parts:
        _, before = kept_by_transformers(part, tokens, new)
        _, after = kept_by_transformers(part, tokens + 1, 1)
        width = 4 if isinstance(part, IndexKeys) and part.float32 else size
        for elements in _replaced_together(part):
            peak = max(peak, now + elements * after * width)
            now += elements * (after - before) * width
    return peak


def most_while_growing(
    layout: CacheLayout, tokens: int, new: int, dtype: str = DEFAULT_DTYPE
) -> tuple[int, bool]:
    """The most the cache takes while one more token joins, in bytes, and whether that is exact.

    Exact where ``peak_of_next_token`` knows it. Else no more than all layers after the token, and
    the largest of them twice: layers take turns, and each makes its new tensors beside the old
    ones, or copies a new state into the old one (lines 1271-1297). XLNet's old inputs stay until
    the step has ended (models/xlnet/modeling_xlnet.py:1156).
    """
    peak = peak_of_next_token(layout, tokens, new, dtype)
    if peak is not None:
        return peak, True
    size = element_bytes(dtype)
    bound = largest = 0
    for layer in layout.layers:
        before = sum(bytes_by_transformers(x, tokens, new, size)[1] for x in layer.parts)
        after = sum(bytes_by_transformers(x, tokens + 1, 1, size)[1] for x in layer.parts)
        stays = any(isinstance(part, HiddenStates) for part in layer.parts)
        bound += before + after if stays else max(before, after)
        largest = max(largest, before, after)
    return bound + largest, False


def cache_dtype(name: str) -> str:
    """The full name of a dtype that transformers' own cache can have, which is the model's.

    Raises:
        ValueError: not such a dtype.
    """
    found = dtype_of(name)
    if found is None or found.kind != "float" or found.bytes < 2:
        raise ValueError(
            f"transformers caches in the model's dtype, not in {found.name if found else name}; "
            "use bfloat16, float16 or float32"
        )
    return found.name


def static(
    layout: CacheLayout,
    longest: int,
    dtype: str = DEFAULT_DTYPE,
    encoder_tokens: int | None = None,
) -> int:
    """Bytes of a ``StaticCache`` for ``longest`` tokens: all of them at once, before the first.

    A sliding layer gets min(longest, window), here without the minus one (line 540).
    """
    return layout.bytes(longest, dtype, encoder_tokens)


def as_cached(layout: CacheLayout, config: Mapping[str, object], source: str) -> CacheLayout:
    """The layout in the shape that transformers caches it; mostly the same.

    Where heads are copied, each has K and V of its own.

    Raises:
        ConfigError: a field that the cached shape needs is missing.
    """
    effective = EffectiveConfig.of(config, source)
    if copies_heads(effective):
        return layout.without_sharing(effective.required("num_attention_heads"))
    return layout


def expanded(
    layout: CacheLayout, config: Mapping[str, object], source: str
) -> tuple[CacheLayout, str] | None:
    """How older releases cached a latent, and the release that ended it; None for other types.

    They cached K and V of every head in its place. An index beside it is the same in all.

    Raises:
        ConfigError: a field that the expanded shape needs is missing.
    """
    effective = EffectiveConfig.of(config, source)
    if effective.model_type not in EXPANDED_BEFORE:
        return None
    full = FullAttention(
        effective.required("num_attention_heads"),
        effective.required("qk_nope_head_dim") + effective.required("qk_rope_head_dim"),
        effective.required("v_head_dim"),
    )
    release = ".".join(map(str, EXPANDED_BEFORE[effective.model_type]))
    return CacheLayout(tuple(_with_heads(layer, full) for layer in layout.layers)), release


def _with_heads(layer: Layer, full: FullAttention) -> Layer:
    if isinstance(layer, Several):
        return Several(tuple(_with_heads(part, full) for part in layer.members))
    return full if isinstance(layer, Latent) else layer


def _buckets(part: Buckets, tokens: int, new: int) -> int:
    """Bytes of bucket numbers; ReformerDynamicCache and LSHSelfAttention.

    A prompt of one chunk is not hashed and leaves an empty float32 tensor. What joins that, as
    soon as the sequence fills the chunk, becomes float32 too: 4 bytes a number, not 8. What was
    there before the step counts as the prompt.
    """
    prompt = tokens - new or tokens
    if prompt > part.chunk:
        return part.bytes(tokens, 0)
    hashed = new < tokens and tokens >= part.chunk
    return part.elements_per_token * tokens * 4 * hashed


def _concatenates(part: Layer) -> bool:
    grows = isinstance(part, FullAttention | Latent | IndexKeys)
    otherwise = isinstance(part, CrossAttention | PromptAndWindow)
    return isinstance(part, Shared) or (grows and not otherwise)


def _replaced_together(part: Layer) -> tuple[int, ...]:
    """Elements a token adds to the tensors that a step replaces at one time, in order."""
    if part.window is None and isinstance(part, FullAttention):
        return part.kv_heads * part.k_dim, part.kv_heads * part.v_dim
    if part.window is None and isinstance(part, Latent):
        return part.kv_lora_rank, part.rope_dim
    return (part.elements_per_token,)
