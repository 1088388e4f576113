"""The record of every snapshot model's cache, made: measured on the meta device.

In: the snapshot, and the installed torch and transformers. Out: ``records/caches.json``, which
``kvdocs.evidence.known`` reads. One function makes the content; ``check`` compares it and
``update`` writes it.
"""

from __future__ import annotations

import argparse
import datetime
import difflib
import json
import platform
import sys
from pathlib import Path
from typing import Any

from kvdocs.evidence.known import CACHES_FILE, record
from kvdocs.evidence.transformers.caches import SAME_CLASS, MeasureError, parameter_bytes, versions
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
    "weights is the published size. "
    "To measure one again: kvdocs measure MODEL --tokens N"
)


def check(path: str = CACHES_FILE) -> list[str]:
    """Each line of the record that measuring again would change, date and machine aside.

    Raises:
        MeasureError: a model of the snapshot cannot be measured here.
    """
    old, new = (_text({"models": content["models"]}) for content in (record(path), measured()))
    names = (Path(path).name, "measured now")
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), *names, lineterm="", n=1)
    return list(lines)


def update(path: str = CACHES_FILE) -> None:
    """Measure every model and write the record; takes a minute or two.

    Raises:
        MeasureError: a model of the snapshot cannot be measured here.
    """
    Path(path).write_text(_text(measured()), encoding="utf-8")
    record.cache_clear()


def measured() -> dict[str, Any]:
    """The record's content, measured now: every snapshot model that the formula has a rule for.

    Raises:
        MeasureError: one of them cannot be measured here.
    """
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


def _text(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=1) + "\n"


def main(action: str) -> int:
    """``python -m kvdocs.evidence.transformers.records check|update``.

    0 as recorded or updated, 1 not, 2 where nothing can be measured."""
    try:
        if action == "update":
            update()
            return 0
        lines = check()
    except MeasureError as error:
        print(error, file=sys.stderr)
        return 2
    print("\n".join(lines) if lines else "the record is what is measured now")
    return 1 if lines else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m kvdocs.evidence.transformers.records")
    parser.add_argument("action", choices=("check", "update"))
    raise SystemExit(main(parser.parse_args().action))
