"""What config classes of transformers say: other names of fields, default values, nested parts.

In: a model_type. Out: its entry of ``defaults.json``, which ``kvdocs evidence update defaults``
writes.
"""

from __future__ import annotations

import json
import os
from functools import cache

TYPE_CHECKING = False  # as in typing, which takes longer to import than the formula to run
if TYPE_CHECKING:
    from typing import Any

DEFAULTS_FILE = os.path.join(os.path.dirname(__file__), "defaults.json")


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
