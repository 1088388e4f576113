"""How many sequences fit in llama.cpp, against the contexts that llama.cpp really made."""

import re
from fractions import Fraction

import pytest

from kvdocs.engines.llama_cpp.hold import WEIGHT_BITS
from kvdocs.engines.weights import weights_in
from kvdocs.evidence.known import recorded
from kvdocs.facts.snapshot import load
from kvdocs.fit.answer import Question, fit, what_helps
from kvdocs.fit.options import question

MIB, GIB = 2**20, 2**30
SIZE = re.compile(r": size = +([\d.]+) MiB")
N_CTX_SEQ = re.compile(r"n_ctx_seq += (\d+)")
QWEN = load("Qwen/Qwen2.5-7B-Instruct")
CASES = [
    case
    for case in recorded("llama_cpp")["cases"]
    if case["made"] and not case["context"]["swa_full"] and case["context"]["flash_attention"]
]


def _name(case: dict) -> str:
    said = {key: value for key, value in case["context"].items() if value not in (False, 512)}
    return " ".join([case["model"], *map(str, said.values())])


def asked(case: dict, available: int, **changes) -> Question:
    """The users and the length of a recorded context."""
    made = case["context"]
    types = {made["type_k"], made["type_v"]}
    options = {
        "users": made["sequences"],
        "tokens": made["n_ctx"] // made["sequences"],
        "kv_dtype": made["type_k"] if len(types) == 1 else f"{made['type_k']},{made['type_v']}",
        "kv_unified": made["unified"],
        "ubatch_size": made["ubatch"],
    }
    options |= changes
    return question(load(case["model"]), engine="llama.cpp", available=available, **options)


def logged(case: dict) -> tuple[int, int]:
    """Bytes that llama.cpp logged for all its caches, at least and at most: it rounds each to a
    hundredth of a MiB."""
    sizes = [Fraction(found[1]) for line in case["log"] if (found := SIZE.search(line))]
    rounding = Fraction(len(sizes), 200)
    return int((sum(sizes) - rounding) * MIB) - 1, int((sum(sizes) + rounding) * MIB) + 1


@pytest.mark.parametrize("case", CASES, ids=_name)
def test_a_context_fits_into_what_it_was_logged_to_take_and_not_into_less(case):
    least, most = logged(case)
    assert fit(asked(case, available=most)).fits
    assert not fit(asked(case, available=least)).fits
    assert least <= fit(asked(case, available=0)).sure.bytes <= most


@pytest.mark.parametrize("case", CASES, ids=_name)
def test_the_longest_context_is_the_one_that_was_logged(case):
    """``n_ctx_seq``, which sequences that share one set of cells divide between them."""
    [each] = [int(found[1]) for line in case["log"] if (found := N_CTX_SEQ.search(line))]
    asks = asked(case, logged(case)[1], tokens=None)
    users = asks.users if case["context"]["unified"] else 1
    assert fit(asks).tokens == min(each // users, asks.limit)


def test_as_many_sequences_as_were_logged():
    """Qwen2.5-7B, 4,096 tokens in f16: 224.00 MiB each."""
    for room, count in (224, 1), (1000, 4), (223, 0), (10**9, 256):
        asks = question(QWEN, engine="llama.cpp", tokens=4096, available=room * MIB)
        assert fit(asks).sure.sequences == count


def on_a_card(model=QWEN, **changes) -> Question:
    asks = {"gpu": "rtx_4090", "tokens": 8000, "users": 50, "overhead": GIB} | changes
    return question(model, engine="llama.cpp", **asks)


def test_remedies_are_those_that_llama_cpp_has():
    flags = [remedy.flag for remedy in what_helps(fit(on_a_card()))]
    assert flags == ["--tokens 2816", "--kv-dtype q4_0", "--gpu l40s"]  # no FP8, no ranks
    fewer = [remedy.flag for remedy in what_helps(fit(on_a_card(users=20)))]
    assert fewer == ["--tokens 7424", "--kv-dtype q8_0", "--weights-dtype q8_0", "--gpu rtx_5090"]


def test_one_set_of_cells_helps_where_windows_are_many():
    gemma = load("google/gemma-3-27b-it")
    asks = {"tokens": 4096, "users": 64, "available": 50 * GIB}
    split = fit(question(gemma, engine="llama.cpp", **asks))
    assert not split.fits
    assert "--kv-unified" in [remedy.flag for remedy in what_helps(split)]


def test_weights_in_a_type_of_llama_cpp():
    """32 weights of q8_0 take 34 bytes instead of 64."""
    size, source = weights_in(QWEN, "q8_0", WEIGHT_BITS)
    assert size == 15_231_233_024 * 34 // 64
    assert "scales included" in source
    with pytest.raises(ValueError, match="state the size with --weights"):
        weights_in(QWEN, "q4_k_m", WEIGHT_BITS)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"users": 257}, "at most 256 sequences"),
        ({"tokens": 2**32}, "more than the 4,294,967,040"),
        ({"kv_dtype": "fp8"}, "llama.cpp takes f32"),
        ({"kv_dtype": "q8_0,"}, "of K and of V: q8_0,q4_0"),
        ({"overhead": None}, "compute buffer size"),
        ({"model": load("deepseek-ai/DeepSeek-V3.2")}, "state --weights"),
        ({"model": load("openai/whisper-large-v3")}, "kind 'cross' is not established"),
    ],
)
def test_contradictions_are_named(changes, words):
    with pytest.raises(ValueError, match=words):
        fit(on_a_card(**changes))
