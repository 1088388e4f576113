"""What is asked of llama.cpp: a context for so many sequences, allocated when it starts.

In: a ``LlamaCppQuestion``. Out: terms, and the ``Contexts`` that fit. ``llama_cpp.py`` says which
buffers a context has; files and lines here are of the same commit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from kvdocs.engines.llama_cpp.context import (
    MOST_CELLS,
    MOST_SEQUENCES,
    TYPES,
    VERSION,
    Buffer,
    Context,
    buffers,
)
from kvdocs.engines.question import Change, Question, largest
from kvdocs.formula.config import EffectiveConfig

# Bits of one element in each type, of the cache and of weights alike.
BITS = {name: Fraction(8 * size, elements) for name, (elements, size) in TYPES.items()}


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
class LlamaCppQuestion(Question):
    """``users`` is -np. ``kv_dtype`` is one type, or that of K and that of V: ``q8_0,q4_0``.

    ``unified`` (-kvu) and ``ubatch`` (-ub) as in ``Context``.
    """

    kv_dtype: str = "f16"
    unified: bool = False
    ubatch: int = 512

    key = "llama.cpp"
    engine = VERSION
    working_memory = "compute buffers, libraries"
    weight_bits = BITS
    smaller_weights = ("q8_0", "q4_0")

    def check(self) -> None:
        """As for any engine, and what llama.cpp refuses."""
        super().check()
        types = self.kv_dtype.split(",")
        if len(types) > 2 or not set(types) <= set(TYPES):
            raise ValueError(
                f"--kv-dtype {self.kv_dtype!r} is not known; llama.cpp takes {', '.join(TYPES)}, "
                "or two of them, of K and of V: q8_0,q4_0"
            )
        users, tokens = self.users or 1, self.tokens or 1
        if users > MOST_SEQUENCES:
            raise ValueError(
                f"--users is {users:,}; llama.cpp serves at most {MOST_SEQUENCES} sequences at "
                "once (src/llama-cparams.h:8)"
            )
        if users * tokens > MOST_CELLS:
            raise ValueError(
                f"{users:,} × {tokens:,} tokens is more than the {MOST_CELLS:,} that a context of "
                "llama.cpp can have"
            )
        if not self.buffers(self.context(users, tokens)):
            raise ValueError("no layer keeps a cache, so memory for it sets no limit")

    def no_overhead(self) -> str:
        """Why there is no range."""
        return (
            "what llama.cpp needs beside weights and cache is not known here: it depends on the "
            'model, the batch and the build. Its log states it as "compute buffer size"; say that, '
            "and what CUDA takes for itself, with --overhead SIZE; or state --available"
        )

    def context(self, sequences: int, tokens: int) -> Context:
        """The context for ``sequences`` sequences of ``tokens`` tokens."""
        k, _, v = self.kv_dtype.partition(",")
        return Context(sequences * tokens, sequences, self.unified, k, v or k, self.ubatch)

    def buffers(self, context: Context) -> tuple[Buffer, ...]:
        """What the context takes."""
        config = EffectiveConfig.of(self.model.config, self.model.id)
        return tuple(buffers(self.model.layout, config, context))

    def fits(self, sequences: int, tokens: int, available: int) -> bool:
        """Whether the context for so many fits into ``available`` bytes."""
        made = self.buffers(self.context(sequences, tokens))
        return sum(buffer.bytes for buffer in made) <= available

    def capacity(self, tokens: int, available: int) -> Contexts:
        """The context for the most sequences."""
        most = min(MOST_SEQUENCES, MOST_CELLS // tokens)
        count = largest(lambda sequences: self.fits(sequences, tokens, available), most)
        context = self.context(self.users or max(1, count), tokens)
        return Contexts(count, context, self.buffers(context))

    def longest(self, available: int) -> int:
        """The longest context of each of all users."""
        users = self.users or 1
        most = min(self.limit, MOST_CELLS // users)
        return largest(lambda tokens: self.fits(users, tokens, available), most)

    def smaller_caches(self) -> Iterator[Change]:
        """One set of cells for all, then quantised types."""
        if not self.unified and (self.users or 1) > 1:
            text = "one set of cells that all sequences share"
            yield Change("--kv-unified", text, replace(self, unified=True))
        if self.kv_dtype in ("f32", "f16", "bf16"):
            for name in ("q8_0", "q4_0"):
                text = f"a cache in {name}, {float(BITS[name]):g} bits an element"
                yield Change(f"--kv-dtype {name}", text, replace(self, kv_dtype=name))
