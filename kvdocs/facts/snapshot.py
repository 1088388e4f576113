"""The embedded snapshot: one JSON file per model, readable without a network.

In: a Hub id. Out: the ``Model``, or None where the snapshot does not have it.
"""

from __future__ import annotations

import json
import os

from kvdocs.facts.models import Model, Source, Weights

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import Any

FOLDER = os.path.join(os.path.dirname(__file__), "snapshot")
Folder = str | os.PathLike[str]


def ids(folder: Folder = FOLDER) -> list[str]:
    """The Hub ids of all models in the snapshot, sorted without regard to case."""
    names = [name.removesuffix(".json") for name in os.listdir(folder) if name.endswith(".json")]
    return sorted((name.replace("--", "/") for name in names), key=str.lower)


def load(model_id: str, folder: Folder = FOLDER) -> Model | None:
    """The snapshot's entry for a Hub id.

    Raises:
        ValueError: the file is there and is no entry; the message names it.

    >>> load("Qwen/Qwen2.5-7B-Instruct").weights.bytes
    15231233024
    """
    path = path_of(model_id, folder)
    if not os.path.isfile(path):
        return None
    try:
        with open(path, encoding="utf-8") as file:
            return _model(json.load(file))
    except (ValueError, KeyError, TypeError) as error:
        what = f"{type(error).__name__}: {error}"
        raise ValueError(f"{path}: not an entry of the snapshot ({what})") from None


def _model(entry: Any) -> Model:
    weights = Weights(**entry["weights"]) if entry["weights"] else None
    if weights and (type(weights.bytes) is not int or weights.bytes < 1):
        raise ValueError(f"weights.bytes is {weights.bytes!r}, not a number of bytes")
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


def load_all(folder: Folder = FOLDER) -> list[Model]:
    """Every model of the snapshot, in the order of ``ids``."""
    return [model for model_id in ids(folder) if (model := load(model_id, folder))]


def path_of(model_id: str, folder: Folder = FOLDER) -> str:
    """The file of a Hub id; ``/`` becomes ``--``, and nothing can leave the folder."""
    name = model_id.replace("/", "--").replace("\\", "--") + ".json"
    return os.path.join(folder, name)
