"""One model as published: its config, its weights, where both come from.

In: a snapshot file or an answer of the Hub. Out: a ``Model`` whose ``layout`` is the formula's,
or the ``LookupFailed`` that says why there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property

from kvdocs.formula import CacheLayout, layout_of
from kvdocs.formula.config import EffectiveConfig
from kvdocs.startup import dataclass

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import Any

LARGEST_CONFIG = 5_000_000  # bytes; the largest published config.json is far below


# ModelOpt's own file beside config.json, which may say what dtype the cache has.
QUANT_CONFIG = "hf_quant_config.json"
# The most tokens a model was made for, under transformers' standard names; they decide no cache.
LENGTHS = ("max_position_embeddings", "max_target_positions", "max_seq_len", "seq_length")


def with_quant_config(
    config: Mapping[str, Any], read: Callable[[], Mapping[str, Any] | None]
) -> Mapping[str, Any]:
    """The config, with what ``read`` finds in ``QUANT_CONFIG`` under ``hf_quant_config``.

    Nothing is read where the config itself says something about the cache's dtype.
    """
    from kvdocs.formula.kv_dtype import stated_kv_dtype

    if stated_kv_dtype(config):
        return config
    found = read()
    return config if found is None else {**config, "hf_quant_config": found}


class LookupFailed(ValueError):
    """No model could be had: which one, why, and what to do next.

    ``reason`` reads on after "because", so that pages can say why the Hub was not used.
    ``reached`` is False where nobody answered; how that showed differs from one run to the next.
    """

    def __init__(self, name: str, reason: str, remedy: str = "", reached: bool = True) -> None:
        self.name, self.reason, self.remedy, self.reached = name, reason, remedy, reached
        super().__init__(f"{name}: {reason}." + (f" {remedy}." if remedy else ""))


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
    ``retrieved`` the date (YYYY-MM-DD, UTC), None for a file; ``detail`` a sentence for readers.
    ``fallback`` says why the snapshot stands in for the Hub, ``renamed_to`` the model's new id
    where the Hub has renamed it; both are empty where there is nothing to say.
    """

    kind: str
    revision: str | None = None
    retrieved: str | None = None
    detail: str = ""
    fallback: str = ""
    renamed_to: str = ""

    def __str__(self) -> str:
        if self.kind == "file":
            return self.detail
        if self.kind == "hub":
            renamed = f", now called {self.renamed_to}" if self.renamed_to else ""
            return f"Hub, commit {self.revision}{renamed}"
        because = f", because {self.fallback}" if self.fallback else ""
        return f"snapshot of {self.retrieved}{because}"


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

    @property
    def longest_text(self) -> int | None:
        """The most tokens the model is made for; None where that is not known.

        What the text decoder's config says, else the default of its class, unless only part of
        the config is known.
        """
        config = EffectiveConfig.of(self.config, self.id)
        for name in LENGTHS:
            found = config.get(name) if self.complete else config.published.get(name)
            if type(found) is int and found > 0:
                return found
        return None

    def standing_in(self, reason: str) -> Model:
        """This model of the snapshot, marked as used because of ``reason``."""
        return replace(self, source=replace(self.source, fallback=reason))

    @cached_property
    def layout(self) -> CacheLayout:
        """What its cache holds.

        Raises:
            ConfigError: no rule for it, or a field without a usable value.
        """
        return layout_of(self.config, self.id)
