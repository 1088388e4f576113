"""Every architecture of the installed transformers against the formula: the record ``sweep``.

In: transformers. Out: the content of ``records/sweep.json``, an entry for every architecture, those
that cannot be run included. A run that was broken off goes on where it stopped.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from kvdocs.evidence.transformers import against_formula
from kvdocs.evidence.transformers.caches import MeasureError, versions
from kvdocs.evidence.transformers.forked_jobs import Limits, run_each
from kvdocs.evidence.transformers.targets import Change, Target, change_for, targets

PARTIAL_FILE = Path(".cache") / "sweep-partial.jsonl"
LIMITS = Limits(memory=8 * 1024**3, seconds=300)
WHAT = (
    "Every architecture of transformers that generates text, built from its config class's "
    "defaults and run: a prompt, then one decoded token. held is what all tensors of the cache "
    "show, formula what kvdocs computes for it; transformers' sliding layers show window - 1 "
    "tokens. equal: in every layer, or in total where state lies outside layers."
)


def measured(only: Sequence[str] = (), jobs: int = 2) -> dict[str, Any]:
    """The record's content; of the architectures that ``only`` names, where it names some.

    ``jobs`` processes run at once; each takes one architecture.

    Raises:
        MeasureError: torch or transformers is missing, or a name fits no architecture.
    """
    chosen = choose(only)
    _import_once()
    entries = sweep(chosen, jobs, None if only else PARTIAL_FILE)
    if not only:
        PARTIAL_FILE.unlink(missing_ok=True)
    print(summary(entries), file=sys.stderr)
    return {"totals": totals(entries), "architectures": entries}


def only(content: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The content of the record reduced to the architectures that are named."""
    entries = [
        entry
        for entry in content["architectures"]
        if any(_named(Target(entry["model_type"], entry["class"]), name) for name in names)
    ]
    return content | {"totals": totals(entries), "architectures": entries}


def choose(names: Sequence[str]) -> list[Target]:
    """The targets named by model_type, class or model_type/class; all where none is named.

    Raises:
        MeasureError: a name fits no architecture of the installed transformers.
    """
    listed = targets()
    if not names:
        return listed
    for name in names:
        if not any(_named(target, name) for target in listed):
            raise MeasureError(
                f"{name}: no such architecture in transformers {versions()['transformers']}. "
                "Name a model_type, such as qwen2, or a class, such as Qwen2ForCausalLM"
            )
    return [target for target in listed if any(_named(target, name) for name in names)]


def sweep(chosen: list[Target], jobs: int, partial: Path | None = None) -> list[dict[str, Any]]:
    """The entries of the chosen targets, in their order; ``partial`` keeps what is done."""
    done = _resume(partial)
    rest = [(target, change_for(target)) for target in chosen if target.name not in done]
    counts = Counter(entry["status"] for entry in done.values())
    for (target, _), answer in run_each(against_formula.entry, rest, jobs, LIMITS):
        entry = answer if isinstance(answer, dict) else _ended(target, answer)
        done[target.name] = entry
        counts[entry["status"]] += 1
        _keep(partial, target, entry)
        _progress(len(done), len(chosen), target, counts)
    return [done[target.name] for target in chosen]


def totals(entries: list[dict[str, Any]]) -> dict[str, int]:
    """How many architectures are listed, keep a cache (the total), ran, are exact, and so on."""
    counts = Counter(entry["status"] for entry in entries)
    total = len(entries) - counts["no cache"]
    return {
        "listed": len(entries),
        "cacheless": counts["no cache"],
        "total": total,
        "run": total - counts["not run"],
        "exact": counts["exact"],
        "differs": counts["differs"],
        "no_rule": counts["no rule"],
        "not_run": counts["not run"],
    }


def summary(entries: list[dict[str, Any]]) -> str:
    """One line for people."""
    found = totals(entries)
    return (
        f"{found['exact']:,} exact of {found['run']:,} run of {found['total']:,} architectures "
        f"that keep a cache, {found['listed']:,} listed; "
        f"{found['differs']:,} differ, {found['no_rule']:,} without a rule, "
        f"{found['not_run']:,} could not run"
    )


def _named(target: Target, name: str) -> bool:
    return name in (target.name, target.model_type, target.class_name)


@cache
def _import_once() -> None:
    """Import in the parent what every child would import by itself, by running a small model."""
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)  # threads of the parent would be missing in a forked child
    small = Change("", set={"num_hidden_layers": 1, "hidden_size": 64, "intermediate_size": 64})
    against_formula.entry((Target("qwen2", "Qwen2ForCausalLM"), small))
    gc.collect()
    gc.freeze()  # a child's collector would touch, and so copy, all that the parent imported


def _resume(partial: Path | None) -> dict[str, dict[str, Any]]:
    if partial is None or not partial.exists():
        return {}
    lines = [json.loads(line) for line in partial.read_text(encoding="utf-8").splitlines()]
    return {line["name"]: line["entry"] for line in lines if line["versions"] == versions()}


def _keep(partial: Path | None, target: Target, entry: dict[str, Any]) -> None:
    if partial is None:
        return
    partial.parent.mkdir(exist_ok=True)
    with partial.open("a", encoding="utf-8") as file:
        line = {"name": target.name, "versions": versions(), "entry": entry}
        file.write(json.dumps(line) + "\n")


def _ended(target: Target, why: str) -> dict[str, Any]:
    return {
        "model_type": target.model_type,
        "class": target.class_name,
        "status": "not run",
        "reason": why,
    }


def _progress(done: int, total: int, target: Target, counts: Counter[str]) -> None:
    if not sys.stderr.isatty():
        return
    width = 24
    filled = width * done // total
    bar = "█" * filled + "·" * (width - filled)
    states = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    line = f"{bar} {done}/{total}  {states}  {target.model_type}"
    columns = os.get_terminal_size(sys.stderr.fileno()).columns
    end = "\n" if done == total else ""
    print("\r" + line[: columns - 1].ljust(columns - 1), end=end, file=sys.stderr, flush=True)
