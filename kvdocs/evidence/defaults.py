"""The defaults behind published configs, taken from transformers' config classes.

In: the installed transformers. Out: ``formula/defaults.json``, or what in it is out of date.
One function makes the content; ``check`` compares it and ``update`` writes it.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path
from typing import Any

from kvdocs.formula.architectures import FAMILIES, WRAPPERS
from kvdocs.formula.config import DEFAULTS_FILE, FIELDS


def from_transformers() -> str:
    """The text ``defaults.json`` should have, with the installed transformers.

    Raises:
        ImportError: transformers is not installed.
    """
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    classes = {
        name: _entry(CONFIG_MAPPING[name])
        for name in sorted([*FAMILIES, *WRAPPERS])
        if name in CONFIG_MAPPING
    }
    content = {"transformers": transformers.__version__, "classes": classes}
    return json.dumps(content, indent=1) + "\n"


def check() -> list[str]:
    """Each line of ``defaults.json`` that differs from the installed transformers."""
    import difflib

    old = Path(DEFAULTS_FILE).read_text(encoding="utf-8").splitlines()
    new = from_transformers().splitlines()
    names = (Path(DEFAULTS_FILE).name, "installed transformers")
    return list(difflib.unified_diff(old, new, *names, lineterm="", n=1))


def update() -> None:
    """Write ``defaults.json`` from the installed transformers."""
    Path(DEFAULTS_FILE).write_text(from_transformers(), encoding="utf-8")


def _entry(config_class: Any) -> dict[str, Any]:
    if "text_config" in getattr(config_class, "sub_configs", {}):
        inner = config_class().text_config.model_type
        return {"class": config_class.__name__, "text_config": inner}
    other_names = {
        published: standard
        for standard, published in config_class.attribute_map.items()
        if standard in FIELDS
    }
    defaults = {
        other_names.get(field.name, field.name): field.default
        for field in dataclasses.fields(config_class)
        if other_names.get(field.name, field.name) in FIELDS
        and field.default is not dataclasses.MISSING
    }
    return {"class": config_class.__name__, "names": other_names, "defaults": defaults}


def run(args: argparse.Namespace) -> int:
    """``kvdocs defaults check|update``: 0 up to date or updated, 1 out of date."""
    try:
        lines = check()
        if args.action == "update":
            update()
    except ImportError as error:
        raise ValueError(f"transformers cannot be used here: {error}. Install it first") from None
    print("\n".join(lines) if lines else "defaults.json is up to date")
    return 1 if lines and args.action == "check" else 0
