"""What is asked of transformers: a batch of equally long sequences in a ``DynamicCache``.

In: a ``TransformersQuestion``. Out: terms, and the ``Batch`` that fits. A prompt is computed in one
step, so its length decides what is held, in sliding layers too; ``transformers.py`` says how.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from kvdocs.engines.question import Capacity, Question, Term, largest
from kvdocs.engines.transformers.cache import (
    RELEASE,
    as_cached,
    cache_dtype,
    held,
    most_while_growing,
)
from kvdocs.formula import CacheLayout
from kvdocs.formula.layout import DEFAULT_DTYPE


@dataclass(frozen=True)
class Batch:
    """``sequences`` fit in one batch. Each takes ``held`` bytes after a prompt of all its tokens,
    and ``growth`` more while one token joins; where not ``exact``, no more than that."""

    sequences: int
    held: int
    growth: int
    exact: bool


class TransformersQuestion(Question):
    """``kv_dtype`` is the model's dtype: bfloat16, float16 or float32; auto is 16 bits."""

    key = "transformers"
    engine = "transformers " + ".".join(map(str, RELEASE))
    working_memory = "activations, libraries"

    @property
    def dtype(self) -> str:
        """The dtype of the cache."""
        return cache_dtype(DEFAULT_DTYPE if self.kv_dtype == "auto" else self.kv_dtype)

    @cached_property
    def cached(self) -> CacheLayout:
        """The layout in the shape that transformers caches."""
        return as_cached(self.model.layout, self.model.config, self.model.id)

    def check(self) -> None:
        """As for any engine, and what transformers' cache does not hold."""
        super().check()
        cache_dtype(self.dtype)  # refuses what transformers does not cache in
        if self.cached.needs_encoder:
            raise ValueError(
                f"{self.model.id} also keeps K and V of an encoder's output, whose length is not "
                "known here; ask kvdocs cost with --encoder-tokens for the size of one sequence"
            )
        if not self.one(1).held:
            raise ValueError("no layer keeps a cache, so memory for it sets no limit")

    def no_overhead(self) -> str:
        """Why there is no range."""
        return (
            "transformers computes a whole prompt in one step, so what it needs beside weights and "
            "cache grows with the prompt and the batch, and no range with a source is known here. "
            "State it with --overhead SIZE: torch.cuda.max_memory_allocated() after one run, less "
            "weights and cache, and what CUDA takes for itself; or state --available"
        )

    def one(self, tokens: int) -> Batch:
        """One sequence."""
        now = held(self.cached, tokens, tokens, self.dtype).stored
        most, exact = most_while_growing(self.cached, tokens, tokens, self.dtype)
        return Batch(1, now, most - now, exact)

    def capacity(self, tokens: int, available: int) -> Batch:
        """The largest batch, so that there is room while it grows."""
        one = self.one(tokens)
        return Batch(available // (one.held + one.growth), one.held, one.growth, one.exact)

    def longest(self, available: int) -> int:
        """The longest prompt of all users at once."""
        users = self.users or 1
        return largest(
            lambda tokens: users <= self.capacity(tokens, available).sequences, self.limit
        )

    def growth(self, tokens: int, sure: Capacity, best: Capacity) -> tuple[Term, ...]:
        """The second copy of what grows, for the users asked for, else for those that fit."""
        one = self.one(tokens)
        worse, better = (
            one.growth * (self.users or max(1, found.sequences)) for found in (sure, best)
        )
        name = "second copy while it grows"
        if one.exact:
            source = "cache_utils.py:136 and 242 of transformers 5.24.0"
        else:
            source = "at most: layers take turns, so the largest is there twice"
        return (Term(name, -1, worse, better, source),)
