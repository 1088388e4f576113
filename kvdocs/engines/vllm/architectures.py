"""Which architectures vLLM 0.33.0 can run at all.

In: a published config. Out: vLLM's reason where it has no class for the architecture. The lists are
in ``architectures.json``; ``kvdocs evidence update architectures`` takes them from vLLM's registry.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cache

FILE = os.path.join(os.path.dirname(__file__), "architectures.json")
REGISTRY = "model_executor/models/registry.py"


def no_class(config: Mapping[str, object]) -> str:
    """Why vLLM has no class for a model; empty where it has one, or where the config names no
    architecture.

    A class that vLLM does not have itself it takes from transformers where that one is compatible
    (model_executor/models/registry.py:1266), but then it keeps no cache of an encoder's output.

    >>> no_class({"architectures": ["Qwen2ForCausalLM"]})
    ''
    >>> no_class({"architectures": ["MPTForCausalLM"]}).partition(" (")[0]
    'MPTForCausalLM was supported until 0.28.0'
    """
    named = config.get("architectures")
    names = [name for name in named if isinstance(name, str)] if isinstance(named, list) else []
    known = architectures()
    if not names or any(_own(name) for name in names):
        return ""
    name = names[0]
    if through_transformers(config):
        return ""
    if name in known["plugins"]:
        return f"{name} needs the plugin {known['plugins'][name]} ({REGISTRY}:897)"
    if name in known["until"]:
        return f"{name} was supported until {known['until'][name]} ({REGISTRY}:841)"
    return f"it has no class for {name} ({REGISTRY})"


def through_transformers(config: Mapping[str, object]) -> bool:
    """Whether vLLM runs a model with the class that transformers has for it."""
    named = config.get("architectures")
    names = named if isinstance(named, list) and named else [""]
    decoder = config.get("is_encoder_decoder") is not True
    return decoder and names[0] in architectures()["through_transformers"]


def _own(name: str) -> bool:
    """Whether vLLM has the class, or the same model with another head (…registry.py:1341)."""
    known = architectures()
    base = next((name.removesuffix(end) for end in known["endings"] if name.endswith(end)), name)
    return name in known["own"] or any(base + end in known["own"] for end in known["endings"])


@cache
def architectures() -> dict[str, dict[str, str]]:
    """The lists: ``own`` and ``through_transformers`` by name, ``until`` with vLLM's last version,
    ``plugins`` with their address, ``endings`` of names that stand for each other."""
    with open(FILE, encoding="utf-8") as file:
        found: dict[str, dict[str, str]] = json.load(file)
    return found
