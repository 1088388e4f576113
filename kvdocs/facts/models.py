"""One model as published: its config, its weights, where both come from.

In: a snapshot file or an answer of the Hub. Out: a ``Model`` whose ``layout`` is the formula's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kvdocs.formula import CacheLayout, layout_of


@dataclass(frozen=True)
class Weights:
    """Size of the published weights.

    ``kind`` says what was counted (tensors, parameters times their width, or the file),
    ``confidence`` how sure the figure is: good, fair or weak.
    """

    bytes: int
    kind: str
    source: str
    confidence: str


@dataclass(frozen=True)
class Source:
    """Where a config was read.

    ``kind`` is ``hub``, ``snapshot`` or ``file``; ``revision`` the Hub's commit where known;
    ``retrieved`` the date (YYYY-MM-DD), None for a file; ``detail`` a sentence for readers.
    """

    kind: str
    revision: str | None = None
    retrieved: str | None = None
    detail: str = ""

    def __str__(self) -> str:
        if self.kind == "snapshot":
            return f"snapshot of {self.retrieved}"
        return f"Hub, commit {self.revision}" if self.kind == "hub" else self.detail


@dataclass(frozen=True)
class Model:
    """A published model. ``complete`` is False where only part of its config is known."""

    id: str
    config: Mapping[str, Any]
    source: Source
    weights: Weights | None = None
    complete: bool = True
    agrees: tuple[str, ...] = ()
    notes: str = ""

    @property
    def name(self) -> str:
        """The id without its organisation: ``Qwen2.5-7B-Instruct``."""
        return self.id.rpartition("/")[2]

    @cached_property
    def layout(self) -> CacheLayout:
        """What its cache holds.

        Raises:
            ConfigError: no rule for it, or a field without a usable value.
        """
        return layout_of(self.config, self.id)
