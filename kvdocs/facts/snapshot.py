"""The embedded snapshot: one JSON file per model, readable without a network.

In: a Hub id. Out: the ``Model``, or None where the snapshot does not have it.
"""

from __future__ import annotations

import json
from pathlib import Path

from kvdocs.facts.models import Model, Source, Weights

FOLDER = Path(__file__).with_name("snapshot")


def ids(folder: Path = FOLDER) -> list[str]:
    """The Hub ids of all models in the snapshot, sorted without regard to case."""
    return sorted((path.stem.replace("--", "/") for path in folder.glob("*.json")), key=str.lower)


def load(model_id: str, folder: Path = FOLDER) -> Model | None:
    """The snapshot's entry for a Hub id.

    >>> load("Qwen/Qwen2.5-7B-Instruct").weights.bytes
    15231233024
    """
    path = path_of(model_id, folder)
    if not path.is_file():
        return None
    entry = json.loads(path.read_text(encoding="utf-8"))
    weights = Weights(**entry["weights"]) if entry["weights"] else None
    source = Source("snapshot", entry["revision"], entry["retrieved"], entry["source"])
    return Model(
        entry["id"],
        entry["config"],
        source,
        weights,
        entry["complete"],
        tuple(entry["agrees"]),
        entry["notes"],
    )


def load_all(folder: Path = FOLDER) -> list[Model]:
    """Every model of the snapshot, in the order of ``ids``."""
    return [model for model_id in ids(folder) if (model := load(model_id, folder))]


def path_of(model_id: str, folder: Path = FOLDER) -> Path:
    """The file of a Hub id; ``/`` becomes ``--``, and nothing can leave the folder."""
    return folder / (model_id.replace("/", "--").replace("\\", "--") + ".json")
