"""Which architectures the sweep builds: every pair of model_type and class that generates text.

In: the installed transformers and ``changes.toml``. Out: targets, and per target what its config
class's default needs before it can be run, with the reason.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

CHANGES_FILE = Path(__file__).with_name("changes.toml")
# transformers' tables from model_type to a class that generates text.
TABLES = (
    "CAUSAL_LM",
    "IMAGE_TEXT_TO_TEXT",
    "MULTIMODAL_LM",
    "SEQ_TO_SEQ_CAUSAL_LM",
    "SPEECH_SEQ_2_SEQ",
)


@dataclass(frozen=True)
class Target:
    """One architecture: its model_type and its class."""

    model_type: str
    class_name: str

    @property
    def name(self) -> str:
        """How the record, ``--only`` and ``changes.toml`` name it."""
        return f"{self.model_type}/{self.class_name}"


@dataclass(frozen=True)
class Change:
    """What is changed before a target is run, and why; ``changes.toml`` explains the fields."""

    why: str
    set: dict[str, Any] = field(default_factory=dict)
    swap: dict[str, str] = field(default_factory=dict)
    part: str = ""
    device: str = "meta"
    long: int = 0
    bits: list[int] = field(default_factory=list)
    inputs: dict[str, list[int]] = field(default_factory=dict)
    rows: int = 1
    codebooks: int = 0
    pooled: int = 0
    give_cache: bool = False
    decode: bool = True
    drafts: bool = False
    cacheless: bool = False


NO_CHANGE = Change("")


def targets() -> list[Target]:
    """Every architecture of the installed transformers that generates text, each pair once.

    Raises:
        MeasureError: torch or transformers is not installed.
    """
    from kvdocs.evidence.transformers.caches import packages

    packages()
    from transformers.models.auto import modeling_auto

    tables = [getattr(modeling_auto, f"MODEL_FOR_{table}_MAPPING_NAMES") for table in TABLES]
    found = [Target(*pair) for table in tables for pair in table.items()]
    return list(dict.fromkeys(found))


@cache
def changes() -> dict[str, Change]:
    """The table of changes, by the name of the target or by its model_type alone."""
    with CHANGES_FILE.open("rb") as file:
        found = tomllib.load(file)
    return {name: Change(**entry) for name, entry in found.items()}


def change_for(target: Target) -> Change:
    """What is changed for a target; ``NO_CHANGE`` where its default runs as it is."""
    table = changes()
    return table.get(target.name, table.get(target.model_type, NO_CHANGE))
