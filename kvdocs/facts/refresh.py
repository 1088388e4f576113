"""The snapshot against the live Hub: what differs in a byte, and taking it over.

In: Hub ids (none: all of the snapshot). Out: the differences; ``update`` also writes the entries.
Both compute the new entries the same way. A difference is what moves a byte: another cache layout
with the config fields behind it, or another weight size.

Writing is all or nothing: first every model is fetched, then every new entry is written beside its
old one, then each replaces the old one in one step. Whatever fails, each file is whole, old or new.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kvdocs.facts import hub, live, snapshot
from kvdocs.facts.models import LookupFailed, Model
from kvdocs.facts.snapshot import Folder
from kvdocs.formula import CacheLayout, ConfigError
from kvdocs.formula.config import EffectiveConfig
from kvdocs.formula.fields import FIELDS
from kvdocs.formula.kv_dtype import stated_kv_dtype
from kvdocs.formula.layers import plural
from kvdocs.startup import dataclass
from kvdocs.units import binary, exact


@dataclass(frozen=True)
class Difference:
    """One thing in which the Hub's ``new`` differs from the snapshot's ``old``, and moves bytes."""

    model_id: str
    field: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.model_id}: {self.field} {self.old} → {self.new}"


@dataclass(frozen=True)
class Outcome:
    """New entries, how they differ from the old ones, and the models that could not be had."""

    entries: tuple[Model, ...]
    differences: tuple[Difference, ...]
    failures: tuple[LookupFailed, ...]


def check(ids: Iterable[str] = (), folder: Folder = snapshot.FOLDER) -> list[Difference]:
    """What moves a byte between the snapshot and the Hub.

    Raises:
        LookupFailed: a model cannot be had from the Hub, or KVDOCS_HUB forbids asking.
    """
    return list(_complete(compute(ids, folder)).differences)


def update(ids: Iterable[str] = (), folder: Folder = snapshot.FOLDER) -> list[Difference]:
    """Take the Hub's entries into the snapshot, all or none; returns what that moved.

    Raises:
        LookupFailed: a model cannot be had from the Hub, or KVDOCS_HUB forbids asking.
        OSError: the folder cannot be written.
    """
    outcome = _complete(compute(ids, folder))
    write(outcome.entries, folder)
    return list(outcome.differences)


def run(args: argparse.Namespace, folder: Folder = snapshot.FOLDER) -> int:
    """``kvdocs snapshot check|update``: 0 no difference or updated, 1 differences, 2 failed."""
    try:
        outcome = compute(args.models, folder)
        for line in (*outcome.differences, *renames(outcome.entries)):
            print(line)
        _complete(outcome)
        if args.action == "update":
            write(outcome.entries, folder)
    except (LookupFailed, OSError) as error:
        print(f"kvdocs snapshot {args.action}: {error}", file=sys.stderr)
        return 2
    print(_summary(args.action, outcome))
    return 1 if outcome.differences and args.action == "check" else 0


def compute(ids: Iterable[str], folder: Folder) -> Outcome:
    """The entries as they should be now; nothing is written.

    Raises:
        LookupFailed: KVDOCS_HUB forbids asking the Hub.
    """
    if hub.mode() == "snapshot":
        raise LookupFailed("KVDOCS_HUB", "'snapshot' forbids asking the Hub", "Unset it")
    names = list(ids) or snapshot.ids(folder)
    answers = live.fetch_many(names, hub.LIVE_SECONDS)
    entries, differences, failures = [], [], []
    for name, answer in answers.items():
        if isinstance(answer, LookupFailed):
            failures.append(answer)
            continue
        old = snapshot.load(name, folder)
        entries.append(renewed(old, answer))
        differences += compare(old, answer)
    return Outcome(tuple(entries), tuple(differences), tuple(failures))


def compare(old: Model | None, new: Model) -> list[Difference]:
    """What moves a byte from ``old`` to ``new``; weights count only where ``new`` states them."""
    if old is None:
        return [Difference(new.id, "entry", "not in the snapshot", "on the Hub")]
    differences = _layout_differences(old, new)
    before, after = _cache_dtype(old), _cache_dtype(new)
    if before != after:
        differences.append(Difference(new.id, "cache dtype", before, after))
    if new.weights and (old.weights is None or old.weights.bytes != new.weights.bytes):
        before = exact(old.weights.bytes) if old.weights else "not known"
        differences.append(Difference(new.id, "weights", before, exact(new.weights.bytes)))
    return differences


def renewed(old: Model | None, new: Model) -> Model:
    """``new`` with what only people know about it, as long as that is still about the same."""
    if old is None:
        return new
    new = replace(new, weights=new.weights or old.weights)
    if _layout_differences(old, new):
        return new
    return replace(new, agrees=old.agrees, notes=old.notes)


def gathered(failures: Sequence[LookupFailed], asked: int) -> LookupFailed:
    """Many failures as one, with each reason said once."""
    if len(failures) == 1:
        return failures[0]
    name = f"{len(failures)} of {asked} models"
    return LookupFailed(name, "; ".join(by_reason(failures)), failures[0].remedy)


def by_reason(failures: Iterable[LookupFailed]) -> list[str]:
    """One line per reason, with the models it holds for."""
    groups: dict[str, list[str]] = {}
    for failure in failures:
        groups.setdefault(failure.reason, []).append(failure.name)
    return [f"{reason} ({_some(names)})" for reason, names in groups.items()]


def renames(models: Iterable[Model]) -> list[str]:
    """One sentence for each model that the Hub has renamed."""
    moved = [model for model in models if model.source.renamed_to]
    return [f"{model.id} is now called {model.source.renamed_to} on the Hub" for model in moved]


def write(models: Iterable[Model], folder: Folder) -> None:
    """Write the snapshot's entries, each replaced in one step once all are on the disk.

    Raises:
        OSError: the folder cannot be written; no file is left half-written.
    """
    staged: dict[Path, Path] = {}
    try:
        for model in models:
            target = Path(snapshot.path_of(model.id, folder))
            temporary = target.with_name(f"{target.name}.{os.getpid()}.tmp")
            staged[temporary] = target
            _write_through(temporary, entry(model).encode("utf-8"))
        for temporary, target in staged.items():
            os.replace(temporary, target)
    finally:
        for temporary in staged:
            temporary.unlink(missing_ok=True)


def entry(model: Model) -> str:
    """The text of a snapshot file."""
    weights = model.weights
    stated = weights and {
        "bytes": weights.bytes,
        "kind": weights.kind,
        "confidence": weights.confidence,
        "source": weights.source,
    }
    content = {
        "id": model.id,
        "revision": model.source.revision,
        "retrieved": model.source.retrieved,
        "complete": model.complete,
        "source": model.source.detail,
        "agrees": list(model.agrees),
        "notes": model.notes,
        "weights": stated,
        "config": model.config,
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _write_through(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _complete(outcome: Outcome) -> Outcome:
    if outcome.failures:
        asked = len(outcome.entries) + len(outcome.failures)
        raise gathered(outcome.failures, asked)
    return outcome


def _summary(action: str, outcome: Outcome) -> str:
    models, moved = len(outcome.entries), len({d.model_id for d in outcome.differences})
    if action == "update":
        return f"{plural(models, 'model')} updated, {moved} with other bytes"
    if not moved:
        return f"{plural(models, 'model')}: the Hub and the snapshot agree in every byte"
    accept = "accept with: kvdocs snapshot update MODEL"
    return f"{moved} of {plural(models, 'model')} with other bytes; {accept}"


def _layout_differences(old: Model, new: Model) -> list[Difference]:
    before, after = _layout(old), _layout(new)
    if before == after:
        return []
    differences = [
        Difference(new.id, name, _shown(was), _shown(is_now))
        for name, was, is_now in _fields(old, new)
        if was != is_now
    ]
    tokens = max(
        4096, *(1 + (layer.window or 0) for x in (before, after) if x for layer in x.layers)
    )
    held = [binary(x.bytes(tokens), 6) if x else "no rule" for x in (before, after)]
    if held[0] != held[1] or not differences:
        differences.append(Difference(new.id, f"cache of {tokens:,} tokens", *held))
    return differences


def _layout(model: Model) -> CacheLayout | None:
    """None where no rule covers the config: then no byte is stated for it either."""
    try:
        return model.layout
    except ConfigError:
        return None


def _cache_dtype(model: Model) -> str:
    """What the config says about its cache's dtype, known here or not."""
    field, value = stated_kv_dtype(model.config) or ("not named", None)
    return field if value is None else f"{field} {_shown(value)}"


def _fields(old: Model, new: Model) -> list[tuple[str, Any, Any]]:
    try:
        before, after = (EffectiveConfig.of(model.config, model.id) for model in (old, new))
    except ConfigError:
        return []
    types = ("model_type", before.model_type, after.model_type)
    return [types, *((name, before.get(name), after.get(name)) for name in FIELDS)]


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(f"{count} × {item}" for item, count in Counter(map(str, value)).items())
    return "not set" if value is None else json.dumps(value)


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
