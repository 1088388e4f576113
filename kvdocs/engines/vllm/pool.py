"""How vLLM 0.33.0 holds a cache layout, as its own planner counts it, on one rank.

In: a ``CacheLayout``, ``Options`` (vLLM's flags) and the bytes it found available for the cache.
Out: a ``Plan``: blocks, tokens and maximum concurrency as logged, bytes per rank, and how many
requests really fit at once.

The cache is one pool of blocks of equal size. A block holds ``block_size`` tokens of one *group*
of layers. Layers that keep every token are one group. Where a model mixes kinds of layers, each
kind is split into groups of equally many layers, all groups draw blocks from the one pool, and a
group with fewer layers leaves part of each block unused (v1/core/kv_cache_planning.py:408).

Paths in docstrings are in the vLLM 0.33.0 wheel. ``kvdocs.evidence.vllm.planner`` holds this module
against the real planner.
"""

from __future__ import annotations

from kvdocs.engines.face import LONGEST, largest
from kvdocs.engines.terms import Term
from kvdocs.engines.vllm import VERSION
from kvdocs.engines.vllm.compressed import compressed_pages, compresses
from kvdocs.engines.vllm.groups import Group, group_layers, pack_layers
from kvdocs.engines.vllm.layers import Options, pages_of, stages
from kvdocs.formula import CacheLayout
from kvdocs.startup import dataclass

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from kvdocs.engines.protocol import Capacity


@dataclass(frozen=True)
class Pool:
    """The pool of blocks of a layout under some options, before the memory is known.

    ``kv_dtype`` is the format that a flag asks for or the config's field ``named_by`` names;
    ``options.kv_cache_dtype`` the one that vLLM makes of it. ``own_format``: compressed layers have
    a format of their own.
    """

    options: Options
    groups: tuple[Group, ...]
    stages: tuple[range, ...]
    kv_dtype: str = "auto"
    named_by: str | None = None
    own_format: bool = False

    @classmethod
    def of(cls, layout: CacheLayout, options: Options) -> Pool:
        """The groups vLLM makes of the layers.

        Raises:
            ValueError: vLLM refuses the combination, or keeps no cache for such a layer.
        """
        own_format = compresses(layout)
        if own_format:
            groups = pack_layers(compressed_pages(layout, options))
        else:
            groups = group_layers(pages_of(layout, options))
        if not groups:
            raise ValueError("no layer keeps a cache, so memory for it sets no limit")
        count = options.pipeline_parallel_size
        pool = cls(options, groups, stages(len(layout.layers), count), own_format=own_format)
        if not all(pool.block_bytes):
            raise ValueError(
                f"how vLLM {VERSION} plans a pipeline stage in which no layer keeps a cache is not "
                "known here: choose another --pp"
            )
        return pool

    @property
    def block_bytes(self) -> tuple[int, ...]:
        """Bytes of one block on a rank of each pipeline stage: that of the fullest group
        (v1/core/kv_cache_planning.py:574)."""
        return tuple(max(group.bytes(stage) for group in self.groups) for stage in self.stages)

    def blocks(self, available_bytes: int) -> int:
        """Blocks in the pool: the fewest that fit on any rank (…planning.py:1589-1609).

        One of them is the null block, which never holds a token.
        """
        return min(available_bytes // size for size in self.block_bytes)

    def request_blocks(self, tokens: int) -> int:
        """The most blocks one request of ``tokens`` tokens can hold, over all groups
        (v1/core/kv_cache_utils.py:1061)."""
        return sum(group.request_blocks(tokens, self.options) for group in self.groups)

    def writing_blocks(self, tokens: int) -> int:
        """The most blocks such a request holds while it writes its answer, over all groups."""
        return sum(group.writing_blocks(tokens, self.options) for group in self.groups)

    @property
    def kept(self) -> str:
        """The format in which vLLM keeps the cache."""
        return self.options.kv_cache_dtype

    @property
    def kept_as(self) -> str:
        """The format in words; a model with compressed layers has one of its own."""
        if self.own_format:
            return f"this model's own format, mostly in 8 bits ({self.kv_dtype})"
        asked = "16 bits (auto)" if self.kv_dtype == "auto" else self.kv_dtype
        return asked if self.kept == self.kv_dtype else f"{self.kept} ({self.kv_dtype})"

    def sequence_bytes(self, tokens: int) -> int:
        """Bytes of all the blocks that a request of ``tokens`` tokens can hold, on one rank."""
        return max(self.block_bytes) * self.request_blocks(tokens)

    def one_sequence(self, tokens: int) -> dict[str, int | str | None]:
        """What one request of ``tokens`` tokens holds on one rank: ``bytes`` at the most, with a
        batch of it in flight; ``writing_bytes`` while it writes its answer; and its blocks."""
        size, writing = max(self.block_bytes), self.writing_blocks(tokens)
        return {
            "bytes": self.sequence_bytes(tokens),
            "writing_bytes": size * writing,
            "blocks": self.request_blocks(tokens),
            "writing_blocks": writing,
            "block_bytes": size,
        }

    def growth(
        self, tokens: int, users: int | None, sure: Capacity, best: Capacity
    ) -> tuple[Term, ...]:
        """Nothing: all blocks are there from the start."""
        return ()

    def capacity(self, tokens: int, available: int, users: int | None = None) -> Plan:
        """The plan with ``tokens`` as --max-model-len."""
        return self.plan(available, tokens)

    def plan(self, available_bytes: int, max_model_len: int) -> Plan:
        """What vLLM makes of ``available_bytes`` on each rank.

        >>> from kvdocs.formula.layers import FullAttention
        >>> qwen = CacheLayout((FullAttention(4, 128, 128),) * 28)
        >>> found = Pool.of(qwen, Options()).plan(10 * 2**30, max_model_len=32_768)
        >>> found.blocks, found.pool_tokens, round(found.max_concurrency, 2)
        (11702, 187232, 5.71)
        """
        blocks, request = self.blocks(available_bytes), self.request_blocks(max_model_len)
        # In the same floating-point steps as v1/core/kv_cache_utils.py:1089 and 1143.
        concurrency = blocks / request
        sizes = self.block_bytes
        return Plan(
            blocks=blocks,
            block_bytes=max(sizes),
            request_blocks=request,
            writing_blocks=self.writing_blocks(max_model_len),
            pool_tokens=int(concurrency * max_model_len),
            max_concurrency=concurrency,
            starts=all(size * request <= available_bytes - size for size in sizes),
            needed_bytes=max(sizes) * request,
            longest=self.longest(available_bytes, limit=max_model_len),
        )

    def longest(self, available_bytes: int, requests: int = 1, limit: int = LONGEST) -> int:
        """The longest context of ``requests`` equal requests at once, at most ``limit`` tokens.

        0 where not even one token fits. The null block is kept back, as in vLLM's own estimate
        (v1/core/kv_cache_planning.py:1246).
        """
        usable = self.blocks(available_bytes) - 1

        def fits(tokens: int) -> bool:
            most, writing = self.request_blocks(tokens), self.writing_blocks(tokens)
            return at_once(usable, most, writing) >= requests

        return largest(fits, limit)


@dataclass(frozen=True)
class Plan:
    """What vLLM makes of the available memory; every figure is per rank.

    ``request_blocks`` are the most that one request of ``max_model_len`` tokens can hold, while a
    whole batch of it is in flight, ``writing_blocks`` the most it holds while it writes its answer.
    ``pool_tokens`` and ``max_concurrency`` are the two figures of its log line "GPU KV cache
    size: … tokens, Maximum concurrency for … tokens per request". ``starts`` is False where it
    refuses to start, because not one request of ``max_model_len`` tokens fits beside the null
    block. ``needed_bytes`` is what such a request takes, ``longest`` the longest one that fits.
    """

    blocks: int
    block_bytes: int
    request_blocks: int
    writing_blocks: int
    pool_tokens: int
    max_concurrency: float
    starts: bool
    needed_bytes: int
    longest: int

    @property
    def usable_blocks(self) -> int:
        """Blocks that can hold tokens: all but the null block (v1/core/block_pool.py)."""
        return max(0, self.blocks - 1)

    @property
    def sequences(self) -> int:
        """How many requests of ``max_model_len`` tokens fit at once, whole ones: more than
        ``max_concurrency`` where layers have windows, see ``at_once``."""
        return at_once(self.usable_blocks, self.request_blocks, self.writing_blocks)


def at_once(blocks: int, most: int, writing: int) -> int:
    """How many equal sequences ``blocks`` hold: one of them with a batch in flight, which takes
    ``most``, and all others ``writing``.

    The tokens in flight are those of one budget that all sequences share, --max-num-batched-tokens.
    vLLM's maximum concurrency counts them for every request. Held against vLLM's scheduler in
    ``kvdocs.evidence.vllm.seats``.

    >>> at_once(100, most=40, writing=20), at_once(39, most=40, writing=20)
    (4, 0)
    """
    return 1 + (blocks - most) // writing if blocks >= most else 0


def rank_slope(layout: CacheLayout, options: Options) -> int:
    """Bytes one token takes on one rank, padding and windows aside: what its layers hold there.

    Over all ranks it is this times the tensor-parallel size, copies included.
    """
    kept = ("full", "latent", "window")
    pages = (page for _, page in pages_of(layout, options) if page.kind in kept)
    return sum(page.bytes // page.block_size for page in pages)
