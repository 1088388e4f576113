"""The numbers of a log held against one another and against the formula.

In: an ``EngineLog`` and, where the model is known, its ``Subject``. Out: ``Check``s: what was
printed, what the formula gives, their ratio, and the named reasons. A number agrees if the
formula's value would be printed alike, that is to the last digit that was written.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

from kvdocs.explain import bounds, remarks
from kvdocs.explain.buffers import buffers, of_another_model
from kvdocs.explain.calculations import claim_checks, said_twice
from kvdocs.explain.check import Check
from kvdocs.explain.comparing import as_printed, per_token, rate, with_notes, with_reasons
from kvdocs.explain.plans import concurrency_check
from kvdocs.explain.pools import pool_checks
from kvdocs.explain.reason import ENGINE
from kvdocs.explain.reasons import BY_SCOPE
from kvdocs.explain.run import Run, by_tokens, runs_of
from kvdocs.explain.subject import Subject
from kvdocs.logs.number import Number
from kvdocs.logs.phrase import Printed
from kvdocs.logs.reading import EngineLog, Reading
from kvdocs.logs.runs import every, lowest, pool_tokens

UNKNOWN_MODEL = (
    "The concurrency is not tokens ÷ tokens per request. So it is in models with windows or "
    "states; without the model it is compared with nothing"
)
ANOTHER_MODEL = (
    "This cache has another number of layers than the model, so it is of another model, as for "
    "drafts of speculative decoding, and is not compared"
)


def reconcile(log: EngineLog, *held: Subject | None) -> list[Check]:
    """Every comparison that the log's numbers allow, in the order of the log. ``held`` are the
    subjects of its start-ups, or one for all of them."""
    every_run = list(runs_of(log, held))
    found = [check for run in every_run for check in _checks(run)]
    return list(dict.fromkeys(found + _between(every_run)))


def _checks(run: Run) -> Iterator[Check]:
    yield from _identities(run)
    if not run.subject:
        yield from said_twice(run.readings)
        return
    yield from pool_checks(run, run.subject)
    yield from _request(run, run.subject)
    for reading in run.readings:
        yield from buffers(reading, run.readings, run.subject)
        yield from claim_checks(reading, run.subject)


def not_compared(log: EngineLog, *held: Subject | None) -> list[tuple[int, str]]:
    """Lines whose numbers are compared with nothing though they might be, and why."""
    notes = []
    for run in runs_of(log, held):
        for printed, reading in every(run.readings, Number.CONCURRENCY):
            check = by_tokens(run, printed, reading)
            if check and not check.agrees and not run.subject:
                notes.append((reading.line, UNKNOWN_MODEL))
        for reading in run.readings:
            if run.subject and of_another_model(reading, run.subject):
                notes.append((reading.line, ANOTHER_MODEL))
    return list(dict.fromkeys(notes))


def _identities(run: Run) -> Iterator[Check]:
    """What must hold within the log, whatever the model; the first two not with windows, states."""
    readings, block = run.readings, run.block
    counted = lowest(readings, Number.TOKENS)
    for blocks, reading in every(readings, Number.BLOCKS):
        if counted and reading.phrase.key == "vllm.blocks":
            yield _blocks(f"tokens = blocks × {block}", blocks.value * block, counted)
    if run.by_hand and counted and run.subject and run.subject.uniform:
        spread = run.subject.dcp
        title = f"tokens = blocks set by hand × {block * spread}"
        check = _blocks(title, Fraction(run.by_hand * block * spread), counted)
        yield with_notes(check, *((remarks.BY_HAND,) if check.agrees else ()))
    for printed, reading in every(readings, Number.CONCURRENCY):
        requests = by_tokens(run, printed, reading)
        if requests and (requests.agrees or (run.subject and run.subject.uniform)):
            yield requests
        elif requests and run.subject:
            yield _planned_concurrency(run, run.subject, requests, printed, reading)
    spent = (Number.WEIGHTS, Number.OTHER, Number.ACTIVATION)
    parts = [lowest(readings, number) for number in (Number.TOTAL, Number.SHARE, *spent)]
    memory = lowest(readings, Number.MEMORY)
    if memory and all(parts):
        total, share, *others = (part[0] for part in parts if part)
        formula = total.value * share.value - sum(part.value for part in others)
        slack = (total.high - total.low) / 2 + sum((p.high - p.low) / 2 for p in others)
        title = "cache = total × utilization − weights − other − activations"
        low, high = memory[0].low - slack, memory[0].high + slack
        value, line = memory[0].value, memory[1].line
        yield Check("budget", title, line, value, low, high, formula, "bytes")


def _blocks(title: str, formula: Fraction, tokens: tuple[Printed, Reading]) -> Check:
    value, line = tokens[0].value, tokens[1].line
    return Check("blocks", title, line, value, value, value, formula, "tokens")


def _planned_concurrency(
    run: Run, subject: Subject, check: Check, printed: Printed, reading: Reading
) -> Check:
    """The concurrency of a model with windows or states: as vLLM plans it, else within its bounds;
    without the memory as many blocks as the tokens take."""
    memory, length = lowest(run.readings, Number.MEMORY), int(reading.printed(Number.LENGTH).value)
    if memory:
        line = reading.line
        found = concurrency_check(run, subject, printed, line, memory[0], length)
        if found:
            return found
        room = memory[0].low, memory[0].high
    elif run.tokens:
        whole = bounds.of_requests(run, subject, run.tokens[0], length)
        room = whole.least, whole.most if whole.most is not None else whole.least
    span = bounds.of_requests(run, subject, Fraction(length), length)
    low, high = span.times(printed.low, printed.high)
    if not run.by_hand and low <= room[1] and (high is None or room[0] <= high):
        return with_notes(check, remarks.PERHAPS_SHARED)
    return check


def _request(run: Run, subject: Subject) -> Iterator[Check]:
    """What one request needs, and the longest that fits, in the words of the start-up error."""
    readings, block = run.readings, run.block
    for needed, reading in every(readings, Number.NEEDED):
        length = -(-reading.printed(Number.LENGTH).value // block) * block
        formula = subject.rate() * length / subject.dcp
        title = f"needed for one request of {int(length):,} tokens"
        check = as_printed("request", title, reading, needed, formula, "bytes")
        check = with_reasons(check, subject, ENGINE, BY_SCOPE)
        yield _within(run, subject, check, Fraction(length), needed.low, needed.high)
    longest, available = lowest(readings, Number.LONGEST), lowest(readings, Number.AVAILABLE)
    if longest and available and longest[0].value:
        tokens, memory = longest[0].value, available[0]
        ends = per_token(memory, tokens, 2 * block * subject.dcp)
        title = "memory ÷ longest request that fits"
        formula = subject.rate() / subject.dcp
        check = rate("longest", title, longest[1].line, ends, formula, subject, ENGINE, BY_SCOPE)
        yield _within(run, subject, check, tokens, memory.low / 2, memory.high)


def _within(
    run: Run, subject: Subject, check: Check, length: Fraction, low: Fraction, high: Fraction
) -> Check:
    """The check with what can be inferred of one request of a model with windows or states."""
    if check.agrees or check.reasons:
        return check
    if subject.uniform:
        own = not subject.plain and bounds.in_own_format(check.ratio or Fraction(0))
        return with_notes(check, *((remarks.OWN_FORMAT,) if own else ()))
    span = bounds.of_requests(run, subject, length, int(length))
    if not span.meets(low, high):
        return check
    return with_notes(check, remarks.PERHAPS_SHARED if subject.plain else remarks.OWN_FORMAT)


def _between(found: list[Run]) -> list[Check]:
    """Two start-ups of one log on the same memory: the pools' ratio has a reason."""
    checks = []
    for before, after in pairwise(found):
        subject, block = after.subject, after.block
        first, second = (pool_tokens(run.readings, block) for run in (before, after))
        sizes = [
            lowest(run.readings, number)
            for run in (before, after)
            for number in (Number.MEMORY, Number.K_SIZE)
        ]
        if not (first and second and subject) or any(sizes) or not first[0]:
            continue
        if before.subject != subject:
            continue
        low, high = second[0] / (first[0] + block), (second[0] + block) / first[0]
        if low <= 1 <= high:
            continue
        title = "second pool ÷ first, if the memory was the same"
        ends = second[0] / first[0], low, high
        check = Check("pools", title, second[1].line, *ends, Fraction(1), "×")
        checks.append(with_reasons(check, subject, ENGINE))
    return checks
