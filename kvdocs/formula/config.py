"""Published keys over the config class's defaults: the effective config.

In: the text or the parsed object of a ``config.json``. Out: an ``EffectiveConfig`` that hands out
checked values under transformers' standard names, or a ``ConfigError`` naming the field.

A key that is published as null counts as "not set" even where the class has a default, because
transformers does the same (``"sliding_window": null`` turns Mistral's default window off).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

TYPE_CHECKING = False  # as in typing, which takes longer to import than the formula to run
if TYPE_CHECKING:
    from typing import Any

DEFAULTS_FILE = os.path.join(os.path.dirname(__file__), "defaults.json")

# The fields the rules in architectures.py read, under transformers' standard names.
FIELDS = (
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "hidden_size",
    "layer_types",
    "sliding_window",
    "use_sliding_window",
    "max_window_layers",
    "sliding_window_pattern",
    "no_rope_layers",
    "no_rope_layer_interval",
    "use_bidirectional_attention",
    "multi_query",
    "new_decoder_architecture",
    "num_kv_heads",
    "kv_lora_rank",
    "qk_rope_head_dim",
)
MOST_LAYERS = 10_000  # beyond any real model; a typo must not fill the memory


class ConfigError(ValueError):
    """A config that gives no answer: where, which field, what is wrong, what to do next."""

    def __init__(self, source: str, field: str, problem: str, remedy: str = "") -> None:
        self.source, self.field, self.problem, self.remedy = source, field, problem, remedy
        place = f"{source}: {field}" if field else source
        super().__init__(f"{place} {problem}." + (f" {remedy}." if remedy else ""))


def parse_config(text: str, source: str) -> dict[str, object]:
    """The JSON object in ``text``; ``source`` names the file in errors.

    Raises:
        ConfigError: not JSON, or JSON that is not an object.

    >>> parse_config('{"num_hidden_layers": 28}', "config.json")
    {'num_hidden_layers': 28}
    """
    remedy = "Pass a model's config.json as published on the Hub"
    try:
        found = json.loads(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ConfigError(source, "", f"is not JSON: {error.msg} at {place}", remedy) from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(source, "", f"is not usable JSON: {error}", remedy) from None
    if not isinstance(found, dict):
        kind = type(found).__name__
        raise ConfigError(source, "", f"holds a JSON {kind}, not an object", remedy)
    return found


@cache
def class_defaults() -> dict[str, Any]:
    """``defaults.json``: per model_type the config class, its other names, its defaults."""
    with open(DEFAULTS_FILE, encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
        return found


@dataclass(frozen=True)
class EffectiveConfig:
    """The text decoder's config: what is published, and the class defaults behind it."""

    source: str
    model_type: str
    published: dict[str, object]
    defaults: Mapping[str, object]
    prefix: str = ""
    class_name: str = ""

    @classmethod
    def of(cls, config: Mapping[str, object], source: str) -> EffectiveConfig:
        """The effective config of a published one, the nested ``text_config`` resolved.

        Raises:
            ConfigError: ``model_type`` is missing or no text, ``text_config`` is no object.
        """
        model_type = config.get("model_type")
        if not isinstance(model_type, str) or not model_type:
            problem = "is missing" if model_type is None else f"is {model_type!r}, not a name"
            remedy = "The model_type says which code reads the config; take the whole file"
            raise ConfigError(source, "model_type", problem, remedy)
        entry = class_defaults()["classes"].get(model_type, {})
        if "text_config" in entry:
            return cls._nested(config, source, model_type, entry["text_config"])
        return cls._flat(config, source, model_type, "")

    @classmethod
    def _nested(
        cls, config: Mapping[str, object], source: str, outer: str, inner: str
    ) -> EffectiveConfig:
        text = config.get("text_config")
        if text is None:
            text = {}
        if not isinstance(text, dict):
            raise ConfigError(source, "text_config", f"is {_show(text)}, not an object")
        model_type = text.get("model_type") or inner
        if not isinstance(model_type, str):
            raise ConfigError(source, "text_config.model_type", f"is {_show(model_type)}")
        return cls._flat(text, source, model_type, "text_config.")

    @classmethod
    def _flat(
        cls, config: Mapping[str, object], source: str, model_type: str, prefix: str
    ) -> EffectiveConfig:
        entry = class_defaults()["classes"].get(model_type, {})
        names = entry.get("names", {})
        published = {names.get(key, key): value for key, value in config.items()}
        return cls(
            source, model_type, published, entry.get("defaults", {}), prefix, entry.get("class", "")
        )

    def get(self, name: str) -> object:
        """The published value (null included), else the class default, else None."""
        return self.published[name] if name in self.published else self.defaults.get(name)

    def origin(self, name: str) -> str:
        """``config.json``, or the class and release whose default stands in."""
        if name in self.published:
            return "config.json"
        return f"default of {self.class_name} (transformers {class_defaults()['transformers']})"

    def optional(self, name: str) -> int | None:
        """A positive whole number, or None where it is not set.

        Raises:
            ConfigError: it is set to anything else.
        """
        value = self.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.error(name, f"is {_show(value)}, not a whole number")
        if value < 1:
            raise self.error(name, f"is {value}; it must be 1 or more")
        return value

    def required(self, name: str) -> int:
        """A positive whole number.

        Raises:
            ConfigError: it is set to anything else, or not set and the class has no default.
        """
        value = self.optional(name)
        if value is None:
            state = "is null" if name in self.published else "is missing"
            raise self.error(name, f"{state} and {self.model_type} has no default for it")
        return value

    def flag(self, name: str) -> bool:
        """True or false; not set counts as false.

        Raises:
            ConfigError: it is set to anything else.
        """
        value = self.get(name)
        if value is None or isinstance(value, bool):
            return bool(value)
        raise self.error(name, f"is {_show(value)}, not true or false")

    def layers(self) -> int:
        """How many layers the decoder has."""
        count = self.required("num_hidden_layers")
        if count > MOST_LAYERS:
            raise self.error("num_hidden_layers", f"is {count:,}, more than {MOST_LAYERS:,}")
        return count

    def error(self, name: str, problem: str, remedy: str = "") -> ConfigError:
        """A ``ConfigError`` about the field ``name`` of this config."""
        if name not in self.published and name in self.defaults:
            problem += f" ({self.origin(name)})"
        return ConfigError(self.source, self.prefix + name, problem, remedy)


def _show(value: object) -> str:
    """A value as it stands in the file, cut to a readable length."""
    text = json.dumps(value, default=str)
    return text if len(text) <= 40 else text[:37] + "..."
