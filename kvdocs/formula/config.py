"""Published keys over the config class's defaults: the effective config.

In: the parsed object of a ``config.json``. Out: an ``EffectiveConfig`` that hands out
checked values under transformers' standard names, or a ``ConfigError`` naming the field.

A key that is published as null counts as "not set" even where the class has a default, because
transformers does the same (``"sliding_window": null`` turns Mistral's default window off).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from kvdocs.formula.class_defaults import class_entry, release
from kvdocs.formula.errors import ConfigError, shown
from kvdocs.formula.text_decoder import Contradiction, standard_names, text_decoder
from kvdocs.startup import dataclass

STATED_BY_HAND = "stated by hand"  # the model_type of a layout in TOML, see by_hand.py
MOST_LAYERS = 10_000  # beyond any real model; a typo must not fill the memory
LARGEST = 10**9  # of any size; a typo must not give a number nobody can have meant


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
        part, prefix, model_type, defaults = text_decoder(config, source)
        entry = class_entry(model_type)
        published = standard_names(part, entry.get("names", {}))
        class_name = entry.get("class", "")
        return cls(source, model_type, published, defaults, prefix, class_name, part)

    def get(self, name: str) -> object:
        """The published value (null included), else the class default, else None.

        Raises:
            ConfigError: it stands under two of its names with two values.
        """
        if name not in self.published:
            return self.defaults.get(name)
        value = self.published[name]
        if isinstance(value, Contradiction):
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

    def whole(self, name: str, absent: int | None = None) -> int:
        """A whole number, 0 or more; ``absent`` where it is not set.

        Raises:
            ConfigError: it is anything else, or not set and nothing stands in.
        """
        value = self.get(name)
        value = absent if value is None else value
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self.error(name, f"is {shown(value)}, not a whole number of 0 or more")
        if value > LARGEST:
            raise self.error(name, f"is {shown(value)}; it must be {LARGEST:,} or less")
        return value

    def one_of(self, name: str, *known: str) -> str | None:
        """One of the names that a class knows, or None where it is not set.

        Raises:
            ConfigError: it is set to anything else.
        """
        value = self.get(name)
        if value is None or value in known:
            return value
        raise self.error(name, f"is {shown(value)}", f"Known are {' and '.join(known)}")

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
            published=standard_names(value or {}, entry.get("names", {})),
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
