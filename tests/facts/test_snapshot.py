"""The snapshot is whole: every file is what its name says, and every value is usable."""

import json
import re
from datetime import date
from pathlib import Path

import pytest

from kvdocs.facts import refresh, snapshot
from kvdocs.facts.hub_id import check_id

FOLDER = Path(snapshot.FOLDER)
FILES = sorted(FOLDER.glob("*.json"))
KEYS = ["id", "revision", "retrieved", "complete", "source"]
KEYS += ["agrees", "notes", "weights", "config"]


def test_every_file_of_the_folder_is_an_entry():
    assert FILES
    assert sorted(FOLDER.iterdir()) == FILES


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_entry_is_whole(path):
    entry = json.loads(path.read_text(encoding="utf-8"))
    assert list(entry) == KEYS
    assert str(path) == snapshot.path_of(entry["id"])
    check_id(entry["id"])
    date.fromisoformat(entry["retrieved"])
    assert entry["revision"] is None or re.fullmatch("[0-9a-f]{40}", entry["revision"])
    assert isinstance(entry["complete"], bool)
    assert entry["source"]
    assert isinstance(entry["config"]["model_type"], str)
    if weights := entry["weights"]:
        assert list(weights) == ["bytes", "kind", "confidence", "source"]
        assert type(weights["bytes"]) is int
        assert weights["bytes"] > 0
        assert weights["kind"]
        assert weights["source"]
        assert weights["confidence"] in ("good", "fair", "weak")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_entry_is_written_as_it_is_read(path):
    model = snapshot.load(path.stem.replace("--", "/"))
    assert refresh.entry(model) == path.read_text(encoding="utf-8")


def test_ids_are_sorted_and_unique():
    ids = snapshot.ids()
    assert ids == sorted(set(ids), key=str.lower)
    assert [model.id for model in snapshot.load_all()] == ids


def test_what_it_does_not_have():
    assert snapshot.load("nobody/nothing") is None


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../../etc/passwd", "/etc/passwd", "..\\..\\x", "a/../../b", "C:\\x"]
)
def test_no_id_leaves_the_folder(name):
    assert Path(snapshot.path_of(name)).resolve().parent == FOLDER.resolve()
    assert snapshot.load(name) is None


def test_another_folder(tmp_path: Path):
    assert snapshot.ids(tmp_path) == []
    assert snapshot.load_all(tmp_path) == []
