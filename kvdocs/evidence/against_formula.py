"""One architecture: built, run at several lengths in 16 and 32 bits, and held against the formula.

In: a target. Out: its entry in the sweep's record. Runs in a process of its own and never raises:
what cannot be built or run is an entry too, with the reason.
"""

from __future__ import annotations

from typing import Any

from kvdocs.evidence.caches import MeasureError
from kvdocs.evidence.contents import Contents
from kvdocs.evidence.default_models import (
    ENCODER_TOKENS,
    NoCache,
    build,
    default_config,
    published,
    run,
)
from kvdocs.evidence.measure import kept_by_transformers
from kvdocs.evidence.targets import Change, Target
from kvdocs.formula import CacheLayout, ConfigError, layout_of
from kvdocs.formula.layers import Layer
from kvdocs.formula.layout import DTYPE_BYTES

LENGTHS = (64, 1000)  # prompts; where windows exist, one past the longest is added
PAST_WINDOW = 100
BITS = {16: "bfloat16", 32: "float32"}


def entry(job: tuple[Target, Change]) -> dict[str, Any]:
    """What the record says about one architecture with its change."""
    target, change = job
    found: dict[str, Any] = {
        "model_type": target.model_type,
        "class": target.class_name,
        "changed": change.set,
        "why": change.why,
        "device": change.device,
        "assumed_values": False,
    }
    if change.cannot:
        return found | {"status": "not run", "reason": change.why}
    try:
        return found | _measured(target, change)
    except NoCache as error:
        status = "no cache" if change.cacheless else "not run"
        return found | {"status": status, "reason": change.why or str(error)}
    except Exception as error:  # whatever an architecture's code makes of its own defaults
        return found | {"status": "not run", "reason": reason(error)}


def reason(error: BaseException) -> str:
    """An error in one line, with the place in transformers' code where it was raised."""
    import traceback

    text = " ".join((str(error).strip() or type(error).__name__).split())[:200]
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "transformers" in f.filename]
    if not frames or isinstance(error, MeasureError):
        return text
    place = frames[-1].filename.rpartition("/")[2]
    return f"{type(error).__name__} in {place}, line {frames[-1].lineno}: {text}"


def _measured(target: Target, change: Change) -> dict[str, Any]:
    layout, refusal, encoder = _layout(target, change)
    rows: list[dict[str, Any]] = []
    assume = False
    for bits in change.bits or BITS:
        dtype = BITS[bits]
        lengths = list(change.lengths or LENGTHS)
        for length in lengths:
            steps, assumed = _steps(target, change, dtype, length)
            assume = assume or assumed
            for tokens, new, last in steps:
                rows.append(_row(layout, bits, tokens, new, last, encoder))
            if length == lengths[0] and not change.lengths:
                lengths += _past_windows(layout, last)
    return {
        "assumed_values": assume,
        "cache": last.kind,
        "cache_layers": list(last.classes),
        "kinds": _kinds(layout),
        "rows": rows,
        **_verdict(layout, refusal, rows),
    }


def _layout(target: Target, change: Change) -> tuple[CacheLayout | None, str, int]:
    """The layout or why there is none, and how long the encoder's output will be."""
    model = build(target, default_config(target, change), "meta", BITS[16], None)
    encoder = ENCODER_TOKENS if model.config.is_encoder_decoder else 0
    try:
        return layout_of(published(model), target.name), "", encoder
    except ConfigError as error:
        return None, str(error), encoder


def _steps(
    target: Target, change: Change, dtype: str, length: int
) -> tuple[list[tuple[int, int, Contents]], bool]:
    """Tokens seen, new tokens and contents after each step; whether values were assumed."""
    try:
        return _tried(target, change, dtype, length, assume=False), False
    except (RuntimeError, NotImplementedError):
        if change.device != "meta":
            raise
        return _tried(target, change, dtype, length, assume=True), True


def _tried(
    target: Target, change: Change, dtype: str, length: int, assume: bool
) -> list[tuple[int, int, Contents]]:
    config = default_config(target, change)
    model = build(target, config, change.device, dtype, "eager" if assume else None)
    found = list(run(model, length, change, assume))
    return [(seen, length if seen == length else 1, held) for seen, held in found]


def _past_windows(layout: CacheLayout | None, held: Contents) -> list[int]:
    ours = [layer.window or 0 for layer in layout.layers] if layout else []
    longest = max([*ours, *held.windows], default=0)
    return [longest + PAST_WINDOW] if longest else []


def _row(
    layout: CacheLayout | None, bits: int, tokens: int, new: int, held: Contents, encoder: int
) -> dict[str, Any]:
    row: dict[str, Any] = {"bits": bits, "tokens": tokens, "new": new, "held": held.total}
    if layout is None:
        return row
    own, cross = _expected(layout, tokens, new, DTYPE_BYTES[BITS[bits]], encoder)
    layers = not held.outside and (own, cross) == (_filled(held.own), _filled(held.cross))
    total = sum(own) + sum(cross)
    equal = layers or (bool(held.outside) and total == held.total)
    row |= {"formula": total, "equal": equal, "by_layer": layers}
    if not equal:
        row["first_difference"] = _first_difference(
            [*own, *cross], _filled(held.own) + _filled(held.cross)
        )
    return row


def _first_difference(formula: list[int], held: list[int]) -> str:
    if len(formula) != len(held):
        return f"{len(held):,} layers hold something, the formula has {len(formula):,}"
    for index, (there, here) in enumerate(zip(held, formula, strict=True)):
        if there != here:
            return f"layer {index} holds {there:,} bytes, the formula says {here:,}"
    return "the layers agree, what lies outside them does not"


def _expected(
    layout: CacheLayout, tokens: int, new: int, size: int, encoder: int
) -> tuple[list[int], list[int]]:
    """Bytes each layer of transformers' own cache shows; layers that keep nothing left out."""
    own: list[int] = []
    cross: list[int] = []
    for layer in layout.layers:
        for kept, parts in ((own, False), (cross, True)):
            those = [part for part in layer.parts if (part.kind == "cross") is parts]
            kept.append(sum(_shown(part, tokens, new, size, encoder) for part in those))
    return _filled(own), _filled(cross)


def _shown(part: Layer, tokens: int, new: int, size: int, encoder: int) -> int:
    return part.bytes(kept_by_transformers(part, tokens, new)[0], size, encoder)


def _filled(layers: Any) -> list[int]:
    return [count for count in layers if count]


def _kinds(layout: CacheLayout | None) -> dict[str, int]:
    kinds = [layer.kind for layer in layout.layers] if layout else []
    return {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}


def _verdict(
    layout: CacheLayout | None, refusal: str, rows: list[dict[str, Any]]
) -> dict[str, Any]:
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
