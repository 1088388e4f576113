"""Parameters counted from the config alone, times 2 bytes, against the published weights."""

import pytest

from kvdocs.evidence import known
from kvdocs.evidence.transformers import snapshot_caches as records
from kvdocs.evidence.transformers.caches import parameter_bytes
from kvdocs.evidence.transformers.weights import FEWER_BITS, MORE, NOT_ITEMISED
from tests.installed import missing_architecture

WEIGHED = {model.id: model for model in records.models_with_a_rule() if model.weights}

# Published exactly as 2 bytes a parameter.
EQUAL = [
    "allenai/Olmo-3-7B-Instruct",
    "deepseek-ai/DeepSeek-V2-Lite",
    "google/gemma-3-1b-it",
    "google/gemma-3-27b-it",
    "google/gemma-3-4b-it",
    "HuggingFaceTB/SmolLM2-135M-Instruct",
    "HuggingFaceTB/SmolLM3-3B",
    "ibm-granite/granite-4.0-h-tiny",
    "meta-llama/Llama-3.1-70B-Instruct",
    "meta-llama/Llama-3.1-8B-Instruct",
    "meta-llama/Llama-3.2-1B-Instruct",
    "meta-llama/Llama-3.2-3B-Instruct",
    "meta-llama/Llama-4-Scout-17B-16E-Instruct",
    "microsoft/Phi-3-mini-4k-instruct",
    "microsoft/Phi-3.5-mini-instruct",
    "microsoft/Phi-4-mini-instruct",
    "mistralai/Mistral-7B-Instruct-v0.3",
    "mistralai/Mistral-7B-v0.1",
    "mistralai/Mistral-Nemo-Instruct-2407",
    "mistralai/Mixtral-8x7B-v0.1",
    "nvidia/Nemotron-H-56B-Base-8K",
    "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
    "Qwen/Qwen2.5-0.5B",
    "Qwen/Qwen2.5-0.5B-Instruct",
    "Qwen/Qwen2.5-14B",
    "Qwen/Qwen2.5-32B",
    "Qwen/Qwen2.5-32B-Instruct",
    "Qwen/Qwen2.5-72B",
    "Qwen/Qwen2.5-7B-Instruct",
    "Qwen/Qwen3-14B",
    "Qwen/Qwen3-235B-A22B",
    "Qwen/Qwen3-30B-A3B",
    "Qwen/Qwen3-32B",
    "Qwen/Qwen3-8B",
    "Qwen/Qwen3-Coder-480B-A35B-Instruct",
]


def counted(model_id: str) -> int:
    model = WEIGHED[model_id]
    if reason := missing_architecture(model.config["model_type"]):
        pytest.skip(reason)
    return parameter_bytes(model.config, model_id)


@pytest.mark.parametrize("model_id", EQUAL)
def test_parameters_times_2_are_the_published_weights(model_id):
    assert counted(model_id) == WEIGHED[model_id].weights.bytes


@pytest.mark.parametrize("model_id", MORE)
def test_every_further_byte_is_accounted_for(model_id):
    assert counted(model_id) + MORE[model_id].bytes == WEIGHED[model_id].weights.bytes


@pytest.mark.parametrize("model_id", FEWER_BITS)
def test_fewer_bits_take_less_than_2_bytes_a_parameter(model_id):
    assert WEIGHED[model_id].weights.bytes < counted(model_id)


def test_every_model_with_published_weights_is_listed_once():
    listed = [*EQUAL, *MORE, *FEWER_BITS, *NOT_ITEMISED]
    assert sorted(listed) == sorted(WEIGHED)


def test_the_record_has_the_same_figures():
    recorded = {entry["id"]: entry for entry in known.caches()["models"]}
    for model_id, model in WEIGHED.items():
        assert recorded[model_id]["weights"] == model.weights.bytes
    assert all(recorded[i]["parameters"] == recorded[i]["weights"] for i in EQUAL)
