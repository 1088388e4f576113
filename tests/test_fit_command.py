"""``kvdocs fit``: what it prints, its JSON, its exit status."""

import json

import pytest

from kvdocs.cli import main

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


def test_ranks_that_vllm_refuses_are_noted(capsys):
    _, out, _ = ask(capsys, QWEN, "--gpu", "l4", "--tp", "8")
    assert "vLLM itself refuses 8 ranks here: 28 attention heads do not divide" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "state the card with --gpu"),
        (["--gpu", "4090", "--users", "0"], "not a whole number of 1 or more"),
        (["--gpu", "4090", "--tp", "3"], "cannot be shared by 3 ranks"),
        (["--gpu", "4090", "--utilization", "1.5"], "--utilization is 1.5"),
        (["--gpu", "4090", "--utilization", "most"], "not a share"),
        (["--gpu", "t4", "--kv-dtype", "fp8"], "FP8 storage needs 8.0"),
        (["--gpu", "4090", "--kv-dtype", "int8"], "no --kv-cache-dtype 'int8'"),
        (["--gpu", "24GB"], "is not in the table of cards"),
        (["--gpu", "a"], "fits several cards"),
        (["--vram", "24"], "--vram: '24' is no size"),
        (["--vram", "24GiB", "--gpu", "4090"], "not allowed with"),
        (["--vram", "0GiB"], "which is no size"),
        (["--gpu", "4090", "--weights=-1GiB"], "is no size"),
        (["--gpu", "4090", "--weights-dtype", "int3"], "unknown format of weights"),
    ],
)
def test_bad_input_is_status_2_and_says_which_flag(capsys, arguments, words):
    status, out, err = ask(capsys, QWEN, *arguments)
    assert (status, out) == (2, "")
    assert words in err
