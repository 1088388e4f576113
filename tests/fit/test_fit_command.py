"""``kvdocs fit``: what it prints, its JSON, its exit status."""

import json

import pytest

from kvdocs.cli import main
from kvdocs.facts.snapshot import load

QWEN = "Qwen/Qwen2.5-7B-Instruct"


def ask(capsys, *arguments: str) -> tuple[int, str, str]:
    try:
        status = main(["fit", *arguments])
    except SystemExit as stop:
        status = stop.code
    out, err = capsys.readouterr()
    return status, out, err


def test_available_gives_the_planners_figures(capsys):
    """The reference run of vLLM 0.33.0's planner: 10 GiB, limit 32,768."""
    status, out, _ = ask(capsys, QWEN, "--available", "10GiB", "--tokens", "32768", "--json")
    found = json.loads(out)
    assert status == 0
    assert (found["blocks"], found["pool_tokens"]) == (11_702, 187_232)
    assert f"{found['max_concurrency']:.2f}" == "5.71"
    assert (found["fits"], found["sequences"], found["available_bytes"]) == (True, 5, 10 * 2**30)
    assert found["best"]["blocks"] == found["blocks"]


def test_every_term_is_printed_and_adds_up(capsys):
    status, out, _ = ask(capsys, QWEN, "--gpu", "RTX 4090", "--json")
    found = json.loads(out)
    assert status == 0
    assert found["available_bytes"] == sum(t["sign"] * t["bytes"] for t in found["terms"])
    assert found["best"]["sequences"] > found["sequences"] > 0
    _, text, _ = ask(capsys, QWEN, "--gpu", "RTX 4090")
    for term in found["terms"]:
        assert term["name"] in text
        assert term["source"] in text


def test_what_does_not_fit_is_status_1_with_what_would_help(capsys):
    status, out, _ = ask(capsys, QWEN, "--gpu", "4090", "--users", "50", "--tokens", "4096")
    assert status == 1
    assert "It does not fit" in out
    assert "--tokens 1536" in out
    status, out, _ = ask(capsys, "meta-llama/Llama-3.1-70B-Instruct", "--gpu", "4090")
    assert status == 1
    assert "0 sequences" in out


def test_the_most_tokens_of_a_step_are_vllms_for_the_card(capsys):
    """vllm/engine/arg_utils.py:2973-3004 in the 0.33.0 wheel: by memory, A100s as small ones."""
    for card, tokens in [("h200", 8192), ("b200", 16384), ("a100_80gb", 2048), ("l4", 2048)]:
        _, out, _ = ask(capsys, "google/gemma-3-27b-it", "--gpu", card, "--json")
        assert json.loads(out)["max_num_batched_tokens"] == tokens
    _, out, _ = ask(capsys, QWEN, "--gpu", "h200")
    assert "up to 8,192 tokens in one step (vLLM's --max-num-batched-tokens for this card)" in out
    _, out, _ = ask(capsys, QWEN, "--available", "9GiB")
    assert "up to 2,048 tokens in one step" in out
    _, out, _ = ask(capsys, QWEN, "--gpu", "h200", "--max-num-batched-tokens", "512")
    assert "up to 512 tokens in one step (stated)" in out


def test_windows_on_a_large_card_hold_more_tokens_in_flight(capsys):
    """Gemma-3-27B: six groups of window 1,024, at most 1,023 + 2 × 8,192 tokens each."""
    arguments = ("google/gemma-3-27b-it", "--tokens", "131072", "--json")
    blocks = {}
    for card in ("a100_80gb", "h200"):
        found = json.loads(ask(capsys, *arguments, "--gpu", card)[1])
        blocks[card] = found["blocks"] / found["max_concurrency"]
    assert round(blocks["a100_80gb"]) == 8192 + 6 * 321
    assert round(blocks["h200"]) == 8192 + 6 * 1089


def test_a_dtype_that_the_checkpoint_names_is_taken(capsys, tmp_path):
    config = dict(load(QWEN).config)
    scheme = {"num_bits": 8, "type": "float"}
    config["quantization_config"] = {"kv_cache_scheme": scheme}
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    named = json.loads(ask(capsys, str(path), "--available", "10GiB", "--json")[1])
    assert named["block_bytes"] == 16 * 28_672
    assert named["kv_dtype_from"] == "quantization_config.kv_cache_scheme"
    text = ask(capsys, str(path), "--available", "10GiB")[1]
    assert "cache in fp8_e4m3 (quantization_config.kv_cache_scheme)" in text
    asked = ask(capsys, str(path), "--available", "10GiB", "--kv-dtype", "BF16", "--json")[1]
    assert json.loads(asked)["block_bytes"] == 16 * 57_344
    assert json.loads(asked)["kv_dtype_from"] is None


@pytest.mark.parametrize(
    ("model", "limit"),
    [
        ("openai-community/gpt2", 1024),
        ("google/gemma-3-4b-it", 131_072),
        ("openai/whisper-large-v3", 448),
    ],
)
def test_users_get_no_longer_text_than_the_model_was_made_for(capsys, model, limit):
    arguments = (model, "--gpu", "b200", "--users", "2", "--weights", "1GiB")
    assert json.loads(ask(capsys, *arguments, "--json")[1])["tokens"] == limit
    assert f"the model was made for {limit:,} tokens" in ask(capsys, *arguments)[1]


def test_a_limit_that_is_not_known_is_said(capsys):
    status, out, _ = ask(capsys, "tiiuae/falcon-7b", "--gpu", "4090", "--users", "2")
    assert status == 0
    assert "how many tokens it was made for is not known" in out


def test_no_remedy_is_one_that_vllm_refuses(capsys):
    """28 attention heads cannot be shared by 8 ranks (vllm/config/model.py:1557)."""
    arguments = (QWEN, "--gpu", "4090", "--users", "300", "--tokens", "4096", "--json")
    flags = [one["flag"] for one in json.loads(ask(capsys, *arguments)[1])["remedies"]]
    assert flags
    assert "--tp 8" not in flags
    one = ask(capsys, "Qwen/Qwen3-30B-A3B", "--gpu", "l4", "--tp", "8", "--tokens", "1024")
    assert one[0] == 0  # 32 attention heads, 4 KV heads


def test_a_stage_without_a_cache_is_refused(capsys):
    """Gemma-4-E2B: the second half of its layers reads the caches of the first."""
    status, out, err = ask(capsys, "google/gemma-4-E2B", "--gpu", "h100", "--pp", "2")
    assert (status, out) == (2, "")
    assert "choose another --pp" in err


def test_nothing_left_is_an_answer(capsys):
    status, out, _ = ask(capsys, QWEN, "--available", "0GiB")
    assert status == 1
    assert "0 sequences of 4,096 tokens fit at once. It does not fit." in out
    assert not out.rstrip().endswith(":")


def test_one_is_not_written_as_many(capsys):
    _, out, _ = ask(capsys, QWEN, "--available", "1GiB", "--users", "1")
    assert "1 user can have 18,704 tokens." in out
    _, out, _ = ask(capsys, QWEN, "--available", "1GiB", "--tokens", "1")
    assert "sequences of 1 token fit at once" in out
    _, out, _ = ask(capsys, QWEN, "--available", "1GiB", "--tokens", "30000")
    assert "  at most 18,704 tokens  (--tokens 18704)" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "state the card with --gpu"),
        (["--gpu", "4090", "--users", "0"], "not a whole number of 1 or more"),
        (["--gpu", "4090", "--tp", "3"], "cannot be shared by 3 ranks"),
        (["--gpu", "4090", "--utilization", "1.5"], "--utilization is 1.5"),
        (["--gpu", "4090", "--utilization", "most"], "not a share"),
        (["--gpu", "t4", "--kv-dtype", "fp8"], "this format needs 8.0 or more"),
        (["--gpu", "t4", "--kv-dtype", "bfloat16"], "Use a cache in float16"),
        (["--gpu", "t4", "--kv-dtype", "nvfp4"], "refuses a cache in nvfp4 on a Tesla T4"),
        (["--gpu", "h100", "--kv-dtype", "nvfp4_4over6"], "this format needs 10.x"),
        (["--gpu", "a10", "--kv-dtype", "fp8_per_token_head"], "this format needs 8.9 or more"),
        (["--gpu", "4090", "--kv-dtype", "ultraquant_4bit"], "needs a card by AMD"),
        (["--gpu", "a100_80gb", "--kv-dtype", "fp8_ds_mla"], "needs 9.x or 10.x or 12.x"),
        (["--gpu", "4090", "--pp", "0"], "from 1 to 1,024"),
        (["--gpu", "4090", "--tp", "8"], "28 attention heads cannot be divided by 8"),
        (["--gpu", "4090", "--tp", "5000"], "from 1 to 1,024"),
        (["--gpu", ""], "is not in the table of cards"),
        (["--gpu", "a100"], "was sold with 40 GB and with 80 GB"),
        (["--available", "9GiB", "--overhead", "1GiB"], "--overhead has no effect"),
        (["--available", "9GiB", "--weights-dtype", "fp8"], "--weights-dtype has no effect"),
        (["--available", "9GiB", "--utilization", "0.9"], "--utilization has no effect"),
        (["--available", "99999999999GiB"], "--available: '99999999999GiB' is more than"),
        (["--gpu", "4090", "--kv-dtype", ""], "no --kv-cache-dtype ''"),
        (["--gpu", "4090", "--kv-dtype", "int8"], "no --kv-cache-dtype 'int8'"),
        (["--gpu", "24GB"], "is not in the table of cards"),
        (["--gpu", "a"], "fits several cards"),
        (["--vram", "24"], "--vram: '24' is no size"),
        (["--vram", "24GiB", "--gpu", "4090"], "not allowed with"),
        (["--vram", "0GiB"], "--vram is 0 bytes"),
        (["--gpu", "4090", "--weights=-1GiB"], "is no size"),
        (["--gpu", "4090", "--weights-dtype", "int3"], "unknown format of weights"),
    ],
)
def test_bad_input_is_status_2_and_says_which_flag(capsys, arguments, words):
    status, out, err = ask(capsys, QWEN, *arguments)
    assert (status, out) == (2, "")
    assert words in err


@pytest.mark.parametrize(
    ("model", "card", "words"),
    [
        ("deepseek-ai/DeepSeek-V2-Lite", "a100_80gb", "latents in FP8 need"),
        ("openai/gpt-oss-20b", "3090", "no kernel for attention sinks"),
        ("microsoft/Phi-3-mini-4k-instruct", "3090", "needs a head_dim of"),
    ],
)
def test_fp8_is_refused_and_not_offered_where_no_kernel_reads_it(capsys, model, card, words):
    """Triton below 8.9 (triton_attn.py:522, mla/triton_mla.py:209 of the 0.33.0 wheel)."""
    status, out, err = ask(capsys, model, "--gpu", card, "--kv-dtype", "fp8")
    assert (status, out) == (2, "")
    assert words in err
    crowd = ("--users", "300", "--tokens", "4096", "--json")
    offered = json.loads(ask(capsys, model, "--gpu", card, *crowd)[1])["remedies"]
    assert "--kv-dtype fp8" not in [one["flag"] for one in offered]


def test_more_fit_than_the_concurrency_logged_where_layers_have_windows(capsys):
    """vLLM's scheduler ran 25 such at once (kvdocs/evidence/records/seats.json); it logs 10.28."""
    arguments = ("google/gemma-3-4b-it", "--available", "8GiB", "--tokens", "10000")
    status, out, _ = ask(capsys, *arguments)
    assert status == 0
    assert "10.28x, as vLLM logs it, with a batch in flight for each" in out
    assert "24 sequences of 10,000 tokens fit at once." in out
    found = json.loads(ask(capsys, *arguments, "--json")[1])
    assert found["sequences"] == 24
    users = ("google/gemma-3-4b-it", "--available", "8GiB", "--users", "24", "--json")
    assert json.loads(ask(capsys, *users)[1])["tokens"] >= 10_000


def test_a_format_of_its_own_is_not_called_16_bits(capsys):
    _, out, _ = ask(capsys, "deepseek-ai/DeepSeek-V4-Flash", "--available", "8GiB")
    assert "cache in this model's own format, mostly in 8 bits (auto)" in out
    assert "16 bits" not in out
