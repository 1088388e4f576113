"""The simulation against vLLM's Scheduler and KVCacheManager: every step of it, to the block."""

import random

import pytest

from kvdocs.evidence import scheduling
from kvdocs.evidence.scheduling import CASES, COLUMNS, Case
from kvdocs.serving.simulation import Server, simulate


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_step_is_the_recorded_engines(case):
    recorded, simulated = scheduling.recorded()["cases"][case.name], scheduling.simulated(case)
    for column in COLUMNS:
        assert simulated[column] == recorded[column], column


def test_the_record_is_vllms_and_its_cases_are_hard_ones():
    record = scheduling.recorded()
    assert record["vllm"] == "0.33.0"
    assert {"what", "date", "python", "system"} <= set(record)
    assert list(record["cases"]) == [case.name for case in CASES]
    preempted = {name: sum(map(len, one["preempted"])) for name, one in record["cases"].items()}
    assert preempted["too many at once"] > 20
    assert preempted["chunked prompts"] > 2
    assert preempted["room for all"] == 0
    assert sum(len(one["tokens"]) for one in record["cases"].values()) > 3000


def test_the_limit_admits_the_same_38_requests_and_changes_only_what_is_logged():
    """Figures of the experiment as published in claims.toml, of vLLM's record, and simulated."""
    found = scheduling.recorded()["admission"]
    assert found["pool_bytes"] == 6_600_000_000
    assert found["prompt_tokens"] == 3000
    assert found["at_4096"] == {"admitted": 38, "logged_concurrency": 28.1}
    assert found["at_32768"] == {"admitted": 38, "logged_concurrency": 3.51}
    first = next(simulate(scheduling.admission_requests(), scheduling.admission_server()))
    assert len(first.admitted) == 38
    assert first.waiting == 38


@pytest.mark.engine
def test_the_record_is_what_vllm_does_now():
    pytest.importorskip("vllm", reason="vLLM is not installed")
    record, now = scheduling.recorded(), scheduling.measured()
    for key in ("vllm", "model", "admission", "cases"):
        assert now[key] == record[key], key


@pytest.mark.engine
@pytest.mark.parametrize("seed", range(30))
def test_any_load_takes_the_same_steps(seed):
    pytest.importorskip("vllm", reason="vLLM is not installed")
    rng = random.Random(seed)
    places = rng.choice([4, 16, 256])
    server = Server(
        blocks=rng.randint(200, 500),
        max_num_seqs=places,
        max_num_batched_tokens=rng.choice([256, 300, 2048]),
        watermark=rng.choice([0, 0, 10]),
    )
    case = Case(
        "", server, seed, 40, prompt=rng.choice([20, 100, 200]), output=60, pause=rng.choice([0, 2])
    )
    requests, arrivals = case.draw()
    engine = scheduling.columns(scheduling.engine_steps(requests, server, arrivals))
    assert engine == scheduling.simulated(case)
