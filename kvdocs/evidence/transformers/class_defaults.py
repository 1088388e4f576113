"""The defaults behind published configs, taken from transformers' config classes.

In: the installed transformers. Out: the text of ``formula/defaults.json``, the record ``defaults``.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from functools import cache
from typing import Any

from kvdocs.facts.models import LENGTHS
from kvdocs.formula.architectures import PARTS, WRAPPERS, model_types
from kvdocs.formula.fields import FIELDS

READ = FIELDS + LENGTHS

# Parts of a config that may hold the text decoder, in the order of get_text_config of 5.24.0;
# thinker_config is the part of the omni models that speaks and is spoken to in text.
TEXT_PARTS = (
    "decoder",
    "generator",
    "text_config",
    "thinker_config",
    "decoder_config",
    "vlm_config",
)


def measured() -> str:
    """The text of ``defaults.json``: one line a model_type, so that a reader parses one line only.

    Raises:
        ImportError: transformers is not installed.
    """
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    transformers.logging.set_verbosity_error()  # its advice on token ids is not about defaults
    lines = [
        f"{json.dumps(name)}: {json.dumps(_entry(CONFIG_MAPPING[name]))}"
        for name in sorted({*model_types(), *WRAPPERS, *PARTS})
        if name in CONFIG_MAPPING
    ]
    head = f'{{"transformers": {json.dumps(transformers.__version__)}, "classes": {{'
    return head + "\n" + ",\n".join(lines) + "\n}}\n"


def _entry(config_class: Any) -> dict[str, Any]:
    """What ``kvdocs.formula.class_defaults.class_entry`` describes."""
    names = _other_names(config_class)
    entry = {"class": config_class.__name__, "names": names}
    path, inner = _text_part(config_class)
    if path:
        entry |= {"text": path, "type": inner.model_type} | _of_the_part(config_class, path, inner)
    else:
        entry["defaults"] = _defaults(config_class)
    return {key: value for key, value in entry.items() if value}


def _other_names(config_class: Any) -> dict[str, str]:
    """The class's own names for standard fields; ``attribute_map`` has them in both directions."""
    found: dict[str, str] = {}
    own = set(READ) - {"num_layers", "num_heads"}  # these may be other names of standard fields
    for alias, real in config_class.attribute_map.items():
        if real in own:
            found[alias] = real
    for alias in READ:
        real = config_class.attribute_map.get(alias, alias)
        if real not in own and real != alias:
            found.setdefault(real, alias)
    for alias, real in (config_class.attribute_map | _popped(config_class)).items():
        standard = found.get(real, real)
        if alias != standard and standard in own:
            found.setdefault(alias, standard)
    return found


PROBE = 96  # no field's default, and divisible as head counts need it


@cache
def _popped(config_class: Any) -> dict[str, str]:
    """Names that ``__post_init__`` takes from its keyword arguments, and the field they set.

    ``n_embed`` of Bloom is no field and in no ``attribute_map``: its code is read for such names,
    and the class tried with each.
    """
    code = "".join(
        inspect.getsource(one.__post_init__)
        for one in config_class.__mro__
        if "__post_init__" in vars(one) and one.__module__.startswith("transformers.models.")
    )
    found = {}
    for name in sorted(set(POPPED.findall(code)) - set(_field_names(config_class))):
        made = vars(_made(config_class, **{name: PROBE}) or config_class)
        taken = [field for field in _field_names(config_class) if made.get(field) == PROBE]
        if taken:
            found[name] = taken[0]
    return found


def _field_names(config_class: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(config_class)]


POPPED = re.compile(r"""kwargs\.(?:pop|get)\(\s*["'](\w+)["']""")


def _defaults(config_class: Any) -> dict[str, Any]:
    names = _other_names(config_class)
    return {
        names.get(field.name, field.name): field.default
        for field in dataclasses.fields(config_class)
        if names.get(field.name, field.name) in READ
        and isinstance(field.default, (int, float, str, list, tuple, dict, type(None)))
    }


def _text_part(config_class: Any) -> tuple[str, Any]:
    """Where the text decoder's config is, and an instance; an empty path if it is the whole.

    A rule for the whole (BLT) reads the parts itself.
    """
    config = _made(config_class)
    if config is None or config_class.model_type in model_types():
        return "", None
    path: list[str] = []
    while names := [n for n in TEXT_PARTS if n in type(config).sub_configs and getattr(config, n)]:
        path.append(names[0])
        config = getattr(config, names[0])
    return ".".join(path), config


def _of_the_part(config_class: Any, path: str, inner: Any) -> dict[str, Any]:
    """How the class treats a part that is absent, or that names a model_type of its own."""
    own, plain = _standing(inner), _standing(_made(type(inner)))
    stated = _stated(config_class, path)
    differing = {
        name: value for name, value in own.items() if plain.get(name) != value or name in stated
    }
    return {
        "defaults": differing,
        "flat": _takes_flat_fields(config_class, path),
        "fixed": _keeps_its_class(config_class, path),
    }


def _stated(config_class: Any, path: str) -> set[str]:
    """Fields that the class gives its part where the config has none."""
    part = (config_class.sub_configs_defaults or {}).get(path)
    return set(part.init_kwargs) if part is not None else set()


def _standing(config: Any) -> dict[str, Any]:
    """The fields of an instance that rules read, under their standard names."""
    names = _other_names(type(config))
    given = {names.get(key, key): value for key, value in vars(config).items()}
    return {name: given[name] for name in _defaults(type(config)) if name in given}


def _takes_flat_fields(config_class: Any, path: str) -> bool:
    config = _made(config_class, num_hidden_layers=3)
    for name in path.split("."):
        config = getattr(config, name, None)
    return config is not None and getattr(config, "num_hidden_layers", None) == 3


def _keeps_its_class(config_class: Any, path: str) -> bool:
    name = path.split(".")[0]
    config = _made(config_class, **{name: {"model_type": "gpt2"}})
    return config is not None and getattr(config, name).model_type != "gpt2"


def _made(config_class: Any, **fields: Any) -> Any:
    """An instance, or None where the class refuses to be made."""
    try:
        return config_class(**fields)
    except Exception:  # whatever a config class objects to
        return None
