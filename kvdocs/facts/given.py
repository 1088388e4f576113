"""A model as Python code gives it: by name, as a config, or ready made.

In: what a caller passed. Out: the ``Model``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from kvdocs.facts.hub import find
from kvdocs.facts.models import Model, Source
from kvdocs.formula import ConfigError, parse_config

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import Any

GIVEN = "the config given"


def model_of(given: str | os.PathLike[str] | Mapping[str, Any] | Model) -> Model:
    """The model: itself, made of a config as ``json.load`` reads it, or found by id or path.

    Raises:
        LookupFailed: there is no such file or model.
        ConfigError: what is there is no config.
        TypeError: it is nothing of all this.

    >>> model_of({"model_type": "gpt2"}).layout.bytes(tokens=1)
    36864
    """
    if isinstance(given, Model):
        return given
    if not isinstance(given, Mapping):
        return find(os.fspath(given))
    try:
        text = json.dumps(dict(given))
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(
            GIVEN, "", f"cannot be written as JSON: {error}", "Pass one that json.load read"
        ) from None
    return Model(GIVEN, parse_config(text, GIVEN), Source("file", detail=GIVEN))
