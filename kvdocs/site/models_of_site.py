"""The models of the site: the catalogue, looked up once per process."""

from __future__ import annotations

from functools import cache

from kvdocs.facts.catalogue import Catalogue, catalogue
from kvdocs.facts.models import Model


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
