"""``kvdocs cost --engine``: what one sequence takes in each engine, beside what the model needs."""

import json

import pytest

from kvdocs.cli import main


def answer(capsys, *arguments, engine="transformers"):
    assert main(["cost", *arguments, "--engine", engine, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_engine_stands_beside_what_the_model_needs(capsys):
    found = answer(capsys, "Qwen/Qwen2.5-7B-Instruct")
    assert found["bytes"] == 234_881_024
    assert found["engine"] == {
        "name": "transformers",
        "version": "5.24.0",
        "kv_dtype": "bfloat16",
        "kv_dtype_from": "torch_dtype",
        "kept_as": "bfloat16",
        "bytes": 234_881_024,
        "stored_bytes": 234_881_024,
        # 55 tensors have grown by a token, the last is there twice
        "next_token_peak_bytes": 234_881_024 + 55 * 1024 + 4097 * 1024,
        "static_bytes": 234_881_024,
        "expanded_bytes": None,
        "expanded_before": None,
    }


@pytest.mark.parametrize("tokens", [1023, 1024, 1025, 5000])
def test_sliding_layers_show_window_minus_1_and_store_the_prompt(capsys, tokens):
    engine = answer(capsys, "google/gemma-3-27b-it", "--tokens", str(tokens))["engine"]
    token = 2 * 16 * 128 * 2  # K and V, 16 KV heads, head_dim 128, 2 bytes
    assert engine["bytes"] == (10 * tokens + 52 * min(tokens, 1023)) * token
    assert engine["stored_bytes"] == 62 * tokens * token


def test_latents_were_expanded_before_5_15(capsys):
    found = answer(capsys, "deepseek-ai/DeepSeek-V3", "--tokens", "1")
    assert (found["engine"]["bytes"], found["engine"]["expanded_bytes"]) == (70_272, 4_997_120)
    assert found["engine"]["expanded_before"] == "5.15"


def test_states_have_no_peak_and_the_table_leaves_it_out(capsys):
    assert answer(capsys, "Qwen/Qwen3.5-27B")["engine"]["next_token_peak_bytes"] is None
    assert main(["cost", "Qwen/Qwen3.5-27B", "--engine", "transformers"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("  static") for line in lines)
    assert not any(line.startswith("  peak") for line in lines)


def test_vllm_holds_whole_blocks_and_a_batch_in_flight(capsys):
    """Gemma-3-27b at 10,000 tokens: 62 layers in groups of 10, a block of 16 tokens a group."""
    engine = answer(capsys, "google/gemma-3-27b-it", "--tokens", "10000", engine="vllm")["engine"]
    block = 10 * 16 * 2 * 16 * 128 * 2  # 10 layers, 16 tokens, K and V, 16 KV heads, head_dim 128
    assert (engine["name"], engine["version"]) == ("vLLM", "0.33.0")
    assert engine["block_bytes"] == block
    assert engine["bytes"] == engine["blocks"] * block
    assert engine["writing_bytes"] == engine["writing_blocks"] * block
    # every token once, and six times a window of 1,024 tokens that need not begin with a block
    assert engine["writing_blocks"] in range(10_000 // 16 + 6 * 64, 10_000 // 16 + 6 * 67)
    assert round(engine["bytes"] / 2**20) == 3189  # what engines.md states of it, held against vLLM


def test_llama_cpp_takes_its_own_types(capsys):
    model = "Qwen/Qwen2.5-7B-Instruct"
    engine = answer(capsys, model, "--tokens", "4096", engine="llama.cpp")["engine"]
    assert (engine["kv_dtype"], engine["bytes"], engine["n_ctx"]) == ("f16", 234_881_024, 4096)
    engine = answer(capsys, model, "--kv-dtype", "float32", engine="llama.cpp")["engine"]
    assert (engine["kv_dtype"], engine["bytes"]) == ("f32", 2 * 234_881_024)


@pytest.mark.parametrize(
    ("engine", "dtype", "said"),
    [("transformers", "fp8", "not in fp8_e4m3"), ("llama.cpp", "fp8", "is not known")],
)
def test_a_dtype_the_engine_does_not_cache_in_is_bad_input(capsys, engine, dtype, said):
    model = "Qwen/Qwen2.5-7B-Instruct"
    assert main(["cost", model, "--engine", engine, "--kv-dtype", dtype]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err


@pytest.mark.parametrize("engine", ["vllm", "transformers", "llama.cpp"])
@pytest.mark.parametrize("model", ["Qwen/Qwen2.5-7B-Instruct", "openai/gpt-oss-20b"])
def test_it_is_the_pool_of_fit(capsys, engine, model):
    """One sequence fits into exactly the bytes that cost says, and not into one byte less; vLLM
    holds a block back, and transformers takes more while it grows."""
    found = answer(capsys, model, "--tokens", "6000", engine=engine)["engine"]
    spare = {"vllm": found.get("block_bytes"), "transformers": None, "llama.cpp": 0}[engine]
    need = found["next_token_peak_bytes"] if spare is None else found["bytes"] + spare
    fits = ["fit", model, "--engine", engine, "--tokens", "6000", "--users", "1", "--json"]
    assert main([*fits, "--available", f"{need} bytes"]) == 0
    assert main([*fits, "--available", f"{need - 1} bytes"]) == 1


def test_without_the_option_nothing_is_added(capsys):
    assert main(["cost", "Qwen/Qwen2.5-7B-Instruct", "--json"]) == 0
    assert "engine" not in json.loads(capsys.readouterr().out)
