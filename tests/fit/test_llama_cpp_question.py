"""How many sequences fit in llama.cpp, against the contexts that llama.cpp really made."""

import re
from dataclasses import replace
from fractions import Fraction

import pytest

from kvdocs.engines.llama_cpp.question import LlamaCppQuestion
from kvdocs.engines.weights import weights_in
from kvdocs.evidence.llama_cpp.contexts import record
from kvdocs.facts.snapshot import load
from kvdocs.fit.capacity import fit
from kvdocs.fit.remedies import remedies

MIB, GIB = 2**20, 2**30
SIZE = re.compile(r": size = +([\d.]+) MiB")
N_CTX_SEQ = re.compile(r"n_ctx_seq += (\d+)")
QWEN = load("Qwen/Qwen2.5-7B-Instruct")
CASES = [
    case
    for case in record()["cases"]
    if case["made"] and not case["context"]["swa_full"] and case["context"]["flash_attention"]
]


def _name(case: dict) -> str:
    said = {key: value for key, value in case["context"].items() if value not in (False, 512)}
    return " ".join([case["model"], *map(str, said.values())])


def asked(case: dict) -> LlamaCppQuestion:
    """The users and the length of a recorded context."""
    made = case["context"]
    types = {made["type_k"], made["type_v"]}
    return LlamaCppQuestion(
        load(case["model"]),
        users=made["sequences"],
        tokens=made["n_ctx"] // made["sequences"],
        kv_dtype=made["type_k"] if len(types) == 1 else f"{made['type_k']},{made['type_v']}",
        unified=made["unified"],
        ubatch=made["ubatch"],
    )


def logged(case: dict) -> tuple[int, int]:
    """Bytes that llama.cpp logged for all its caches, at least and at most: it rounds each to a
    hundredth of a MiB."""
    sizes = [Fraction(found[1]) for line in case["log"] if (found := SIZE.search(line))]
    rounding = Fraction(len(sizes), 200)
    return int((sum(sizes) - rounding) * MIB) - 1, int((sum(sizes) + rounding) * MIB) + 1


@pytest.mark.parametrize("case", CASES, ids=_name)
def test_a_context_fits_into_what_it_was_logged_to_take_and_not_into_less(case):
    least, most = logged(case)
    question = asked(case)
    assert fit(replace(question, available=most)).fits
    assert not fit(replace(question, available=least)).fits
    assert least <= fit(replace(question, available=0)).sure.bytes <= most


@pytest.mark.parametrize("case", CASES, ids=_name)
def test_the_longest_context_is_the_one_that_was_logged(case):
    """``n_ctx_seq``, which sequences that share one set of cells divide between them."""
    [each] = [int(found[1]) for line in case["log"] if (found := N_CTX_SEQ.search(line))]
    question = replace(asked(case), tokens=None, available=logged(case)[1])
    users = question.users if question.unified else 1
    assert fit(question).tokens == min(each // users, question.limit)


def test_as_many_sequences_as_were_logged():
    """Qwen2.5-7B, 4,096 tokens in f16: 224.00 MiB each."""
    for room, count in (224, 1), (1000, 4), (223, 0), (10**9, 256):
        question = LlamaCppQuestion(QWEN, tokens=4096, available=room * MIB)
        assert fit(question).sure.sequences == count


def on_a_card(**changes) -> LlamaCppQuestion:
    card = LlamaCppQuestion(
        QWEN,
        24_564 * MIB,
        tokens=8000,
        users=50,
        weights=15_231_233_024,
        weights_source="tensors",
        overhead=GIB,
    )
    return replace(card, **changes)


def test_remedies_are_those_that_llama_cpp_has():
    flags = [remedy.flag for remedy in remedies(fit(on_a_card()))]
    assert flags == ["--tokens 2816", "--kv-dtype q4_0", "--gpu l40s"]  # no FP8, no ranks
    fewer = [remedy.flag for remedy in remedies(fit(on_a_card(users=20)))]
    assert fewer == ["--tokens 7424", "--kv-dtype q8_0", "--weights-dtype q8_0", "--gpu rtx_5090"]


def test_one_set_of_cells_helps_where_windows_are_many():
    gemma = load("google/gemma-3-27b-it")
    question = LlamaCppQuestion(gemma, tokens=4096, users=64, available=50 * GIB)
    split = fit(question)
    assert not split.fits
    assert "--kv-unified" in [remedy.flag for remedy in remedies(split)]


def test_weights_in_a_type_of_llama_cpp():
    """32 weights of q8_0 take 34 bytes instead of 64."""
    size, source = weights_in(QWEN, "q8_0", LlamaCppQuestion.weight_bits)
    assert size == 15_231_233_024 * 34 // 64
    assert "scales included" in source
    with pytest.raises(ValueError, match="state the size with --weights"):
        weights_in(QWEN, "q4_k_m", LlamaCppQuestion.weight_bits)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"users": 257}, "at most 256 sequences"),
        ({"tokens": 2**32}, "more than the 4,294,967,040"),
        ({"kv_dtype": "fp8"}, "llama.cpp takes f32"),
        ({"kv_dtype": "q8_0,"}, "of K and of V: q8_0,q4_0"),
        ({"overhead": None}, "compute buffer size"),
        ({"model": load("deepseek-ai/DeepSeek-V3.2"), "weights": None}, "state --weights"),
        ({"model": load("openai/whisper-large-v3")}, "kind 'cross' is not established"),
    ],
)
def test_contradictions_are_named(changes, words):
    with pytest.raises(ValueError, match=words):
        fit(on_a_card(**changes))
