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
    ENGINE,
    as_printed,
    explained,
    noted,
    per_token,
    rate,
    remarked,
)
from kvdocs.explain.reasons import BY_SCOPE
from kvdocs.explain.subject import Subject, state_bytes
from kvdocs.logs.reading import Reading
from kvdocs.logs.runs import every, lowest


def buffers(reading: Reading, run: list[Reading], subject: Subject) -> Iterator[Check]:
    """llama.cpp's buffers, allocated for so many cells; its recurrent states."""
    if "state" in reading:
        states, size = reading.printed("states").value, reading.printed("state")
        if formula := states * state_bytes(subject):
            title = f"recurrent states of {int(states):,} sequences"
            check = as_printed("states", title, reading, size, formula, "bytes")
            yield noted(check, *((remarks.SHORT_CONVOLUTION,) if check.agrees else ()))
        return
    cells = _cells(reading, run, subject)
    if not cells or of_another_model(reading, subject):
        return
    memory = reading.printed("memory")
    held = _part(subject, reading) or subject
    keys, values = (reading.values.get(name, "") for name in ("k_type", "v_type"))
    if keys:
        held = replace(held, dtype=keys, dtype_known=True)
    formula = held.rate(keys, values) * cells
    title = f"cache for {int(cells):,} cells"
    check = as_printed("cache", title, reading, memory, formula, "bytes")
    check = explained(check, held, ENGINE)
    if not check.agrees and not check.reasons and not subject.plain:
        check = noted(check, remarks.OWN_FORMAT)
    notes = [remarks.GIB_CALLED_GB] if " MB" in reading.phrase.text else []
    slots = lowest(run, "length")
    if (slots and slots[0].quantity.unit == "cells" and slots[0].value < cells) or (
        (many := lowest([reading], "sequences")) and many[0].value > 1
    ):
        notes.append(remarks.SLOTS)
    yield remarked(check, *notes)


def of_another_model(reading: Reading, subject: Subject) -> bool:
    """Whether a buffer has another number of layers than the model or a part of it, one layer for
    drafts aside: then it is another model's, for drafts or pictures."""
    if not _is_buffer(reading) or "layers" not in reading:
        return False
    every_layer = len(subject.layout.layers)
    kept = sum(map(bool, subject.elements))
    own = {every_layer, every_layer + 1, kept, kept + 1}
    layers = reading.printed("layers").value
    return _part(subject, reading) is None and layers not in own


def _is_buffer(reading: Reading) -> bool:
    return "memory" in reading and reading.phrase.engine == "llama.cpp"


def _cells(reading: Reading, run: list[Reading], subject: Subject) -> Fraction | None:
    if not _is_buffer(reading):
        return None
    if "cell_layers" in reading:
        return reading.printed("cell_layers").value / len(subject.keeping)
    found = lowest([reading], "cells") or lowest(run, "cells")
    return found[0].value if found else None


def _part(subject: Subject, reading: Reading) -> Subject | None:
    """The part of a model that a line is about, told by the number of its layers."""
    layers = reading.printed("layers").value if "layers" in reading else None
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
        if "tokens" in reading and "k_size" in reading:
            checks += _window_pool(reading, run, lost, subject)
    return checks


def _window_pool(
    reading: Reading, run: list[Reading], lost: int, subject: Subject
) -> tuple[Check, ...]:
    """Keys and values of one pool: of the layers that the line on windows says it is of, else of
    those that it fits, unless all layers together fit as well."""
    tokens = reading.printed("tokens").value
    parts = {"full_tokens": subject.full, "window_tokens": subject.sliding}
    told = [
        subject.only(part)
        for name, part in parts.items()
        if tokens in [printed.value for printed, _ in every(run, name)]
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
        remarked(
            rate(
                key,
                f"memory of {key} ÷ tokens, {len(held.keeping):,} layers",
                reading.line,
                per_token(reading.printed(name), tokens, lost),
                formula,
                held,
                ENGINE,
                BY_SCOPE,
            ),
            remarks.POOLS_APART,
            remarks.GIB_CALLED_GB,
        )
        for key, name, formula in (
            ("keys", "k_size", held.keys()),
            ("values", "v_size", held.values()),
        )
    )
