"""Python asks the four questions as ``kvdocs.cost(…)`` and so on, in any order of imports."""

import argparse
import copy
import inspect
import json
import pickle
import re
import runpy
import subprocess
import sys

import pytest

import kvdocs
from kvdocs import cli
from kvdocs.facts.snapshot import load

QWEN = "Qwen/Qwen2.5-7B-Instruct"
REQUEST = '{"prompt_tokens": 900, "completion_tokens": 100}'
QUESTIONS = ["cost", "explain", "fit", "workload"]
# What a function has in place of the command's FILE, and what it leaves out.
POSITIONAL = {"cost": "model", "fit": "model", "workload": "log", "explain": "log"}
ONLY_PYTHON = {"workload": {"name"}, "explain": {"source"}}
ONLY_COMMAND = {"json", "file", "help"}


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_package_names_its_questions_and_nothing_else():
    assert sorted(kvdocs.__all__) == QUESTIONS
    with pytest.raises(AttributeError, match="has no attribute 'prefill'"):
        _ = kvdocs.prefill
    assert run("from kvdocs import *\nprint(cost, fit, workload, explain)").count("module") == 4


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_function_takes_what_its_command_takes(name):
    parser = argparse.ArgumentParser()
    cli.COMMANDS[name].add(parser)
    options = {action.dest for action in parser._actions} - ONLY_COMMAND
    taken = inspect.signature(getattr(kvdocs, name)).parameters
    assert next(iter(taken)) == POSITIONAL[name]
    assert set(taken) == options | {POSITIONAL[name]} | ONLY_PYTHON.get(name, set())


ORDERS = [
    "import kvdocs\nask()\nfrom kvdocs.fit.answer import Answer\nask()",
    "from kvdocs.fit.answer import Answer\nimport kvdocs\nask()",
    "import kvdocs.fit.table as table\nask()\nfrom kvdocs import fit\nassert fit.table is table",
    "import kvdocs.cli\nask()\nimport kvdocs.workload.space\nask()",
]
ASK = f"""
def ask():
    import kvdocs
    fits = kvdocs.fit({QWEN!r}, available="9GiB")
    assert type(fits).__name__ == "Answer" and fits.fits
    assert type(fits) is kvdocs.fit.answer.Answer
    cost = kvdocs.cost({QWEN!r}, tokens=1)
    assert cost.bytes == 57344 and type(cost) is kvdocs.cost.Cost
    log = ['{{"prompt_tokens": 9, "completion_tokens": 3}}']
    assert kvdocs.workload(log, pool_tokens=1600).fits
    said = kvdocs.explain("GPU KV cache size: 42,656 tokens", model={QWEN!r})
    assert said.status == "explained"
"""


@pytest.mark.parametrize("order", ORDERS)
def test_the_functions_and_the_folders_of_one_name_stand_in_any_order(order):
    assert run(f"{ASK}\n{order}") == ""


def test_naming_the_package_loads_none_of_the_questions():
    loaded = run("import sys, kvdocs\nprint(*sorted(n for n in sys.modules if 'kvdocs' in n))")
    assert loaded.split() == ["kvdocs"]


def test_a_model_is_an_id_a_path_a_config_or_itself(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(dict(load(QWEN).config)), encoding="utf-8")
    given = [QWEN, path, str(path), dict(load(QWEN).config), load(QWEN)]
    assert [kvdocs.cost(model).bytes for model in given] == [234_881_024] * 5
    assert [kvdocs.fit(model, available="10GiB").sure.sequences for model in given] == [45] * 5
    log = ['{"prompt_tokens": 4000, "completion_tokens": 96}']
    plans = [kvdocs.workload(log, model=one, available=10 * 2**30).plans[0] for one in given]
    assert [plan.sequences for plan in plans] == [45] * 5
    text = "GPU KV cache size: 42,656 tokens\nAvailable KV cache memory: 2.28 GiB"
    rates = [kvdocs.explain(text, model=one).as_json()["bytes_per_token"] for one in given]
    assert rates == [57_344] * 5


@pytest.mark.parametrize(
    ("model", "error", "says"),
    [
        ({"model_type": "no_such_type"}, ValueError, "the config given"),
        ({"model_type": {1, 2}}, ValueError, "the config given cannot be written as JSON"),
        ({}, ValueError, "the config given"),
        (5, TypeError, "PathLike"),
        ("no-such-org/no-such-model", ValueError, "not in the snapshot"),
    ],
)
def test_what_is_no_model_is_refused(model, error, says):
    with pytest.raises(error, match=says):
        kvdocs.cost(model)


def test_an_option_that_is_none_is_refused_as_the_command_refuses_it():
    with pytest.raises(ValueError, match="unknown cache dtype 'fp3'"):
        kvdocs.cost(QWEN, kv_dtype="fp3")
    with pytest.raises(ValueError, match="--tokens: -1"):
        kvdocs.cost(QWEN, tokens=-1)
    with pytest.raises(ValueError, match="--tokens: 0"):
        kvdocs.fit(QWEN, available="9GiB", tokens=0)
    with pytest.raises(ValueError, match=r"from 0\.0001%"):
        kvdocs.workload([b"x"], pool_tokens=1600, risk=2)
    with pytest.raises(ValueError, match="--engine 'sglang' is not known"):
        kvdocs.cost(QWEN, engine="sglang")


def test_the_examples_of_the_page_run_and_print_known_figures(capsys, monkeypatch):
    monkeypatch.setenv("KVDOCS_HUB", "snapshot")
    runpy.run_path("snippets/python_examples.py")
    parts = re.split("^### ", capsys.readouterr().out, flags=re.M)[1:]
    shown = {part.split("\n")[0]: part for part in parts}
    assert sorted(shown) == QUESTIONS
    assert all("import kvdocs\n" in part for part in shown.values())
    assert "bytes: 1879048192 per token: 57344 known: measured" in shown["cost"]  # 32,768 × 57,344
    assert "fits: False" in shown["fit"]
    assert "--tp 2: 2 such cards, one rank each" in shown["fit"]
    assert "risk 0.00" in shown["workload"]
    assert "explained" in shown["explain"]


@pytest.mark.parametrize("engine", ["vllm", "transformers", "llama.cpp"])
def test_answers_can_be_pickled_and_copied(engine):
    asked = [
        kvdocs.cost(QWEN, engine=engine),
        kvdocs.fit(QWEN, engine=engine, available="20GiB", tokens=4096),
    ]
    for found in asked:
        assert found == pickle.loads(pickle.dumps(found)) == copy.deepcopy(found)


def test_a_workloads_answer_survives_a_pickle():
    found = kvdocs.workload([REQUEST], model=QWEN, available="20GiB")
    assert pickle.loads(pickle.dumps(found)).as_json() == found.as_json()


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_of_no_tokens_is_refused(limit):
    with pytest.raises(ValueError, match="--max-model-len"):
        kvdocs.workload([REQUEST], pool_tokens=16_000, max_model_len=limit)


LOG = ['{"prompt_tokens": 900, "completion_tokens": 100}'] * 3
NO_VALUES = [
    ("cost", {"tokens": 0}),
    ("cost", {"tokens": "4096"}),
    ("cost", {"kv_dtype": 5}),
    ("fit", {"gpu": 5}),
    ("fit", {"gpu": "4090", "tokens": 4096.5}),
    ("fit", {"gpu": "4090", "tokens": True}),
    ("fit", {"gpu": "4090", "users": 10**25}),
    ("fit", {"gpu": "4090", "tp": "2"}),
    ("fit", {"available": 1.5}),
    ("fit", {"available": float("nan")}),
    ("fit", {"available": 10**400}),
    ("fit", {"available": True}),
    ("workload", {"pool_tokens": "5"}),
    ("workload", {"available": 2**30, "tp": 1.5}),
]


@pytest.mark.parametrize(("name", "options"), NO_VALUES)
def test_what_is_no_value_of_an_option_is_refused_by_its_name(name, options):
    """As the command refuses it, before anything is worked out from it."""
    given = LOG if name == "workload" else QWEN
    flag = "--" + next(reversed(options)).replace("_", "-")
    with pytest.raises(ValueError, match=flag):
        getattr(kvdocs, name)(given, **options)


def test_what_is_no_log_is_refused():
    for name, log in ("workload", [5]), ("explain", None):
        with pytest.raises(ValueError, match="text"):
            getattr(kvdocs, name)(log)
