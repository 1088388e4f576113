"""The tables of the page Evidence, from the records.

In: a record as it was written. Out: Markdown. Bytes are exact: this page is about equality.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kvdocs.evidence.transformers.weights import FEWER_BITS, MORE, NOT_ITEMISED
from kvdocs.site.tables import markdown

Record = Mapping[str, Any]


def made(record: Record, command: str) -> str:
    """When, with what and how a record was made, as one sentence."""
    where = record.get("gpu") or f"PyTorch's {record['device']} device"
    return (
        f"Measured on {record['date']} on {where}, with transformers {record['transformers']} and "
        f"torch {record['torch']}, Python {record['python']}. To repeat it: `{command}`"
    )


def caches(record: Record) -> str:
    """A row per model: the bytes its cache held at each length, and how far the formula is off."""
    head = [
        "Model",
        "Built as",
        "Layers",
        "64 tokens",
        "4,096 tokens",
        "Past every window",
        "Off by",
    ]
    rows = []
    for entry in record["models"]:
        short, middle, long = entry["lengths"]
        off = sum(abs(row["held"] - row["formula"]) for row in entry["lengths"])
        equal = all(map(_exact, entry["lengths"]))
        rows.append(
            [
                entry["id"],
                f"`{entry['built_as']}`",
                entry["layers"],
                f"{short['held']:,}",
                f"{middle['held']:,}",
                f"{long['held']:,} at {long['tokens']:,}",
                off if equal else f"{off:,}, and not every layer is equal",
            ]
        )
    return markdown(head, rows, "llrrrrr")


def caches_summary(record: Record) -> str:
    """How many models and measurements are exact, as one sentence."""
    lengths = [row for entry in record["models"] for row in entry["lengths"]]
    exact = sum(map(_exact, lengths))
    return f"{exact} of {len(lengths)} measurements of {len(record['models'])} models are exact."


def _exact(row: Record) -> bool:
    return bool(row["equal"]) and row["held"] == row["formula"]


def weights(record: Record) -> str:
    """A row per model with published weights: parameters × 2, and why a figure is another."""
    rows = []
    for entry in sorted(
        record["models"], key=lambda entry: entry["weights"] == entry["parameters"]
    ):
        if entry["weights"] is None:
            continue
        counted = entry["parameters"]
        difference = counted and entry["weights"] - counted
        rows.append(
            [
                entry["id"],
                "–" if counted is None else f"{counted:,}",
                f"{entry['weights']:,}",
                "–" if counted is None else f"{difference:+,}" if difference else "0",
                "equal" if difference == 0 else _why(entry["id"]),
            ]
        )
    head = ["Model", "Parameters × 2", "Published", "Difference", "Why"]
    return markdown(head, rows, "lrrrl")


def weights_summary(record: Record) -> str:
    """How many sizes of weights are equal, and what is known of the others, as one sentence."""
    found = [entry for entry in record["models"] if entry["weights"] is not None]
    other = [entry["id"] for entry in found if entry["weights"] != entry["parameters"]]
    known = [name for name in other if name in MORE]
    fewer = [name for name in other if name in FEWER_BITS]
    return (
        f"Of {len(found)} models {len(found) - len(other)} are equal. Of the others, in "
        f"{len(known)} the reason accounts for every byte, {len(fewer)} are stored in fewer bits, "
        f"and in {len(other) - len(known) - len(fewer)} the difference is not itemised, or not "
        "explained."
    )


def gpu(record: Record | None) -> str:
    """The run on a GPU, or that there is none."""
    if record is None:
        return (
            "**No run on a GPU is on record.** The suite is written, and its checks run on the "
            "CPU with small models at every `make test`, but nothing on this site was measured "
            "on a GPU. Where there is one, `make test-gpu` makes the record and this section "
            "shows it."
        )
    head = ["Model", "Layers", "Tokens", "Formula", "Held", "Allocated", "Rounding"]
    keys = ("layers", "tokens", "formula_bytes", "held_bytes", "allocated_bytes", "rounding_bytes")
    rows = [[one["model"], *(f"{one[key]:,}" for key in keys)] for one in record["caches"]]
    peak = [
        f"- While a cache of {one['cache_bytes']:,} bytes in {one['layers']} layers grew by one "
        f"token, {one['peak_above_cache_bytes']:,} bytes more were allocated at the peak."
        for one in record["peak"]
    ]
    fp8 = [
        f"- {one['bfloat16_bytes']:,} bytes in bfloat16 were {one['fp8_bytes']:,} bytes in fp8."
        for one in record["fp8"]
    ]
    intro = made(record, record["command"])
    return "\n\n".join([intro, markdown(head, rows, "lrrrrrr"), "\n".join(peak + fp8)])


def pinned(*packages: str) -> str:
    """The versions that the tests run with, from requirements.lock and PyTorch's beside it."""
    locks = [Path(name) for name in ("requirements.lock", "requirements-torch.lock")]
    lines = [line for lock in locks for line in lock.read_text(encoding="utf-8").splitlines()]
    versions = dict(line.split()[0].split("==") for line in lines if "==" in line)
    return ", ".join(f"{name} {versions[name]}" for name in packages)


def _why(model_id: str) -> str:
    if model_id in MORE:
        return MORE[model_id].reason
    return (FEWER_BITS | NOT_ITEMISED).get(model_id, "not explained")
