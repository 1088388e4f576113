"""One start-up of an engine: what it printed, what the log states of it, what it is held against.

In: an ``EngineLog`` and the ``Subject``s of its start-ups. Out: ``Run``s.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

from kvdocs.engines.vllm.layers import Options
from kvdocs.explain.check import Check
from kvdocs.explain.comparing import as_printed
from kvdocs.explain.subject import Subject
from kvdocs.logs.number import Number
from kvdocs.logs.phrase import Printed
from kvdocs.logs.reading import EngineLog, Reading
from kvdocs.logs.runs import longest_request, lowest, pool_tokens, runs
from kvdocs.logs.start_up import StartUp
from kvdocs.startup import dataclass


@dataclass(frozen=True)
class Run:
    """One start-up: what it printed, what the log states of it, what it is held against."""

    readings: list[Reading]
    start_up: StartUp
    subject: Subject | None

    @property
    def block(self) -> int:
        """Tokens of a block."""
        return self.start_up.block_size or Options.block_size

    @property
    def length(self) -> int | None:
        """The longest request."""
        return self.start_up.length or longest_request(self.readings)

    @cached_property
    def tokens(self) -> tuple[Fraction, Reading] | None:
        """How many the pool holds."""
        return pool_tokens(self.readings, self.block)

    @property
    def by_hand(self) -> int | None:
        """The number of blocks, where a flag sets it."""
        found = lowest(self.readings, Number.OVERRIDE)
        return int(found[0].value) if found else None


def runs_of(log: EngineLog, held: tuple[Subject | None, ...]) -> Iterator[Run]:
    """Every run of a log; ``held`` are the subjects of its start-ups, or one for all of them."""
    for run in runs(log):
        place = log.start_up_of(run[0])
        yield Run(run, log.start_ups[place], held[place if len(held) > 1 else 0])


def by_tokens(run: Run, printed: Printed, reading: Reading) -> Check | None:
    """The concurrency of a model in which every layer keeps every token."""
    length = reading.printed(Number.LENGTH).value
    if not run.tokens or not length:
        return None
    title = "concurrency = tokens ÷ tokens per request"
    formula = run.tokens[0] / length
    check = as_printed("concurrency", title, reading, printed, formula, "×")
    return replace(check, low=check.low - 1 / length)  # the tokens are cut to a whole number
