"""``kvdocs explain`` as a reader uses it, in its own process."""

import json

import pytest

from tests.test_cli import kvdocs

START = (
    "Available KV cache memory: 6.51 GiB\n"
    "GPU KV cache size: 42,656 tokens\n"
    "Maximum concurrency for 32,768 tokens per request: 1.30x\n"
)
KEYS = [
    "engine",
    "lines",
    "model",
    "tensor_parallel",
    "kv_dtype",
    "kv_dtype_unknown",
    "bytes_per_token",
    "starts",
    "readings",
    "checks",
    "not_compared",
    "change",
    "status",
]


def test_json_has_the_documented_keys():
    run = kvdocs("explain", "-", "--model", "Qwen/Qwen3-14B", "--json", stdin=START)
    found = json.loads(run.stdout)
    assert (run.returncode, run.stderr) == (0, "")
    assert list(found) == KEYS
    assert (found["engine"], found["bytes_per_token"]) == ("vLLM", 163_840)
    assert [check["agrees"] for check in found["checks"]] == [True, True]
    memory = found["readings"][0]["numbers"]["memory"]
    assert (memory["printed"], memory["unit"], memory["scope"]) == ("6.51", "GiB", "per rank")


def test_the_text_says_what_each_number_is_of_and_whether_it_agrees(tmp_path):
    path = tmp_path / "server.log"
    path.write_text("vllm serve Qwen/Qwen3-14B\n" + START, encoding="utf-8")
    run = kvdocs("explain", str(path))
    assert run.returncode == 0
    assert "held against Qwen/Qwen3-14B, cache in bfloat16: 163,840 bytes per token" in run.stdout
    assert "line 3: KV cache size: 42,656 tokens  [in all]" in run.stdout
    assert "agrees, to the last digit printed" in run.stdout


def test_a_number_that_nothing_explains_is_status_1():
    text = START.replace("42,656", "33,333").replace("1.30", "1.02")
    run = kvdocs("explain", "-", "--model", "Qwen/Qwen3-14B", stdin=text)
    assert run.returncode == 1
    assert "CONTRADICTS the formula" in run.stdout


def test_a_concurrency_that_does_not_follow_from_the_tokens():
    text = START.replace("1.30x", "9.99x")
    assert kvdocs("explain", "-", "--model", "Qwen/Qwen3-14B", stdin=text).returncode == 1
    # Without a model it may be one with windows or states, where the two are counted apart.
    run = kvdocs("explain", "-", stdin=text)
    assert run.returncode == 0
    assert "not compared: line 3" in run.stdout
    assert "inferred" not in run.stdout


def test_a_public_log_of_a_model_with_states_is_explained():
    """vLLM 0.20.1: five times the concurrency that the tokens would give. The thread says it is
    Qwen3.6-35B-A3B, whose state fills another block; block, padding, tokens and concurrency are
    those of the 27B in fp8: 139 blocks of 16 layers, 34 for each of four groups, 27 a request."""
    text = (
        "[interface.py:606] Setting attention block size to 1568 tokens to ensure that attention "
        "page size is >= mamba page size.\n"
        "[interface.py:630] Padding mamba page size by 0.13% to ensure that mamba page size and "
        "attention page size are exactly equal.\n"
        "[gpu_worker.py:440] Available KV cache memory: 6.67 GiB\n"
        "[kv_cache_utils.py:1711] GPU KV cache size: 53,312 tokens\n"
        "[kv_cache_utils.py:1716] Maximum concurrency for 32,768 tokens per request: 5.15x\n"
    )
    shape = ("--model", "Qwen/Qwen3.5-27B", "--kv-dtype", "fp8")
    run = kvdocs("explain", "-", *shape, "--json", stdin=text)
    checks = json.loads(run.stdout)["checks"]
    assert (run.returncode, [check["agrees"] for check in checks]) == (0, [True, True])
    reasons = [reason["key"] for check in checks for reason in check["reasons"]]
    assert reasons == ["shared_pages", "tokens_by_group"]
    run = kvdocs("explain", "-", "--model", "Qwen/Qwen3.5-35B-A3B", stdin=text)
    assert run.returncode == 1


def test_tp_and_dtype_can_be_given():
    text = "Available KV cache memory: 6.51 GiB\nGPU KV cache size: 170,624 tokens\n"
    run = kvdocs(
        *("explain", "-", "--model", "Qwen/Qwen3-14B", "--tp", "2", "--kv-dtype", "fp8", "--json"),
        stdin=text,
    )
    found = json.loads(run.stdout)
    assert (found["tensor_parallel"], found["bytes_per_token"]) == (2, 40_960)
    assert found["checks"][0]["agrees"]


def test_more_ranks_than_heads_are_copies_and_it_says_so():
    text = "Available KV cache memory: 6.51 GiB\nGPU KV cache size: 487,504 tokens\n"
    run = kvdocs(
        *("explain", "-", "--model", "Qwen/Qwen2.5-7B-Instruct", "--tp", "8", "--json"), stdin=text
    )
    check = json.loads(run.stdout)["checks"][0]
    assert check["agrees"]
    assert [reason["key"] for reason in check["reasons"]] == ["head_copies"]


@pytest.mark.parametrize(
    ("arguments", "stdin", "names"),
    [
        (["-"], "", "no known phrase"),
        (["-"], "hello\n", "no known phrase"),
        (["no/such.log"], "", "No such file"),
        (["-", "--model", "no/such-model"], START, "no/such-model"),
        (["-", "--model", "Qwen/Qwen3-14B", "--kv-dtype", "int3"], START, "unknown cache dtype"),
        (["-", "--model", "Qwen/Qwen3-14B", "--tp", "3"], START, "8 KV heads cannot be shared"),
    ],
)
def test_bad_input_is_one_paragraph_with_status_2(arguments, stdin, names):
    run = kvdocs("explain", *arguments, stdin=stdin, KVDOCS_HUB="snapshot")
    assert (run.returncode, run.stdout) == (2, "")
    assert names in run.stderr
    assert run.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("model", "log"),
    [
        ("google/gemma-3-27b-it", "67,547 tokens, Maximum concurrency for 32,768 tokens"),
        ("openai/gpt-oss-20b", "386,840 tokens, Maximum concurrency for 32,768 tokens"),
    ],
)
def test_windows_are_held_against_vllms_own_planning(model, log):
    """The two lines are what vLLM 0.33.0's planner gives for 10 GiB (claims.toml)."""
    concurrency = {"67": "2.06", "38": "11.81"}[log[:2]]
    text = (
        "Available KV cache memory: 10.0 GiB\n"
        f"GPU KV cache size: {log} per request: {concurrency}x\n"
    )
    run = kvdocs("explain", "-", "--model", model, "--json", stdin=text)
    checks = json.loads(run.stdout)["checks"]
    assert [(check["key"], check["agrees"]) for check in checks] == [
        ("concurrency", True),
        ("plan", True),
    ]


@pytest.mark.parametrize(
    ("memory", "tokens", "model", "tp", "printed"),
    [
        ("10.00", "163,840", "meta-llama/Llama-3.1-8B-Instruct", "2", "65,536"),
        ("6.15", "50,368", "meta-llama/Llama-3.1-8B-Instruct", "1", "131,105"),
        ("18.78", "175,856", "Qwen/Qwen3-1.7B", "1", "114,667"),
    ],
)
def test_the_printed_figure_is_the_printed_memory_by_the_printed_tokens(
    memory, tokens, model, tp, printed
):
    text = f"Available KV cache memory: {memory} GiB\nGPU KV cache size: {tokens} tokens\n"
    run = kvdocs("explain", "-", "--model", model, "--tp", tp, stdin=text)
    assert f"  printed {printed}, by the formula " in run.stdout


def test_a_plan_is_shown_as_vllms_planner_has_it_for_the_printed_memory():
    """67,547 tokens for 10 GiB: vLLM 0.33.0's planner, in claims.toml."""
    text = (
        "Available KV cache memory: 10.0 GiB\n"
        "GPU KV cache size: 67,547 tokens\n"
        "Maximum concurrency for 32,768 tokens per request: 2.06x\n"
    )
    run = kvdocs("explain", "-", "--model", "google/gemma-3-27b-it", stdin=text)
    assert "printed 67,547, by the formula 67,547 tokens; ratio 1.0000" in run.stdout


FALCON_H1 = (
    '{"model_type": "falcon_h1", "num_hidden_layers": 24, "num_key_value_heads": 2, '
    '"num_attention_heads": 8, "head_dim": 128, "hidden_size": 2048, "mamba_d_ssm": 3072, '
    '"mamba_n_heads": 48, "mamba_d_head": 64, "mamba_n_groups": 1, "mamba_d_state": 256, '
    '"mamba_d_conv": 4, "mamba_expand": 2, "vocab_size": 65537}'
)


@pytest.fixture
def falcon(tmp_path):
    """Falcon-H1-1.5B: attention and a state side by side in every layer."""
    path = tmp_path / "config.json"
    path.write_text(FALCON_H1, encoding="utf-8")
    return str(path)


def test_attention_beside_a_state_is_shared_by_the_ranks(falcon):
    """24 layers of 2 heads take 24,576 bytes a token (a public llama.cpp log); one head half."""
    run = kvdocs("explain", "-", "--model", falcon, "--tp", "2", "--json", stdin=START)
    assert json.loads(run.stdout)["bytes_per_token"] == 12_288
    run = kvdocs("explain", "-", "--model", falcon, "--tp", "3", stdin=START)
    assert (run.returncode, run.stdout) == (2, "")
    assert "2 KV heads cannot be shared by 3 ranks" in run.stderr


def test_attention_beside_a_state_has_a_type_for_keys_and_one_for_values(falcon):
    """32,768 cells of 24 layers: K 384 MiB in f16; V in q8_0 takes 8.5 of 16 bits, 204 MiB."""
    line = (
        "llama_kv_cache: size = 588.00 MiB ( 32768 cells,  24 layers,  1/1 seqs), "
        "K (f16):  384.00 MiB, V (q8_0):  204.00 MiB\n"
    )
    run = kvdocs("explain", "-", "--model", falcon, "--json", stdin=line)
    (check,) = json.loads(run.stdout)["checks"]
    assert (check["agrees"], check["ratio"]) == (True, 1.0)


def test_cross_attention_does_not_grow_with_the_tokens():
    """Whisper large v3: 32 layers, 2 × 20 heads of 64 in 16 bits."""
    run = kvdocs("explain", "-", "--model", "openai/whisper-large-v3", "--json", stdin=START)
    assert json.loads(run.stdout)["bytes_per_token"] == 163_840


def test_the_cache_dtype_that_the_checkpoint_names_counts_unless_another_is_stated(tmp_path):
    from kvdocs.facts import snapshot

    config = dict(snapshot.load("Qwen/Qwen3-14B").config)
    scheme = {"num_bits": 8, "type": "float"}
    config["quantization_config"] = {
        "quant_method": "compressed-tensors",
        "kv_cache_scheme": scheme,
    }
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    text = "Available KV cache memory: 6.51 GiB\nGPU KV cache size: 85,312 tokens\n"
    for said, dtype, size in (
        ("", "fp8_e4m3", 81_920),
        ("kv_cache_dtype=auto\n", "fp8_e4m3", 81_920),
        ("kv_cache_dtype=bfloat16\n", "bfloat16", 163_840),
    ):
        run = kvdocs("explain", "-", "--model", str(path), "--json", stdin=said + text)
        found = json.loads(run.stdout)
        assert (found["kv_dtype"], found["bytes_per_token"]) == (dtype, size)
    # An engine of before 2026 may have kept sixteen bits all the same.
    run = kvdocs("explain", "-", "--model", str(path), "--json", stdin=START)
    reasons = json.loads(run.stdout)["checks"][1]["reasons"]
    assert [reason["key"] for reason in reasons] == ["cache_dtype"]


def test_a_dtype_of_unknown_size_in_the_log_is_said_and_not_shown():
    text = "vllm serve Qwen/Qwen3-14B --kv-cache-dtype int3_secret\n" + START
    run = kvdocs("explain", "-", stdin=text)
    assert run.returncode == 0
    assert "a cache dtype whose size is not" in run.stdout
    assert "secret" not in run.stdout + run.stderr


@pytest.mark.parametrize("token", ["hf_" + "aB3d" * 9, "sk-proj-" + "x9_Y" * 9])
def test_a_token_in_the_place_of_a_name_is_not_shown(token):
    run = kvdocs("explain", "-", "--model", token, stdin=START, KVDOCS_HUB="snapshot")
    assert run.returncode == 2
    assert token[8:] not in run.stdout + run.stderr
    assert token[:3] + "…" in run.stderr


def test_one_phrase_in_one_line_is_said_in_the_singular():
    run = kvdocs("explain", "-", stdin="GPU KV cache size: 42,656 tokens\n")
    assert run.stdout.startswith("vLLM, 1 known phrase in 1 line\n")


def test_a_pool_that_holds_less_than_one_sequence_agrees_with_the_formula():
    """TensorRT-LLM, Mistral-7B on four GPUs: 956,301,312 bytes for 29,184 tokens are 32,768 a
    token on each, a fourth of the model's (tensorrtllm_backend issue 366)."""
    text = (
        "[TensorRT-LLM][INFO] Allocate 956301312 bytes for k/v cache. \n"
        "[TensorRT-LLM][INFO] Using 29184 total tokens in paged KV cache, and 272 blocks\n"
        "ERROR: maxTokensInPagedKvCache (29184) must be large enough to process at least 1 "
        "sequence to completion (i.e. must be larger than beam_width (1) * tokensPerBlock (128)\n"
    )
    args = ("--model", "mistralai/Mistral-7B-v0.1", "--tp", "4", "--json")
    run = kvdocs("explain", "-", *args, stdin=text)
    found = json.loads(run.stdout)
    assert found["bytes_per_token"] == 32_768
    assert [check["agrees"] for check in found["checks"]] == [True]
    assert any("--max_seq_len" in change for change in found["change"])


def test_turboquant_leaves_four_layers_in_sixteen_bits():
    """As vLLM's planner holds it: 4 layers of 2,048 bytes and 24 of 4 heads of 196 bytes."""
    args = ("--model", "Qwen/Qwen2.5-7B-Instruct", "--kv-dtype", "turboquant_k8v4", "--json")
    run = kvdocs("explain", "-", *args, stdin=START)
    assert json.loads(run.stdout)["bytes_per_token"] == 27_008


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("tokens", "status"), [("500,000", 1), ("77,488", 0)])
def test_memory_and_tokens_are_compared_in_either_order(turned, tokens, status):
    """Qwen2.5-7B has 56 KiB a token, so 4.14 GiB hold 77,500 and not half a million."""
    lines = ["Available KV cache memory: 4.14 GiB", f"GPU KV cache size: {tokens} tokens"]
    text = "\n".join(reversed(lines) if turned else lines)
    run = kvdocs("explain", "-", "--model", "Qwen/Qwen2.5-7B-Instruct", stdin=text)
    assert run.returncode == status
    assert ("CONTRADICTS" in run.stdout) == bool(status)
    assert ("agrees" in run.stdout) != bool(status)


def test_the_memory_of_the_next_start_is_not_of_the_pool_before():
    text = (
        "GPU KV cache size: 500,000 tokens\nAvailable KV cache memory: 4.14 GiB\n"
        "GPU KV cache size: 77,488 tokens\n"
    )
    run = kvdocs("explain", "-", "--model", "Qwen/Qwen2.5-7B-Instruct", "--json", stdin=text)
    found = [check for check in json.loads(run.stdout)["checks"] if check["key"] == "pool"]
    assert [check["agrees"] for check in found] == [True]
