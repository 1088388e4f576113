"""Cache formats that vLLM 0.33.0 refuses for a model, or for a model on a card.

`make test-engines` asks vLLM's backends about every model of the snapshot; here is one of each.
"""

import pytest

from kvdocs.facts.snapshot import load
from kvdocs.serving.vllm.kernels import refusal

QWEN, OSS, GEMMA = "Qwen/Qwen2.5-7B-Instruct", "openai/gpt-oss-20b", "google/gemma-3-27b-it"
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
