"""What one layer takes on one rank of vLLM 0.33.0: its page, and the flags that decide it.

In: a layer of the layout and ``Options``. Out: a ``Page``, which is what vLLM calls the layer's
KVCacheSpec. Paths in docstrings are in the vLLM 0.33.0 wheel.
"""

from __future__ import annotations

import math
from dataclasses import replace

from kvdocs.engines.vllm import VERSION
from kvdocs.engines.vllm.dtypes import head_bytes, kv_dtype, latent_bytes
from kvdocs.formula import CacheLayout
from kvdocs.formula.constant import CrossAttention, Shared, State
from kvdocs.formula.layers import Chunk, FullAttention, Latent, Layer, SlidingWindow
from kvdocs.formula.several import IndexKeys, LatentWindow
from kvdocs.startup import dataclass
from kvdocs.units import ceil_div

# Sparse latents on Hopper: format asked for -> format kept. FlashMLA is asked first and takes fp8
# as its own (layers/attention/mla_attention.py:364), FlashInfer takes fp8_e4m3 as it is
# (v1/attention/backends/mla/flashmla_sparse.py:149, flashinfer_mla_sparse_sm90.py:148).
SPARSE_ON_HOPPER = {
    **{name: name for name in ("auto", "bfloat16", "float16", "fp8_e4m3", "fp8_ds_mla")},
    "fp8": "fp8_ds_mla",
}


@dataclass(frozen=True)
class RankState:
    """What a layer without attention keeps on one rank; ``states.rank_state`` computes it.

    ``bytes`` of one state; ``checkpoints`` are the states more that prefix caching takes while a
    prompt is read, at multiples of ``grid`` tokens.
    """

    bytes: int
    checkpoints: int
    grid: int


@dataclass(frozen=True)
class Options:
    """The flags of vLLM that decide the cache as it resolves them for a model on a card.

    The backend may change ``block_size`` (config/cache.py:185). ``max_num_batched_tokens`` has no
    single default; 2,048 is the fallback (config/scheduler.py). ``state`` is what a layer without
    attention keeps, where the model has such layers.

    Raises:
        ValueError: a value vLLM refuses.
    """

    kv_cache_dtype: str = "auto"
    block_size: int = 16
    tensor_parallel_size: int = 1
    pipeline_parallel_size: int = 1
    decode_context_parallel_size: int = 1
    max_num_batched_tokens: int = 2048
    async_scheduling: bool = True
    prefix_caching: bool = True
    state: RankState | None = None

    def __post_init__(self) -> None:
        kv_dtype(self.kv_cache_dtype)
        for name, value in vars(self).items():
            if type(value) is int and value < 1:
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

    ``kind`` is full (every token), latent, window, state or cross; ``shape`` what must be equal for
    two layers to be of one kind; ``bytes`` those of ``block_size`` tokens, or of one state;
    ``encoder_tokens`` what a cross layer reads, where the model fixes it.
    """

    kind: str
    shape: tuple[int, ...]
    block_size: int
    bytes: int
    window: int | None = None
    encoder_tokens: int | None = None

    @property
    def grows(self) -> bool:
        """Whether every token stays."""
        return self.kind in ("full", "latent")

    def request_blocks(self, tokens: int, options: Options) -> int:
        """The most blocks a request of ``tokens`` tokens holds of this layer's group."""
        if self.kind == "state":
            return _states(options)
        if self.kind == "cross":  # v1/kv_cache_interface.py:1224: room for one step of the encoder
            return ceil_div(options.max_num_batched_tokens, self.block_size)
        if self.window is None:  # with decode context parallelism its share (…interface.py:700)
            share = ceil_div(tokens, options.decode_context_parallel_size)
            return ceil_div(share, self.block_size)
        # The window but one token and the tokens in flight, and one block more because the window
        # need not start at a block's edge (…interface.py:918-948).
        held = min(self.window - 1 + options.tokens_in_flight, tokens)
        return ceil_div(held, self.block_size) + 1

    def writing_blocks(self, tokens: int, options: Options) -> int:
        """The most blocks a request of ``tokens`` tokens holds of it while it writes its answer:
        one token a step is in flight, and no state is kept for a prompt being read."""
        if self.kind == "state":
            return min(2, _states(options))
        if self.encoder_tokens:  # as many as there are (v1/core/sched/scheduler.py:1415)
            return ceil_div(self.encoder_tokens, self.block_size)
        if self.window is not None:
            options = replace(options, max_num_batched_tokens=1)
        return self.request_blocks(tokens, options)


def _states(options: Options) -> int:
    """States of one request: with prefix caching the last two and the checkpoints of a prompt being
    read (v1/kv_cache_interface.py:1143, models/config.py:766)."""
    checkpoints = options.state.checkpoints if options.state else 0
    return 2 + checkpoints if options.prefix_caching else 1


def pages_of(layout: CacheLayout, options: Options) -> list[tuple[int, Page]]:
    """Each page with the number of its layer; a layer has none, one or several.

    Where a model has states, the block is made so large that a page of attention holds one
    (platforms/interface.py:962).

    Raises:
        ValueError: vLLM refuses the combination, or this module does not know a layer.
    """
    found = []
    ends = in_16_bits(layout, options.kv_cache_dtype)
    if any(isinstance(part, State) for part, _ in layout.groups()):
        options = _room_for_a_state(layout, options)
    elif ends:
        options = _room_for_16_bits(options)
    if sparse(layout):
        options = replace(options, kv_cache_dtype=_as_on_hopper(options.kv_cache_dtype))
    for number, layer in enumerate(layout.layers):
        own = replace(options, kv_cache_dtype="auto") if number in ends else options
        for part in layer.parts:
            if isinstance(part, State):
                page = Page("state", (), options.block_size, _attention_token(layout, options))
                found.append((number, replace(page, bytes=page.bytes * options.block_size)))
            elif not isinstance(part, Shared):  # NoCache is one too
                found.append((number, _page(part, own)))
    return found


def in_16_bits(layout: CacheLayout, dtype: str) -> frozenset[int]:
    """The layers that the coarsest formats leave in 16 bits: the first two and the last two, but
    none of a model with states (layers/quantization/turboquant/config.py:178)."""
    count = len(layout.layers)
    coarse = dtype.startswith(("turboquant", "ultraquant"))
    if not coarse or any(isinstance(part, State) for part, _ in layout.groups()):
        return frozenset()
    end = min(2, count // 2)
    return frozenset((*range(end), *range(count - end, count)))


def _room_for_16_bits(options: Options) -> Options:
    """The options with a block of which 8 bits an element hold 16 tokens, the kernels' smallest
    block, in 16 bits (platforms/interface.py:826)."""
    block = max(16, options.block_size)
    return replace(options, block_size=block * ceil_div(2 * 16, block))


def sparse(layout: CacheLayout) -> bool:
    """Whether an index picks the latents that are read; a latent may use another layer's index."""
    return any(
        {Latent, IndexKeys} <= {type(part) for part in layer.parts} for layer in set(layout.layers)
    )


def _as_on_hopper(dtype: str) -> str:
    """The format in which sparse latents are kept; ``auto.kept`` says how other cards differ.

    Raises:
        ValueError: no card has a kernel for it.
    """
    found = SPARSE_ON_HOPPER.get(dtype, dtype if dtype == "nvfp4_ds_mla" else None)
    if found is None:
        raise ValueError(
            f"vLLM {VERSION} has no kernel for sparse latents in --kv-cache-dtype {dtype} "
            "(v1/attention/backends/mla)"
        )
    return found


def _room_for_a_state(layout: CacheLayout, options: Options) -> Options:
    """The options with a block whose page of attention holds a state: the page of a state is then
    padded to that size (platforms/interface.py:962-1160)."""
    token, step = _attention_token(layout, options), max(16, options.block_size)
    if options.state is None:
        raise ValueError("vLLM's size of this model's states is not known here")
    if options.prefix_caching:
        step = math.lcm(step, options.state.grid)
    return replace(options, block_size=step * ceil_div(options.state.bytes, step * token))


def _attention_token(layout: CacheLayout, options: Options) -> int:
    """Bytes of a token in one attention layer of a model that also has states.

    Raises:
        ValueError: no layer has attention; vLLM then has a pool of states only.
    """
    for part, _ in layout.groups():
        if isinstance(part, FullAttention):
            return _token(part, options)[1]
    raise ValueError("vLLM's pool for models without any attention is not known here")


def _page(layer: Layer, options: Options) -> Page:
    block = options.block_size
    if isinstance(layer, CrossAttention):
        heads, token = _token(layer, options)
        shape, given = (heads, layer.k_dim, layer.v_dim), layer.encoder_tokens
        return Page("cross", shape, block, token * block, encoder_tokens=given)
    if isinstance(layer, FullAttention):
        heads, token = _token(layer, options)
        shape = (heads, layer.k_dim, layer.v_dim)
        # Chunks are kept whole unless an environment variable asks otherwise (config/vllm.py:2246).
        if isinstance(layer, SlidingWindow) and not isinstance(layer, Chunk):
            if options.decode_context_parallel_size > 1:
                raise ValueError(
                    f"vLLM {VERSION} has no decode context parallelism for sliding layers"
                )
            return Page("window", shape, block, token * block, layer.window)
        return Page("full", shape, block, token * block)
    if isinstance(layer, Latent) and not isinstance(layer, LatentWindow):
        elements = (
            layer.kv_lora_rank + layer.rope_dim
        )  # whole on every rank (mla_attention.py:1375)
        token = latent_bytes(options.kv_cache_dtype, elements)
        return Page("latent", (elements,), block, token * block)
    if isinstance(layer, IndexKeys):
        token = index_bytes(layer)
        return Page("latent", (0, token), block, token * block)
    raise ValueError(f"how vLLM {VERSION} holds a layer of kind {layer.kind!r} is not known here")


def index_bytes(keys: IndexKeys) -> int:
    """FP8 keys with a 32-bit scale, whatever the cache's dtype (models/deepseek_v2.py:731)."""
    return keys.index_dim + keys.index_dim // 128 * 4


def heads_per_rank(kv_heads: int, options: Options) -> int:
    """KV heads one rank holds: its share, or one copy (config/model.py:1673).

    Raises:
        ValueError: the ranks cannot share the heads evenly, or decode context parallelism has no
            copies to split.

    >>> [heads_per_rank(4, Options(tensor_parallel_size=tp)) for tp in (1, 2, 4, 8)]
    [4, 2, 1, 1]
    """
    ranks, dcp = options.tensor_parallel_size, options.decode_context_parallel_size
    heads = share_of_heads(kv_heads, ranks)
    if dcp > 1 and dcp > ranks // kv_heads:
        raise ValueError(
            f"decode context parallelism splits the copies of KV heads: {ranks} ranks hold "
            f"{max(1, ranks // kv_heads)} of each of {kv_heads} heads, not {dcp}"
        )
    return heads


def share_of_heads(kv_heads: int, ranks: int) -> int:
    """KV heads one of ``ranks`` ranks holds: its share, or one copy.

    Raises:
        ValueError: the ranks cannot share the heads evenly.
    """
    if kv_heads % ranks and ranks % kv_heads:
        raise ValueError(
            f"{kv_heads} KV heads cannot be shared by {ranks} ranks: choose a tensor-parallel size "
            f"that divides {kv_heads} or that {kv_heads} divides"
        )
    return max(1, kv_heads // ranks)


def _token(layer: FullAttention, options: Options) -> tuple[int, int]:
    """KV heads of a rank, and the bytes of a token in them."""
    heads = heads_per_rank(layer.kv_heads, options)
    return heads, heads * head_bytes(options.kv_cache_dtype, layer.k_dim, layer.v_dim)


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
