"""Caches that an engine prints a line for, layers and all, held against the formula.

In: a ``Reading`` of llama.cpp's buffers and states, or of SGLang's pools of a model with windows.
Out: ``Check``s; and whether a line is of another model, whose cache is then not compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from kvdocs.explain import remarks
from kvdocs.explain.check import Check
from kvdocs.explain.comparing import (
    as_printed,
    per_token,
    rate,
    with_notes,
    with_reasons,
    with_remarks,
)
from kvdocs.explain.reason import ENGINE
from kvdocs.explain.reasons import BY_SCOPE
from kvdocs.explain.subject import Subject, state_bytes
from kvdocs.logs.number import Number
from kvdocs.logs.reading import Reading
from kvdocs.logs.runs import every, lowest


def buffers(reading: Reading, run: list[Reading], subject: Subject) -> Iterator[Check]:
    """llama.cpp's buffers, allocated for so many cells; its recurrent states."""
    if Number.STATE in reading:
        states, size = reading.printed(Number.STATES).value, reading.printed(Number.STATE)
        if formula := states * state_bytes(subject):
            title = f"recurrent states of {int(states):,} sequences"
            check = as_printed("states", title, reading, size, formula, "bytes")
            yield with_notes(check, *((remarks.SHORT_CONVOLUTION,) if check.agrees else ()))
        return
    cells = _cells(reading, run, subject)
    if not cells or of_another_model(reading, subject):
        return
    memory = reading.printed(Number.MEMORY)
    held = _part(subject, reading) or subject
    keys, values = reading.word("k_type"), reading.word("v_type")
    if keys:
        held = replace(held, dtype=keys, dtype_known=True)
    formula = held.rate(keys, values) * cells
    title = f"cache for {int(cells):,} cells"
    check = as_printed("cache", title, reading, memory, formula, "bytes")
    check = with_reasons(check, held, ENGINE)
    if not check.agrees and not check.reasons and not subject.plain:
        check = with_notes(check, remarks.OWN_FORMAT)
    notes = [remarks.GIB_CALLED_GB] if " MB" in reading.phrase.text else []
    slots = lowest(run, Number.LENGTH)
    if (slots and slots[0].quantity.unit == "cells" and slots[0].value < cells) or (
        (many := lowest([reading], Number.SEQUENCES)) and many[0].value > 1
    ):
        notes.append(remarks.SLOTS)
    yield with_remarks(check, *notes)


def of_another_model(reading: Reading, subject: Subject) -> bool:
    """Whether a buffer has another number of layers than the model or a part of it, one layer for
    drafts aside: then it is another model's, for drafts or pictures."""
    if not _is_buffer(reading) or Number.LAYERS not in reading:
        return False
    every_layer = len(subject.layout.layers)
    kept = sum(map(bool, subject.elements))
    own = {every_layer, every_layer + 1, kept, kept + 1}
    layers = reading.printed(Number.LAYERS).value
    return _part(subject, reading) is None and layers not in own


def _is_buffer(reading: Reading) -> bool:
    return Number.MEMORY in reading and reading.phrase.engine == "llama.cpp"


def _cells(reading: Reading, run: list[Reading], subject: Subject) -> Fraction | None:
    if not _is_buffer(reading):
        return None
    if Number.CELL_LAYERS in reading:
        return reading.printed(Number.CELL_LAYERS).value / len(subject.keeping)
    found = lowest([reading], Number.CELLS) or lowest(run, Number.CELLS)
    return found[0].value if found else None


def _part(subject: Subject, reading: Reading) -> Subject | None:
    """The part of a model that a line is about, told by the number of its layers."""
    layers = reading.printed(Number.LAYERS).value if Number.LAYERS in reading else None
    for group in (subject.keeping, subject.full, subject.sliding):
        if layers == len(group):
            return subject.only(group)
    return None


def window_pools(run: list[Reading], lost: int, subject: Subject) -> list[Check]:
    """SGLang's two pools of a model with windows: one of the layers that keep every token, one of
    those that slide. Empty where its lines are not of two such pools."""
    if not subject.sliding or not subject.full:
        return []
    checks: list[Check] = []
    for reading in run:
        if Number.TOKENS in reading and Number.K_SIZE in reading:
            checks += _window_pool(reading, run, lost, subject)
    return checks


def _window_pool(
    reading: Reading, run: list[Reading], lost: int, subject: Subject
) -> tuple[Check, ...]:
    """Keys and values of one pool: of the layers that the line on windows says it is of, else of
    those that it fits, unless all layers together fit as well."""
    tokens = reading.printed(Number.TOKENS).value
    parts = {Number.FULL_TOKENS: subject.full, Number.WINDOW_TOKENS: subject.sliding}
    told = [
        subject.only(part)
        for number, part in parts.items()
        if tokens in [printed.value for printed, _ in every(run, number)]
    ]
    tried = told or [subject, *map(subject.only, parts.values())]
    pairs = [_keys_and_values(reading, tokens, lost, part) for part in tried]
    fits = [number for number, pair in enumerate(pairs) if all(one.agrees for one in pair)]
    if not told and (not fits or fits[0] == 0):
        return ()
    return pairs[fits[0] if fits else 0]


def _keys_and_values(
    reading: Reading, tokens: Fraction, lost: int, held: Subject
) -> tuple[Check, ...]:
    return tuple(
        with_remarks(
            rate(
                key,
                f"memory of {key} ÷ tokens, {len(held.keeping):,} layers",
                reading.line,
                per_token(reading.printed(number), tokens, lost),
                formula,
                held,
                ENGINE,
                BY_SCOPE,
            ),
            remarks.POOLS_APART,
            remarks.GIB_CALLED_GB,
        )
        for key, number, formula in (
            ("keys", Number.K_SIZE, held.keys()),
            ("values", Number.V_SIZE, held.values()),
        )
    )
