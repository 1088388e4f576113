"""The simulation and the estimate held against vLLM's own scheduler and cache manager.

In: ``CASES``, each a seeded list of requests with the limits of a server, and two experiments.
Out: the content of the record ``scheduling``, for machines without vLLM.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from kvdocs.evidence.vllm.scheduler import MODEL, engine_steps, logged_concurrency
from kvdocs.workload.request_log import Request
from kvdocs.workload.simulation import Server, Step, simulate

FACT_POOL = 6_600_000_000  # bytes of cache in the admission experiment
FACT_BLOCK = 917_504  # bytes of a block of MODEL: 16 tokens of 57,344
FACT_REQUEST = Request(prompt=3000, output=8)
FACT_LIMITS = (4096, 32_768)
WINDOW_MODEL = "google/gemma-3-27b-it"
WINDOW_SEQUENCES, WINDOW_RUNS, WINDOW_WARM = 12, 6, 300
WINDOW_POOLS = (4000, 4500, 5000, 5500, 6000)  # blocks
COLUMNS = ("tokens", "running", "waiting", "used_blocks", "admitted", "preempted", "finished")
WHAT = (
    "Steps of vLLM's Scheduler and KVCacheManager on seeded requests, without prefix caching and "
    "without asynchronous scheduling; one token for every request whose text is read. Columns have "
    "one entry a step. admitted, preempted and finished are positions in the list of requests. "
    "admission: what the first step admits, and the concurrency vLLM logs, at two --max-model-len, "
    "of twice as many requests as the pool has room for. windows: a server that is never idle, "
    "with room for everything; the share of its steps in which more blocks were in use than these."
)


@dataclass(frozen=True)
class Case:
    """Requests drawn with ``seed``, and the server they meet; lengths are medians in tokens.

    ``pause`` is the mean number of steps between two arrivals, 0 if all are there at once.
    """

    name: str
    server: Server
    seed: int
    requests: int
    prompt: int
    output: int
    pause: float = 0.0

    def draw(self) -> tuple[list[Request], list[int]]:
        """The requests and the steps before which they arrive."""
        rng = random.Random(self.seed)
        found, arrivals, clock = [], [], 0.0
        for _ in range(self.requests):
            prompt = max(1, round(self.prompt * rng.lognormvariate(0, 0.8)))
            found.append(Request(prompt, max(1, round(self.output * rng.lognormvariate(0, 0.8)))))
            clock += rng.expovariate(1) * self.pause
            arrivals.append(int(clock))
        return found, arrivals


CASES = (
    Case("room for all", Server(2000), 1, 40, prompt=200, output=40, pause=3),
    Case("too many at once", Server(300), 2, 60, prompt=100, output=80),
    Case("chunked prompts", Server(700, max_num_batched_tokens=512), 3, 40, 1000, 60, pause=2),
    Case("few places", Server(300, max_num_seqs=12), 4, 50, prompt=200, output=80, pause=2),
    Case("watermark", Server(300, watermark=15), 5, 50, prompt=100, output=80, pause=1),
    Case("small steps", Server(100, 16, max_num_batched_tokens=16), 6, 40, 60, 60),
)


def admission_server() -> Server:
    """The pool of the admission experiment, with room in one step for all prompts."""
    blocks = FACT_POOL // FACT_BLOCK - 1
    return Server(blocks, max_num_batched_tokens=2 * blocks * 16)


def admission_requests() -> list[Request]:
    """Twice as many requests as the pool has room for."""
    server = admission_server()
    return [FACT_REQUEST] * (2 * server.blocks // server.blocks_for(FACT_REQUEST.prompt))


def _admission(limit: int) -> dict[str, Any]:
    """What vLLM admits in the first step, and the concurrency it logs, at one --max-model-len."""
    server, requests = admission_server(), admission_requests()
    first = next(engine_steps(requests, server, [0] * len(requests), limit))
    logged = round(logged_concurrency(server, limit), 2)
    return {"admitted": len(first.admitted), "logged_concurrency": logged}


def window_log() -> list[Request]:
    """A log for the experiment with windows: many prompts are longer than a window."""
    rng = random.Random(1)
    return [
        Request(
            1 + min(9000, int(rng.lognormvariate(6.8, 0.9))), 1 + int(rng.lognormvariate(4, 0.7))
        )
        for _ in range(2000)
    ]


def _windows() -> dict[str, Any]:
    """How often busy sequences of a model with windows want more than pools of several sizes."""
    server = Server(10**6, max_num_seqs=WINDOW_SEQUENCES)
    steps = []
    for seed in range(WINDOW_RUNS):
        requests = random.Random(seed).choices(window_log(), k=400)
        run = engine_steps(requests, server, [0] * len(requests), model=WINDOW_MODEL)
        steps += [step.used_blocks for step in run if step.waiting][WINDOW_WARM:]
    return {
        "model": WINDOW_MODEL,
        "sequences": WINDOW_SEQUENCES,
        "steps": len(steps),
        "share_of_steps_above": {
            str(pool): round(sum(used > pool for used in steps) / len(steps), 4)
            for pool in WINDOW_POOLS
        },
    }


def columns(steps: Iterable[Step]) -> dict[str, list[Any]]:
    """The steps column by column, as the record keeps them."""
    rows = list(steps)
    plain = {name: [getattr(row, name) for row in rows] for name in COLUMNS}
    events = COLUMNS[4:]
    return plain | {name: [sorted(one) for one in plain[name]] for name in events}


def simulated(case: Case) -> dict[str, list[Any]]:
    """The same columns from the simulation."""
    requests, arrivals = case.draw()
    return columns(simulate(requests, case.server, arrivals))


def measured() -> dict[str, Any]:
    """The record's content; takes a minute."""
    cases = {}
    for case in CASES:
        requests, arrivals = case.draw()
        cases[case.name] = columns(engine_steps(requests, case.server, arrivals))
    return {
        "model": MODEL,
        "steps": sum(len(one["tokens"]) for one in cases.values()),
        "admission": {
            "pool_bytes": FACT_POOL,
            "prompt_tokens": FACT_REQUEST.prompt,
            **{f"at_{limit}": _admission(limit) for limit in FACT_LIMITS},
        },
        "windows": _windows(),
        "cases": cases,
    }
