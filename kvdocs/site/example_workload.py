"""The example of the page on workloads: a log that nobody wrote, and the pool it meets.

In: nothing. Out: seeded requests, the same on every machine, their estimates, and what a busy
server makes of some of them. The lengths are log-normal, as lengths of text often roughly are; the
medians and the spread are chosen. ``figure`` gives stated numbers what the page's tables show.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from kvdocs.engines.vllm.pool import Options
from kvdocs.facts.claims import load_claims
from kvdocs.literal import Literal
from kvdocs.site.models_of_site import model
from kvdocs.site.values import Answer
from kvdocs.workload.estimates import Estimate, estimates
from kvdocs.workload.lengths import Workload
from kvdocs.workload.request_log import Request
from kvdocs.workload.simulation import Server, Step, simulate
from kvdocs.workload.space import Space

MODEL = "Qwen/Qwen2.5-7B-Instruct"
LIMIT = 32_768  # --max-model-len, tokens
RISK = Fraction(1, 100)
SEED = 11
BUSY = 3000  # requests that wait when the simulation starts


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
    space = Space.of_model(model(MODEL).layout, Options(LIMIT), int(pool.number * pool.scale))
    return Example(requests, workload, space, tuple(estimates(workload, space, RISK, LIMIT)))


def busy_requests() -> list[Request]:
    """The requests of the simulation, drawn from the example's."""
    return random.Random("arrivals").choices(example().requests, k=BUSY)


@cache
def simulated(limit: int) -> tuple[Step, ...]:
    """The steps of a server that runs ``limit`` of them at most, until all have their answer."""
    return tuple(simulate(busy_requests(), Server(example().space.blocks, max_num_seqs=limit)))


def figure(key: str) -> Answer:
    """A figure of the example: ``requests``, how many the busy server has, and ``steps.WAY``, how
    many steps it takes with the limit of that plan.

    Raises:
        ValueError: it has no such figure.
    """
    limits = {f"steps.{one.way}": one.sequences for one in example().estimates}
    if key != "requests" and key not in limits:
        known = ", ".join(["requests", *limits])
        raise ValueError(f"the example of workloads has no figure {key!r}; it has {known}")
    value = BUSY if key == "requests" else len(simulated(limits[key]))
    return Answer(value, (f"example of a busy server: {key} = {value:,}",))


def _length(rng: random.Random, median: int, spread: float, most: int) -> int:
    return min(most, max(1, round(median * rng.lognormvariate(0, spread))))
