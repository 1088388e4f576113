"""The formula on published configs, against figures other people published or printed."""

import json

import pytest

from kvdocs.facts.snapshot import ids, load
from kvdocs.formula import layout_of

# model: (bytes per token in 16 bits, where that figure stands)
PUBLISHED = {
    "meta-llama/Llama-3.1-8B-Instruct": (131_072, "vLLM 0.33.0's planner on its geometry"),
    "Qwen/Qwen2.5-7B-Instruct": (57_344, "vLLM 0.33.0's planner; ollama issue 8990 prints 448 MiB"),
    "deepseek-ai/DeepSeek-V3": (70_272, "vLLM 0.33.0's planner; transformers 5.24.0's cache"),
    "google/gemma-3-27b-it": (507_904, "vLLM 0.33.0's planner, layers summed"),
    "openai/gpt-oss-20b": (49_152, "vLLM 0.33.0's planner, layers summed"),
    "openai/gpt-oss-120b": (73_728, "hf-mem issue 60: 5.38 GiB for 78,384 tokens"),
    "Qwen/Qwen3-14B": (163_840, "LMCache issue 1739: 6.51 GiB for 42,656 tokens"),
    "Qwen/Qwen3-1.7B": (114_688, "vLLM issue 33263: 18.78 GiB for 175,856 tokens"),
    "microsoft/Phi-3-mini-4k-instruct": (393_216, "exllamav2 issue 425: 384 KiB a token"),
    "meta-llama/Llama-2-7b-hf": (524_288, "TensorRT-LLM issue 1400: 69,524,783,104 B / 132,608"),
    "Qwen/Qwen2.5-32B": (262_144, "llama.cpp issue 11337 in f16: 64 layers, 1,024 wide K and V"),
    "tiiuae/falcon-7b": (8_192, "one KV head of 64 in 32 layers: multi_query, Almazrouei et al."),
    "mistralai/Mistral-Nemo-Instruct-2407": (163_840, "head_dim 128 as published, not 5120 / 32"),
    "google/gemma-3-4b-it": (139_264, "transformers 5.24.0: 34 layers, 4 KV heads, head_dim 256"),
    "HuggingFaceTB/SmolLM2-135M-Instruct": (23_040, "30 layers, 3 KV heads, head_dim 64"),
}


@pytest.mark.parametrize("model_id", PUBLISHED)
def test_bytes_per_token_are_those_that_others_published(model_id):
    expected, source = PUBLISHED[model_id]
    assert load(model_id).layout.slope() == expected, source


@pytest.mark.parametrize(
    ("model_id", "printed_gib", "tokens"),
    [
        ("openai/gpt-oss-120b", 5.38, 78_384),
        ("Qwen/Qwen3-14B", 6.51, 42_656),
        ("Qwen/Qwen3-1.7B", 18.78, 175_856),
    ],
)
def test_the_pool_an_engine_printed_holds_the_tokens_it_printed(model_id, printed_gib, tokens):
    """vLLM reserves every layer for every token, so its pool is tokens × the slope at zero."""
    pool = tokens * load(model_id).layout.slope()
    assert round(pool / 2**30, 2) == pytest.approx(printed_gib, abs=0.011)


def test_windows_stop_and_the_rest_goes_on():
    gemma = load("google/gemma-3-27b-it").layout
    assert [(layer.kind, layer.window, count) for layer, count in gemma.groups()] == [
        ("window", 1024, 52),
        ("full", None, 10),
    ]
    assert gemma.slope(1023) == 507_904
    assert gemma.slope(1024) == gemma.slope_past_windows() == 81_920


def test_deepseek_v4_grows_as_a_sawtooth_and_slowly_in_the_long_run():
    """41 layers compress: 21 leave 640 numbers for 4 tokens, 20 leave 512 for 128."""
    v4 = load("deepseek-ai/DeepSeek-V4-Flash").layout
    assert v4.period == 128
    assert v4.slope(126) > 0 > v4.slope(127)
    assert v4.long_run_rate() == 21 * 320 + 20 * 8
    assert v4.long_run_rate("fp8") * 2 == v4.long_run_rate()


@pytest.mark.parametrize("model_id", ids())
def test_the_long_run_rate_tells_how_far_a_long_sequence_grows(model_id):
    layout = load(model_id).layout
    start, end = layout.past_windows
    many = 7 * layout.period
    grown = layout.bytes(end + many, encoder_tokens=0) - layout.bytes(end, encoder_tokens=0)
    assert grown == many * layout.long_run_rate()
    assert layout.period == 1 or model_id == "deepseek-ai/DeepSeek-V4-Flash"
    assert end - start == layout.period


def test_phi_3_holds_its_window_and_no_more():
    phi = load("microsoft/Phi-3-mini-4k-instruct").layout
    assert phi.bytes(2047) == phi.bytes(4096) == phi.bytes(10**6) == 2047 * 393_216
    assert phi.slope_past_windows() == 0


def test_a_latent_ignores_the_heads_published_beside_it():
    config = dict(load("deepseek-ai/DeepSeek-V3").config)
    as_published = layout_of(config).slope()
    assert layout_of(config | {"num_key_value_heads": 1}).slope() == as_published


def test_falcon_has_one_head_whatever_count_stands_beside_multi_query():
    config = dict(load("tiiuae/falcon-7b-instruct").config)
    assert config["num_kv_heads"] == 71
    assert layout_of(config).layers[0].kv_heads == 1
    assert layout_of(config | {"multi_query": False}).layers[0].kv_heads == 71


def test_falcon_40b_keeps_the_eight_heads_its_log_prints():
    config = {
        "model_type": "falcon",
        "hidden_size": 8192,
        "num_hidden_layers": 60,
        "num_attention_heads": 128,
        "num_kv_heads": 8,
        "new_decoder_architecture": True,
    }
    # ggml's falcon example prints 480 MiB in 32 bits for 2,048 tokens (ggml pull request 231).
    assert layout_of(config).bytes(2048, "float32") == 480 * 2**20


def test_a_null_window_means_no_window():
    config = dict(load("mistralai/Mistral-7B-Instruct-v0.3").config)
    assert config["sliding_window"] is None
    assert layout_of(config).layers[0].kind == "full"
    del config["sliding_window"]
    assert layout_of(config).layers[0].window == 4096  # MistralConfig's own default


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sixteen_bits_are_two_bytes_in_either_format(dtype):
    assert load("Qwen/Qwen2.5-7B-Instruct").layout.slope(dtype=dtype) == 57_344


def test_fp8_is_half_and_float32_is_twice():
    layout = load("Qwen/Qwen2.5-7B-Instruct").layout
    assert layout.bytes(4096, "fp8") * 2 == layout.bytes(4096) == 234_881_024
    assert layout.bytes(4096, "float32") == 2 * 234_881_024


def test_layouts_survive_a_trip_through_json():
    model = load("google/gemma-3-4b-it")
    assert layout_of(json.loads(json.dumps(model.config))) == model.layout
