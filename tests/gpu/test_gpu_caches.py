"""Real tensors on a GPU: caches, the allocator's count, growth, the peak of growing, fp8.

Each check also runs on the CPU with a small model, so that the code is proved everywhere.
"""

import json

import pytest

from kvdocs.facts import snapshot
from tests.evidence.tiny import FAMILIES
from tests.installed import other_cache, version

version()  # skips the module where torch or transformers is not installed

from tests.gpu import experiments  # noqa: E402  it imports torch
from tests.gpu import record as gpu_record  # noqa: E402

GPU = pytest.mark.gpu
# name, tokens, decoded one by one: full, full, sliding (window 512), latent.
PUBLISHED = [
    ("Qwen/Qwen2.5-0.5B-Instruct", 4096, 16),
    ("Qwen/Qwen2.5-7B-Instruct", 4096, 16),
    ("google/gemma-3-1b-it", 2048, 16),
    ("deepseek-ai/DeepSeek-V2-Lite", 2048, 16),
]
SMALL = ["qwen2, no head_dim", "gemma2, alternating", "deepseek_v2, latent"]
SIZES = [
    pytest.param("cpu", 3, 2, 16, 20, id="cpu"),
    pytest.param("cuda", 28, 4, 128, 32_768, id="cuda", marks=GPU),
]


@GPU
@pytest.mark.parametrize(("model_id", "tokens", "decoded"), PUBLISHED)
def test_cache_is_what_a_gpu_allocates(model_id, tokens, decoded, record):
    import torch

    config = snapshot.load(model_id).config
    if reason := other_cache(config["model_type"]):
        pytest.skip(reason)
    room = int(torch.cuda.mem_get_info()[0] * 0.7)
    config = experiments.fitted(config, model_id, room)
    figures = experiments.cache_against_allocator(config, model_id, "cuda", tokens, decoded)
    # A block is a multiple of 512 bytes; of a large one up to 1 MiB is left unsplit.
    assert figures["rounding_bytes"] < figures["tensors"] * (512 + 2**20)
    record("caches", figures)


@pytest.mark.parametrize("family", SMALL)
def test_cache_is_what_a_cpu_allocates(family):
    config, kinds = FAMILIES[family]
    if reason := other_cache(config["model_type"]):
        pytest.skip(reason)
    figures = experiments.cache_against_allocator(config, family, "cpu", 30, 16)
    assert figures["rounding_bytes"] == 0
    assert len(figures["growth_bytes"]) == 16
    if "window" not in kinds:
        assert len(set(figures["growth_bytes"])) == 1


@pytest.mark.parametrize(("device", "layers", "kv_heads", "head_dim", "tokens"), SIZES)
def test_growing_holds_a_second_copy_of_one_tensor(
    device, layers, kv_heads, head_dim, tokens, record
):
    figures = experiments.peak_of_one_more_token(device, layers, kv_heads, head_dim, tokens)
    assert figures["peak_above_cache_bytes"] < figures["cache_bytes"]
    record("peak", figures)


@pytest.mark.parametrize(("device", "layers", "kv_heads", "head_dim", "tokens"), SIZES)
def test_fp8_takes_half(device, layers, kv_heads, head_dim, tokens, record):
    figures = experiments.half_in_fp8(device, layers, kv_heads, head_dim, tokens)
    assert figures["bfloat16_bytes"] == 2 * figures["fp8_bytes"]
    record("fp8", figures)


def test_a_model_too_large_is_cut_to_the_layers_that_fit():
    config = snapshot.load("openai/gpt-oss-20b").config
    cut = experiments.fitted(config, "gpt-oss", room=13 * 10**9)
    assert cut["num_hidden_layers"] == 6
    assert cut["layer_types"] == config["layer_types"][:6]
    assert config["num_hidden_layers"] == 24


def test_a_partial_run_makes_no_record(tmp_path):
    with pytest.raises(ValueError, match="no figures of peak, fp8: run all of tests/gpu"):
        gpu_record.write({"caches": [{}]}, tmp_path / "gpu.json")
    assert list(tmp_path.iterdir()) == []


def test_a_record_has_the_machine_and_every_experiment(tmp_path):
    path = tmp_path / "gpu.json"
    gpu_record.write({name: [{"layers": 1}] for name in gpu_record.EXPERIMENTS}, path)
    content = json.loads(path.read_text())
    assert {"date", "gpu", "driver", "cuda", "torch", "transformers"} <= set(content)
    assert content["fp8"] == [{"layers": 1}]


def test_a_committed_record_was_made_on_a_gpu():
    if not gpu_record.GPU_FILE.exists():
        pytest.skip("no run on a GPU is on record yet")
    content = json.loads(gpu_record.GPU_FILE.read_text())
    assert content["gpu"]
    assert content["driver"]
    for figures in content["caches"]:
        assert figures["held_bytes"] == figures["formula_bytes"], figures["model"]
