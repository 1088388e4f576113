"""Each named reason by itself: the factor it makes, from figures that stand elsewhere."""

import io
from fractions import Fraction

import pytest

from kvdocs.engines.vllm.hold import Flags, hold
from kvdocs.explain import remarks
from kvdocs.explain.reason import CLAIM, ENGINE, REASONS, Reason, load_reasons
from kvdocs.explain.reasons import FACTORS, explain
from kvdocs.explain.reconcile import reconcile
from kvdocs.explain.replay import replay
from kvdocs.explain.subject import Subject
from kvdocs.facts import snapshot
from kvdocs.facts.reports import load_reports
from kvdocs.logs.reading import scan


def subject(model_id, tp=1, dtype="bfloat16", known=False):
    return Subject.of(snapshot.load(model_id), tp=tp, dtype=dtype, dtype_known=known)


QWEN = subject("Qwen/Qwen2.5-7B-Instruct")
LLAMA = subject("meta-llama/Llama-3.1-70B-Instruct", tp=8)
GPT_OSS = subject("openai/gpt-oss-120b")
DEEPSEEK = subject("deepseek-ai/DeepSeek-V3")


@pytest.mark.parametrize(
    ("held", "printed", "of", "key"),
    [
        # fp8 halves, float32 doubles, q4_0 is 4.5 of 16 bits: the runs cited in claims.toml.
        (QWEN, 28_672, ENGINE, "cache_dtype"),
        (QWEN, 114_688, ENGINE, "cache_dtype"),
        (QWEN, Fraction(63 * 2**20, 4096), ENGINE, "cache_dtype"),
        # Llama-3.1-70B: 320 KiB in all, an eighth of it on each of eight GPUs.
        (LLAMA, 327_680, ENGINE, "per_rank_or_total"),
        # The issue that hf-mem fixed: 18 of 36 layers.
        (subject("openai/gpt-oss-120b", known=True), 36_864, CLAIM, "windows_dropped"),
        # The article's counterfactual: 392 KiB a token if every head had its own K and V.
        (QWEN, 401_408, CLAIM, "heads_ignored"),
        # 16 where 2 bytes belong.
        (QWEN, 458_752, CLAIM, "bits_as_bytes"),
        # 61 layers and one prediction layer of 1,152 bytes each.
        (DEEPSEEK, 71_424, ENGINE, "draft_layer"),
        # 128 heads, keys of 192 and values of 128, in 61 layers.
        (DEEPSEEK, 61 * 128 * (192 + 128) * 2, ENGINE, "latent_expanded"),
        (QWEN, 56 * 1000, CLAIM, "binary_or_decimal"),
        (QWEN, 56, CLAIM, "thousand"),
    ],
)
def test_a_factor_has_its_name(held, printed, of, key):
    reasons, _ = explain(Fraction(printed), Fraction(printed), held.rate(), held, of)
    assert [reason.key for reason in reasons] == [key]


def test_more_than_one_reason_may_fit_and_all_are_given():
    held = subject("Qwen/Qwen2.5-7B-Instruct", tp=2)
    first, instead = explain(Fraction(57_344), Fraction(57_344), held.rate(), held, ENGINE)
    assert {reason.key for reason in (*first, *instead)} == {"cache_dtype", "per_rank_or_total"}


@pytest.mark.parametrize("printed", [57_345, 60_000, 70_000, 100_000, 200_000])
def test_a_number_that_is_nobodys_has_no_reason(printed):
    value = Fraction(printed)
    assert explain(value, value, QWEN.rate(), QWEN, ENGINE) == ((), ())


def test_a_latent_is_whole_on_every_rank():
    # 152,784 tokens for 10 GiB, whatever the number of ranks: vLLM's planner, in claims.toml.
    log = scan(io.BytesIO(b"Available KV cache memory: 10.0 GiB\nKV cache size: 152,784 tokens"))
    for tp in (1, 8):
        (check,) = reconcile(log, subject("deepseek-ai/DeepSeek-V3", tp=tp))
        assert check.agrees
        assert [reason.key for reason in check.reasons] == ["whole_latent"] * (tp > 1)


def test_scales_beside_the_numbers_are_told_from_a_rank_with_more_memory():
    """DeepSeek-V3's latent takes 656 bytes a token and layer in fp8_ds_mla, 576 in plain fp8."""
    log = scan(io.BytesIO(b"Available KV cache memory: 10.00 GiB\nKV cache size: 268,320 tokens"))
    assert 61 * 656 * 268_320 <= 10 * 2**30 < 61 * 656 * (268_320 + 32)
    (check,) = reconcile(log, subject("deepseek-ai/DeepSeek-V3", tp=8, dtype="fp8", known=True))
    assert [reason.key for reason in check.reasons] == ["scales_beside"]
    (check,) = reconcile(log, subject("deepseek-ai/DeepSeek-V3", tp=8, dtype="fp8_ds_mla"))
    assert check.agrees


def test_heads_with_scales_take_what_vllms_planner_gives_them():
    held = subject("Qwen/Qwen2.5-7B-Instruct", dtype="int8_per_token_head", known=True)
    pool = hold(held.model, Flags(kv_cache_dtype="int8_per_token_head"))
    tokens = pool.plan(10 * 2**30, 32_768).pool_tokens
    lines = f"Available KV cache memory: 10.0 GiB\nKV cache size: {tokens:,} tokens"
    (check,) = reconcile(scan(io.BytesIO(lines.encode())), held)
    assert check.agrees


def test_stages_that_the_log_states_come_before_what_may_be():
    """Half the memory a token takes: two stages, as stated, or an 8-bit cache."""
    lines = b"Available KV cache memory: 10.00 GiB\nKV cache size: 163,840 tokens"
    model = snapshot.load("meta-llama/Llama-3.1-8B-Instruct")
    (check,) = reconcile(scan(io.BytesIO(lines)), Subject.of(model, pp=2))
    assert [reason.key for reason in check.reasons] == ["pipeline_stage"]
    assert "cache_dtype" in [reason.key for reason in check.instead]


def test_a_pipeline_stage_holds_its_layers_only():
    # What vLLM's planning gives two stages of 24 layers each for 10 GiB on either.
    model = snapshot.load("Qwen/Qwen3-30B-A3B")
    pool = hold(model, Flags(pipeline_parallel_size=2))
    tokens = pool.plan(10 * 2**30, 32_768).pool_tokens
    lines = f"Available KV cache memory: 10.0 GiB\nKV cache size: {tokens:,} tokens"
    held = Subject.of(model, dtype_known=True, pp=2)
    (check,) = reconcile(scan(io.BytesIO(lines.encode())), held)
    assert [reason.key for reason in check.reasons] == ["pipeline_stage"]


def test_every_reason_is_met_in_the_field_or_above():
    met = {
        reason.key
        for report in load_reports().values()
        for check in replay(report).checks
        for reason in check.reasons
    }
    known = {reason.key for reason in REASONS.values()}
    above = {"head_copies", "pipeline_stage", "draft_layer", "whole_latent", "own_format"}
    above |= {"scales_beside", "decode_context"}
    above |= {"tokens_by_group", "blocks_by_hand", "pools_apart", "windows_in_part"}  # test_starts
    assert known - met == above
    assert met <= known


def test_every_reason_says_what_it_is_and_what_to_do():
    for reason in REASONS.values():
        assert reason.says.endswith(".")
        assert not reason.change.endswith(".")
        assert reason.title[0].isupper()


def test_a_reason_has_a_factor_or_is_a_remark():
    named = [key for key, reason in REASONS.items() if reason in vars(remarks).values()]
    reserved = [key for key in REASONS if key.partition(".")[0] == "reserved_not_needed"]
    assert sorted([*FACTORS, *named, *reserved]) == sorted(REASONS)


def test_a_reason_in_other_words_has_the_rest_of_the_first(tmp_path):
    path = tmp_path / "reasons.toml"
    path.write_text(
        '[a]\ntitle = "A"\nsays = "B."\nchange = "C"\nof = ["claim"]\n\n'
        '[a.other]\nchange = "D"\ninferred = true\n'
    )
    first, other = load_reasons(path).values()
    assert first == Reason(key="a", title="A", says="B.", change="C", of=(CLAIM,))
    words = {"title": "A", "says": "B.", "change": "D", "of": (CLAIM,)}
    assert other == Reason(key="a", inferred=True, **words)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "missing field 'change'"),
        ('change = "C"\nfactor = 2', "unknown field 'factor'"),
        ('change = ["C"]', r"field 'change' is \['C'\], not str"),
        ('change = "C"\nof = ["engines"]', r"field 'of' is \['engines'\], not of 'engine' and"),
    ],
)
def test_a_reason_that_does_not_say_what_it_must_is_refused(tmp_path, line, said):
    path = tmp_path / "reasons.toml"
    path.write_text(f'[a]\ntitle = "A"\nsays = "B."\n{line}\n')
    with pytest.raises(ValueError, match=rf"reasons\.toml: a: {said}"):
        load_reasons(path)
