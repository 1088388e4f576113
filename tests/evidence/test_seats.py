"""How many equal sequences fit at once, against what vLLM's own scheduler ran in its own pools."""

import pytest

from kvdocs.engines.vllm.hold import Flags, hold
from kvdocs.engines.vllm.pool import Options, Pool
from kvdocs.engines.vllm.states import rank_state
from kvdocs.evidence.known import recorded
from kvdocs.evidence.vllm import seats
from kvdocs.facts.snapshot import load
from kvdocs.workload.space import Space

CASES = [(case, recorded("seats")["cases"][case.name]) for case in seats.CASES]
SPARE = {  # where not all grow in step
    "ibm-granite/granite-4.0-h-tiny": 1.25,  # a second state is held for a step or two
    "Qwen/Qwen3-Next-80B-A3B-Instruct": 1.25,
    "deepseek-ai/DeepSeek-V4-Flash": 1.3,  # a batch takes a fifth of this pool, and is of prompts
}
WINDOWS = ("google/gemma-3-4b-it", "openai/gpt-oss-20b")


@pytest.mark.parametrize(("case", "found"), CASES, ids=lambda value: getattr(value, "name", ""))
def test_as_many_fit_as_vllm_ran_and_few_less(case, found):
    """Never more; and not many less, as several may be read, or enter a block, in one step."""
    model = load(case.model)
    state = rank_state(model.config, 1, model.id)
    pool = Pool.of(model.layout, Options(state=state))
    planned = pool.plan(case.available, case.tokens)
    assert (found["model"], found["tokens"]) == (case.model, case.tokens)
    assert planned.blocks == found["blocks"]
    assert round(planned.max_concurrency, 2) == found["logged_concurrency"]
    spare = SPARE.get(case.model, 1.1) if case.prompt > 100 else 1.1
    assert planned.sequences <= found["most_at_once"] <= spare * planned.sequences + 1
    assert (
        Space.of_pool(hold(model, Flags()), case.available).sequences(case.tokens)
        == planned.sequences
    )
    for users in (1, planned.sequences):
        longest = pool.longest(case.available, users)
        assert longest >= case.tokens
        assert pool.plan(case.available, longest).sequences >= users


def test_the_record_is_vllms_and_has_what_its_concurrency_is_no_count_of():
    record = recorded("seats")
    assert record["vllm"] == "0.33.0"
    for found in record["cases"].values():
        if found["model"] in WINDOWS:
            assert found["most_at_once"] > found["logged_concurrency"] + 1
