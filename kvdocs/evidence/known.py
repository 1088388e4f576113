"""How an answer is known: the records of measured caches, read.

In: a model_type and a model's id. Out: ``measured`` or ``unverified``. The record ``caches`` is of
published models, ``sweep`` of the default config of every architecture; how they are made says
``record.py`` beside. Reading them takes the standard library only.
"""

from __future__ import annotations

import json
import os
from functools import cache

from kvdocs.engines.transformers.copies import copies_heads
from kvdocs.facts.models import Model
from kvdocs.formula.config import STATED_BY_HAND, EffectiveConfig

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import Any

FOLDER = os.path.join(os.path.dirname(__file__), "records")
CACHES_FILE = os.path.join(FOLDER, "caches.json")
SWEEP_FILE = os.path.join(FOLDER, "sweep.json")


@cache
def record(path: str) -> dict[str, Any]:
    """A record as it was written; sizes in bytes.

    Raises:
        ValueError: the file is no JSON.
    """
    with open(path, encoding="utf-8") as file:
        try:
            found: dict[str, Any] = json.load(file)
        except ValueError as error:
            raise ValueError(f"{path}: {error}. Restore the record, or measure again") from None
        return found


def recorded(name: str) -> dict[str, Any]:
    """The record of that name, as ``kvdocs evidence`` lists them."""
    return record(os.path.join(FOLDER, f"{name}.json"))


def caches() -> dict[str, Any]:
    """The record of the published models."""
    return recorded("caches")


def known_by_model(model: Model) -> str:
    """``known_by`` for a model, ``stated`` where its layout is stated by hand.

    Where transformers caches another shape, its caches show nothing about the formula's.
    """
    if model.config["model_type"] == STATED_BY_HAND:
        return "stated"
    if copies_heads(EffectiveConfig.of(model.config, model.id)):
        return "unverified"
    return known_by(model.config["model_type"], model.id)


def known_by(
    model_type: str, model_id: str, path: str = CACHES_FILE, sweep: str = SWEEP_FILE
) -> str:
    """``measured`` where the records show the formula exact for the model, else ``unverified``.

    A model that is not in the record itself goes by its model_type: all measured models of that
    type must be exact. The sweep, which takes longer to read, is asked where there are none.
    """
    models = [entry for entry in record(path)["models"] if model_type in entry["model_types"]]
    own = [entry for entry in models if entry["id"] == model_id]
    exact = [length["equal"] for entry in own or models for length in entry["lengths"]]
    if not exact:
        architectures = record(sweep)["architectures"]
        exact = [
            one["status"] == "exact" for one in architectures if one["model_type"] == model_type
        ]
    return "measured" if exact and all(exact) else "unverified"
