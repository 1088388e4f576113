"""What the names in stated numbers stand for: the catalogue, the claims, the GPUs, the records."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from kvdocs.evidence import known
from kvdocs.facts.catalogue import Catalogue, catalogue
from kvdocs.facts.claims import claim, load_claims
from kvdocs.facts.gpus import load_gpus
from kvdocs.facts.models import Model
from kvdocs.site.expressions import Scope, names


@cache
def site_catalogue() -> Catalogue:
    """All models of the site, looked up once per process."""
    return catalogue()


def model(model_id: str) -> Model:
    """One model of the catalogue.

    Raises:
        KeyError: the catalogue does not have it.
    """
    return {one.id: one for one in site_catalogue().models}[model_id]


@cache
def scope() -> Scope:
    """The names and what they stand for, made once per process."""
    return scope_of(site_catalogue().models)


def scope_of(models: Sequence[Model]) -> Scope:
    """The names and what they stand for, with these models."""
    return Scope(names(models), load_claims(), load_gpus(), _records())


def forget() -> None:
    """Look everything up anew: a server that builds again must see what has changed."""
    from kvdocs.site.example_workload import example  # which imports this module

    for read in (site_catalogue, scope, known.record, claim, example):
        read.cache_clear()


def _records() -> dict[str, Any]:
    files = sorted(Path(known.FOLDER).glob("*.json"))
    return {path.stem: known.record(str(path)) for path in files}
