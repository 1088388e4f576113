"""One question, one answer: fit, workload, explain and pages give one integer or one refusal."""

from collections import Counter
from dataclasses import replace

import pytest

import kvdocs
from kvdocs.engines.vllm import hold as vllm
from kvdocs.site.answers import asked
from kvdocs.site.engines import vllm_request
from tests.questions import Question, questions, without_named_dtype

QUESTIONS = questions()
KINDS = ("fp8 named", "hybrid", "latent", "quantised", "refused")


def of_fit(question: Question) -> tuple[int, ...]:
    """Blocks, their bytes, the pool's tokens, sequences of that length."""
    answer = kvdocs.fit(
        question.model, available=question.available, tokens=question.tokens, **question.options
    )
    plan = answer.sure
    return plan.blocks, plan.block_bytes, plan.pool_tokens, plan.sequences


def of_workload(question: Question) -> tuple[int, ...]:
    """Blocks, their bytes and sequences at --max-model-len; it prints no pool's tokens."""
    line = f'{{"prompt_tokens": {question.tokens - 1}, "completion_tokens": 1}}'
    found = kvdocs.workload(
        [line],
        model=question.model,
        available=question.available,
        max_model_len=question.tokens,
        **question.options,
    ).as_json()
    [plan] = [one for one in found["plans"] if one["way"] == "max_model_len"]
    return found["pool_blocks"] + 1, found["block_bytes"], plan["sequences"]


def of_explain(question: Question) -> tuple[int, ...]:
    """What it says that vLLM 0.33.0 makes of the memory in a log of such a start-up."""
    tp, dtype = question.options.get("tp", 1), question.options.get("kv_dtype", "auto")
    log = (
        "Initializing a V1 LLM engine (v0.33.0) with config: "
        f"max_seq_len={question.tokens}, tensor_parallel_size={tp}, kv_cache_dtype={dtype}, \n"
        f"Available KV cache memory: {question.gib} GiB\n"
    )
    found = kvdocs.explain(log, model=question.model, gpu=question.options.get("gpu"))
    planned = found.as_json()["starts"][0]["planned"]
    if "refused" in planned:
        raise ValueError(planned["refused"])
    return tuple(planned[key] for key in ("blocks", "block_bytes", "pool_tokens", "sequences"))


def of_page(question: Question) -> tuple[int, ...]:
    """What a number on a page says, through the names that expressions have."""
    options = {name: value for name, value in question.options.items() if name != "gpu"}
    options |= {"available": question.available, "tokens": question.tokens}
    found = asked(question.model, question.options.get("gpu"), options)
    return tuple(found[key] for key in ("blocks", "block_bytes", "pool_tokens", "sequences"))


PATHS = {"fit": of_fit, "workload": of_workload, "explain": of_explain, "page": of_page}


def answer(path: str, question: Question) -> tuple[int, ...] | str:
    """The integers, or the words of the refusal."""
    try:
        return PATHS[path](question)
    except ValueError as error:
        return str(error)


def differing(path: str, other: str = "fit") -> list[Question]:
    """The questions that the two answer differently."""
    return [one for one in QUESTIONS if not same(answer(path, one), answer(other, one))]


def same(found: tuple[int, ...] | str, other: tuple[int, ...] | str) -> bool:
    """Whether two paths agree; workload has three of the four integers."""
    if isinstance(found, str) or isinstance(other, str):
        return found == other
    if len(found) == 3:
        other = (*other[:2], other[3])
    return found == other


def test_there_are_enough_questions_of_every_kind():
    count: Counter[str] = Counter()
    for question in QUESTIONS:
        refused = isinstance(answer("fit", question), str)
        count.update(one for one in question.kinds if (one == "refused") == refused)
        count["all"] += 1
    assert count["all"] >= 200
    assert all(count[kind] >= 20 for kind in KINDS), count
    assert 2 * sum("unpublished" in one.kinds for one in QUESTIONS) >= count["all"]


@pytest.mark.parametrize("path", ["workload", "explain", "page"])
def test_every_path_gives_the_same_integers_or_the_same_refusal(path):
    assert [str(question) for question in differing(path)] == []


def test_a_table_of_a_page_says_what_fit_says():
    """The most that one request holds, of the models in 16 bits on a card that is not named."""
    plain = [one for one in QUESTIONS if one.kinds == {"published"}]
    compared = 0
    for question in plain:
        try:
            held = vllm_request(question.model, question.tokens).bytes
        except ValueError:
            continue
        found = kvdocs.fit(question.model, available=2**40, tokens=question.tokens).sure
        assert held == found.needed_bytes, question
        compared += 1
    assert compared >= 50


def another_rule(model, flags, card=None):
    """How one path would hold models, had it a rule of its own: all in 16 bits, whatever a flag
    asks for and the config names."""
    return HOLD(without_named_dtype(model), replace(flags, kv_cache_dtype="auto"), card)


HOLD = vllm.hold


@pytest.mark.parametrize("path", PATHS)
def test_another_rule_in_any_one_path_is_noticed(path, monkeypatch):
    """The test of the test: what the others say stays, and one path has the other rule."""
    before = [answer("fit" if path != "fit" else "page", one) for one in QUESTIONS]
    monkeypatch.setattr(vllm, "hold", another_rule)
    mutated = [answer(path, one) for one in QUESTIONS]
    noticed = [not same(now, then) for now, then in zip(mutated, before, strict=True)]
    assert sum(noticed) >= 20
