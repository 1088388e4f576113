"""What fits, against budgets that real servers printed."""

from fractions import Fraction

import pytest

from kvdocs.engines.weights import weights_in
from kvdocs.facts.models import Model, Source
from kvdocs.facts.snapshot import load
from kvdocs.fit.answer import Question, fit, what_helps
from kvdocs.fit.options import question

MIB, GIB = 2**20, 2**30
QWEN = load("Qwen/Qwen2.5-7B-Instruct")
LLAMA = load("meta-llama/Llama-3.1-8B-Instruct")
QWEN3_4B = Model(
    "Qwen/Qwen3-4B",
    {
        "model_type": "qwen3",
        "num_hidden_layers": 36,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "hidden_size": 2560,
    },
    Source("file"),
)


def on(key: str, model: Model = QWEN, **changes) -> Question:
    return question(model, **{"gpu": key, "tokens": 4096, **changes})


# Card, model, weights, share, and the "Available KV cache memory" in GiB that was printed: vLLM's
# documentation (0.25.1, Qwen3-4B on an L4, under either default of the share) and a public log of
# vLLM 0.31.0 (Llama-3.1-8B on an A100 of 80 GB).
PRINTED = [
    ("l4", QWEN3_4B, 8_044_936_192, "0.92", 11.47),
    ("l4", QWEN3_4B, 8_044_936_192, "0.9", 11.47),
    ("a100_80gb", LLAMA, 16_060_522_496, "0.92", 56.21),
]


@pytest.mark.parametrize(("key", "model", "weights", "share", "printed"), PRINTED)
def test_the_range_holds_what_servers_printed(key, model, weights, share, printed):
    found = fit(on(key, model, weights=weights, utilization=share))
    low, high = found.available, found.available_at_best
    assert low < printed * GIB < high
    assert high - low < 3.5 * GIB


@pytest.mark.parametrize(
    ("model", "dtype", "printed", "tokens"),
    [
        (QWEN3_4B, "auto", 11.47, 83_488),
        (QWEN3_4B, "fp8", 11.47, 166_992),
        (LLAMA, "auto", 56.21, 460_496),
    ],
)
def test_with_the_engines_own_figure_the_tokens_are_its_own(model, dtype, printed, tokens):
    """The figure is printed with two decimals, so the pool is known to half of the last one."""
    low, high = (
        fit(on("l4", model, kv_dtype=dtype, available=int(amount * GIB))).sure.pool_tokens
        for amount in (printed - 0.005, printed + 0.005)
    )
    assert low <= tokens <= high
    assert high - low < 200


def test_the_terms_add_up_and_stated_ones_have_no_range():
    found = fit(on("rtx_4090", overhead=GIB))
    assert found.available == sum(term.sign * term.bytes for term in found.terms)
    names = {term.name: term for term in found.terms}
    assert names["memory as the driver reports it"].bytes == 24_564 * MIB
    assert names["weights"].bytes == 15_231_233_024
    assert [term.name for term in found.terms if term.bytes != term.best] == [
        "kept by the driver",
        "not used by the engine",
    ]
    assert all(term.source for term in found.terms)


def test_the_default_share_is_vllms():
    """vllm/config/cache.py:215 in the 0.33.0 wheel."""
    assert on("rtx_4090").on.flags.share == Fraction(92, 100)


def test_the_share_is_of_what_a_program_sees():
    """An A100's 79.25 GiB times 0.92 is 72.91 GiB, as vLLM 0.31.0 logged."""
    memory, kept, unused = (
        term.bytes for term in fit(on("a100_80gb", LLAMA, weights=16_060_522_496)).terms[:3]
    )
    assert f"{(memory - kept - unused) / GIB:.2f}" == "72.91"


def test_longest_context_is_the_longest():
    found = fit(on("rtx_4090", tokens=None, users=10))
    assert found.fits
    assert found.sure.sequences >= 10
    assert not fit(on("rtx_4090", tokens=found.tokens + 1, users=10)).fits


def test_longest_context_stops_where_the_model_does():
    assert fit(on("h200", tokens=None, users=1)).tokens == 32_768  # max_position_embeddings


def test_what_helps_is_tried_in_the_order_of_its_cost():
    answer = fit(on("rtx_4090", users=25, tokens=8192))
    found = what_helps(answer)
    kinds = [remedy.flag.split()[0] for remedy in found]
    assert kinds == ["--tokens", "--weights-dtype", "--gpu", "--tp"]
    assert all(remedy.answer.fits for remedy in found)
    assert answer.sure.sequences < 25
    half = fit(on("rtx_4090", users=12, tokens=8192))
    assert [remedy.flag for remedy in what_helps(half)][:2] == ["--tokens 6464", "--kv-dtype fp8"]


def test_an_fp8_cache_is_not_offered_where_the_card_refuses_it():
    found = what_helps(fit(on("t4", users=2, tokens=4096)))
    assert "--kv-dtype fp8" not in {remedy.flag for remedy in found}
    assert "--gpu rtx_4090" not in {remedy.flag for remedy in found}  # L4 and A10 are smaller
    assert any(remedy.flag.startswith("--gpu") for remedy in found)


def test_weights_in_fewer_bits():
    assert weights_in(QWEN, "int4")[0] == 15_231_233_024 // 4
    with pytest.raises(ValueError, match="not published in 16 or 32 bits"):
        weights_in(load("openai/gpt-oss-20b"), "int4")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"utilization": "1.5"}, "--utilization is 1.5"),
        ({"utilization": Fraction(0)}, "--utilization is 0"),
        ({"users": 0}, "--users is 0"),
        ({"tokens": 0}, "--tokens is 0"),
        ({"tp": 3}, "4 KV heads cannot be shared by 3 ranks"),
        ({"gpu": "t4", "kv_dtype": "fp8"}, "Tesla T4: its compute capability is 7.5"),
        ({"available": -1}, "--available is -1"),
    ],
)
def test_contradictions_are_named(changes, words):
    with pytest.raises(ValueError, match=words):
        fit(on("rtx_4090", **changes))
