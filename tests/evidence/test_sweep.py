"""The sweep over all architectures: a pinned sample is run, and the record is consistent."""

import os
import time

import pytest

from kvdocs.cli import main
from kvdocs.evidence.known import recorded
from kvdocs.evidence.transformers import against_formula, sweep
from kvdocs.evidence.transformers.caches import MeasureError
from kvdocs.evidence.transformers.forked_jobs import Limits, run_each
from kvdocs.evidence.transformers.targets import NO_CHANGE, Target, changes, targets
from kvdocs.formula import ConfigError, layout_of
from tests.installed import no_meta, older_classes

# One for each way to keep tokens that the first release of the formula knew, and the smallest such.
SAMPLE = ["gpt2", "qwen2", "gemma2", "deepseek_v3"]
RECORD = recorded("sweep")
BY_NAME = {f"{e['model_type']}/{e['class']}": e for e in RECORD["architectures"]}


@pytest.fixture(scope="module", autouse=True)
def _needs_meta():
    if reason := no_meta():
        pytest.skip(reason)


@pytest.fixture(scope="module")
def ran():
    return sweep.sweep(sweep.choose(SAMPLE), jobs=2)


def test_the_sample_is_exact_and_as_recorded(ran):
    assert [entry["status"] for entry in ran] == ["exact"] * len(ran)
    for entry in ran:
        assert entry == BY_NAME[f"{entry['model_type']}/{entry['class']}"]


def test_lengths_pass_the_window_in_both_widths(ran):
    gemma = next(entry for entry in ran if entry["model_type"] == "gemma2")
    assert {(row["bits"], row["tokens"]) for row in gemma["rows"]} == {
        *((16, tokens) for tokens in (64, 65, 4196, 4197)),
        *((32, tokens) for tokens in (4196, 4197)),
    }


def test_every_architecture_of_the_installed_transformers_is_in_the_record():
    if reason := older_classes():
        pytest.skip(reason)
    assert [target.name for target in targets()] == list(BY_NAME)


def test_the_totals_are_counted_from_the_entries_and_nothing_is_left_out():
    found = RECORD["totals"]
    assert found == sweep.totals(RECORD["architectures"])
    assert found["listed"] == found["total"] + found["cacheless"] == len(RECORD["architectures"])
    assert found["run"] == found["exact"] + found["differs"] + found["no_rule"]
    assert all(e["reason"] for e in RECORD["architectures"] if e["status"] != "exact")


def test_what_ran_is_exact_and_nearly_all_ran():
    found = RECORD["totals"]
    assert found["exact"] == found["run"]
    assert 20 * found["not_run"] <= found["total"]


def test_exact_means_every_row_in_16_and_32_bits():
    for name, entry in BY_NAME.items():
        if entry["status"] == "exact":
            widths = changes().get(entry["model_type"], NO_CHANGE).bits or [16, 32]
            assert {row["bits"] for row in entry["rows"]} == set(widths), name
            assert all(row["held"] == row["formula"] > 0 for row in entry["rows"]), name


EXACT = [name for name, entry in BY_NAME.items() if entry["status"] == "exact"]


@pytest.mark.parametrize("name", EXACT)
def test_the_formula_gives_what_the_record_says_was_held(name):
    """Without transformers: from the model_type and what was changed in its defaults alone."""
    entry = BY_NAME[name]
    layout = layout_of(config_of(entry), name)
    for row in entry["rows"]:
        lengths = row["tokens"], row["new"], row["bits"] // 8, entry["encoder_tokens"]
        own, cross = against_formula.expected(layout, *lengths)
        assert sum(own) + sum(cross) == row["held"], row


def config_of(entry: dict) -> dict:
    """The config as a file would have it: nested fields nested."""
    config = {"model_type": entry["model_type"], "architectures": [entry["class"]]}
    config["is_encoder_decoder"] = entry["encoder_tokens"] > 0
    for dotted, value in entry["changed"].items():
        *parents, last = dotted.split(".")
        inner = config
        for parent in parents:
            inner = inner.setdefault(parent, {})
        inner[last] = value
    return config


def test_every_change_is_of_an_architecture_and_says_why():
    names = {name for target in targets() for name in (target.name, target.model_type)}
    assert set(changes()) <= names
    assert all(change.why for change in changes().values())


def check(name: str) -> int:
    return main(["evidence", "check", "sweep", "--jobs", "1", "--only", name])


def test_one_architecture_is_checked_alone(capsys):
    if reason := older_classes():
        pytest.skip(reason)
    assert check("gpt2/GPT2LMHeadModel") == 0
    assert "sweep.json: measured again, the same" in capsys.readouterr().out


def test_an_unknown_cache_fails_the_command_and_names_the_class(monkeypatch, capsys):
    def refuse(config, source):
        raise ConfigError(source, "model_type", "has no rule")

    monkeypatch.setattr(against_formula, "layout_of", refuse)
    assert check("gpt2/GPT2LMHeadModel") == 1
    lines = capsys.readouterr().out.splitlines()
    (entry,) = [line for line in lines if line.startswith('+  {"model_type": "gpt2"')]
    assert '"class": "GPT2LMHeadModel"' in entry
    assert '"status": "no rule"' in entry


def test_a_wrong_formula_fails_the_command_and_names_the_layer(monkeypatch, capsys):
    right = against_formula.layout_of
    other = {"n_head": 12, "n_embd": 1536}
    monkeypatch.setattr(against_formula, "layout_of", lambda c, s: right({**c, **other}, s))
    assert check("gpt2/GPT2LMHeadModel") == 1
    said = capsys.readouterr()
    assert '"status": "differs", "reason": "in 16 bits after 64 tokens' in said.out
    assert "layer 0 holds 196,608 bytes, the formula says 393,216" in said.out
    assert "0 exact of 1 run of 1 architectures" in said.err


def test_a_misspelt_name_is_bad_input():
    with pytest.raises(MeasureError, match="qwen22: no such architecture"):
        sweep.choose(["qwen22"])


def test_what_cannot_be_built_is_an_entry_with_the_reason():
    entry = against_formula.entry((Target("gpt2", "NoSuchClass"), NO_CHANGE))
    assert entry["status"] == "not run"
    assert "NoSuchClass" in entry["reason"]


def test_a_run_broken_off_goes_on_where_it_stopped(tmp_path, monkeypatch):
    partial = tmp_path / "folder" / "partial.jsonl"
    chosen = [Target("a", "A"), Target("b", "B")]
    asked = []

    def answer(work, jobs, at_once, limits):
        for job in jobs:
            asked.append(job[0].model_type)
            yield job, {"status": "exact", "model_type": job[0].model_type}
            if len(asked) == 1:
                raise KeyboardInterrupt

    monkeypatch.setattr(sweep, "run_each", answer)
    with pytest.raises(KeyboardInterrupt):
        sweep.sweep(chosen, 1, partial)
    assert [e["model_type"] for e in sweep.sweep(chosen, 1, partial)] == ["a", "b"]
    assert asked == ["a", "b"]


def _work(job):
    if job == "memory":
        return {"size": len(bytearray(4 * 1024**3))}
    if job == "time":
        while True:
            pass
    if job == "exit":
        os._exit(3)
    return {"done": job}


def _memory_or(job):
    try:
        return _work(job)
    except MemoryError:
        return {"refused": job}


def test_a_child_is_held_to_its_limits_and_its_end_is_told():
    limits = Limits(memory=1024**3, seconds=1)
    start = time.process_time()
    jobs = ["memory", "time", "exit", "fine"]
    found = dict(run_each(_memory_or, jobs, 2, limits))
    assert found["memory"] == {"refused": "memory"}
    assert found["time"] == "it took more than the 1 seconds of processor time it may take"
    assert found["exit"] == "its process ended with status 3"
    assert found["fine"] == {"done": "fine"}
    assert time.process_time() - start < 1  # the parent only waits
