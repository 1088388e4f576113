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
    assert list(found) == [*KEYS, "pool_blocks", "risk", "over_limit", "plans"]
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
    in_tokens = answer(log, "--pool-tokens", str(7193 * 16))
    assert in_bytes == in_tokens == answer(log, *QWEN, "--pool-tokens", "115,088")


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
