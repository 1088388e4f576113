"""``kvdocs cost --engine transformers``: the figures that real caches have shown."""

import json

import pytest

from kvdocs.cli import main


def answer(capsys, *arguments):
    assert main(["cost", *arguments, "--engine", "transformers", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_engine_stands_beside_what_the_model_needs(capsys):
    found = answer(capsys, "Qwen/Qwen2.5-7B-Instruct")
    assert found["bytes"] == 234_881_024
    assert found["engine"] == {
        "name": "transformers",
        "version": "5.24.0",
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


def test_a_dtype_transformers_does_not_cache_in_is_bad_input(capsys):
    model = "Qwen/Qwen2.5-7B-Instruct"
    assert main(["cost", model, "--engine", "transformers", "--kv-dtype", "fp8"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "not in fp8_e4m3" in err


def test_without_the_option_nothing_is_added(capsys):
    assert main(["cost", "Qwen/Qwen2.5-7B-Instruct", "--json"]) == 0
    assert "engine" not in json.loads(capsys.readouterr().out)
