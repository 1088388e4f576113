"""The example of the page on workloads: a log that nobody wrote, and the pool it meets.

In: nothing. Out: seeded requests, the same on every machine, and their estimates. The lengths are
log-normal, as lengths of text often roughly are; the medians and the spread are chosen.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from kvdocs.engines.vllm.hold import Flags, hold
from kvdocs.facts.claims import load_claims
from kvdocs.literal import Literal
from kvdocs.site.scope import model
from kvdocs.workload.estimates import Estimate, estimates
from kvdocs.workload.lengths import Workload
from kvdocs.workload.request_log import Request
from kvdocs.workload.space import Space

MODEL = "Qwen/Qwen2.5-7B-Instruct"
LIMIT = 32_768  # --max-model-len, tokens
RISK = Fraction(1, 100)
SEED = 11


@dataclass(frozen=True)
class Example:
    """The requests, their histograms, the pool and the estimates for it."""

    requests: tuple[Request, ...]
    workload: Workload
    space: Space
    estimates: tuple[Estimate, ...]

    def estimate(self, way: str) -> Estimate:
        """The plan of one way.

        Raises:
            KeyError: there is no such way.
        """
        return {one.way: one for one in self.estimates}[way]


@cache
def example() -> Example:
    """The example, made once per process; the pool is that of the cited experiment."""
    rng = random.Random(SEED)
    requests = tuple(
        Request(_length(rng, 700, 1.0, 16_000), _length(rng, 200, 0.9, 4000)) for _ in range(10_000)
    )
    workload = Workload()
    for request in requests:
        workload.add(request)
    pool = Literal.parse(str(load_claims()["vllm.max_model_len.experiment.pool"].value))
    space = Space.of_pool(hold(model(MODEL), Flags()), int(pool.number * pool.scale))
    return Example(requests, workload, space, tuple(estimates(workload, space, RISK, LIMIT)))


def _length(rng: random.Random, median: int, spread: float, most: int) -> int:
    return min(most, max(1, round(median * rng.lognormvariate(0, spread))))
