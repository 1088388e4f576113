"""Cache formats that vLLM 0.33.0 refuses for a model, or for a model on a card.

`make test-engines` asks vLLM's backends about every model of the snapshot; here is one of each.
"""

import pytest

from kvdocs.engines.vllm.kernels import least_capability, refusal
from kvdocs.facts.snapshot import load

QWEN, OSS, GEMMA = "Qwen/Qwen2.5-7B-Instruct", "openai/gpt-oss-20b", "google/gemma-3-27b-it"
LITE = "deepseek-ai/DeepSeek-V2-Lite"
NEXT = "Qwen/Qwen3-Next-80B-A3B-Instruct"


@pytest.mark.parametrize(
    ("dtype", "name", "card", "words"),
    [
        ("nvfp4", QWEN, "9.0", ""),
        ("nvfp4", OSS, "10.0", ""),
        ("nvfp4", OSS, None, ""),  # the card decides
        ("nvfp4", OSS, "9.0", "misread at head_dim 64"),
        ("nvfp4", "microsoft/Phi-3-mini-4k-instruct", "10.0", "or 512, not 96"),
        ("nvfp4", "openai/whisper-large-v3", "10.0", "an encoder's output"),
        ("turboquant_k8v4", QWEN, "8.9", ""),
        ("turboquant_k8v4", GEMMA, "8.9", "sliding layers"),
        ("octave_k3v3", NEXT, None, ""),
        ("octave_k3v3", QWEN, None, "head_dim of 256, not 128"),
        ("octave_k3v3", "google/gemma-2-9b", None, "sliding layers"),
        ("fp8", GEMMA, "8.9", ""),
        ("fp8", GEMMA, "8.0", "images whose tokens see one another"),
        ("fp8", "google/gemma-3-1b-it", "8.0", ""),
        ("fp8", QWEN, "8.0", ""),
        ("fp8", QWEN, "8.6", ""),
        ("fp8", OSS, "8.6", "attention sinks"),
        ("fp8", OSS, "8.9", ""),
        ("fp8", "microsoft/Phi-3-mini-4k-instruct", "8.6", "or 512, not 96"),
        ("fp8", "openai/whisper-large-v3", "8.0", "an encoder's output"),
        ("fp8", LITE, "8.0", "latents in FP8 need a compute capability of 8.9"),
        ("fp8", LITE, "8.9", ""),
        ("fp8", LITE, None, ""),
        ("fp8_e5m2", LITE, "9.0", "no kernel for latents"),
        ("int8_per_token_head", LITE, None, "no kernel for latents"),
        ("auto", "deepseek-ai/DeepSeek-V3.2", "8.0", "indexed latents have no kernel"),
        ("bfloat16", "deepseek-ai/DeepSeek-V3.2", "12.0", "indexed latents on cards of 12.x"),
        ("auto", "deepseek-ai/DeepSeek-V4-Flash", "8.0", "9.x, 10.x and 12.x"),
        ("auto", "deepseek-ai/DeepSeek-V4-Flash", "9.0", ""),
        ("nvfp4", GEMMA, "10.0", "images whose tokens see one another"),
        ("nvfp4_ds_mla", "deepseek-ai/DeepSeek-V3.2", "10.0", ""),
    ],
)
def test_what_vllm_refuses(dtype, name, card, words):
    model = load(name)
    found = refusal(dtype, model.layout, model.config, card)
    assert words in found
    assert bool(words) == bool(found)


def test_sinks_are_refused_where_heads_are_not():
    """Granite with layer_types has sinks, and heads of 128 here (models/granite.py:109)."""
    model = load(QWEN)
    config = dict(model.config) | {"model_type": "granite", "layer_types": ["full_attention"]}
    assert "attention sinks" in refusal("nvfp4", model.layout, config, "8.9")
    assert not refusal("nvfp4", model.layout, config, "10.0")
    assert not refusal("nvfp4", model.layout, config | {"attention_sinks": False}, "8.9")


@pytest.mark.parametrize(
    ("name", "least"),
    [(QWEN, "8.0"), (OSS, "8.9"), (LITE, "8.9"), ("deepseek-ai/DeepSeek-V3.2", "9.0")],
)
def test_the_oldest_card_for_fp8_is_the_models(name, least):
    model = load(name)
    assert least_capability("fp8", model.layout, model.config) == least
