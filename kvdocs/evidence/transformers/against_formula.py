"""One architecture: built, run at several lengths in 16 and 32 bits, and held against the formula.

In: a target and its change. Out: its entry in the sweep's record. Runs in a process of its own and
never raises: what cannot be built or run is an entry too, with the reason.
"""

from __future__ import annotations

import traceback
from collections import Counter
from dataclasses import dataclass
from typing import Any

from kvdocs.engines.transformers.cache import bytes_by_transformers
from kvdocs.evidence.transformers.caches import MeasureError
from kvdocs.evidence.transformers.contents import NOTHING, Contents, in_modules
from kvdocs.evidence.transformers.default_models import (
    NoCache,
    build,
    encoder_tokens,
    published,
    run,
)
from kvdocs.evidence.transformers.targets import Change, Target
from kvdocs.formula import CacheLayout, ConfigError, layout_of
from kvdocs.formula.dtypes import element_bytes
from kvdocs.formula.layers import Layer

# Prompts; where windows exist, the long one passes the longest. The second width runs that only.
SHORT, LONG = 64, 1000
PAST_WINDOW = 100
BITS = {16: "bfloat16", 32: "float32"}
Row = dict[str, Any]


def entry(job: tuple[Target, Change]) -> dict[str, Any]:
    """What the record says about one architecture with its change."""
    target, change = job
    found: dict[str, Any] = {
        "model_type": target.model_type,
        "class": target.class_name,
        "changed": change.set,
        "why": change.why,
        "device": change.device,
    }
    try:
        return found | _measured(target, change)
    except NoCache as error:
        if change.cacheless:
            return found | {"status": "no cache", "reason": change.why}
        return found | {"status": "not run", "reason": str(error)}
    except Exception as error:  # whatever an architecture's code makes of its own defaults
        return found | {"status": "not run", "reason": reason(error)}


def reason(error: BaseException) -> str:
    """An error in one line, with the place in transformers' code where it was raised."""
    text = " ".join((str(error).strip() or type(error).__name__).split())[:200]
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "transformers" in f.filename]
    if not frames or isinstance(error, MeasureError):
        return text
    place = frames[-1].filename.rpartition("/")[2]
    return f"{type(error).__name__} in {place}, line {frames[-1].lineno}: {text}"


def _measured(target: Target, change: Change) -> dict[str, Any]:
    widths = change.bits or list(BITS)
    runs = [_run_or_assume(target, change, bits, bits == widths[0]) for bits in widths]
    rows = [row for run_ in runs for row in run_.rows]
    return {
        "assumed_values": any(run_.assumed for run_ in runs),
        "encoder_tokens": runs[0].encoder,
        "cache": runs[0].last.kind,
        "cache_layers": list(runs[0].last.classes),
        "kinds": _kinds(runs[0].layout),
        "rows": rows,
        **_verdict(runs[0].layout, runs[0].refusal, rows),
    }


@dataclass(frozen=True)
class _Run:
    """One width: the rows, the layout or why there is none, and what the last step held."""

    rows: list[Row]
    layout: CacheLayout | None
    refusal: str
    last: Contents
    encoder: int
    assumed: bool


def _run_or_assume(target: Target, change: Change, bits: int, short: bool) -> _Run:
    try:
        return _run(target, change, bits, short, assume=False)
    except (RuntimeError, NotImplementedError):
        if change.device != "meta":
            raise
        return _run(target, change, bits, short, assume=True)


def _run(target: Target, change: Change, bits: int, short: bool, assume: bool) -> _Run:
    model = build(target, change, BITS[bits], "eager" if assume else None)
    layout, refusal = _layout(model, target)
    encoder = encoder_tokens(model, layout)
    at_rest = in_modules(model)
    rows: list[Row] = []
    last = NOTHING
    for prompt in (SHORT, None) if short else (None,):
        length = prompt or _long(change, layout, last)
        for tokens, new, last in run(model, length, encoder, change, assume, at_rest):
            rows.append(_row(layout, bits, tokens, new, encoder, last))
    return _Run(rows, layout, refusal, last, encoder, assume)


def _layout(model: Any, target: Target) -> tuple[CacheLayout | None, str]:
    try:
        return layout_of(published(model), target.name), ""
    except ConfigError as error:
        return None, str(error)


def _long(change: Change, layout: CacheLayout | None, held: Contents) -> int:
    """The long prompt: past every window that the formula or the cache knows of."""
    if change.long:
        return change.long
    longest = max([layout.longest_window if layout else 0, *held.windows])
    return longest + PAST_WINDOW if longest else LONG


def _row(
    layout: CacheLayout | None, bits: int, tokens: int, new: int, encoder: int, held: Contents
) -> Row:
    row: Row = {"bits": bits, "tokens": tokens, "new": new, "held": held.total}
    if layout is None:
        return row
    own, cross = expected(layout, tokens, new, element_bytes(BITS[bits]), encoder)
    layers = not held.outside and (own, cross) == (_filled(held.own), _filled(held.cross))
    total = sum(own) + sum(cross)
    equal = layers or (bool(held.outside) and total == held.total)
    row |= {"formula": total, "equal": equal, "by_layer": layers}
    if not equal:
        row["first_difference"] = _first_difference(
            [*own, *cross], _filled(held.own) + _filled(held.cross)
        )
    return row


def expected(
    layout: CacheLayout, tokens: int, new: int, size: int, encoder: int
) -> tuple[list[int], list[int]]:
    """Bytes each layer of transformers' own cache shows; layers that keep nothing left out.

    First the decoder's own tokens, then the encoder's output.
    """

    def shown(part: Layer) -> int:
        return bytes_by_transformers(part, tokens, new, size, encoder)[0]

    own = [sum(shown(p) for p in x.parts if p.kind != "cross") for x in layout.layers]
    cross = [sum(shown(p) for p in x.parts if p.kind == "cross") for x in layout.layers]
    return _filled(own), _filled(cross)


def _filled(layers: Any) -> list[int]:
    return [count for count in layers if count]


def _first_difference(formula: list[int], held: list[int]) -> str:
    if len(formula) != len(held):
        return f"{len(held):,} layers hold something, the formula has {len(formula):,}"
    for index, (there, here) in enumerate(zip(held, formula, strict=True)):
        if there != here:
            return f"layer {index} holds {there:,} bytes, the formula says {here:,}"
    return "the layers agree, what lies outside them does not"


def _kinds(layout: CacheLayout | None) -> dict[str, int]:
    return dict(Counter(layer.kind for layer in layout.layers)) if layout else {}


def _verdict(layout: CacheLayout | None, refusal: str, rows: list[Row]) -> dict[str, Any]:
    if layout is None:
        return {"status": "no rule", "reason": refusal}
    wrong = [row for row in rows if not row["equal"]]
    if not wrong:
        return {"status": "exact", "reason": ""}
    first = wrong[0]
    return {
        "status": "differs",
        "reason": f"in {first['bits']} bits after {first['tokens']:,} tokens the cache holds "
        f"{first['held']:,} bytes, the formula says {first['formula']:,}; "
        f"{first['first_difference']}",
    }
