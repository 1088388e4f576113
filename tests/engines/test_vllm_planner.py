"""vLLM's own planner, run again: `make test-engines`."""

import json

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed here; run make test-engines")

from kvdocs.engines.vllm.dtypes import KV_DTYPES, head_bytes
from kvdocs.engines.vllm.pool import Options
from kvdocs.evidence.vllm import planner_record as vllm_record
from kvdocs.evidence.vllm.planner import geometry, planned
from kvdocs.evidence.vllm.specs import Geometry
from kvdocs.facts.snapshot import load

pytestmark = pytest.mark.engine
GIB = 2**30
CLAIMED = {
    "Qwen/Qwen2.5-7B-Instruct": (11_702, 187_232, "5.71"),
    "meta-llama/Llama-3.1-8B-Instruct": (5_120, 81_920, "2.50"),
    "deepseek-ai/DeepSeek-V3": (9_549, 152_784, "4.66"),
    "google/gemma-3-27b-it": (8_192, 67_547, "2.06"),
    "openai/gpt-oss-20b": (27_306, 386_840, "11.81"),
}


def _read(name: str) -> Geometry:
    return geometry(load(name).config)


@pytest.mark.parametrize("name", CLAIMED)
def test_the_planner_gives_what_the_pages_cite(name):
    found = planned(_read(name), Options(max_model_len=32_768), 10 * GIB)
    assert (found.blocks, found.tokens, f"{found.concurrency:.2f}") == CLAIMED[name]


def test_the_start_up_errors_read_as_the_pages_cite_them():
    options = Options(max_model_len=131_072)
    error = planned(_read("Qwen/Qwen2.5-7B-Instruct"), options, 6_600_000_000).error
    assert error.startswith(
        "To serve at least one request with the model's max seq len (131072), (7.0 GiB KV cache "
        "is needed, which is larger than the available KV cache memory (6.15 GiB). Based on the "
        "available memory, the estimated maximum model length is 115072. Try increasing"
    )
    nothing = planned(_read("Qwen/Qwen2.5-7B-Instruct"), options, 0).error
    assert nothing.startswith("No available memory for the cache blocks. ")


def test_the_record_is_what_the_planner_answers_now():
    made = json.loads(json.dumps(vllm_record.made()))
    kept = vllm_record.load()
    for key in ("models", "beside", "variants"):
        assert made[key] == kept[key]
    assert set(made["unread"]) == set(kept["unread"])


def test_every_cache_dtype_of_the_command_line_is_known_or_named_here():
    from vllm.config.cache import KV_CACHE_DTYPES

    assert set(KV_CACHE_DTYPES) == set(KV_DTYPES)


@pytest.mark.parametrize("head_dim", [64, 128, 256])
def test_ultraquant_takes_what_its_own_format_says(head_dim):
    from vllm.v1.attention.ops.ultraquant.format import slot_size

    assert head_bytes("ultraquant_4bit", head_dim, head_dim) == slot_size(head_dim)
