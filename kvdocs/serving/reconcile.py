"""The numbers of a log held against one another and against the formula.

In: an ``EngineLog`` and, where the model is known, its ``Subject``. Out: ``Check``s: what was
printed, what the formula gives, their ratio, and the named reasons. A number agrees if the
formula's value would be printed alike, that is to the last digit that was written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

from kvdocs.formula.layout import CacheLayout
from kvdocs.serving import reasons as why
from kvdocs.serving import remarks
from kvdocs.serving.check import Check
from kvdocs.serving.logs.phrase import Printed
from kvdocs.serving.logs.reading import EngineLog, Reading
from kvdocs.serving.logs.runs import every, longest_request, lowest, pool_tokens, runs
from kvdocs.serving.planned import planned
from kvdocs.serving.reasons import CLAIM, ENGINE, Reason
from kvdocs.serving.subject import Subject, state_bytes
from kvdocs.serving.vllm.layers import Options

ROOMY = 20  # a pool that holds more such requests than this was not made for one
MOST_LOST = Fraction(3, 2)  # a rank with more than this beyond another's is not "a bit more free"


def reconcile(log: EngineLog, subject: Subject | None) -> list[Check]:
    """Every comparison that the log's numbers allow, in the order of the log."""
    block = log.settings.block_size or Options.block_size
    found: list[Check] = []
    for run in runs(log):
        found += _identities(run, block, subject)
        if not subject:
            found += _said_twice(run)
        else:
            found += _pool(run, block, subject, log)
            found += _request(run, block, subject)
            for reading in run:
                found += [*_cache(reading, run, subject), *_claim(reading, subject)]
    return list(dict.fromkeys(found + _between(list(runs(log)), block, subject)))


def _identities(run: list[Reading], block: int, subject: Subject | None) -> Iterator[Check]:
    """What must hold within the log, whatever the model; the first two not with windows, states."""
    tokens = pool_tokens(run, block)
    for blocks, reading in every(run, "blocks"):
        counted = lowest(run, "tokens")
        if counted and reading.phrase.key == "vllm.blocks":
            value, line = counted[0].value, counted[1].line
            title = f"tokens = blocks × {block}"
            yield Check("blocks", title, line, value, value, value, blocks.value * block, "tokens")
    for printed, reading in every(run, "concurrency"):
        length = reading.printed("length").value
        if tokens and length:
            title = "concurrency = tokens ÷ tokens per request"
            formula = tokens[0] / length
            check = _as_printed("concurrency", title, reading, printed, formula, "×")
            mixed = not check.agrees and (subject is None or not subject.uniform)
            yield _with(check, (remarks.PERHAPS_SHARED,) if mixed else ())
    parts = [lowest(run, name) for name in ("total", "share", "weights", "other", "activation")]
    memory = lowest(run, "memory")
    if memory and all(parts):
        total, share, *spent = (part[0] for part in parts if part)
        formula = total.value * share.value - sum(part.value for part in spent)
        slack = (total.high - total.low) / 2 + sum((p.high - p.low) / 2 for p in spent)
        title = "cache = total × utilization − weights − other − activations"
        low, high = memory[0].low - slack, memory[0].high + slack
        value, line = memory[0].value, memory[1].line
        yield Check("budget", title, line, value, low, high, formula, "bytes")


def _pool(run: list[Reading], block: int, subject: Subject, log: EngineLog) -> Iterator[Check]:
    """Memory ÷ tokens against the bytes a token takes on one GPU."""
    tokens = pool_tokens(run, block)
    if not tokens or not tokens[0]:
        return
    length = log.settings.length or longest_request(run)
    if length and not subject.uniform and (memory := lowest(run, "memory")):
        batch, line = log.settings.in_flight, tokens[1].line
        if found := planned(memory[0], tokens[0], line, length, batch, block, subject):
            yield found
            return
    parts = (
        ("pool", "memory ÷ tokens", "memory", subject.rate),
        ("keys", "memory of keys ÷ tokens", "k_size", subject.keys),
        ("values", "memory of values ÷ tokens", "v_size", subject.values),
    )
    for key, title, name, of_a_token in parts:
        memory = lowest(run, name)
        if not memory or "cells" in memory[1]:
            continue
        formula = of_a_token()
        # Whole blocks only: up to one is lost, and one may be held back by the engine.
        rates = _per_token(memory[0], tokens[0], 2 * block)
        check = _rate(key, title, tokens[1].line, *rates, formula, subject, ENGINE)
        notes = _pool_notes(check, *memory, length, subject)
        yield _with(check, (*check.reasons, *notes))


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
        yield remarks.WHOLE_LATENT if not heads else _named("head_copies")


def _request(run: list[Reading], block: int, subject: Subject) -> Iterator[Check]:
    """What one request needs, and the longest that fits, in the words of the start-up error."""
    for needed, reading in every(run, "needed"):
        length = -(-reading.printed("length").value // block) * block
        formula = subject.rate() * length
        title = f"needed for one request of {int(length):,} tokens"
        check = _as_printed("request", title, reading, needed, formula, "bytes")
        yield _explained(check, subject, ENGINE)
    longest, available = lowest(run, "longest"), lowest(run, "available")
    if longest and available and longest[0].value:
        rates = _per_token(available[0], longest[0].value, 2 * block)
        title = "memory ÷ longest request that fits"
        line = longest[1].line
        yield _rate("longest", title, line, *rates, subject.rate(), subject, ENGINE)


def _cache(reading: Reading, run: list[Reading], subject: Subject) -> Iterator[Check]:
    """llama.cpp's buffers, allocated for so many cells; its recurrent states."""
    if "state" in reading:
        states, size = reading.printed("states").value, reading.printed("state")
        if formula := states * state_bytes(subject):
            title = f"recurrent states of {int(states):,} sequences"
            check = _as_printed("states", title, reading, size, formula, "bytes")
            yield _with(check, (remarks.SHORT_CONVOLUTION,) if check.agrees else ())
        return
    if "memory" not in reading or reading.phrase.engine != "llama.cpp":
        return
    memory = reading.printed("memory")
    layers = reading.printed("layers").value if "layers" in reading else None
    cells = _cells(reading, run, subject)
    if not cells:
        return
    part = _part(subject, layers)
    held = part or subject
    keys, values = (reading.values.get(name, "") for name in ("k_type", "v_type"))
    if keys:
        held = replace(held, dtype=keys, dtype_known=True)
    formula = held.rate(keys, values) * cells
    title = f"cache for {int(cells):,} cells"
    check = _as_printed("cache", title, reading, memory, formula, "bytes")
    check = _explained(check, held, ENGINE)
    notes = [remarks.GIB_CALLED_GB] if " MB" in reading.phrase.text else []
    slots = lowest(run, "length")
    if (slots and slots[0].quantity.unit == "cells" and slots[0].value < cells) or (
        (many := lowest([reading], "sequences")) and many[0].value > 1
    ):
        notes.append(remarks.SLOTS)
    yield _with(check, (*check.reasons, *notes))


def _cells(reading: Reading, run: list[Reading], subject: Subject) -> Fraction | None:
    if "cell_layers" in reading:
        return reading.printed("cell_layers").value / len(subject.keeping)
    found = lowest([reading], "cells") or lowest(run, "cells")
    return found[0].value if found else None


def _part(subject: Subject, layers: Fraction | None) -> Subject | None:
    """The part of a model that a line is about, told by the number of its layers."""
    kept = subject.keeping
    full = [layer for layer in kept if layer.window is None]
    for group in (kept, full, subject.sliding):
        if layers == len(group):
            return replace(subject, layout=CacheLayout(tuple(group)))
    return None


def _claim(reading: Reading, subject: Subject) -> Iterator[Check]:
    """A size that a person or a calculator states, per token, per block or for so many tokens."""
    line, whole = reading.line, subject.rate() * subject.over_all_ranks
    if "rate" in reading:
        rates = _per_token(reading.printed("rate"), Fraction(1))
        yield _rate("claim", "bytes per token", line, *rates, whole, subject, CLAIM)
    if "block_memory" in reading:
        memory, size = reading.printed("block_memory"), reading.printed("block_size").value
        rates = _per_token(memory, size)
        yield _rate("claim", "block ÷ its tokens", line, *rates, whole, subject, CLAIM)
    if "claimed" in reading:
        memory, tokens = reading.printed("claimed"), int(reading.printed("count").value)
        times = reading.printed("times").value if "times" in reading else Fraction(1)
        formula = subject.layout.bytes(tokens) * times
        title = f"caches of {int(times):,} × {tokens:,} tokens"
        check = _as_printed("claim", title, reading, memory, formula, "bytes")
        full = whole * tokens * times
        if not check.agrees and memory.low <= full <= memory.high and subject.sliding:
            yield _with(check, (remarks.WINDOWS_FULL,))
        else:
            yield _explained(check, subject, CLAIM)


def _said_twice(run: list[Reading]) -> Iterator[Check]:
    """Bytes per token as somebody states them, against the memory and tokens they also state."""
    stated = [r for r in run if "claimed" in r and "count" in r and "times" not in r]
    for rate, reading in every(run, "rate"):
        for other in stated:
            memory, count = other.printed("claimed"), other.printed("count")
            formula = memory.value / count.value
            low = rate.low * formula / (memory.high / count.low)
            high = rate.high * formula / (memory.low / count.high)
            title = "bytes per token as stated, against memory ÷ tokens"
            ends, unit = (rate.value, low, high), "bytes per token"
            check = Check("rate", title, reading.line, *ends, formula, unit)
            yield _explained(check, Subject(CacheLayout(())), CLAIM)


def _between(found: list[list[Reading]], block: int, subject: Subject | None) -> list[Check]:
    """Two start-ups of one log on the same memory: the pools' ratio has a reason."""
    checks = []
    for before, after in pairwise(found):
        first, second = pool_tokens(before, block), pool_tokens(after, block)
        sizes = [lowest(run, "memory") for run in (before, after)]
        if not (first and second and subject) or any(sizes) or not first[0]:
            continue
        low, high = second[0] / (first[0] + block), (second[0] + block) / first[0]
        if low <= 1 <= high:
            continue
        title = "second pool ÷ first, if the memory was the same"
        ends = second[0] / first[0], low, high
        check = Check("pools", title, second[1].line, *ends, Fraction(1), "×")
        checks.append(_explained(check, subject, ENGINE))
    return checks


def _rate(
    key: str,
    title: str,
    line: int,
    printed: Fraction,
    low: Fraction,
    high: Fraction,
    formula: Fraction,
    subject: Subject,
    of: str,
) -> Check:
    unit = "bytes per token" + (" on one GPU" if subject.tp > 1 and of == ENGINE else "")
    return _explained(Check(key, title, line, printed, low, high, formula, unit), subject, of)


def _as_printed(
    key: str, title: str, reading: Reading, one: Printed, formula: Fraction, unit: str
) -> Check:
    return Check(key, title, reading.line, one.value, one.low, one.high, formula, unit)


def _per_token(
    memory: Printed, tokens: Fraction, lost: int = 0
) -> tuple[Fraction, Fraction, Fraction]:
    """Memory ÷ tokens, and its ends: up to ``lost`` tokens more may have had room."""
    return memory.value / tokens, memory.low / (tokens + lost), memory.high / tokens


def _explained(check: Check, subject: Subject, of: str) -> Check:
    """The check with its reasons: none needed, exact ones, else what can be inferred."""
    if check.agrees:
        full = subject.sliding and len(subject.sliding) < len(subject.layout.layers)
        return _with(check, (remarks.WINDOWS_FULL,) if full and of == ENGINE else ())
    exact, instead = why.explain(check.low, check.high, check.formula, subject, of)
    if exact or of == CLAIM:
        return replace(_with(check, exact), instead=instead)
    ratio = check.ratio or Fraction(0)
    if not subject.plain:
        return _with(check, (remarks.OWN_FORMAT,))
    if not subject.uniform:
        return _with(check, (remarks.PERHAPS_SHARED,))
    if subject.tp > 1 and check.key in ("pool", "keys", "values") and 1 < ratio <= MOST_LOST:
        return _with(check, (remarks.LOWEST_RANK,))
    return check


def _with(check: Check, reasons: tuple[Reason, ...]) -> Check:
    return replace(check, reasons=tuple(dict.fromkeys(reasons)))


def _named(key: str) -> Reason:
    return next(reason for reason in why.REASONS if reason.key == key)
