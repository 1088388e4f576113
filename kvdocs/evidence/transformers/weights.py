"""Where a model's published weights are not 2 bytes a parameter, and why.

In: ``weights.toml``, which holds findings. Out: per model the reason, and the bytes it accounts
for. The tests count every parameter with transformers 5.24.0 and hold these figures to the byte.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class More:
    """What a checkpoint holds beside 2 bytes a parameter."""

    reason: str
    bytes: int


_FOUND: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("weights.toml").read_text(encoding="utf-8")
)
MORE = {name: More(why, sum(map(prod, terms))) for name, (why, terms) in _FOUND["more"].items()}
FEWER_BITS: dict[str, str] = _FOUND["fewer_bits"]
NOT_ITEMISED: dict[str, str] = _FOUND["not_itemised"]
