"""llama.cpp as an engine: a context for so many sequences, allocated when it starts.

In: a model, ``Flags``, a card, which plays no part. Out: ``Cells``. ``context.py`` says which
buffers a context has; files and lines here are of the same commit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kvdocs.engines.face import LONGEST, Change, Refused, largest
from kvdocs.engines.llama_cpp.context import (
    MOST_CELLS,
    MOST_SEQUENCES,
    TYPES,
    VERSION,
    Buffer,
    Context,
    buffers,
)
from kvdocs.engines.one_card import loaded_weights, more_cards, ranks, unused
from kvdocs.engines.terms import Term
from kvdocs.facts.gpus import Gpu
from kvdocs.facts.models import Model
from kvdocs.formula import CacheLayout, ConfigError
from kvdocs.formula.config import EffectiveConfig
from kvdocs.formula.dtypes import NAMES

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from kvdocs.engines.protocol import Capacity

__all__ = ["Flags", "flags", "hold", "loaded_weights", "more_cards", "ranks", "smaller_caches"]
__all__ += ["unused", "working_memory"]

KEY = "llama.cpp"
TITLE = VERSION
WORKING_MEMORY = "compute buffers, libraries"
# Bits of one element in each type, of the cache and of weights alike.
WEIGHT_BITS = {name: NAMES[name].bits for name in TYPES}
SMALLER_WEIGHTS = ("q8_0", "q4_0")


@dataclass(frozen=True)
class Flags:
    """``cache_type`` is one type, or that of K and that of V: ``q8_0,q4_0``; f16 unless llama.cpp
    is told otherwise, whatever the file has. ``kv_unified`` (-kvu) and ``ubatch_size`` (-ub) as in
    ``Context``."""

    cache_type: str = "f16"
    kv_unified: bool = False
    ubatch_size: int = 512


def flags(kv_dtype: str = "auto", *, kv_unified: bool = False, ubatch_size: int = 512) -> Flags:
    """llama.cpp's flags, by the names that the commands have for them."""
    asked = kv_dtype.lower().replace(" ", "")
    known = NAMES.get(asked)
    names = (known.name, *known.aliases) if known else ("f16" if asked == "auto" else asked,)
    own = next((name for name in names if name in TYPES), asked)
    return Flags(own, kv_unified, ubatch_size)


@dataclass(frozen=True)
class Contexts:
    """``sequences`` fit in one context. ``context`` is the one for the users asked for, else for
    those that fit, one at least, and ``buffers`` what it takes."""

    sequences: int
    context: Context
    buffers: tuple[Buffer, ...]

    @property
    def bytes(self) -> int:
        """Bytes of all buffers."""
        return sum(buffer.bytes for buffer in self.buffers)


@dataclass(frozen=True)
class Cells:
    """A model's contexts, before it is known for how many sequences of which length."""

    layout: CacheLayout
    config: EffectiveConfig
    flags: Flags
    named_by: None = None

    @property
    def kv_dtype(self) -> str:
        """The types of K and V."""
        return self.flags.cache_type

    @property
    def kept_as(self) -> str:
        """The same in words."""
        return self.flags.cache_type

    def context(self, sequences: int, tokens: int) -> Context:
        """The context for ``sequences`` sequences of ``tokens`` tokens.

        Raises:
            Refused: llama.cpp serves fewer sequences, or has fewer cells.
        """
        if sequences > MOST_SEQUENCES:
            raise Refused(
                f"--users is {sequences:,}; llama.cpp serves at most {MOST_SEQUENCES} sequences at "
                "once (src/llama-cparams.h:8)"
            )
        if sequences * tokens > MOST_CELLS:
            raise Refused(
                f"{sequences:,} × {tokens:,} tokens is more than the {MOST_CELLS:,} that a context "
                "of llama.cpp can have"
            )
        flags, (k, _, v) = self.flags, self.flags.cache_type.partition(",")
        shared = flags.kv_unified
        return Context(sequences * tokens, sequences, shared, k, v or k, flags.ubatch_size)

    def buffers(self, context: Context) -> tuple[Buffer, ...]:
        """What the context takes."""
        return tuple(buffers(self.layout, self.config, context))

    def sequence_bytes(self, tokens: int) -> int:
        """The context for one sequence."""
        return sum(buffer.bytes for buffer in self.buffers(self.context(1, tokens)))

    def one_sequence(self, tokens: int) -> dict[str, int | str | None]:
        """What the context for one sequence takes, and its cells."""
        return {"bytes": self.sequence_bytes(tokens), "n_ctx": self.context(1, tokens).n_ctx}

    def fits(self, sequences: int, tokens: int, available: int) -> bool:
        """Whether the context for so many fits into ``available`` bytes."""
        made = self.buffers(self.context(sequences, tokens))
        return sum(buffer.bytes for buffer in made) <= available

    def capacity(self, tokens: int, available: int, users: int | None = None) -> Contexts:
        """The context for the most sequences."""
        context = self.context(users or 1, tokens)  # refuses what no context can have
        most = min(MOST_SEQUENCES, MOST_CELLS // tokens)
        count = largest(lambda sequences: self.fits(sequences, tokens, available), most)
        if not users:
            context = self.context(max(1, count), tokens)
        return Contexts(count, context, self.buffers(context))

    def longest(self, available: int, users: int = 1, limit: int = LONGEST) -> int:
        """The longest context of each of all users."""
        self.context(users, 1)  # refuses more than llama.cpp serves
        most = min(limit, MOST_CELLS // users)
        return largest(lambda tokens: self.fits(users, tokens, available), most)

    def growth(
        self, tokens: int, users: int | None, sure: Capacity, best: Capacity
    ) -> tuple[Term, ...]:
        """Nothing: all cells are there from the start."""
        return ()


def hold(model: Model, flags: Flags, card: Gpu | None = None) -> Cells:
    """The contexts of a model.

    Raises:
        Refused: llama.cpp refuses the types for this layout, or how it holds the layout has not
            been established.
        ConfigError: a field of the config has no usable value.
    """
    types = flags.cache_type.split(",")
    if len(types) > 2 or not set(types) <= set(TYPES):
        raise Refused(
            f"--kv-dtype {flags.cache_type!r} is not known; llama.cpp takes {', '.join(TYPES)}, or "
            "two of them, of K and of V: q8_0,q4_0"
        )
    cells = Cells(model.layout, EffectiveConfig.of(model.config, model.id), flags)
    try:
        if not cells.buffers(cells.context(1, 1)):
            raise ValueError("no layer keeps a cache, so memory for it sets no limit")
    except ConfigError:
        raise
    except ValueError as error:
        raise Refused(str(error)) from None
    return cells


def working_memory(memory: int, card: Gpu | None) -> Term:
    """It has to be stated.

    Raises:
        Refused: always.
    """
    raise Refused(
        "what llama.cpp needs beside weights and cache is not known here: it depends on the model, "
        'the batch and the build. Its log states it as "compute buffer size"; say that, and what '
        "CUDA takes for itself, with --overhead SIZE; or state --available"
    )


def smaller_caches(
    model: Model, flags: Flags, card: Gpu | None, tokens: int, users: int
) -> Iterator[Change]:
    """One set of cells for all, then quantised types."""
    if not flags.kv_unified and users > 1:
        text = "one set of cells that all sequences share"
        yield Change("--kv-unified", text, replace(flags, kv_unified=True))
    if flags.cache_type in ("f32", "f16", "bf16"):
        for name in ("q8_0", "q4_0"):
            text = f"a cache in {name}, {float(WEIGHT_BITS[name]):g} bits an element"
            yield Change(f"--kv-dtype {name}", text, replace(flags, cache_type=name))
