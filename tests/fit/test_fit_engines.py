"""``kvdocs fit --engine transformers`` and ``llama.cpp``: what a reader types and reads."""

import json

import pytest

from kvdocs.cli import main

QWEN = "Qwen/Qwen2.5-7B-Instruct"
ENGINES = ("transformers", "llama.cpp")
COMMON = {
    *(
        "model",
        "engine",
        "gpu",
        "kv_dtype",
        "kv_dtype_from",
        "kept_as",
        "tokens_asked",
        "tokens",
        "users",
        "longest_text",
    ),
    *("fits", "may_fit", "sequences", "available_bytes", "terms", "best", "remedies", "notes"),
}
OWN = {
    "vllm": {
        "kv_dtype_kept",
        "tp",
        "pp",
        "max_num_batched_tokens",
        "max_num_batched_tokens_from",
        "blocks",
        "block_bytes",
    }
    | {"pool_tokens", "max_concurrency", "sequence_blocks", "batch_blocks"},
    "transformers": {"sequence_bytes", "growth_bytes", "growth_exact"},
    "llama.cpp": {"kv_unified", "ubatch_size", "n_ctx", "cache_bytes", "buffers"},
}


def ask(capsys, *arguments: str) -> tuple[int, str, str]:
    try:
        status = main(["fit", *arguments])
    except SystemExit as stop:
        status = stop.code
    out, err = capsys.readouterr()
    return status, out, err


def on_4090(engine: str, *arguments: str) -> tuple[str, ...]:
    return (QWEN, "--gpu", "4090", "--engine", engine, "--overhead", "1GiB", *arguments)


@pytest.mark.parametrize("engine", OWN)
def test_every_engine_has_the_same_shape_and_keys_of_its_own(capsys, engine):
    status, out, _ = ask(capsys, *on_4090(engine, "--json"))
    found = json.loads(out)
    assert status == 0
    assert set(found) == COMMON | OWN[engine]
    assert found["available_bytes"] == sum(t["sign"] * t["bytes"] for t in found["terms"])
    assert found["best"]["sequences"] >= found["sequences"] > 0
    _, text, _ = ask(capsys, *on_4090(engine))
    for term in found["terms"]:
        assert term["name"] in text
        assert term["source"] in text


def test_llama_cpp_says_what_to_type_and_every_buffer(capsys):
    """Gemma-3-27B, 8,192 tokens for 4: 10 layers of 2,048 cells and 52 of 1,536, as logged."""
    arguments = ("google/gemma-3-27b-it", "--engine", "llama.cpp", "--available", "10GiB")
    status, out, _ = ask(capsys, *arguments, "--users", "4", "--tokens", "2048")
    assert status == 0
    assert "-c 8192 -np 4 takes" in out
    assert "10 layers keep every token, 2,048 cells × 4 sets: K in f16 320 MiB" in out
    assert "52 layers keep a window, 1,536 cells × 4 sets: K in f16 1.22 GiB" in out
    _, shared, _ = ask(capsys, *arguments, "--users", "4", "--tokens", "2048", "--kv-unified")
    assert "-c 8192 -np 4 -kvu takes" in shared


def test_states_are_one_for_each_sequence(capsys):
    """Qwen3.5-27B, 4 sequences: 598.50 MiB of states, as logged."""
    arguments = ("Qwen/Qwen3.5-27B", "--engine", "llama.cpp", "--available", "10GiB", "--json")
    _, out, _ = ask(capsys, *arguments, "--users", "4", "--tokens", "1024")
    [states] = [one for one in json.loads(out)["buffers"] if one["kind"] == "state"]
    assert states["k_bytes"] + states["v_bytes"] == 598.5 * 2**20


def test_k_and_v_have_types_of_their_own(capsys):
    """91.00 MiB for 4,096 tokens with K in q8_0 and V in q4_0, as logged."""
    arguments = (QWEN, "--engine", "llama.cpp", "--available", "91MiB", "--json")
    found = json.loads(ask(capsys, *arguments, "--kv-dtype", "Q8_0,q4_0")[1])
    assert (found["sequences"], found["cache_bytes"]) == (1, 91 * 2**20)
    assert found["kv_dtype"] == "q8_0,q4_0"


def test_weights_of_a_gguf_file_are_stated(capsys):
    _, out, _ = ask(capsys, *on_4090("llama.cpp"))
    assert "state its size with --weights" in out
    _, out, _ = ask(capsys, *on_4090("llama.cpp", "--weights", "4.68GB"))
    assert "state its size" not in out
    assert "4.36 GiB  weights (stated)" in out


def test_transformers_caches_in_the_dtype_of_the_model(capsys):
    found = json.loads(ask(capsys, *on_4090("transformers", "--json"))[1])
    assert (found["kv_dtype"], found["kv_dtype_from"]) == ("bfloat16", "torch_dtype")
    wide = json.loads(ask(capsys, *on_4090("transformers", "--json", "--kv-dtype", "fp32"))[1])
    assert wide["sequence_bytes"] == 2 * found["sequence_bytes"]
    unnamed = ("openai-community/gpt2", *on_4090("transformers")[1:])
    assert "its config names no dtype" in ask(capsys, *unnamed)[1]


def test_a_long_prompt_is_held_whole_where_layers_slide(capsys):
    arguments = ("google/gemma-3-27b-it", "--engine", "transformers", "--available", "20GiB")
    found = json.loads(ask(capsys, *arguments, "--tokens", "5000", "--json")[1])
    assert found["sequence_bytes"] == 62 * 5000 * 2 * 16 * 128 * 2


def test_what_does_not_fit_is_status_1_with_what_would_help(capsys):
    for engine, cache in ("transformers", None), ("llama.cpp", "--kv-dtype q4_0"):
        status, out, _ = ask(capsys, *on_4090(engine, "--users", "50", "--tokens", "8000"))
        assert status == 1
        assert "It does not fit. What would make it fit:" in out
        assert "--kv-dtype fp8" not in out
        assert "--tp" not in out
        assert cache is None or cache in out
        assert ask(capsys, QWEN, "--engine", engine, "--available", "0GiB")[0] == 1


def test_a_cache_that_does_not_grow_sets_no_limit_to_the_length(capsys, tmp_path):
    path = tmp_path / "config.json"
    path.write_text('{"model_type": "mamba", "num_hidden_layers": 2, "dtype": "float32"}')
    arguments = (str(path), "--engine", "transformers", "--available", "1GiB", "--users", "2")
    status, out, _ = ask(capsys, *arguments)
    assert status == 0
    assert "the cache stops growing" in out


def test_an_encoder_of_unknown_length_is_refused(capsys, tmp_path):
    path = tmp_path / "config.json"
    path.write_text('{"model_type": "t5", "dtype": "float32"}')
    for engine, words in ("transformers", "--encoder-tokens"), ("llama.cpp", "kind 'cross'"):
        status, out, err = ask(capsys, str(path), "--engine", engine, "--available", "1GiB")
        assert (status, out) == (2, "")
        assert words in err


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--tp", "2"], "--tp is an option of --engine vllm only"),
        (["--pp", "2"], "--pp is an option of --engine vllm only"),
        (["--utilization", "0.9"], "--utilization is an option of --engine vllm only"),
        (["--max-num-batched-tokens", "512"], "--max-num-batched-tokens is an option of"),
        (["--kv-dtype", "fp8"], "--kv-dtype"),
        (["--kv-dtype", ""], "--kv-dtype"),
        (["--weights-dtype", "q3"], "unknown format of weights 'q3'"),
        (["--users", "0"], "not a whole number of 1 or more"),
        (["--tokens", "-5"], "not a number of tokens"),
    ],
)
def test_what_the_engine_has_not_is_status_2_and_says_why(capsys, engine, arguments, words):
    status, out, err = ask(capsys, *on_4090(engine, *arguments))
    assert (status, out) == (2, "")
    assert words in err


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--gpu", "4090"], "--overhead SIZE"),
        (["--overhead", "1GiB"], "state the card with --gpu"),
        (["--vram", "24", "--overhead", "1GiB"], "--vram: '24' is no size"),
        (["--vram", "0GiB", "--overhead", "1GiB"], "--vram is 0 bytes"),
        (["--gpu", "4091", "--overhead", "1GiB"], "is not in the table of cards"),
        (["--available", "9GiB", "--overhead", "1GiB"], "--overhead has no effect"),
    ],
)
def test_an_amount_that_is_missing_or_wrong_is_status_2(capsys, engine, arguments, words):
    status, out, err = ask(capsys, QWEN, "--engine", engine, *arguments)
    assert (status, out) == (2, "")
    assert words in err


@pytest.mark.parametrize("option", [["--kv-unified"], ["--ubatch-size", "256"]])
@pytest.mark.parametrize("engine", ["vllm", "transformers"])
def test_options_of_llama_cpp_are_its_own(capsys, engine, option):
    status, out, err = ask(capsys, *on_4090(engine, *option))
    assert (status, out) == (2, "")
    assert f"{option[0]} is an option of --engine llama.cpp only" in err


def test_an_engine_nobody_described_is_refused(capsys):
    assert ask(capsys, *on_4090("sglang"))[0] == 2
