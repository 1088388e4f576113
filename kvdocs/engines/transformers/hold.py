"""transformers as an engine: a batch of equally long sequences in a ``DynamicCache``.

In: a model, ``Flags``, a card, which plays no part. Out: a ``GrowingCache``. A prompt is computed
in one step, so its length decides what is held, in sliding layers too; ``cache.py`` says how.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kvdocs.engines.face import LONGEST, Change, Refused, largest
from kvdocs.engines.one_card import loaded_weights, more_cards, ranks, unused
from kvdocs.engines.terms import Term
from kvdocs.engines.transformers.cache import (
    RELEASE,
    Held,
    as_cached,
    cache_dtype,
    expanded,
    held,
    most_while_growing,
    peak_of_next_token,
    static,
)
from kvdocs.engines.weights import BITS, published_dtype
from kvdocs.facts.gpus import Gpu
from kvdocs.facts.models import Model
from kvdocs.formula import CacheLayout
from kvdocs.formula.layout import DEFAULT_DTYPE

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from kvdocs.engines.protocol import Capacity

__all__ = ["Flags", "flags", "hold", "loaded_weights", "more_cards", "ranks", "smaller_caches"]
__all__ += ["unused", "working_memory"]

KEY = "transformers"
VERSION = ".".join(map(str, RELEASE))
TITLE = f"transformers {VERSION}"
WORKING_MEMORY = "activations, libraries"
WEIGHT_BITS = BITS
SMALLER_WEIGHTS = ("fp8", "int4")


@dataclass(frozen=True)
class Flags:
    """``kv_dtype`` is the model's dtype: bfloat16, float16 or float32; auto what the config says.

    ``encoder_tokens`` is the length of an encoder's output, for the models that read one.
    """

    kv_dtype: str = "auto"
    encoder_tokens: int | None = None


def flags(kv_dtype: str = "auto", *, encoder_tokens: int | None = None) -> Flags:
    """transformers' flags, by the names that the commands have for them."""
    return Flags(kv_dtype.lower(), encoder_tokens)


@dataclass(frozen=True)
class Batch:
    """``sequences`` fit in one batch. Each takes ``held`` bytes after a prompt of all its tokens,
    and ``growth`` more while one token joins; where not ``exact``, no more than that."""

    sequences: int
    held: int
    growth: int
    exact: bool


@dataclass(frozen=True)
class GrowingCache:
    """A model's ``DynamicCache``: ``layout`` in the shape that transformers caches it.

    ``kv_dtype`` is auto where neither a flag nor the config says one; 16 bits are taken then.
    ``older`` is the layout of releases that cached a latent expanded, and the release that ended
    it; None for other models.
    """

    layout: CacheLayout
    older: tuple[CacheLayout, str] | None = None
    kv_dtype: str = "auto"
    named_by: str | None = None
    encoder_tokens: int | None = None

    @property
    def dtype(self) -> str:
        """The dtype of the cache."""
        return DEFAULT_DTYPE if self.kv_dtype == "auto" else self.kv_dtype

    @property
    def kept_as(self) -> str:
        """The dtype in words."""
        return "16 bits (auto)" if self.kv_dtype == "auto" else self.kv_dtype

    def after_prompt(self, tokens: int) -> Held:
        """What the cache holds after a prompt: what its tensors show, and the memory behind."""
        return held(self.layout, tokens, tokens, self.dtype, self.encoder_tokens or 0)

    def sequence_bytes(self, tokens: int) -> int:
        """The memory behind the cache after a prompt of ``tokens`` tokens."""
        return self.after_prompt(tokens).stored

    def one_sequence(self, tokens: int) -> dict[str, int | str | None]:
        """What one sequence takes after a prompt of ``tokens`` tokens, in bytes.

        ``bytes`` is what its tensors show and ``stored_bytes`` the memory behind them;
        ``next_token_peak_bytes`` the most it takes while one more token joins, None where the
        layers do not grow by concatenation; ``static_bytes`` a StaticCache for so many tokens;
        ``expanded_bytes`` what releases before ``expanded_before`` show of a latent cache, both
        None for other caches.
        """
        now = self.after_prompt(tokens)
        older, before = self.older or (None, None)
        sizes = self.dtype, self.encoder_tokens
        return {
            "bytes": now.shown,
            "stored_bytes": now.stored,
            "next_token_peak_bytes": peak_of_next_token(self.layout, tokens, tokens, self.dtype),
            "static_bytes": static(self.layout, tokens, *sizes),
            "expanded_bytes": older.bytes(tokens, *sizes) if older else None,
            "expanded_before": before,
        }

    def one(self, tokens: int) -> Batch:
        """One sequence."""
        now = self.sequence_bytes(tokens)
        most, exact = most_while_growing(self.layout, tokens, tokens, self.dtype)
        return Batch(1, now, most - now, exact)

    def capacity(self, tokens: int, available: int, users: int | None = None) -> Batch:
        """The largest batch, so that there is room while it grows."""
        one = self.one(tokens)
        return Batch(available // (one.held + one.growth), one.held, one.growth, one.exact)

    def longest(self, available: int, users: int = 1, limit: int = LONGEST) -> int:
        """The longest prompt of all users at once."""
        return largest(lambda tokens: users <= self.capacity(tokens, available).sequences, limit)

    def growth(
        self, tokens: int, users: int | None, sure: Capacity, best: Capacity
    ) -> tuple[Term, ...]:
        """The second copy of what grows, for the users asked for, else for those that fit."""
        one = self.one(tokens)
        worse, better = (one.growth * (users or max(1, fit.sequences)) for fit in (sure, best))
        source = "at most: layers take turns, so the largest is there twice"
        if one.exact:
            source = f"cache_utils.py:136 and 242 of {TITLE}"
        return (Term("second copy while it grows", -1, worse, better, source),)


def hold(model: Model, flags: Flags, card: Gpu | None = None) -> GrowingCache:
    """The cache of a model. It has the model's dtype, which is the config's unless transformers is
    told another (modeling_utils.py:4041 of transformers 5.24.0).

    Raises:
        Refused: transformers does not cache in this dtype, or no layer keeps a cache.
        ConfigError: a field that the cached shape needs is missing.
    """
    dtype, named_by = flags.kv_dtype, None
    if dtype == "auto":
        dtype, named_by = published_dtype(model) or ("auto", None)
    if dtype != "auto":
        try:
            dtype = cache_dtype(dtype)
        except ValueError as error:
            where = f"{model.id}: {named_by}" if named_by else "--kv-dtype"
            raise Refused(f"{where}: {error}" + (" with --kv-dtype" if named_by else "")) from None
    layout = as_cached(model.layout, model.config, model.id)
    older = expanded(model.layout, model.config, model.id)
    cache = GrowingCache(layout, older, dtype, named_by, flags.encoder_tokens)
    if layout.needs_encoder and not flags.encoder_tokens:
        raise Refused(
            f"{model.id} also keeps K and V of an encoder's output, whose length is not known "
            "here; ask kvdocs cost with --encoder-tokens for the size of one sequence"
        )
    if not cache.sequence_bytes(1):
        raise Refused("no layer keeps a cache, so memory for it sets no limit")
    return cache


def working_memory(memory: int, card: Gpu | None) -> Term:
    """It has to be stated.

    Raises:
        Refused: always.
    """
    raise Refused(
        "transformers computes a whole prompt in one step, so what it needs beside weights and "
        "cache grows with the prompt and the batch, and no range with a source is known here. "
        "State it with --overhead SIZE: torch.cuda.max_memory_allocated() after one run, less "
        "weights and cache, and what CUDA takes for itself; or state --available"
    )


def smaller_caches(
    model: Model, flags: Flags, card: Gpu | None, tokens: int, users: int
) -> Iterator[Change]:
    """None: the cache has the model's dtype."""
    yield from ()
