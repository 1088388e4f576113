"""kvdocs.engines.vllm against the recorded runs of vLLM 0.33.0's planner, to the integer."""

from collections import defaultdict
from dataclasses import asdict, replace

import pytest

from kvdocs.engines.vllm.dtypes import KV_DTYPES, cards
from kvdocs.engines.vllm.pool import Options, Plan, Pool
from kvdocs.engines.vllm.states import rank_state
from kvdocs.evidence.known import recorded
from kvdocs.evidence.vllm.plans import RANKS, cases
from kvdocs.facts.snapshot import load_all
from kvdocs.formula import layout_of

RECORD = recorded("vllm")
MODELS = {model.id: model for model in load_all()}
CONFIGS = {name: model.config for name, model in MODELS.items()}
CONFIGS |= {entry["id"]: entry["config"] for entry in RECORD["beside"]}
RUNS = defaultdict(list)
for run in cases():
    RUNS[run.model_id].append(run)


def _options(name: str, flags: dict) -> Options:
    flags = {key: value for key, value in flags.items() if key != "max_model_len"}
    return Options(**flags, state=rank_state(CONFIGS[name], flags["tensor_parallel_size"], name))


def _answer(found: Plan) -> tuple[float, ...]:
    if not found.starts:
        return (found.longest,)
    return (found.blocks, found.pool_tokens, found.max_concurrency)


@pytest.mark.parametrize("name", RUNS)
def test_blocks_tokens_and_concurrency_are_the_planners(name):
    layout = layout_of(CONFIGS[name])
    for case in RUNS[name]:
        pool = Pool.of(layout, _options(name, asdict(case.flags)))
        assert _answer(pool.plan(case.available, case.flags.max_model_len)) == case.answer, case


def test_where_kv_heads_cannot_be_shared_vllm_refuses_too():
    """vLLM asks that attention heads divide; where KV heads cannot be shared, those do not."""
    refused = {
        (model["id"], ranks)
        for model in (*RECORD["models"], *RECORD["beside"])
        for ranks in model["refused"]
    }
    stopped = {(name, ranks) for name in RUNS for ranks in RANKS if not _shareable(name, ranks)}
    assert ("openai-community/gpt2", 8) in stopped
    assert stopped < refused


def _shareable(name: str, ranks: int) -> bool:
    options = Options(tensor_parallel_size=ranks)
    try:
        state = rank_state(CONFIGS[name], ranks)
        Pool.of(layout_of(CONFIGS[name]), replace(options, state=state))
    except ValueError as error:
        if "cannot be shared" in str(error) or "cannot share a state" in str(error):
            return False
        raise
    return True


def test_the_record_covers_what_it_says():
    assert (RECORD["vllm"], RECORD["ranks"], RECORD["dtypes"]) == (
        "0.33.0",
        [1, 2, 4, 8],
        ["auto", "fp8"],
    )
    assert len(RECORD["memory"]) == len(RECORD["limits"]) == 3
    assert (RECORD["models_read"], RECORD["runs"]) == (len(RECORD["models"]), len(list(cases())))
    names = {model["id"] for model in RECORD["models"]} | set(RECORD["unread"])
    assert names == set(MODELS)
    assert RECORD["unread"] == {}
    starts = [len(case.answer) == 3 for case in cases()]
    assert 0.5 < sum(starts) / len(starts) < 0.95  # some runs refuse to start, most do not


def test_every_kind_of_model_was_run_with_every_other_flag():
    flags = {name for entry in RECORD["variants"] for name in entry["options"]}
    assert flags == set(RECORD["flags"])
    dtypes = {entry["options"].get("kv_cache_dtype") for entry in RECORD["variants"]}
    amd = {name for name in KV_DTYPES if cards(name).maker == "AMD"}
    assert dtypes - {None} | {"auto", "fp8"} == set(KV_DTYPES) - amd
