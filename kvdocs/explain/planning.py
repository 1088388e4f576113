"""What vLLM 0.33.0 makes of the memory that a start-up printed.

In: a ``Run`` of vLLM whose model and longest request are known. Out: a ``Planned``, from the same
``hold`` that ``kvdocs fit`` asks: a plan, or the reason why there is none.
"""

from __future__ import annotations

from kvdocs.explain.plans import flags_of
from kvdocs.explain.run import Run
from kvdocs.logs.number import Number
from kvdocs.logs.runs import lowest
from kvdocs.startup import dataclass

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import Any

    from kvdocs.engines.vllm.pool import Plan


@dataclass(frozen=True)
class Planned:
    """The plan of ``engine`` for ``available_bytes`` on each rank and requests of ``max_model_len``
    tokens; None where it refuses this model under these flags, for the reason ``refused``."""

    engine: str
    available_bytes: int
    max_model_len: int
    plan: Plan | None = None
    refused: str = ""

    def as_json(self) -> dict[str, Any]:
        """Under its documented keys."""
        if not self.plan:
            return {"engine": self.engine, "refused": self.refused}
        names = ("blocks", "block_bytes", "pool_tokens", "max_concurrency", "sequences")
        return {
            "engine": self.engine,
            "available_bytes": self.available_bytes,
            "max_model_len": self.max_model_len,
            **{name: getattr(self.plan, name) for name in names},
        }


def plan_of(run: Run) -> Planned | None:
    """The plan for the lowest memory of the ranks; None where the log is another engine's, or does
    not say enough."""
    memory, subject = lowest(run.readings, Number.MEMORY), run.subject
    if not memory or not subject or not subject.model:
        return None
    if memory[1].phrase.engine != "vLLM" or memory[0].value < 1:
        return None
    from kvdocs.engines.vllm.hold import TITLE, hold  # which logs of other engines do without

    size = round(memory[0].value)
    try:
        pool = hold(subject.model, flags_of(run, subject), subject.card)
    except ValueError as error:
        return Planned(TITLE, size, run.length or 0, refused=str(error))
    return Planned(TITLE, size, run.length, pool.plan(size, run.length)) if run.length else None
