"""``kvdocs evidence``: records are listed, explained, checked and updated, all in one way."""

import json
import subprocess
import sys

import pytest

from kvdocs.cli import main
from kvdocs.evidence import record
from kvdocs.evidence.record import RECORDS, layout
from kvdocs.evidence.transformers import snapshot_caches
from kvdocs.facts import snapshot
from tests.installed import no_meta

SMALL = "Qwen/Qwen2.5-0.5B-Instruct"


def bare(*arguments):
    """The command in an interpreter that sees no installed packages."""
    command = [sys.executable, "-S", "-m", "kvdocs", "evidence", *arguments]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize("action", ["check", "update"])
@pytest.mark.parametrize(
    ("name", "package", "python"),
    [
        ("sweep", "torch", "run kvdocs, after make .venv/test.ok"),
        ("seats", "vllm 0.33.0", "run .venv-engines/bin/python -m kvdocs, after make .venv-eng"),
        ("llama_cpp", "xllamacpp 2026.10.11549", "run .venv-engines/bin/python -m kvdocs, after"),
    ],
)
def test_what_is_missing_and_where_it_is_takes_one_sentence(name, package, python, action):
    before = RECORDS[name].path.read_bytes()
    found = bare(action, name)
    assert (found.returncode, found.stdout) == (2, "")
    assert len(found.stderr.splitlines()) == 1
    assert f"{name} needs {package}, and this Python has none; {python}" in found.stderr
    assert RECORDS[name].path.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["chekc", "seats"], "invalid choice: 'chekc'"),
        (["check"], "name a record; there are caches, sweep"),
        (["update", "seat"], "no record is called 'seat'; there are caches, sweep"),
        (["check", "caches", "--jobs", "2"], "--jobs is for the sweep"),
        (["update", "sweep", "--only", "gpt2"], "--only is for check"),
    ],
)
def test_a_word_that_makes_no_sense_is_bad_input(arguments, says):
    found = bare(*arguments)
    assert (found.returncode, found.stdout) == (2, "")
    assert says in found.stderr


def test_without_an_action_every_record_is_listed_with_its_date_and_needs():
    blocks = bare().stdout.split("\n\n")
    assert [block.partition(":")[0] for block in blocks] == list(RECORDS)
    seats = " ".join(blocks[list(RECORDS).index("seats")].split())
    assert "seats: how many equal sequences vLLM's scheduler runs at once" in seats
    assert "made 2026-11-30, vllm 0.33.0" in seats
    assert "needs vllm 0.33.0, torch, transformers; run .venv-engines/bin/python" in seats


def test_one_record_is_explained_with_its_keys_and_commands(capsys):
    assert main(["evidence", "explain", "caches"]) == 0
    said = capsys.readouterr().out
    assert "file    kvdocs/evidence/records/caches.json" in said
    assert "update  kvdocs evidence update caches" in said
    assert "held is the memory behind the cache" in " ".join(said.split())


@pytest.mark.parametrize("name", RECORDS)
def test_the_file_is_laid_out_as_update_would_and_says_how_to_run_it_again(name):
    found = RECORDS[name]
    if name != "defaults":  # laid out for a reader of its own
        assert found.path.read_text(encoding="utf-8") == layout(found.content(), found.one_line)
        assert found.content()["what"].endswith(f"To run it again: {found.command('check')}")
        assert found.content()["date"] > "2026-11"


@pytest.fixture
def one_model(monkeypatch, tmp_path):
    """The record of the caches, as if the snapshot had only the smallest of the models."""
    if reason := no_meta():
        pytest.skip(reason)
    monkeypatch.setattr(snapshot_caches, "models_with_a_rule", lambda: [snapshot.load(SMALL)])
    monkeypatch.setattr(record, "PACKAGE", tmp_path)
    path = tmp_path / "evidence" / "records" / "caches.json"
    path.parent.mkdir(parents=True)
    return path


def test_update_writes_what_check_then_accepts(one_model, capsys):
    assert main(["evidence", "check", "caches"]) == 2  # there is no file yet
    assert main(["evidence", "update", "caches"]) == 0
    assert main(["evidence", "check", "caches"]) == 0
    assert [one["id"] for one in json.loads(one_model.read_text())["models"]] == [SMALL]
    assert [path.name for path in one_model.parent.iterdir()] == ["caches.json"]
    one_model.write_text(one_model.read_text().replace("50331648", "50331649", 1))
    capsys.readouterr()
    assert main(["evidence", "check", "caches"]) == 1
    changes = capsys.readouterr().out.splitlines()
    assert changes[:2] == ["--- caches.json", "+++ measured now"]
    assert '-     "held": 50331649,' in changes
    assert '+     "held": 50331648,' in changes


def test_a_measurement_that_fails_leaves_the_file_as_it_was(one_model, monkeypatch, capsys):
    def refuse():
        raise ValueError("no memory for it")

    one_model.write_text("{}")
    monkeypatch.setattr(snapshot_caches, "measured", refuse)
    assert main(["evidence", "update", "caches"]) == 2
    assert "no memory for it" in capsys.readouterr().err
    assert [path.read_text() for path in one_model.parent.iterdir()] == ["{}"]
