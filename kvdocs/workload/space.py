"""A pool of cache as one sequence meets it: how many blocks there are, how many it takes.

In: the pool that ``kvdocs.engines.vllm.hold`` gives, or a number of blocks. Out: a ``Space``. All
arithmetic of blocks is ``kvdocs.engines.vllm.pool``'s.
"""

from __future__ import annotations

from collections.abc import Callable

from kvdocs.engines.vllm.memory import Flags
from kvdocs.engines.vllm.pool import Pool, at_once
from kvdocs.startup import dataclass
from kvdocs.units import ceil_div

MOST_BLOCKS = 2_000_000  # 1.7 TiB for Qwen2.5-7B; more would take minutes to reckon with

DEFAULTS = Flags()  # of vLLM

Blocks = Callable[[int], int]  # tokens of one sequence -> blocks


@dataclass(frozen=True)
class Space:
    """``blocks`` are those that requests can have, ``batch`` is the tokens read in one step.

    A sequence of some tokens holds ``most`` at the most, while its prompt is read, and ``writing``
    while it writes: less, where layers have windows. What it holds more while it is read is of a
    batch that all sequences share.
    """

    blocks: int
    most: Blocks
    writing: Blocks
    batch: int

    def sequences(self, tokens: int) -> int:
        """How many sequences of ``tokens`` tokens fit at once."""
        return at_once(self.blocks, self.most(tokens), self.writing(tokens))

    @classmethod
    def every_token(cls, blocks: int, flags: Flags | None = None) -> Space:
        """``blocks`` blocks, one of them held back, for a model that keeps every token; ``flags``
        are vLLM's defaults where they are None.

        Raises:
            ValueError: no block is left.

        >>> Space.every_token(100).most(33)
        3
        """

        stated = flags or Flags()

        def whole(tokens: int) -> int:
            return ceil_div(tokens, stated.block_size)

        return cls(_usable(blocks), whole, whole, stated.batched_tokens(None))

    @classmethod
    def of_pool(cls, pool: Pool, available: int) -> Space:
        """What ``available`` bytes on each rank make of an engine's pool.

        Raises:
            ValueError: no block is left.
        """
        return cls._of_blocks(pool, pool.blocks(available))

    @classmethod
    def of_tokens(cls, pool: Pool, tokens: int) -> Space:
        """The pool whose size vLLM logs as ``tokens`` tokens.

        Raises:
            ValueError: the tokens do not say how many blocks there are, or no block is left.
        """
        pages = [page for group in pool.groups for _, page in group.pages]
        if len(pool.groups) > 1 or not all(page.grows for page in pages):
            raise ValueError(
                "a model with layers of several kinds or with windows: tokens do not say how many "
                "blocks there are. Give --available, which vLLM logs as "
                '"Available KV cache memory"'
            )
        return cls._of_blocks(pool, tokens // pool.options.block_size)

    @classmethod
    def _of_blocks(cls, pool: Pool, blocks: int) -> Space:
        batch = pool.options.max_num_batched_tokens
        return cls(_usable(blocks), pool.request_blocks, pool.writing_blocks, batch)


def _usable(blocks: int) -> int:
    """The blocks of a pool without the one that vLLM holds back (v1/core/block_pool.py:191).

    Raises:
        ValueError: none is left, or more than ``MOST_BLOCKS``.
    """
    if blocks > MOST_BLOCKS:
        raise ValueError(
            f"the pool has {blocks:,} blocks, more than {MOST_BLOCKS:,}, which take too long to "
            "reckon with. Give a smaller one"
        )
    if blocks < 2:
        raise ValueError("the pool has no block for a request. Give a larger one")
    return blocks - 1
