"""Sizes that a person or a calculator states, held against the formula.

In: the ``Reading``s of a run. Out: ``Check``s.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from kvdocs.explain import remarks
from kvdocs.explain.check import Check
from kvdocs.explain.comparing import as_printed, per_token, rate, with_notes, with_reasons
from kvdocs.explain.reason import CLAIM
from kvdocs.explain.subject import Subject
from kvdocs.formula.layout import CacheLayout
from kvdocs.logs.number import Number
from kvdocs.logs.reading import Reading
from kvdocs.logs.runs import every


def claim_checks(reading: Reading, subject: Subject) -> Iterator[Check]:
    """A size that a person or a calculator states, per token, per block or for so many tokens."""
    line, whole = reading.line, subject.rate() * subject.over_all_ranks
    if Number.RATE in reading:
        ends = per_token(reading.printed(Number.RATE), Fraction(1))
        yield rate("claim", "bytes per token", line, ends, whole, subject, CLAIM)
    if Number.BLOCK_MEMORY in reading:
        memory, size = (
            reading.printed(Number.BLOCK_MEMORY),
            reading.printed(Number.BLOCK_SIZE).value,
        )
        ends = per_token(memory, size)
        yield rate("claim", "block ÷ its tokens", line, ends, whole, subject, CLAIM)
    if Number.CLAIMED in reading:
        memory, tokens = reading.printed(Number.CLAIMED), int(reading.printed(Number.COUNT).value)
        times = reading.printed(Number.TIMES).value if Number.TIMES in reading else Fraction(1)
        formula = subject.layout.bytes(tokens) * times
        title = f"caches of {int(times):,} × {tokens:,} tokens"
        check = as_printed("claim", title, reading, memory, formula, "bytes")
        full = whole * tokens * times
        if not check.agrees and memory.low <= full <= memory.high and subject.sliding:
            yield with_notes(check, remarks.WINDOWS_FULL)
        else:
            yield with_reasons(check, subject, CLAIM)


def said_twice(run: list[Reading]) -> Iterator[Check]:
    """Bytes per token as somebody states them, against the memory and tokens they also state."""
    sizes = [r for r in run if Number.CLAIMED in r and Number.COUNT in r and Number.TIMES not in r]
    for stated, reading in every(run, Number.RATE):
        for other in sizes:
            memory, count = other.printed(Number.CLAIMED), other.printed(Number.COUNT)
            formula = memory.value / count.value
            low = stated.low * formula / (memory.high / count.low)
            high = stated.high * formula / (memory.low / count.high)
            title = "bytes per token as stated, against memory ÷ tokens"
            ends, unit = (stated.value, low, high), "bytes per token"
            check = Check("rate", title, reading.line, *ends, formula, unit)
            yield with_reasons(check, Subject(CacheLayout(())), CLAIM)
