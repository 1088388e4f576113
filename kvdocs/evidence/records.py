"""The record of every snapshot model's cache, measured on the meta device.

In: the record, a JSON file beside this one. Out: whether a model's answer is measured. Reading
takes the standard library only; making a record takes torch and transformers.
One function makes the content; ``check`` compares it and ``update`` writes it.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import Any

    from kvdocs.facts.models import Model

CACHES_FILE = Path(__file__).with_name("records") / "caches.json"
LENGTHS = (64, 4096, 20_000)
WHAT = (
    "Every cache was allocated by transformers on torch's meta device: a prompt of tokens - 1 and "
    "one decoded token. held is the memory behind the cache, formula what kvdocs computes, equal "
    "whether every layer agrees. The last length passes every window of the model. "
    "parameters is the parameter count times 2 bytes, weights the published size. "
    "To measure one again: kvdocs measure MODEL --tokens N"
)


@cache
def caches(path: Path = CACHES_FILE) -> dict[str, Any]:
    """The record as it was written; sizes in bytes."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def known_by(model_type: str, model_id: str, path: Path = CACHES_FILE) -> str:
    """``measured`` where the record shows the formula exact for the model, else ``unverified``.

    A model that is not in the record itself goes by its model_type: all measured models of that
    type must be exact.
    """
    models = [entry for entry in caches(path)["models"] if model_type in entry["model_types"]]
    own = [entry for entry in models if entry["id"] == model_id]
    exact = [length["equal"] for entry in own or models for length in entry["lengths"]]
    return "measured" if exact and all(exact) else "unverified"


def check(path: Path = CACHES_FILE) -> list[str]:
    """Each line of the record that measuring again would change, date and machine aside.

    Raises:
        MeasureError: a model of the snapshot cannot be measured here.
    """
    import difflib

    old, new = (_text({"models": content["models"]}) for content in (caches(path), measured()))
    names = (path.name, "measured now")
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), *names, lineterm="", n=1)
    return list(lines)


def update(path: Path = CACHES_FILE) -> None:
    """Measure every model and write the record; takes a minute or two.

    Raises:
        MeasureError: a model of the snapshot cannot be measured here.
    """
    path.write_text(_text(measured()), encoding="utf-8")
    caches.cache_clear()


def measured() -> dict[str, Any]:
    """The record's content, measured now: every snapshot model that the formula has a rule for.

    Raises:
        MeasureError: one of them cannot be measured here.
    """
    import datetime
    import platform

    from kvdocs.evidence.caches import versions

    return {
        "what": WHAT,
        "date": datetime.date.today().isoformat(),
        **versions(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "device": "meta",
        "dtype": "bfloat16",
        "models": [_entry(model) for model in models_with_a_rule()],
    }


def models_with_a_rule() -> list[Model]:
    """The snapshot's models whose layers the formula knows."""
    from kvdocs.facts.snapshot import load_all
    from kvdocs.formula.architectures import FAMILIES
    from kvdocs.formula.config import EffectiveConfig

    return [m for m in load_all() if EffectiveConfig.of(m.config, m.id).model_type in FAMILIES]


def lengths(model: Model) -> tuple[int, ...]:
    """The three lengths to measure a model at; the last one is past its longest window.

    Layers that compress are measured one token later, with a token that waits.
    """
    layout = model.layout
    compresses = any(part.period > 1 for layer in layout.layers for part in layer.parts)
    found = (*LENGTHS[:-1], max(LENGTHS[-1], layout.longest_window + 100))
    return tuple(length + compresses for length in found)


def _entry(model: Model) -> dict[str, Any]:
    from kvdocs.evidence.caches import SAME_CLASS, parameter_bytes
    from kvdocs.evidence.measure import measure
    from kvdocs.formula.config import EffectiveConfig

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
        "parameters": parameter_bytes(model.config, model.id),
        "weights": model.weights.bytes if model.weights else None,
    }


def _text(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=1) + "\n"
