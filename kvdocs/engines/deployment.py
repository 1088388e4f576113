"""A model in an engine on a card, and the memory that is left there for the cache.

In: what is served, by which engine with which flags, on which card. Out: the engine's ``Pool``, and
the terms whose sum is the memory for the cache: what the driver reports, less what it keeps, what
the engine leaves alone, the weights, and what else the engine needs.
"""

from __future__ import annotations

from functools import cached_property

from kvdocs.engines import OfEngine
from kvdocs.engines.terms import Term, cited, cited_range
from kvdocs.facts.gpus import Gpu
from kvdocs.facts.models import Model
from kvdocs.startup import dataclass
from kvdocs.units import ceil_div

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import Any

    from kvdocs.engines.protocol import Engine, Pool


@dataclass(frozen=True)
class Deployment(OfEngine):
    """A model in an engine on a card. Sizes in bytes.

    ``memory`` is the card's as its driver reports it. ``weights`` are those of the whole model, all
    other sizes of one rank. ``weights`` is None where they are what the engine makes of the
    published ones, ``overhead`` (what the engine needs beside weights and cache) where the engine's
    range counts. ``available`` is what is left for the cache where that is known.
    """

    model: Model
    engine: Engine
    flags: Any
    gpu: Gpu | None = None
    memory: int = 0
    weights: int | None = None
    weights_source: str = "stated"
    overhead: int | None = None
    available: int | None = None

    def __post_init__(self) -> None:
        """Refuse what is no size.

        Raises:
            ValueError: the message says which flag.
        """
        if self.available is None and self.memory < 1:
            raise ValueError(f"--vram is {self.memory:,} bytes, which is no card")
        for name in ("weights", "overhead", "available"):
            size = getattr(self, name)
            if size is not None and size < (1 if name == "weights" else 0):
                raise ValueError(f"--{name} is {size:,} bytes, which is no size")

    @cached_property
    def pool(self) -> Pool:
        """The engine's pool.

        Raises:
            Refused: as ``hold`` of the engine.
        """
        return self.engine.hold(self.model, self.flags, self.gpu)

    @property
    def ranks(self) -> int:
        """Cards that hold the model together."""
        return self.engine.ranks(self.flags)

    def terms(self) -> tuple[Term, ...]:
        """The terms whose sum is the memory for the cache; on each rank where there are several.

        Raises:
            ValueError: a term is not known and has to be stated.
        """
        if self.available is not None:
            return (Term("available for the cache", 1, self.available, self.available, "stated"),)
        known = self.gpu.memory_source if self.gpu else "stated"
        kept = cited_range("nvidia.kept_by_driver")
        return (
            Term("memory as the driver reports it", 1, self.memory, self.memory, known),
            Term("kept by the driver", -1, kept[1], kept[0], cited("nvidia.kept_by_driver")),
            *self.engine.unused(self.flags, self.memory, kept),
            self._weights_term(),
            self._overhead_term(),
        )

    def held_weights(self) -> tuple[int, str] | None:
        """Bytes of the whole model's weights, and the source; None where they are not known."""
        if self.weights is not None:
            return self.weights, self.weights_source
        return self.engine.loaded_weights(self.model, self.gpu)

    def _weights_term(self) -> Term:
        held, ranks = self.held_weights(), self.ranks
        if held is None:
            raise ValueError(f"the size of {self.model.id}'s weights is not known: state --weights")
        size, source = held
        each = ceil_div(size, ranks)
        split = f", divided by {ranks} ranks" if ranks > 1 else ""
        return Term("weights", -1, each, each, source + split)

    def _overhead_term(self) -> Term:
        if self.overhead is None:
            return self.engine.working_memory(self.memory, self.gpu)
        name = f"working memory: {self.engine.WORKING_MEMORY}"
        return Term(name, -1, self.overhead, self.overhead, "stated")
