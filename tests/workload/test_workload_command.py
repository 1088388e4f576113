"""``kvdocs workload`` as a reader uses it, in its own process."""

import json
import os
import pty
import subprocess
import sys

import pytest

from tests.test_cli import kvdocs

QWEN = ["--model", "Qwen/Qwen2.5-7B-Instruct"]
KEYS = [
    "file",
    "requests",
    "lines",
    "bad_lines",
    "bad",
    "examples",
    "prompt",
    "output",
    "total",
    "histogram",
]
POOL = ["pool_blocks", "risk", "max_model_len", "over_limit", "plans", "fits", "notes"]
SERVED = [
    "model",
    "longest_text",
    "engine",
    "gpu",
    "kv_dtype",
    "kv_dtype_from",
    "kv_dtype_kept",
    "kept_as",
    "tp",
    "pp",
    "max_num_batched_tokens",
    "block_bytes",
    "available_bytes",
    "terms",
]


def line(prompt, output):
    return json.dumps({"prompt_tokens": prompt, "completion_tokens": output}) + "\n"


@pytest.fixture
def log(tmp_path):
    """Ninety short requests, nine long ones, one very long one."""
    path = tmp_path / "log.jsonl"
    text = line(500, 100) * 90 + line(4000, 200) * 9 + line(20_000, 50)
    path.write_text(text, encoding="utf-8")
    return str(path)


def answer(*arguments):
    run = kvdocs("workload", *arguments, "--json")
    assert (run.returncode, run.stderr) == (0, "")
    return json.loads(run.stdout)


def test_without_a_pool_it_is_the_lengths(log):
    found = answer(log)
    assert list(found) == KEYS
    assert (found["requests"], found["lines"], found["bad_lines"]) == (100, 100, 0)
    assert found["total"] == {
        "mean": 1118,
        "p50": 600,
        "p95": 4200,
        "p99": 4200,
        "longest": 20_050,
    }
    assert found["prompt"]["p99"] == 4000
    assert found["output"]["longest"] == 200
    assert sum(one["requests"] for one in found["histogram"]) == 100


def test_the_pool_of_the_admission_experiment(log):
    """6.6e9 bytes are 7,193 blocks, one of which vLLM holds back; p99 is 4,200 tokens, 263 blocks,
    and a request of 32,768 tokens takes 2,048."""
    found = answer(log, *QWEN, "--available", "6.6GB", "--max-model-len", "32768")
    assert list(found) == [*KEYS, *POOL, *SERVED]
    assert (found["pool_blocks"], found["risk"]) == (7192, 0.01)
    plans = {one["way"]: one for one in found["plans"]}
    assert list(plans) == ["max_model_len", "longest", "p99", "most", "moment"]
    assert plans["max_model_len"]["sequences"] == 7192 // 2048
    assert plans["longest"]["sequences"] == 7192 // 1254
    assert plans["p99"]["sequences"] == 7192 // 263
    assert plans["p99"]["sequences"] < plans["moment"]["sequences"]
    assert plans["most"]["sequences"] <= plans["moment"]["sequences"]
    assert 0 < plans["moment"]["overflow"] <= 0.01


def test_the_same_pool_in_tokens_as_the_engine_logs_it(log):
    in_bytes = answer(log, *QWEN, "--available", "6600000000 bytes")
    in_tokens = answer(log, *QWEN, "--pool-tokens", "115,088")
    alone = answer(log, "--pool-tokens", str(7193 * 16))
    for key in (*KEYS, *POOL):
        assert in_bytes[key] == in_tokens[key] == alone[key]
    assert list(alone) == [*KEYS, *POOL]
    assert (in_tokens["available_bytes"], in_tokens["terms"]) == (None, [])


def test_a_model_with_states_and_one_with_windows_have_an_answer(log):
    for model in ("Qwen/Qwen3-Next-80B-A3B-Instruct", "google/gemma-3-27b-it"):
        found = answer(log, "--model", model, "--available", "20GiB", "--max-model-len", "32768")
        counts = [plan["sequences"] for plan in found["plans"]]
        assert 0 < counts[0] <= counts[1] <= counts[2] <= counts[-1]


def test_a_higher_risk_allows_more(log):
    found = [answer(log, "--pool-tokens", "100000", "--risk", risk) for risk in ("0.1%", "0.05")]
    assert found[0]["plans"][-1]["sequences"] < found[1]["plans"][-1]["sequences"]


def test_the_table_says_it_for_people(log):
    run = kvdocs("workload", log, *QWEN, "--available", "6.6GB")
    assert (run.returncode, run.stderr) == (0, "")
    assert "100 requests" in run.stdout
    assert "p99" in run.stdout
    assert "█" in run.stdout
    assert "7,192 blocks" in run.stdout
    assert "1.0% of" in run.stdout
    assert max(map(len, run.stdout.splitlines())) <= 100


def test_a_pool_without_room_for_one_does_not_fit(log):
    run = kvdocs("workload", log, "--pool-tokens", "1000")
    assert run.returncode == 1
    assert "Not even one sequence" in run.stdout


def test_requests_beyond_the_limit_are_counted(tmp_path):
    path = tmp_path / "log"
    path.write_text(line(90, 10) * 3 + line(90, 11) * 2 + line(5000, 1), encoding="utf-8")
    arguments = ("workload", str(path), "--pool-tokens", "99999", "--max-model-len", "100")
    assert json.loads(kvdocs(*arguments, "--json").stdout)["over_limit"] == 3
    assert "3 requests of the log are longer than --max-model-len" in kvdocs(*arguments).stdout


def test_standard_input_and_an_access_log():
    call = '1.2.3.4 "POST /v1/completions HTTP/1.1" 200 prompt_tokens=9 completion_tokens=3\n'
    run = kvdocs("workload", "-", "--json", stdin=call * 5)
    assert json.loads(run.stdout)["total"]["longest"] == 12


def test_bad_lines_are_shown_by_number_and_reason(tmp_path):
    path = tmp_path / "log"
    path.write_text(line(5, 5) * 30 + "oops\n{}\n", encoding="utf-8")
    run = kvdocs("workload", str(path))
    assert run.returncode == 0
    assert "not counted: 1 of 32 lines, no token counts" in run.stdout
    assert "line 31: neither" in run.stdout


@pytest.mark.parametrize(
    ("arguments", "stdin", "names"),
    [
        (["no/such/log"], "", "no/such/log: No such file"),
        (["."], "", "Is a directory"),
        (["-"], "", "standard input: no lines"),
        (["-", "--gpu", "4090"], "", "--gpu is about a model: give --model"),
        (["-", *QWEN, "--tp", "2"], "", "no pool: give --gpu, --available or --pool-tokens"),
        (["-", *QWEN, "--gpu", "4090", "--tp", "3"], "", "cannot be shared by 3 ranks"),
        (["-", *QWEN, "--gpu", "abacus"], "", "is not in the table of cards"),
        (["-", *QWEN, "--gpu", "4090", "--kv-dtype", "fp3"], "", "fp3"),
        (["-", *QWEN, "--gpu", "4090", "--utilization", "all"], "", "'all' is not a share"),
        (["-", *QWEN, "--gpu", "4090", "--utilization", "2"], "", "--utilization is 2"),
        (["-", *QWEN, "--available", "9GiB", "--utilization", "1"], "", "no effect beside"),
        (["-", "--model", "deepseek-ai/DeepSeek-V2-Lite", "--gpu", "l4"], "", "leaves nothing"),
        (["-"], "x\n" * 5, "5 of 5 lines hold no request (line 1: neither"),
        (["-"], '{"messages": [{"role": "user", "content": "hi"}]}\n', "messages, but no answer"),
        (["-", "--available", "5GB"], line(1, 1), "--model"),
        (["-", *QWEN], line(1, 1), "--available or --pool-tokens"),
        (["-", "--max-model-len", "4096"], line(1, 1), "--available or --pool-tokens"),
        (["-", *QWEN, "--available", "5 bytes"], line(1, 1), "no block"),
        (["-", *QWEN, "--available", "five"], "", "'five' is not a number with a unit"),
        (["-", *QWEN, "--available", "5 tokens"], "", "'5 tokens' is no size"),
        (["-", *QWEN, "--available", "5"], "", "'5' is no size"),
        (["-", *QWEN, "--available", "99999999999GiB"], "", "is more than 1,024 TiB"),
        (["-", *QWEN, "--available", "1000TiB"], line(1, 1), "more than 2,000,000"),
        (["-", "--pool-tokens", "1000000000000"], line(1, 1), "more than 2,000,000"),
        (["-", "--pool-tokens", "99", "--available", "5GB"], "", "not allowed with"),
        (["-", "--pool-tokens", "99999", "--risk", "0"], "", "'0' is not from 0.0001%"),
        (["-", "--pool-tokens", "99999", "--risk", "100%"], "", "'100%' is not from"),
        (["-", "--pool-tokens", "99999", "--risk", "1/0"], "", "'1/0' is not from"),
        (["-", "--pool-tokens", "99999", "--risk", "nan%"], "", "'nan%' is not from"),
        (["-", "--model", "google/gemma-3-27b-it", "--pool-tokens", "9999"], line(1, 1), "windows"),
        (["-", "--model", "no/such-model", "--available", "5GB"], line(1, 1), "no/such-model"),
        (["-", "--tokenizer", "no/tokenizer.json"], line(1, 1), "no/tokenizer.json"),
    ],
)
def test_bad_input_says_what_was_wrong(arguments, stdin, names):
    run = kvdocs("workload", *arguments, stdin=stdin)
    assert (run.returncode, run.stdout) == (2, "")
    assert names in run.stderr
    assert "Traceback" not in run.stderr


def test_a_bar_shows_on_a_terminal_how_far_it_is(tmp_path):
    path = tmp_path / "log"
    path.write_text(line(5, 5) * 150_000, encoding="utf-8")
    try:
        ours, theirs = pty.openpty()
    except OSError as error:
        pytest.skip(f"this machine gives no terminal: {error}")
    command = [sys.executable, "-m", "kvdocs", "workload", str(path)]
    run = subprocess.run(command, stderr=theirs, stdout=subprocess.PIPE, check=True)
    os.close(theirs)
    shown = os.read(ours, 10_000).decode()
    os.close(ours)
    assert "[#############                   ]  43% 65,536 lines" in shown
    assert b"150,000 requests" in run.stdout


def test_nothing_but_the_standard_library_is_loaded(log):
    code = (
        "import sys\nfrom kvdocs.cli import main\n"
        f"main({['workload', log, *QWEN, '--available', '6.6GB']!r})\n"
        "print('LOADED', *sorted({name.split('.')[0] for name in sys.modules}))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.rpartition("LOADED")[2].split())
    assert "decimal" in loaded
    assert not loaded & {"numpy", "tokenizers", "torch", "transformers", "vllm", "pandas"}


def fits(*arguments):
    run = kvdocs("fit", *arguments, "--json")
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.parametrize(
    "flags",
    [
        ["--gpu", "4090"],
        ["--gpu", "4090", "--kv-dtype", "fp8"],
        ["--gpu", "h100", "--tp", "2", "--utilization", "0.8"],
        ["--gpu", "a100_80gb", "--pp", "2", "--max-num-batched-tokens", "4096"],
        ["--gpu", "l4", "--available", "5GiB"],
    ],
)
def test_a_card_has_the_room_that_fit_says(flags, tmp_path):
    """One length in the log, so that its plan for the longest is the question of fit."""
    path = tmp_path / "log"
    path.write_text(line(4000, 96), encoding="utf-8")
    found, by_fit = answer(str(path), *QWEN, *flags), fits(QWEN[1], *flags, "--tokens", "4096")
    plans = {one["way"]: one["sequences"] for one in found["plans"]}
    assert plans["longest"] == by_fit["sequences"]
    assert found["pool_blocks"] == by_fit["blocks"] - 1
    same = [key for key in SERVED if key in by_fit]
    assert len(same) > 10
    assert {key: found[key] for key in same} == {key: by_fit[key] for key in same}


FP8 = {"quantization_config": {"kv_cache_scheme": {"num_bits": 8, "type": "float"}}}


def test_a_cache_dtype_that_the_config_names_counts(tmp_path):
    from kvdocs.facts.snapshot import load

    config, path = tmp_path / "config.json", tmp_path / "log"
    quantised = FP8["quantization_config"] | {"quant_method": "compressed-tensors"}
    named = dict(load(QWEN[1]).config) | {"quantization_config": quantised}
    config.write_text(json.dumps(named), encoding="utf-8")
    path.write_text(line(4000, 96), encoding="utf-8")
    pool = ["--available", "10GiB"]
    plain = answer(str(path), *QWEN, *pool)
    found = answer(str(path), "--model", str(config), *pool)
    assert (found["kv_dtype"], found["plans"][0]["sequences"]) == ("fp8_e4m3", 91)
    assert (plain["kv_dtype"], plain["plans"][0]["sequences"]) == ("auto", 45)
    assert fits(str(config), *pool, "--tokens", "4096")["sequences"] == 91


def test_what_vllm_refuses_is_refused_as_fit_refuses_it(tmp_path):
    config = tmp_path / "config.json"
    mpt = {"model_type": "mpt", "architectures": ["MPTForCausalLM"]}
    config.write_text(json.dumps(mpt), encoding="utf-8")
    ours = kvdocs("workload", "-", "--model", str(config), "--available", "10GiB", stdin=line(9, 9))
    theirs = kvdocs("fit", str(config), "--available", "10GiB")
    assert (ours.returncode, ours.stdout) == (2, "")
    assert ours.stderr.removeprefix("kvdocs workload: ") == theirs.stderr.removeprefix(
        "kvdocs fit: "
    )


def test_the_table_says_whose_sum_the_memory_is(log):
    run = kvdocs("workload", log, *QWEN, "--gpu", "4090")
    assert "on GeForce RTX 4090, vLLM 0.33.0, cache in 16 bits (auto)" in run.stdout
    assert "is the sum of kvdocs fit with every range at its worse end" in run.stdout


def test_requests_longer_than_the_model_are_noted(tmp_path):
    path = tmp_path / "log"
    path.write_text(line(40_000, 10) + line(5, 5) * 20, encoding="utf-8")
    found = answer(str(path), *QWEN, "--available", "10GiB")
    assert found["notes"] == [
        "the model was made for 32,768 tokens; requests in the log that are longer: 1"
    ]
