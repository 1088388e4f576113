"""The memory of a pool and the tokens it holds, against what a token takes on one GPU.

In: a ``Run`` and its ``Subject``. Out: ``Check``s.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import islice

from kvdocs.explain import bounds, remarks
from kvdocs.explain.buffers import window_pools
from kvdocs.explain.check import Check
from kvdocs.explain.comparing import per_token, rate, with_notes, with_remarks
from kvdocs.explain.plans import pools, requests_tokens, rules, tokens_check
from kvdocs.explain.reason import ENGINE, REASONS, Reason
from kvdocs.explain.reasons import BY_SCOPE
from kvdocs.explain.run import Run, by_tokens
from kvdocs.explain.subject import Subject
from kvdocs.logs.number import Number
from kvdocs.logs.phrase import Printed
from kvdocs.logs.reading import Reading
from kvdocs.logs.runs import every, lowest

ROOMY = 20  # a pool that holds more such requests than this was not made for one


def pool_checks(run: Run, subject: Subject) -> Iterator[Check]:
    """Memory ÷ tokens against the bytes a token takes on one GPU."""
    tokens, readings = run.tokens, run.readings
    if not tokens or not tokens[0]:
        return
    lost = 2 * run.block * subject.dcp  # whole blocks only, and one may be held back by the engine
    if apart := window_pools(readings, lost, subject):
        yield from apart
        return
    memory = lowest(readings, Number.MEMORY)
    mixed = memory and not subject.uniform and tokens[1].phrase.engine == "vLLM"
    if mixed and run.length and (found := _planned(run, subject, run.length, _allowed(run))):
        yield found
        return
    if run.by_hand:
        profiled = lowest(readings, Number.PROFILED)
        if not profiled or not subject.uniform:
            if mixed and run.length:
                yield from _by_hand(run, subject, run.length, *tokens)
            return
        tokens = profiled[0].value * run.block * subject.dcp, profiled[1]
    yield from _rates(run, subject, tokens, lost, bool(mixed))


def _by_hand(
    run: Run, subject: Subject, length: int, tokens: Fraction, reading: Reading
) -> Iterator[Check]:
    """Tokens that no rule gives for the blocks set by hand."""
    for pool in islice(pools(run, subject), 1):
        formula = Fraction(requests_tokens(pool, run.by_hand or 0, length))
        title = f"tokens of {run.by_hand:,} blocks set by hand"
        yield Check("plan", title, reading.line, tokens, tokens, tokens, formula, "tokens")


def _rates(
    run: Run, subject: Subject, tokens: tuple[Fraction, Reading], lost: int, mixed: bool
) -> Iterator[Check]:
    """Each memory ÷ tokens; ``mixed``: of a model for which vLLM may print blocks by groups."""
    parts = (
        ("pool", "memory ÷ tokens", Number.MEMORY, subject.rate),
        ("keys", "memory of keys ÷ tokens", Number.K_SIZE, subject.keys),
        ("values", "memory of values ÷ tokens", Number.V_SIZE, subject.values),
    )
    for key, title, number, of_a_token in parts:
        size = lowest(run.readings, number)
        if not size or Number.CELLS in size[1]:
            continue
        ends = per_token(size[0], tokens[0], lost)
        check = rate(key, title, tokens[1].line, ends, of_a_token(), subject, ENGINE, BY_SCOPE)
        grouped = _by_group(run, subject) if mixed and key == "pool" else None
        if grouped and not check.agrees:
            yield grouped
            return
        if grouped:
            check = replace(check, instead=grouped.reasons)
        if not check.agrees and not check.reasons:
            check = with_notes(check, *_inferred(run, subject, check, size[0], tokens[0]))
        yield with_remarks(check, *_pool_notes(check, *size, run.length, subject))


def _allowed(run: Run) -> tuple[bool, ...]:
    """Of the rules that the version allows those that the concurrency does: it is the tokens by the
    longest request only where these are the requests'."""
    printed = [by_tokens(run, *pair) for pair in every(run.readings, Number.CONCURRENCY)]
    agree = {check.agrees for check in printed if check}
    return tuple(rule for rule in rules(run) if agree <= {not rule})


def _planned(run: Run, subject: Subject, length: int, allowed: tuple[bool, ...]) -> Check | None:
    """The tokens as one of vLLM's rules has them."""
    memory, tokens = lowest(run.readings, Number.MEMORY), run.tokens
    if not memory or not tokens:
        return None
    printed = tokens[0], tokens[1].line
    return tokens_check(run, subject, memory[0], printed, length, allowed)


def _by_group(run: Run, subject: Subject) -> Check | None:
    """The tokens as blocks by groups, where the version allows it and no concurrency denies it."""
    if True not in rules(run) or not run.tokens:
        return None
    return _planned(run, subject, run.length or int(run.tokens[0]), (True,))


def _inferred(
    run: Run, subject: Subject, check: Check, memory: Printed, tokens: Fraction
) -> Iterator[Reason]:
    """What can only be inferred, and only where the number is within what the layout allows."""
    ratio = check.ratio or Fraction(0)
    if not subject.plain and subject.uniform:
        if bounds.in_own_format(ratio):
            yield remarks.OWN_FORMAT
    elif not subject.uniform:
        if run.tokens and run.tokens[1].phrase.engine == "vLLM":
            span = bounds.of_requests(run, subject, tokens, run.length)
            lost = bounds.MOST_LOST if subject.tp > 1 else 1
            if span.meets(memory.low / lost, memory.high):
                yield remarks.PERHAPS_SHARED if subject.plain else remarks.OWN_FORMAT
        elif (
            check.key == "pool" and subject.only(subject.full).rate() <= check.high < check.formula
        ):
            yield remarks.WINDOWS_PARTLY
    elif subject.tp > 1 and 1 < ratio <= bounds.MOST_LOST:
        yield remarks.LOWEST_RANK


def _pool_notes(
    check: Check, memory: Printed, reading: Reading, length: int | None, subject: Subject
) -> Iterator[Reason]:
    if "GB" in reading.phrase.text and memory.quantity.unit == "GiB":
        yield remarks.GIB_CALLED_GB
    if not check.agrees:
        return
    if (
        length and subject.layout.bytes(length) * ROOMY < memory.value
    ) or reading.phrase.engine == "TensorRT-LLM":
        yield remarks.reserved(reading.phrase.engine)
    if subject.tp > 1 and subject.over_all_ranks < subject.tp:
        heads = subject.layout.kv_heads
        yield remarks.WHOLE_LATENT if not heads else REASONS["head_copies"]
