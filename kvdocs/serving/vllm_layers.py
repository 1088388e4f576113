"""What one layer takes on one rank of vLLM 0.33.0: its page, and the flags that decide it.

In: a layer of the layout and ``Options``. Out: a ``Page``, which is what vLLM calls the layer's
KVCacheSpec. Paths in docstrings are in the vLLM 0.33.0 wheel.
"""

from __future__ import annotations

from dataclasses import dataclass

from kvdocs.formula import CacheLayout
from kvdocs.formula.layers import FullAttention, Latent, Layer, SlidingWindow
from kvdocs.serving.vllm_dtypes import head_bytes, kv_dtype, latent_bytes


@dataclass(frozen=True)
class Options:
    """The flags of vLLM that decide the cache, with its defaults, and ``max_model_len`` in tokens.

    The backend may change ``block_size`` (config/cache.py:185). ``max_num_batched_tokens`` has no
    single default; 2,048 is the fallback (config/scheduler.py).

    Raises:
        ValueError: a value vLLM refuses.
    """

    max_model_len: int
    kv_cache_dtype: str = "auto"
    block_size: int = 16
    tensor_parallel_size: int = 1
    pipeline_parallel_size: int = 1
    decode_context_parallel_size: int = 1
    max_num_batched_tokens: int = 2048
    async_scheduling: bool = True

    def __post_init__(self) -> None:
        kv_dtype(self.kv_cache_dtype)
        for name, value in vars(self).items():
            if name not in ("kv_cache_dtype", "async_scheduling") and value < 1:
                raise ValueError(f"--{name.replace('_', '-')} is {value}; it must be 1 or more")
        if self.tensor_parallel_size % self.decode_context_parallel_size:
            raise ValueError(
                f"--decode-context-parallel-size {self.decode_context_parallel_size} must divide "
                f"--tensor-parallel-size {self.tensor_parallel_size}"
            )

    @property
    def tokens_in_flight(self) -> int:
        """Tokens scheduled whose blocks are not free yet: one batch per concurrent step; with
        async scheduling one step more than pipeline stages (config/vllm.py:588-609)."""
        steps = self.pipeline_parallel_size + (1 if self.async_scheduling else 0)
        return steps * self.max_num_batched_tokens


@dataclass(frozen=True)
class Page:
    """The part of a block that one layer fills on one rank.

    ``kind`` is full (every token), window or latent; ``shape`` what must be equal for two layers
    to be of one kind; ``bytes`` of ``block_size`` tokens.
    """

    kind: str
    shape: tuple[int, ...]
    block_size: int
    bytes: int
    window: int | None = None

    @property
    def grows(self) -> bool:
        """Whether every token stays."""
        return self.window is None

    def request_blocks(self, tokens: int, options: Options) -> int:
        """The most blocks a request of ``tokens`` tokens holds of this layer's group.

        A sliding layer holds window − 1 tokens and those in flight, and one block more because
        the window need not start at a block's edge (v1/kv_cache_interface.py:918-948). With
        decode context parallelism a rank holds its share of the tokens (…interface.py:700).
        """
        if self.window is None:
            share = ceil_div(tokens, options.decode_context_parallel_size)
            return ceil_div(share, self.block_size)
        held = min(self.window - 1 + options.tokens_in_flight, tokens)
        return ceil_div(held, self.block_size) + 1


def page_of(layer: Layer, layout: CacheLayout, options: Options) -> Page:
    """The page of one layer.

    Raises:
        ValueError: vLLM refuses the combination, or this module does not know the layer.
    """
    block = options.block_size
    if isinstance(layer, FullAttention):
        heads = heads_per_rank(layer.kv_heads, options)
        token = heads * head_bytes(options.kv_cache_dtype, layer.k_dim, layer.v_dim)
        shape = (heads, layer.k_dim, layer.v_dim)
        if isinstance(layer, SlidingWindow):
            if options.decode_context_parallel_size > 1:
                raise ValueError("vLLM 0.33.0 has no decode context parallelism for sliding layers")
            return Page("window", shape, block, token * block, layer.window)
        return Page("full", shape, block, token * block)
    if isinstance(layer, Latent):  # whole on every rank (…mla_attention.py:1375)
        elements = layer.kv_lora_rank + layer.rope_dim
        token = latent_bytes(options.kv_cache_dtype, elements)
        return Page("latent", (elements,), block, token * block)
    raise ValueError(f"how vLLM 0.33.0 holds a layer of kind {layer.kind!r} is not known here")


def heads_per_rank(kv_heads: int, options: Options) -> int:
    """KV heads one rank holds: its share, or one copy (config/model.py:1673).

    Raises:
        ValueError: the ranks cannot share the heads evenly, or decode context parallelism has no
            copies to split.

    >>> [heads_per_rank(4, Options(4096, tensor_parallel_size=tp)) for tp in (1, 2, 4, 8)]
    [4, 2, 1, 1]
    """
    ranks, dcp = options.tensor_parallel_size, options.decode_context_parallel_size
    if kv_heads % ranks and ranks % kv_heads:
        raise ValueError(
            f"{kv_heads} KV heads cannot be shared by {ranks} ranks: choose a tensor-parallel size "
            f"that divides {kv_heads} or that {kv_heads} divides"
        )
    if dcp > 1 and dcp > ranks // kv_heads:
        raise ValueError(
            f"decode context parallelism splits the copies of KV heads: {ranks} ranks hold "
            f"{max(1, ranks // kv_heads)} of each of {kv_heads} heads, not {dcp}"
        )
    return max(1, kv_heads // ranks)


def stages(layers: int, count: int) -> tuple[range, ...]:
    """Which layers each pipeline stage holds; left-over layers go to the last stages but the very
    last (distributed/utils.py:198).

    Raises:
        ValueError: fewer layers than stages.

    >>> [len(stage) for stage in stages(62, 4)]
    [15, 16, 16, 15]
    """
    if layers < count:
        raise ValueError(f"{layers} layers cannot be split over {count} pipeline stages")
    sizes = [layers // count] * count
    for i in range(2, layers % count + 2):
        sizes[-i] += 1
    ends = [sum(sizes[: i + 1]) for i in range(count)]
    return tuple(range(end - size, end) for end, size in zip(ends, sizes, strict=True))


def ceil_div(a: int, b: int) -> int:
    """``a / b`` rounded up.

    >>> ceil_div(33, 16)
    3
    """
    return -(-a // b)
