"""What the names in stated numbers stand for: the catalogue, the claims, the GPUs, the records."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from kvdocs.evidence import known
from kvdocs.facts.claims import claim, load_claims
from kvdocs.facts.gpus import load_gpus
from kvdocs.facts.models import Model
from kvdocs.site import example_workload
from kvdocs.site.model_values import model_names
from kvdocs.site.models_of_site import model, site_catalogue
from kvdocs.site.values import Scope

__all__ = ["forget", "model", "scope", "scope_of", "site_catalogue"]


@cache
def scope() -> Scope:
    """The names and what they stand for, made once per process."""
    return scope_of(site_catalogue().models)


def scope_of(models: Sequence[Model]) -> Scope:
    """The names and what they stand for, with these models."""
    return Scope(
        model_names(models),
        load_claims(),
        load_gpus(),
        _records(),
        example=example_workload.figure,
    )


def forget() -> None:
    """Look everything up anew: a server that builds again must see what has changed."""
    made = example_workload.example, example_workload.simulated
    for read in (site_catalogue, scope, known.record, claim, *made):
        read.cache_clear()


def _records() -> dict[str, Any]:
    files = sorted(Path(known.FOLDER).glob("*.json"))
    return {path.stem: known.record(str(path)) for path in files}
