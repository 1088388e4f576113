"""Published keys over the config class's defaults: the effective config.

In: the text or the parsed object of a ``config.json``. Out: an ``EffectiveConfig`` that hands out
checked values under transformers' standard names, or a ``ConfigError`` naming the field.

A key that is published as null counts as "not set" even where the class has a default, because
transformers does the same (``"sliding_window": null`` turns Mistral's default window off).
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache

TYPE_CHECKING = False  # as in typing, which takes longer to import than the formula to run
if TYPE_CHECKING:
    from typing import Any

DEFAULTS_FILE = os.path.join(os.path.dirname(__file__), "defaults.json")

STATED_BY_HAND = "stated by hand"  # the model_type of a layout in TOML, see by_hand.py
MOST_LAYERS = 10_000  # beyond any real model; a typo must not fill the memory
LARGEST = 10**9  # of any size; a typo must not give a number nobody can have meant


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
        found = json.loads(text.removeprefix("\ufeff"), object_pairs_hook=_once_each)
    except _Twice as error:
        remedy = "Keep the one that is meant"
        raise ConfigError(
            source, str(error), "stands twice, with different values", remedy
        ) from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        if (line := text.splitlines()[error.lineno - 1 :][:1]) and line[0].startswith(_MARKERS):
            problem = f"has a merge-conflict marker at line {error.lineno}"
            raise ConfigError(source, "", problem, "Resolve the conflict first") from None
        raise ConfigError(source, "", f"is not JSON: {error.msg} at {place}", remedy) from None
    except (ValueError, RecursionError) as error:
        place = too_long(text, r'"(\w+)"\s*:')
        raise ConfigError(source, place, f"is not usable JSON: {unread(error)}", remedy) from None
    if not isinstance(found, dict):
        raise ConfigError(source, "", f"holds {shown(found)}, not a JSON object", remedy)
    return found


def unread(error: Exception) -> str:
    """Why Python could not read numbers or lists that are well-formed."""
    if isinstance(error, RecursionError):
        return "it nests deeper than can be read"
    return "a number there has more digits than can be read"


def too_long(text: str, key: str) -> str:
    """The field in ``text`` whose number Python will not read, empty where there is none.

    ``key`` is the pattern of a name and what stands between it and its value.
    """
    found = re.search(rf"{key}[^\n\"]*?\d{{{sys.get_int_max_str_digits() or 4300}}}", text)
    return found[1] if found else ""


_MARKERS = ("<<<<<<<", "=======", ">>>>>>>")


class _Twice(Exception):
    """A key with two values in one object."""


def _once_each(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        for key, value in pairs:
            if repr(found[key]) != repr(value):
                raise _Twice(key)
    return found


@cache
def _defaults() -> str:
    with open(DEFAULTS_FILE, encoding="utf-8") as file:
        return file.read()


@cache
def class_entry(model_type: str) -> dict[str, Any]:
    """What ``defaults.json`` says about a model_type: one line of the file, the rest unparsed.

    ``class`` is the config class, ``names`` its own names for standard fields, ``defaults`` its
    values for them. In a config with a part for the text decoder, ``text`` says where that is and
    ``type`` its model_type, ``flat`` that its fields may also stand outside.

    >>> class_entry("gpt2")["names"]["n_head"]
    'num_attention_heads'
    """
    text, mark = _defaults(), f"\n{json.dumps(model_type)}: "
    start = text.find(mark)
    if start < 0:
        return {}
    line = text[start + len(mark) : text.index("\n", start + 1)]
    entry: dict[str, Any] = json.loads(line.rstrip(","))
    return entry


def release() -> str:
    """The release of transformers whose defaults these are."""
    return str(json.loads(_defaults().partition("\n")[0] + "}}")["transformers"])


@dataclass(frozen=True)
class EffectiveConfig:
    """The text decoder's config: what is published, and the class defaults behind it."""

    source: str
    model_type: str
    published: dict[str, object]
    defaults: Mapping[str, object]
    prefix: str = ""
    class_name: str = ""
    given: Mapping[str, object] = field(default_factory=dict)  # under the names in the file

    @classmethod
    def of(cls, config: Mapping[str, object], source: str) -> EffectiveConfig:
        """The effective config of a published one; a nested text decoder is resolved.

        Raises:
            ConfigError: ``model_type`` is missing or no text, ``text_config`` is no object.
        """
        prefix, defaults = "", None
        model_type = _model_type(config, source, prefix)
        entry = class_entry(model_type)
        while "text" in entry:
            part, inner = _text_part(config, entry["text"], source, prefix)
            if part is not None:
                config, prefix = part, inner
            elif entry.get("flat"):
                config = {name: config[name] for name in config if name != "model_type"}
            else:
                config, prefix, defaults = {}, inner, entry.get("defaults")
            named = _model_type({"model_type": entry["type"]} | {**config}, source, prefix)
            model_type = entry["type"] if entry.get("fixed") else named
            entry = class_entry(model_type)
        published = _standard(config, entry.get("names", {}))
        values = entry.get("defaults", {})
        return cls(
            source,
            model_type,
            published,
            values | defaults if defaults else values,
            prefix,
            entry.get("class", ""),
            config,
        )

    def get(self, name: str) -> object:
        """The published value (null included), else the class default, else None.

        Raises:
            ConfigError: it stands under two of its names with two values.
        """
        if name not in self.published:
            return self.defaults.get(name)
        value = self.published[name]
        if isinstance(value, _Contradiction):
            raise self.error(value.key, value.problem, "Keep the one that is meant")
        return value

    def origin(self, name: str) -> str:
        """``config.json``, or the class and release whose default stands in."""
        if name in self.published:
            return "config.json"
        return f"default of {self.class_name} (transformers {release()})"

    def optional(self, name: str) -> int | None:
        """A positive whole number, or None where it is not set.

        Raises:
            ConfigError: it is set to anything else.
        """
        value = self.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.error(name, f"is {shown(value)}, not a whole number")
        if not 1 <= value <= LARGEST:
            bound = "1 or more" if value < 1 else f"{LARGEST:,} or less"
            raise self.error(name, f"is {shown(value)}; it must be {bound}")
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
        raise self.error(name, f"is {shown(value)}, not true or false")

    def whole(self, name: str) -> int:
        """A whole number, 0 or more.

        Raises:
            ConfigError: it is anything else, or not set.
        """
        value = self.get(name)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self.error(name, f"is {shown(value)}, not a whole number of 0 or more")
        if value > LARGEST:
            raise self.error(name, f"is {shown(value)}; it must be {LARGEST:,} or less")
        return value

    def wholes(self, name: str) -> list[int] | None:
        """A list of whole numbers, 0 or more, or None where it is not set.

        Raises:
            ConfigError: it is set to anything else.
        """
        value = self.get(name)
        if value is None:
            return None
        if not isinstance(value, list) or not all(type(x) is int and x >= 0 for x in value):
            raise self.error(name, f"is {shown(value)}, not a list of whole numbers")
        return value

    def times(self, factor: str, size: str) -> int:
        """``factor`` × ``size``, where the factor may be a decimal number such as 1.5.

        Raises:
            ConfigError: one is not set, or the product is no whole number of 1 or more.
        """
        value, length = self.get(factor), self.required(size)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
            raise self.error(factor, f"is {shown(value)}, not a positive number")
        if not 1 <= value * length <= LARGEST:
            raise self.error(factor, f"is {shown(value)}; times {size} it is out of range")
        return int(value * length)

    def part(self, name: str, model_type: str = "") -> EffectiveConfig:
        """The object ``name`` of the config, empty where it is not set.

        With ``model_type``, that class's defaults stand behind it.

        Raises:
            ConfigError: it is set to anything but an object.
        """
        value = self.get(name)
        if value is not None and not isinstance(value, dict):
            raise self.error(name, f"is {shown(value)}, not an object")
        entry, prefix = class_entry(model_type), f"{self.prefix}{name}."
        return replace(
            self,
            model_type=model_type or self.model_type,
            published=_standard(value or {}, entry.get("names", {})),
            defaults=entry.get("defaults", {}),
            prefix=prefix,
            class_name=entry.get("class", self.class_name),
        )

    def entry(self, value: object, name: str) -> EffectiveConfig:
        """An object somewhere in the config, under the name by which errors call it.

        Raises:
            ConfigError: it is no object.
        """
        if not isinstance(value, dict):
            raise self.error(name, f"is {shown(value)}, not an object")
        return replace(self, published=value, defaults={}, prefix=f"{self.prefix}{name}.")

    def per_layer(self) -> dict[int, dict[str, object]]:
        """What single layers have of their own: ``per_layer_config``, by layer index.

        Raises:
            ConfigError: it is not an object of objects under layer numbers.
        """
        value = self.get("per_layer_config")
        if value is None:
            return {}
        if not isinstance(value, dict) or not all(isinstance(x, dict) for x in value.values()):
            raise self.error("per_layer_config", "is not an object of objects, one per layer")
        if wrong := [key for key in value if not str(key).isdecimal()]:
            raise self.error("per_layer_config", f"has the key {wrong[0]!r}, not a layer's number")
        return {int(key): own for key, own in value.items()}

    def of_layer(self, index: int, own: Mapping[str, object]) -> EffectiveConfig:
        """This config with what layer ``index`` has of its own."""
        names = class_entry(self.model_type).get("names", {})
        mine = {names.get(key, key): value for key, value in own.items()}
        return replace(self, published=self.published | mine)

    def before_it_derives(self, own: str, other: str, derived: str) -> None:
        """Refuse a config that has ``other`` where its class reads ``own`` to derive ``derived``.

        Both name the same field, but the class derives before it looks at other names, so the
        default of ``own`` would decide.
        """
        if other in self.given and own not in self.given:
            problem = f"stands where {self.class_name} derives {derived} from {own}"
            raise self.error(other, problem, f"Publish {own}, or {derived} itself")

    def at_most(self, layers: list[str], name: str) -> list[str]:
        """``layers``, unless there are more than any real model has."""
        if len(layers) > MOST_LAYERS:
            raise self.error(name, f"names {len(layers):,} layers, more than {MOST_LAYERS:,}")
        return layers

    def layers(self) -> int:
        """How many layers the decoder has."""
        return self.count("num_hidden_layers")

    def count(self, name: str) -> int:
        """How many layers the field ``name`` counts.

        Raises:
            ConfigError: it is not set, no whole number, or more than any real model has.
        """
        count = self.required(name)
        if count > MOST_LAYERS:
            raise self.error(name, f"is {count:,}, more than {MOST_LAYERS:,}")
        return count

    def error(self, name: str, problem: str, remedy: str = "") -> ConfigError:
        """A ``ConfigError`` about the field ``name`` of this config."""
        if name not in self.published and name in self.defaults:
            problem += f" ({self.origin(name)})"
        return ConfigError(self.source, self.prefix + name, problem, remedy)


@dataclass(frozen=True)
class _Contradiction:
    """One field under two names with two values; refused where a rule reads it."""

    key: str
    problem: str


def _standard(given: Mapping[str, object], names: Mapping[str, str]) -> dict[str, object]:
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
            published[name] = _Contradiction(key, problem)
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


def shown(value: object) -> str:
    """A value as it stands in the file, cut to a readable length."""
    try:
        text = json.dumps(value, default=str)
    except (ValueError, RecursionError):  # more digits than Python writes, or too deep
        return "too long to show"
    return text if len(text) <= 40 else text[:37] + "..."
