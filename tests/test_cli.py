"""The command line as a reader uses it, in its own process: answers out, reasons on stderr."""

import json
import os
import subprocess
import sys

import pytest

from kvdocs.facts.snapshot import load

KEYS = [
    "model",
    "model_type",
    "source",
    "kv_dtype",
    "kv_dtype_from",
    "tokens",
    "encoder_tokens",
    "longest_text",
    "bytes",
    "bytes_per_token",
    "next_token_bytes",
    "long_run_bytes_per_token",
    "constant_bytes",
    "layers",
    "derivation",
    "weights_bytes",
    "weights_kind",
    "weights_source",
    "weights_confidence",
    "crossover",
    "from_defaults",
    "known_by",
    "known_by_means",
    "notes",
]


def kvdocs(*arguments, stdin="", **environment):
    return subprocess.run(
        [sys.executable, "-m", "kvdocs", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )


def answer(*arguments, **more):
    run = kvdocs(*arguments, "--json", **more)
    assert (run.returncode, run.stderr) == (0, "")
    return json.loads(run.stdout)


def test_json_has_the_documented_keys_and_the_published_figures():
    found = answer("cost", "Qwen/Qwen2.5-7B-Instruct")
    assert list(found) == KEYS
    assert found["bytes"] == 234_881_024
    assert found["bytes_per_token"] == 57_344
    assert found["weights_bytes"] == 15_231_233_024
    source = found["source"]
    assert (source["kind"], source["revision"]) == ("snapshot", None)
    assert (source["retrieved"], source["fallback"]) == ("2026-11-29", "")
    assert found["crossover"] == 65
    assert (found["weights_confidence"], found["notes"]) == ("good", [])
    assert found["known_by"] == "measured"
    assert found["layers"] == [
        {"kind": "full", "count": 28, "bytes_per_token": 2048, "window": None, "constant_bytes": 0}
    ]


def test_layers_add_up_to_the_bytes_at_any_length():
    for tokens in (1, 1000, 1024, 1025, 50_000):
        found = answer("cost", "google/gemma-3-27b-it", "--tokens", str(tokens))
        total = sum(
            layer["count"]
            * (
                layer["constant_bytes"]
                + layer["bytes_per_token"] * min(tokens, layer["window"] or tokens)
            )
            for layer in found["layers"]
        )
        assert total == found["bytes"]


def test_a_dtype_may_be_short_and_its_full_name_is_answered():
    found = answer("cost", "Qwen/Qwen2.5-7B-Instruct", "--kv-dtype", "fp8")
    assert (found["kv_dtype"], found["bytes_per_token"]) == ("fp8_e4m3", 28_672)


def test_a_file_and_standard_input_give_the_same(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(load("openai/gpt-oss-20b").config), encoding="utf-8")
    from_file = answer("cost", str(path))
    from_pipe = answer("cost", "-", stdin=path.read_text(encoding="utf-8"))
    source = from_file["source"]
    assert (source["kind"], source["revision"], source["retrieved"]) == ("file", None, None)
    assert source["detail"] == str(path)
    assert from_file["weights_bytes"] is None
    assert (
        from_file["layers"] == from_pipe["layers"] == answer("cost", "openai/gpt-oss-20b")["layers"]
    )
    assert answer("cost", str(tmp_path))["bytes"] == from_file["bytes"]


def test_the_table_shows_the_derivation_and_how_it_is_known():
    run = kvdocs("cost", "Qwen/Qwen2.5-7B-Instruct")
    assert (
        "2 (K and V) × 28 layers × 4 KV heads × 128 head_dim × 4,096 tokens × 2 bytes" in run.stdout
    )
    assert "234,881,024 bytes" in run.stdout
    assert "65 such sequences" in run.stdout
    assert "measured" in run.stdout


QWEN = dict(load("Qwen/Qwen2.5-7B-Instruct").config)


@pytest.mark.parametrize(
    ("config", "names"),
    [
        (QWEN | {"num_key_value_heads": [4]}, "num_key_value_heads"),
        (QWEN | {"num_attention_heads": 0}, "num_attention_heads"),
        (QWEN | {"num_hidden_layers": -1}, "num_hidden_layers"),
        (QWEN | {"num_key_value_heads": 3}, "num_key_value_heads"),
        (QWEN | {"model_type": "no_such_type"}, "model_type"),
        (QWEN | {"model_type": "openai-gpt"}, "model_type"),
        ([QWEN], "not a JSON object"),
    ],
)
def test_a_bad_config_is_one_paragraph_with_status_2_and_no_number(config, names):
    for extra in ([], ["--json"]):
        run = kvdocs("cost", "-", *extra, stdin=json.dumps(config))
        assert (run.returncode, run.stdout) == (2, "")
        assert names in run.stderr
        assert run.stderr.startswith("kvdocs cost: standard input")
        assert run.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "stdin", "names"),
    [
        (["cost", "no/such/config.json"], "", "No such file"),
        (["cost", "-"], "{", "is not JSON"),
        (["cost", "-"], "", "is not JSON"),
        (["cost", "-"], "<html></html>", "is not JSON"),
        (["cost", "no-such-org/no-such-model"], "", "no-such-org/no-such-model"),
        (["cost", "Qwen/Qwen2.5-7B-Instruct", "--kv-dtype", "q8_0"], "", "unknown cache dtype"),
        (["numbers", "check", "no/such/page.md"], "", "no such file"),
        (["cost", "-"], '{"model_type": "t5"}', "--encoder-tokens"),
    ],
)
def test_bad_input_says_what_was_wrong(arguments, stdin, names):
    run = kvdocs(*arguments, stdin=stdin)
    assert (run.returncode, run.stdout) == (2, "")
    assert names in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("tokens", ["0", "-5", "many", "1.5", "9" * 30, ""])
def test_a_length_that_is_none_is_refused(tokens):
    run = kvdocs("cost", "Qwen/Qwen2.5-7B-Instruct", "--tokens", tokens)
    assert (run.returncode, run.stdout) == (2, "")
    assert "--tokens" in run.stderr


def test_binary_rubbish_is_refused(tmp_path):
    path = tmp_path / "config.json"
    path.write_bytes(b"\xff\xfe\x00\x01" * 100)
    run = kvdocs("cost", str(path))
    assert (run.returncode, run.stdout) == (2, "")
    assert "UTF-8" in run.stderr


def test_a_closed_pipe_is_no_error():
    command = f"{sys.executable} -m kvdocs cost Qwen/Qwen2.5-7B-Instruct | true"
    run = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert "Traceback" not in run.stderr


def test_numbers_check_fails_and_fix_mends(tmp_path):
    page = tmp_path / "page.md"
    page.write_text('# A\n\n[55 KiB](kv: "qwen2_5_7b.slope()") and 7 GiB\n', encoding="utf-8")
    run = kvdocs("numbers", "check", str(page))
    assert run.returncode == 1
    assert f"{page}:3: says" in run.stderr
    assert '"7 GiB…" stands alone' in run.stderr
    page.write_text('# A\n\n[55 KiB](kv: "qwen2_5_7b.slope()")\n', encoding="utf-8")
    assert kvdocs("numbers", "fix", str(page)).returncode == 0
    assert "[56 KiB]" in page.read_text(encoding="utf-8")
    assert kvdocs("numbers", "check", str(page)).returncode == 0


def test_defaults_that_stand_in_are_said():
    found = answer("cost", "google/gemma-3-4b-it")
    # KV heads and head_dim are the class's; its 8 attention heads then decide nothing.
    assert found["from_defaults"] == {"num_key_value_heads": 4, "head_dim": 256}
    run = kvdocs("cost", "-", stdin='{"model_type": "llama", "num_hidden_layers": 2}')
    assert "counts: hidden_size 4,096, num_attention_heads 32\n" in run.stdout
    whisper = '{"model_type": "whisper", "decoder_layers": 12, "decoder_attention_heads": 12}'
    run = kvdocs("cost", "-", "--json", stdin=whisper)
    used = {"hidden_size": 384, "max_source_positions": 1500}
    assert json.loads(run.stdout)["from_defaults"] == used
    assert answer("cost", "deepseek-ai/DeepSeek-V3.2")["from_defaults"] == {}


def test_falcon_40b_is_not_measured_as_its_heads_are_copied():
    heads = '"num_attention_heads": 128, "num_kv_heads": 8, "hidden_size": 8192'
    config = f'{{"model_type": "falcon", "new_decoder_architecture": true, {heads}}}'
    run = kvdocs("cost", "-", "--json", "--engine", "transformers", stdin=config)
    found = json.loads(run.stdout)
    assert found["known_by"] == "unverified"
    assert found["engine"]["bytes"] == 16 * found["bytes"]


@pytest.mark.parametrize("tokens", [",,4", "4,", "10,00", "4__0", "٤", "４", "4.5", "+4"])
def test_a_number_of_tokens_is_written_in_digits(tokens):
    run = kvdocs("cost", "Qwen/Qwen2.5-7B-Instruct", "--tokens", tokens)
    assert (run.returncode, run.stdout) == (2, "")
    assert "is not a number of tokens" in run.stderr


@pytest.mark.parametrize(
    ("model", "why"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", "it reads no encoder"),
        ("openai/whisper-large-v3", "its encoder always gives 1,500 tokens"),
    ],
)
def test_an_encoder_length_that_decides_nothing_is_refused(model, why):
    run = kvdocs("cost", model, "--encoder-tokens", "5")
    assert (run.returncode, run.stdout) == (2, "")
    assert why in run.stderr


NESTED = "a = " + "[" * 5000 + "]" * 5000
LONG = '[[layers]]\nkeeps = "full"\nkv_heads = ' + "9" * 5000 + "\nhead_dim = 4"


@pytest.mark.parametrize(
    ("text", "said"), [(NESTED, "nests deeper"), (LONG, "layout.toml: kv_heads")]
)
@pytest.mark.parametrize(
    "command", [["cost"], ["fit", "--gpu", "4090"], ["explain", "{log}", "--model"]]
)
def test_toml_beyond_reading_is_one_sentence(text, said, command, tmp_path):
    path, log = tmp_path / "layout.toml", tmp_path / "server.log"
    path.write_text(text)
    log.write_text("INFO GPU KV cache size: 100,000 tokens\n")
    run = kvdocs(*(part.format(log=log) for part in command), str(path))
    assert (run.returncode, run.stdout) == (2, "")
    assert said in run.stderr
    assert run.stderr.count("\n") == 1


def shell(line):
    """A command line with redirections, run by a shell."""
    command = line.replace("kvdocs", f"{sys.executable} -m kvdocs")
    return subprocess.run(command, shell=True, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("kvdocs cost - <&-", "standard input: it is closed"),
        ("kvdocs workload - <&-", "standard input: it is closed"),
        ("kvdocs cost Qwen/Qwen2.5-7B-Instruct >&-", "there is no standard output"),
        ("kvdocs cost Qwen/Qwen2.5-7B-Instruct >/dev/full", "could not be written: No space left"),
    ],
)
def test_a_stream_that_is_closed_or_full_is_said_without_a_traceback(line, said):
    run = shell(line)
    assert run.returncode == 2
    assert run.stdout == ""
    assert said in run.stderr
    assert run.stderr.count("\n") == 1


def test_an_error_does_not_go_to_standard_output():
    run = shell("kvdocs cost nothing.json 2>&-")
    assert (run.returncode, run.stdout) == (2, "")


def test_a_terminal_without_the_signs_gets_an_answer():
    run = kvdocs("cost", "Qwen/Qwen2.5-7B-Instruct", PYTHONIOENCODING="ascii")
    assert run.returncode == 0
    assert "28 layers ? 4 KV heads" in run.stdout


def test_a_length_beyond_reason_is_cut_in_the_message():
    run = kvdocs("cost", "Qwen/Qwen2.5-7B-Instruct", "--tokens", "9" * 5000)
    assert run.returncode == 2
    assert len(run.stderr) < 200
    assert run.stderr.count("\n") == 1


def test_a_text_longer_than_the_model_was_made_for_is_noted():
    note = "the model was made for 32,768 tokens"
    model = "Qwen/Qwen2.5-7B-Instruct"
    assert answer("cost", model, "--tokens", "32769")["notes"] == [note]
    assert f"note: {note}" in kvdocs("cost", model, "--tokens", "32769").stdout
    assert answer("cost", model, "--tokens", "32768")["notes"] == []


def test_a_layer_that_compresses_has_a_rate_in_the_long_run_and_a_sawtooth():
    """At 127 tokens the next one lets 20 layers write one entry of 512 for 128 waiting tokens."""
    found = answer("cost", "deepseek-ai/DeepSeek-V4-Flash", "--tokens", "127")
    after = answer("cost", "deepseek-ai/DeepSeek-V4-Flash", "--tokens", "128")
    assert found["next_token_bytes"] == after["bytes"] - found["bytes"] < 0
    # 21 layers keep 640 elements for 4 tokens, 20 keep 512 for 128, windows are full
    assert found["bytes_per_token"] == (21 * 640 * 2 // 4) + (20 * 512 * 2 // 128)
    assert found["long_run_bytes_per_token"] == found["bytes_per_token"]
    assert "sawtooth" in found["notes"][0]
    assert "The next token frees 5,431,040 bytes" in found["notes"][0]


def test_a_window_that_is_not_full_has_another_rate_in_the_long_run():
    found = answer("cost", "google/gemma-3-4b-it", "--tokens", "200")
    token = 2 * 4 * 256 * 2  # K and V, 4 KV heads, head_dim 256, 2 bytes
    assert found["bytes_per_token"] == found["next_token_bytes"] == 34 * token
    assert found["long_run_bytes_per_token"] == 5 * token
    assert "in long run" not in kvdocs("cost", "google/gemma-3-4b-it").stdout
