"""vLLM's own planner, run again: `make test-engines`."""

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed here; run make test-engines")

from kvdocs.evidence.vllm.geometry import Geometry, geometry, published
from kvdocs.evidence.vllm.planner import Flags, planned

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
    return geometry(published(name))


@pytest.mark.parametrize("name", CLAIMED)
def test_the_planner_gives_what_the_pages_cite(name):
    found = planned(_read(name), Flags(max_model_len=32_768), 10 * GIB)
    assert (found.blocks, found.tokens, f"{found.concurrency:.2f}") == CLAIMED[name]


def test_the_start_up_errors_read_as_the_pages_cite_them():
    flags = Flags(max_model_len=131_072)
    error = planned(_read("Qwen/Qwen2.5-7B-Instruct"), flags, 6_600_000_000).error
    assert error.startswith(
        "To serve at least one request with the model's max seq len (131072), (7.0 GiB KV cache "
        "is needed, which is larger than the available KV cache memory (6.15 GiB). Based on the "
        "available memory, the estimated maximum model length is 115072. Try increasing"
    )
    nothing = planned(_read("Qwen/Qwen2.5-7B-Instruct"), flags, 0).error
    assert nothing.startswith("No available memory for the cache blocks. ")
