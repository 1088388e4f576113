"""How an answer is known: the record of measured caches, read.

In: a model_type and a model's id. Out: ``measured`` or ``unverified``. The record is made by
``kvdocs.evidence.records``; reading it takes the standard library only.
"""

from __future__ import annotations

import json
import os
from functools import cache

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import Any

FOLDER = os.path.join(os.path.dirname(__file__), "records")
CACHES_FILE = os.path.join(FOLDER, "caches.json")


@cache
def caches(path: str = CACHES_FILE) -> dict[str, Any]:
    """The record as it was written; sizes in bytes."""
    with open(path, encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
        return found


def known_by(model_type: str, model_id: str, path: str = CACHES_FILE) -> str:
    """``measured`` where the record shows the formula exact for the model, else ``unverified``.

    A model that is not in the record itself goes by its model_type: all measured models of that
    type must be exact.
    """
    models = [entry for entry in caches(path)["models"] if model_type in entry["model_types"]]
    own = [entry for entry in models if entry["id"] == model_id]
    exact = [length["equal"] for entry in own or models for length in entry["lengths"]]
    return "measured" if exact and all(exact) else "unverified"
