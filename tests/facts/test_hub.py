"""Where a config comes from, in each mode of KVDOCS_HUB."""

import io
import os
import subprocess
import sys
import time

import pytest

from kvdocs.facts import hub, snapshot
from kvdocs.formula import ConfigError
from tests.facts.hub_faults import FAULTS, patience
from tests.facts.hub_server import COMMIT, client_of, running_hub

MODEL = "Qwen/Qwen2.5-7B-Instruct"
UNKNOWN = "somebody/new-model"
AT_MOST = 20  # seconds


@pytest.fixture(autouse=True)
def _mode_not_set(monkeypatch):
    monkeypatch.delenv("KVDOCS_HUB", raising=False)


@pytest.fixture
def server(monkeypatch, tmp_path):
    pytest.importorskip("huggingface_hub", reason="the live Hub needs huggingface_hub")
    with running_hub() as server, client_of(server.url, monkeypatch, tmp_path):
        monkeypatch.setattr(hub, "AUTO_SECONDS", 20.0)  # a loaded machine must not fall back
        known = snapshot.load(MODEL)
        server.add(MODEL, known.config, safetensors={"parameters": {"BF16": 7_615_616_512}})
        server.add(UNKNOWN, known.config)
        yield server


def test_not_set_the_snapshot_answers_for_what_it_has(server):
    model = hub.find(MODEL)
    assert model.source.kind == "snapshot"
    assert not model.source.fallback
    assert not server.requests


def test_not_set_the_hub_answers_for_the_rest(server):
    assert hub.find(UNKNOWN).source.revision == COMMIT


def test_snapshot_never_asks_the_hub(server, monkeypatch):
    monkeypatch.setenv("KVDOCS_HUB", "snapshot")
    assert hub.find(MODEL).source.kind == "snapshot"
    with pytest.raises(hub.LookupFailed, match=r"not in the snapshot\. Unset KVDOCS_HUB"):
        hub.find(UNKNOWN)
    assert not server.requests


@pytest.mark.parametrize("mode", ["auto", "live"])
def test_auto_and_live_ask_the_hub_first(server, monkeypatch, mode):
    monkeypatch.setenv("KVDOCS_HUB", mode)
    model = hub.find(MODEL)
    assert (model.source.kind, model.source.revision) == ("hub", COMMIT)
    assert model.layout == snapshot.load(MODEL).layout
    assert model.weights.bytes == snapshot.load(MODEL).weights.bytes


@pytest.mark.parametrize("name", FAULTS)
def test_auto_falls_back_and_says_why(server, monkeypatch, name):
    server.fault, words = FAULTS[name]
    monkeypatch.setenv("KVDOCS_HUB", "auto")
    monkeypatch.setattr(hub, "AUTO_SECONDS", patience(words))
    start = time.monotonic()
    model = hub.find(MODEL)
    assert time.monotonic() - start < AT_MOST
    assert model.source.kind == "snapshot"
    assert words in model.source.fallback
    assert str(model.source) == (
        f"snapshot of {model.source.retrieved}, because {model.source.fallback}"
    )
    assert model.layout.slope() == 57_344


@pytest.mark.parametrize("name", FAULTS)
def test_live_fails_and_says_why_and_what_to_do(server, monkeypatch, name):
    server.fault, words = FAULTS[name]
    monkeypatch.setenv("KVDOCS_HUB", "live")
    monkeypatch.setattr(hub, "LIVE_SECONDS", patience(words))
    start = time.monotonic()
    with pytest.raises(hub.LookupFailed) as failed:
        hub.find(MODEL)
    assert time.monotonic() - start < AT_MOST
    assert words in str(failed.value)
    assert str(failed.value) == f"{MODEL}: {failed.value.reason}. {failed.value.remedy}."


@pytest.mark.parametrize("mode", ["", "auto"])
def test_neither_on_the_hub_nor_in_the_snapshot(server, monkeypatch, mode):
    monkeypatch.setenv("KVDOCS_HUB", mode)
    with pytest.raises(hub.LookupFailed, match="not in the snapshot, and the Hub has no"):
        hub.find("nobody/nothing")


def test_auto_without_the_client_installed(monkeypatch):
    monkeypatch.setenv("KVDOCS_HUB", "auto")
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    model = hub.find(MODEL)
    assert model.source.fallback == "the package huggingface_hub is not installed"


@pytest.mark.parametrize("mode", ["", "live"])
def test_without_the_client_installed_it_says_what_to_install(monkeypatch, mode):
    monkeypatch.setenv("KVDOCS_HUB", mode)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(hub.LookupFailed, match="pip install huggingface_hub"):
        hub.find(UNKNOWN)


@pytest.mark.parametrize("mode", ["Live", "offline", "1", " auto"])
def test_another_mode_is_an_error_that_names_the_variable(monkeypatch, mode):
    monkeypatch.setenv("KVDOCS_HUB", mode)
    with pytest.raises(hub.LookupFailed, match=r"KVDOCS_HUB.*auto, live or snapshot"):
        hub.find(MODEL)


@pytest.mark.parametrize("name", ["", "a b", "a--b", "x" * 5000, "nobody\n", "a/b/c"])
def test_what_is_neither_file_nor_id(name):
    with pytest.raises(hub.LookupFailed, match="neither a file nor a Hub id") as failed:
        hub.find(name)
    assert len(str(failed.value)) < 300


# Files and standard input

CONFIG = '{"model_type": "llama", "num_hidden_layers": 2}'


def test_a_file_and_its_folder(tmp_path, monkeypatch):
    (tmp_path / "config.json").write_text(CONFIG)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KVDOCS_HUB", "snapshot")
    for name in (str(tmp_path / "config.json"), str(tmp_path), "~/config.json"):
        model = hub.find(name)
        assert model.config["num_hidden_layers"] == 2
        assert (model.source.kind, model.source.retrieved) == ("file", None)
        assert str(model.source) == str(tmp_path / "config.json")


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CONFIG.encode())))
    assert str(hub.find("-").source) == "standard input"


@pytest.mark.parametrize("name", ["missing.json", "./missing", "~nobody-here/x", "/dev/null/x"])
def test_no_such_file(name):
    with pytest.raises(hub.LookupFailed, match="Pass a Hub id such as"):
        hub.find(name)


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"\xff\xfe", "not UTF-8"), (b" " * 5_000_001, "more than 5,000,000 bytes")],
)
def test_a_file_that_is_no_config(tmp_path, data, words):
    (tmp_path / "config.json").write_bytes(data)
    with pytest.raises(hub.LookupFailed, match=words):
        hub.find(str(tmp_path / "config.json"))


def test_a_file_that_is_no_json(tmp_path):
    (tmp_path / "config.json").write_text("<html>")
    with pytest.raises(ConfigError, match="not JSON"):
        hub.find(str(tmp_path))


def test_only_the_standard_library_is_needed_to_answer_from_the_snapshot():
    code = (
        f"import sys; from kvdocs.facts.hub import find; find({MODEL!r}).layout; "
        "print(*{name.partition('.')[0] for name in sys.modules} - sys.stdlib_module_names)"
    )
    env = {key: value for key, value in os.environ.items() if key != "KVDOCS_HUB"}
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], env=env, capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) <= {"__main__", "kvdocs"}
