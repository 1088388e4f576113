"""What is asked of an engine on a card, and the terms that every engine's sum has.

In: the model, the memory, what is wanted. Out: terms in bytes, each with its source. What the
engine makes of the memory is in the class of its own: ``vllm/question.py``,
``transformers/question.py`` and ``llama_cpp/question.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from kvdocs.engines.weights import BITS
from kvdocs.facts.claims import Claim, Gpu, load_claims
from kvdocs.facts.models import Model
from kvdocs.literal import Literal
from kvdocs.units import ceil_div

LONGEST = 2**30  # tokens; beyond any real context
MIB = 2**20


@dataclass(frozen=True)
class Term:
    """One line of the sum. ``bytes`` is what counts in the sure answer, ``best`` in the best one;
    they differ where only a range is known. ``sign`` is 1 for what is there, -1 for what goes."""

    name: str
    sign: int
    bytes: int
    best: int
    source: str


@dataclass(frozen=True)
class Change:
    """Another question, with one thing changed: by which flag, and what that is in words."""

    flag: str
    text: str
    question: Question


class Capacity(Protocol):
    """What an engine makes of the memory for the cache."""

    @property
    def sequences(self) -> int:
        """How many sequences of the length asked for fit at once."""


@dataclass(frozen=True)
class Question:
    """What is asked, of any engine. Sizes in bytes.

    ``memory`` is the card's as its driver reports it; ``tokens`` the length of each sequence,
    None to ask for the longest; ``users`` the sequences at once, None to ask how many.
    ``kv_dtype_from`` is the config's field that named the dtype. ``weights`` is None where they are
    what the engine makes of the published ones. ``overhead`` is what the engine
    needs beside weights and cache, ``available`` what is left for the cache where that is known.
    """

    model: Model
    memory: int = 0
    gpu: Gpu | None = None
    tokens: int | None = None
    users: int | None = None
    kv_dtype: str = "auto"
    kv_dtype_from: str | None = None
    weights: int | None = None
    weights_source: str = "stated"
    overhead: int | None = None
    available: int | None = None

    # Without an annotation these are the class's, not fields of a question.
    key = ""  # the engine, as --engine names it
    engine = ""  # the same with its version
    working_memory = ""  # what ``overhead`` is made of
    ranks = 1  # cards that hold the model together
    weight_bits = BITS
    smaller_weights = ("fp8", "int4")

    def check(self) -> None:
        """Refuse what contradicts itself, the model or the hardware.

        Raises:
            ValueError: the message says which flag.
        """
        if self.available is None and self.memory < 1:
            raise ValueError(f"--vram is {self.memory:,} bytes, which is no card")
        for name in ("weights", "overhead", "available"):
            size = getattr(self, name)
            if size is not None and size < (1 if name == "weights" else 0):
                raise ValueError(f"--{name} is {size:,} bytes, which is no size")
        for name in ("tokens", "users"):
            self.check_count(name)

    def check_count(self, name: str) -> None:
        """Refuse a count below one."""
        count = getattr(self, name)
        if count is not None and count < 1:
            raise ValueError(f"--{name.replace('_', '-')} is {count}; it must be 1 or more")

    def budget(self) -> tuple[Term, ...]:
        """The terms whose sum is the memory for the cache; on each rank where there are several.

        Raises:
            ValueError: a term is not known and has to be stated.
        """
        if self.available is not None:
            return (Term("available for the cache", 1, self.available, self.available, "stated"),)
        known = self.gpu.memory_source if self.gpu else "stated"
        kept = cited_range("nvidia.kept_by_driver")
        return (
            Term("memory as the driver reports it", 1, self.memory, self.memory, known),
            Term("kept by the driver", -1, kept[1], kept[0], cited("nvidia.kept_by_driver")),
            *self.unused(kept),
            self.weights_term(),
            self.overhead_term(),
        )

    def unused(self, kept: tuple[int, int]) -> tuple[Term, ...]:
        """What the engine leaves alone of the memory; ``kept`` is the driver's, least and most."""
        return ()

    def weights_term(self, ranks: int = 1) -> Term:
        """The weights on one of ``ranks`` ranks."""
        held = self.held_weights()
        if held is None:
            raise ValueError(f"the size of {self.model.id}'s weights is not known: state --weights")
        size, source = held
        each = ceil_div(size, ranks)
        split = f", divided by {ranks} ranks" if ranks > 1 else ""
        return Term("weights", -1, each, each, source + split)

    def held_weights(self) -> tuple[int, str] | None:
        """Bytes of the whole model's weights, and the source; None where they are not known."""
        if self.weights is not None:
            return self.weights, self.weights_source
        return self.loaded_weights()

    def loaded_weights(self) -> tuple[int, str] | None:
        """What the engine makes of the published weights: as they are, unless it says otherwise."""
        published = self.model.weights
        return (published.bytes, published.kind) if published else None

    def overhead_term(self) -> Term:
        """What the engine needs beside weights and cache."""
        if self.overhead is None:
            raise ValueError(self.no_overhead())
        name = f"working memory: {self.working_memory}"
        return Term(name, -1, self.overhead, self.overhead, "stated")

    def no_overhead(self) -> str:
        """Why the working memory has to be stated, and how to find it."""
        raise NotImplementedError

    def capacity(self, tokens: int, available: int) -> Capacity:
        """What the engine makes of ``available`` bytes for sequences of ``tokens`` tokens."""
        raise NotImplementedError

    def longest(self, available: int) -> int:
        """The longest context of all users at once, in tokens; 0 where not even one token fits."""
        raise NotImplementedError

    def growth(self, tokens: int, sure: Capacity, best: Capacity) -> tuple[Term, ...]:
        """What goes from the memory for the cache while caches of ``tokens`` tokens grow."""
        return ()

    def smaller_caches(self) -> Iterator[Change]:
        """The same with a cache of fewer bytes, from the least cost to the most."""
        yield from ()

    def more_cards(self) -> Iterator[Change]:
        """The same on several such cards."""
        yield from ()

    @property
    def kept_as(self) -> str:
        """The format of the cache, in words."""
        return "16 bits (auto)" if self.kv_dtype == "auto" else self.kv_dtype

    @property
    def limit(self) -> int:
        """The most tokens a sequence may have: as many as the model is made for."""
        return self.model.longest_text or LONGEST


def largest(fits: Callable[[int], bool], most: int) -> int:
    """The largest number up to ``most`` that fits; 0 where none does.

    >>> largest(lambda count: count * count <= 50, 100)
    7
    """
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low


@cache
def claims() -> dict[str, Claim]:
    """All claims, read once."""
    return load_claims()


def cited_range(key: str) -> tuple[int, int]:
    """The two ends of a cited range, in bytes."""
    texts = (str(claims()[f"{key}.{end}"].value) for end in ("least", "most"))
    least, most = (Literal.parse(text) for text in texts)
    return int(least.number * least.scale), int(most.number * most.scale)


def cited(key: str) -> str:
    """The sources of both ends of such a range."""
    return ", ".join(claims()[f"{key}.{end}"].source for end in ("least", "most"))
