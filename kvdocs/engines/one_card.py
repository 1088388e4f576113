"""What an engine has that runs on one card and loads weights as they are published.

In: what ``Engine`` is asked. Out: the plain answers, for engines to take as their own.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvdocs.engines.face import Change
from kvdocs.engines.terms import Term
from kvdocs.facts.gpus import Gpu
from kvdocs.facts.models import Model

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import Any


def ranks(flags: Any) -> int:
    """One: how the engine splits a model over cards is not known here."""
    return 1


def more_cards(flags: Any) -> Iterator[Change]:
    """None."""
    yield from ()


def loaded_weights(model: Model, card: Gpu | None) -> tuple[int, str] | None:
    """Bytes of the published weights and what was counted; None where they are not known."""
    return (model.weights.bytes, model.weights.kind) if model.weights else None


def unused(flags: Any, memory: int, kept: tuple[int, int]) -> tuple[Term, ...]:
    """Nothing: the engine takes what it needs, not a share."""
    return ()
