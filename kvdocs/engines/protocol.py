"""What every engine answers to, whatever the question: for the reader and the type checker.

In: nothing. Out: ``Engine``, ``Pool`` and ``Capacity``. Nothing here runs; who names one of these
imports it for the type checker only, because ``typing`` takes longer to import than an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, Protocol

from kvdocs.engines.face import LONGEST, Change
from kvdocs.engines.terms import Term
from kvdocs.facts.gpus import Gpu
from kvdocs.facts.models import Model


class Capacity(Protocol):
    """What an engine makes of the memory for the cache."""

    @property
    def sequences(self) -> int:
        """How many sequences of the length asked for fit at once."""


class Pool(Protocol):
    """One model's cache in one engine; sizes in bytes, on one rank where there are several."""

    @property
    def kv_dtype(self) -> str:
        """The format that a flag asks for, or the config names."""

    @property
    def kept_as(self) -> str:
        """The format of the cache, in words."""

    @property
    def named_by(self) -> str | None:
        """The config's field that named the format; None where a flag or a default did."""

    def sequence_bytes(self, tokens: int) -> int:
        """The most that one sequence of ``tokens`` tokens holds."""

    def one_sequence(self, tokens: int) -> dict[str, int | str | None]:
        """What one sequence of ``tokens`` tokens takes, under the engine's own keys; ``bytes`` is
        one of them."""

    def capacity(self, tokens: int, available: int, users: int | None = None) -> Capacity:
        """What ``available`` bytes have room for: sequences of ``tokens`` tokens.

        Raises:
            Refused: the engine cannot serve so many or so long ones.
        """

    def longest(self, available: int, users: int = 1, limit: int = LONGEST) -> int:
        """The longest context of ``users`` sequences at once, at most ``limit`` tokens; 0 where not
        even one token fits."""

    def growth(
        self, tokens: int, users: int | None, sure: Capacity, best: Capacity
    ) -> tuple[Term, ...]:
        """What goes from the memory for the cache while caches of ``tokens`` tokens grow."""


class Engine(Protocol):
    """A module of ``kvdocs.engines``; ``flags`` are always its own ``Flags``."""

    KEY: str  # as --engine names it
    TITLE: str  # the engine with its version
    WORKING_MEMORY: str  # what it needs beside weights and cache, in words
    WEIGHT_BITS: Mapping[str, Fraction]  # formats of weights that it takes, bits of one weight
    SMALLER_WEIGHTS: tuple[str, ...]  # those to try where the published ones do not fit

    @property
    def Flags(self) -> Callable[..., Any]:
        """The flags that decide how it holds a model, with its defaults."""

    @property
    def flags(self) -> Callable[..., Any]:
        """Its ``Flags`` from a cache dtype and options, by the names that the commands have."""

    def hold(self, model: Model, flags: Any, card: Gpu | None) -> Pool:
        """The pool for ``model`` on ``card``, None where the card is not known.

        Raises:
            Refused: the engine refuses the combination, or how it holds it is not known here.
            ConfigError: a field of the config has no usable value.
        """

    def ranks(self, flags: Any) -> int:
        """Cards that hold the model together."""

    def loaded_weights(self, model: Model, card: Gpu | None) -> tuple[int, str] | None:
        """Bytes of the whole model's weights as loaded, and their source; None if not known."""

    def unused(self, flags: Any, memory: int, kept: tuple[int, int]) -> tuple[Term, ...]:
        """What it leaves alone of ``memory``; ``kept`` is the driver's part, least and most."""

    def working_memory(self, memory: int, card: Gpu | None) -> Term:
        """What it needs beside weights and cache.

        Raises:
            Refused: that is not known here and has to be stated.
        """

    def smaller_caches(
        self, model: Model, flags: Any, card: Gpu | None, tokens: int, users: int
    ) -> Iterator[Change]:
        """Flags that make the cache smaller, from the least cost to the most."""

    def more_cards(self, flags: Any) -> Iterator[Change]:
        """Flags that spread the model over more such cards."""
