"""The cache of every snapshot model, measured on the meta device: the record ``caches``.

In: the snapshot, and the installed torch and transformers. Out: the content of
``records/caches.json``, which ``kvdocs.evidence.known`` reads.
"""

from __future__ import annotations

from typing import Any

from kvdocs.evidence.transformers.caches import SAME_CLASS, MeasureError, parameter_bytes
from kvdocs.evidence.transformers.measure import measure
from kvdocs.facts.models import Model
from kvdocs.facts.snapshot import load_all
from kvdocs.formula.architectures import rule_for
from kvdocs.formula.config import EffectiveConfig

LENGTHS = (64, 4096, 20_000)
WHAT = (
    "Every cache was allocated by transformers on torch's meta device: a prompt of tokens - 1 and "
    "one decoded token. held is the memory behind the cache, formula what kvdocs computes, equal "
    "whether every layer agrees. The last length passes every window of the model; layers that "
    "compress are measured one token past each length, when nothing of the last entry is left. "
    "parameters is the parameter count times 2 bytes, null where the whole model cannot be built; "
    "weights is the published size. To measure one model: kvdocs measure MODEL --tokens N."
)


def measured() -> dict[str, Any]:
    """The record's content: every snapshot model that the formula has a rule for.

    Raises:
        MeasureError: one of them cannot be measured here.
    """
    return {
        "device": "meta",
        "dtype": "bfloat16",
        "models": [_entry(model) for model in models_with_a_rule()],
    }


def models_with_a_rule() -> list[Model]:
    """The snapshot's models whose layers the formula knows."""
    return [m for m in load_all() if rule_for(EffectiveConfig.of(m.config, m.id).model_type)]


def lengths(model: Model) -> tuple[int, ...]:
    """The three lengths to measure a model at; the last one is past its longest window.

    Layers that compress are measured one token later, with a token that waits.
    """
    layout = model.layout
    compresses = any(part.period > 1 for layer in layout.layers for part in layer.parts)
    found = (*LENGTHS[:-1], max(LENGTHS[-1], layout.longest_window + 100))
    return tuple(length + compresses for length in found)


def _entry(model: Model) -> dict[str, Any]:
    inner = EffectiveConfig.of(model.config, model.id).model_type
    found = [measure(model.config, model.id, tokens, "meta") for tokens in lengths(model)]
    windows = {layer.window for layer in model.layout.layers if layer.window is not None}
    return {
        "id": model.id,
        "model_types": list(dict.fromkeys([model.config["model_type"], inner])),
        "built_as": SAME_CLASS.get(inner, inner),
        "layers": len(model.layout.layers),
        "windows": sorted(windows),
        "lengths": [
            {"tokens": m.tokens, "held": m.held, "formula": m.formula, "equal": m.equal}
            for m in found
        ],
        "parameters": _parameters(model),
        "weights": model.weights.bytes if model.weights else None,
    }


def _parameters(model: Model) -> int | None:
    """Null where the whole model cannot be built: a vision tower may need further packages."""
    try:
        return parameter_bytes(model.config, model.id)
    except MeasureError:
        return None
