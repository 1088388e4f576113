"""vLLM's Scheduler and KVCacheManager on loads that no record has, beside the simulation."""

import random

import pytest

from kvdocs.evidence.vllm import scheduling
from kvdocs.evidence.vllm.scheduler import engine_steps
from kvdocs.evidence.vllm.scheduling import Case
from kvdocs.workload.simulation import Server

pytestmark = pytest.mark.engine
pytest.importorskip("vllm", reason="vLLM is not installed; make test-engines has it")


@pytest.mark.parametrize("seed", range(30))
def test_any_load_takes_the_same_steps(seed):
    rng = random.Random(seed)
    server = Server(
        blocks=rng.randint(200, 500),
        max_num_seqs=rng.choice([4, 16, 256]),
        max_num_batched_tokens=rng.choice([256, 300, 2048]),
        watermark=rng.choice([0, 0, 10]),
    )
    prompt, pause = rng.choice([20, 100, 200]), rng.choice([0, 2])
    case = Case("any", server, seed, 40, prompt=prompt, output=60, pause=pause)
    requests, arrivals = case.draw()
    engine = scheduling.columns(engine_steps(requests, server, arrivals))
    assert engine == scheduling.simulated(case)
