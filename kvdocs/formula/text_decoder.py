"""Where a config keeps its text decoder, and its fields under transformers' standard names.

In: a published config. Out: the part that describes the text decoder, whose model_type decides the
rule; its fields, one value each.
"""

from __future__ import annotations

from collections.abc import Mapping

from kvdocs.formula.class_defaults import class_entry
from kvdocs.formula.errors import ConfigError, shown

TYPE_CHECKING = False  # as in typing, which takes longer to import than the formula to run
if TYPE_CHECKING:
    from typing import Any


def text_decoder(
    config: Mapping[str, object], source: str
) -> tuple[Mapping[str, object], str, str, Mapping[str, Any]]:
    """The part of a config that describes its text decoder, the prefix of that part's fields, its
    model_type, and the defaults behind it.

    Raises:
        ConfigError: ``model_type`` is missing or no text, a part is no object.
    """
    prefix, over = "", {}
    model_type = _model_type(config, source, prefix)
    entry = class_entry(model_type)
    while "text" in entry:
        part, inner = _text_part(config, entry["text"], source, prefix)
        if part is not None:
            config, prefix = part, inner
        elif entry.get("flat"):
            config = {name: config[name] for name in config if name != "model_type"}
        else:
            config, prefix, over = {}, inner, entry.get("defaults", {})
        named = _model_type({"model_type": entry["type"]} | {**config}, source, prefix)
        model_type = entry["type"] if entry.get("fixed") else named
        entry = class_entry(model_type)
    return config, prefix, model_type, entry.get("defaults", {}) | over


class Contradiction:
    """One field under two names with two values; refused where a rule reads it."""

    def __init__(self, key: str, problem: str) -> None:
        self.key, self.problem = key, problem


def standard_names(given: Mapping[str, object], names: Mapping[str, str]) -> dict[str, object]:
    """What is given, under standard names; a field that stands under two of them is one field."""
    published = {names.get(key, key): value for key, value in given.items()}
    if len(published) == len(given):
        return published
    used: dict[str, str] = {}
    for key, value in given.items():
        if value is None:
            continue
        name = names.get(key, key)
        other = used.setdefault(name, key)
        published[name] = value
        if given[other] != value:
            problem = f"is {shown(value)} and {other}, the same field, is {shown(given[other])}"
            published[name] = Contradiction(key, problem)
    return published


def _text_part(
    config: Mapping[str, object], path: str, source: str, prefix: str
) -> tuple[Mapping[str, object] | None, str]:
    """The text decoder's part of a config, None where absent; and the prefix of its fields."""
    if path == "text_config" and config.get(path) is None and config.get(OLDER_TEXT) is not None:
        path = OLDER_TEXT
    part: Mapping[str, object] | None = config
    for key in path.split("."):
        prefix += key + "."
        found = part.get(key) if part is not None else None
        if found is not None and not isinstance(found, Mapping):
            raise ConfigError(source, prefix[:-1], f"is {shown(found)}, not an object")
        part = found
    if part is not None and path == OLDER_TEXT and "sliding_window" in config:
        part = {**part, "sliding_window": config["sliding_window"]}
    return part, prefix


# What a first release calls its text decoder's part; the window may stand outside it, and then
# counts (UnlimitedOcrConfig of transformers 5.24.0).
OLDER_TEXT = "language_config"


def _model_type(config: Mapping[str, object], source: str, prefix: str) -> str:
    model_type = config.get("model_type")
    if isinstance(model_type, str) and model_type:
        return model_type
    problem = "is missing" if model_type is None else f"is {shown(model_type)}, not a name"
    remedy = "The model_type says which code reads the config; take the whole file"
    raise ConfigError(source, prefix + "model_type", problem, remedy)
