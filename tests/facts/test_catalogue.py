"""All models for the site: live, from the snapshot, or partly both, and never two truths."""

import shutil
import sys
import time
from pathlib import Path

import pytest

from kvdocs.facts import hub, snapshot
from kvdocs.facts.catalogue import UNREACHED, SnapshotDiffers, catalogue
from kvdocs.facts.models import LookupFailed
from tests.facts.hub_faults import FAULTS, LATE, LOST, on, patience, stall, status
from tests.facts.hub_server import COMMIT, client_of, running_hub

IDS = ["Qwen/Qwen2.5-7B-Instruct", "google/gemma-3-1b-it", "HuggingFaceTB/SmolLM3-3B"]
QWEN = IDS[0]
AT_MOST = 20  # seconds


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.delenv("KVDOCS_HUB", raising=False)
    folder = tmp_path / "snapshot"
    folder.mkdir()
    for name in IDS:
        shutil.copy(snapshot.path_of(name), folder)
    return folder


@pytest.fixture
def server(monkeypatch, tmp_path, folder):
    """A Hub that has what the whole snapshot has."""
    pytest.importorskip("huggingface_hub", reason="the live Hub needs huggingface_hub")
    with running_hub() as server, client_of(server.url, monkeypatch, tmp_path):
        monkeypatch.setattr(hub, "AUTO_SECONDS", 20.0)  # a loaded machine must not fall back
        for model in snapshot.load_all():
            size = model.weights and {"parameters": {"F8_E4M3": model.weights.bytes}}
            server.add(model.id, model.config, safetensors=size)
        yield server


def change(server, **fields):
    """The Hub publishes another config for Qwen."""
    server.add(QWEN, dict(snapshot.load(QWEN).config) | fields)


def test_snapshot(server, folder, monkeypatch):
    monkeypatch.setenv("KVDOCS_HUB", "snapshot")
    found = catalogue(folder)
    assert found.models == tuple(snapshot.load_all(folder))
    assert found.source == f"snapshot of {found.models[0].source.retrieved}"
    assert found.warnings == ()
    assert not server.requests


@pytest.mark.parametrize("mode", ["", "auto", "live"])
def test_everything_live(server, folder, monkeypatch, mode):
    monkeypatch.setenv("KVDOCS_HUB", mode)
    found = catalogue(folder)
    assert [model.id for model in found.models] == snapshot.ids(folder)
    assert {model.source.revision for model in found.models} == {COMMIT}
    assert found.source == "live Hub, 3 of 3"
    assert found.warnings == ()
    qwen = next(model for model in found.models if model.id == QWEN)
    assert qwen.notes == snapshot.load(QWEN).notes, "what people noted stays with it"


def test_every_model_of_the_real_snapshot_takes_two_requests(server, monkeypatch):
    monkeypatch.setenv("KVDOCS_HUB", "auto")
    found = catalogue()
    count = len(snapshot.ids())
    assert found.source == f"live Hub, {count} of {count}"
    assert len(server.requests) == 2 * count


def test_two_builds_are_the_same(server, folder):
    assert catalogue(folder) == catalogue(folder)


@pytest.mark.parametrize("name", FAULTS)
def test_auto_falls_back_for_all_within_the_deadline(server, folder, monkeypatch, name):
    server.fault, words = FAULTS[name]
    monkeypatch.setattr(hub, "AUTO_SECONDS", patience(words))
    start = time.monotonic()
    found = catalogue(folder)
    assert time.monotonic() - start < AT_MOST
    assert [model.layout for model in found.models] == [
        model.layout for model in snapshot.load_all(folder)
    ]
    (said,) = {model.source.fallback for model in found.models}
    assert said == UNREACHED if words in (LATE, LOST) else words in said
    assert found.source == f"snapshot of {found.models[0].source.retrieved}, because {said}"
    (warning,) = found.warnings
    assert warning.startswith("from the snapshot, because ")
    assert words in warning
    assert all(name in warning for name in IDS)
    assert catalogue(folder) == found, "two builds must not differ"


def test_auto_falls_back_for_the_one_that_fails(server, folder):
    server.fault = on(f"/{QWEN}/resolve/", status(401, X_Error_Code="GatedRepo"))
    found = catalogue(folder)
    kinds = {model.id: model.source.kind for model in found.models}
    assert kinds == {IDS[0]: "snapshot", IDS[1]: "hub", IDS[2]: "hub"}
    date = snapshot.load(QWEN).source.retrieved
    because = "because the repository is gated (401)"
    assert found.source == f"live Hub, 2 of 3; snapshot of {date}, {because}"
    assert found.warnings == (f"from the snapshot, because the repository is gated (401) ({QWEN})",)


def test_live_fails_for_the_one_that_fails(server, folder, monkeypatch):
    monkeypatch.setenv("KVDOCS_HUB", "live")
    server.fault = on(f"/{QWEN}/resolve/", status(500))
    with pytest.raises(LookupFailed, match=r"Qwen2.5-7B-Instruct: the Hub failed \(500\)\. Try"):
        catalogue(folder)


def test_live_fails_once_for_a_hub_that_says_nothing(server, folder, monkeypatch):
    monkeypatch.setenv("KVDOCS_HUB", "live")
    monkeypatch.setattr(hub, "LIVE_SECONDS", 1.0)
    server.fault = stall()
    start = time.monotonic()
    with pytest.raises(LookupFailed, match=r"^3 of 3 models: the Hub did not answer within 1 s"):
        catalogue(folder)
    assert time.monotonic() - start < AT_MOST


@pytest.mark.parametrize("mode", ["auto", "live"])
def test_a_difference_fails_the_build_with_its_line(server, folder, monkeypatch, mode):
    monkeypatch.setenv("KVDOCS_HUB", mode)
    change(server, num_key_value_heads=8, num_attention_heads=32, head_dim=128)
    with pytest.raises(SnapshotDiffers) as failed:
        catalogue(folder)
    assert str(failed.value).splitlines() == [
        "The Hub and the snapshot differ in what moves a byte:",
        f"  {QWEN}: num_attention_heads 28 → 32",
        f"  {QWEN}: num_key_value_heads 4 → 8",
        f"  {QWEN}: head_dim not set → 128",
        f"  {QWEN}: cache of 4,096 tokens 224 MiB → 448 MiB",
        f"Accept what the Hub says with: kvdocs snapshot update {QWEN}",
    ]
    assert {difference.field for difference in failed.value.differences} > {"num_key_value_heads"}


def test_a_difference_that_moves_no_byte_is_none(server, folder):
    change(server, rope_theta=7.0, vocab_size=1)
    assert catalogue(folder).source == "live Hub, 3 of 3"


def test_a_renamed_model_keeps_its_id_and_is_warned_about(server, folder):
    server.repos["New/Name"] = server.repos.pop(QWEN)
    server.add(QWEN, {}).renamed_to = "New/Name"
    found = catalogue(folder)
    assert QWEN in [model.id for model in found.models]
    assert found.warnings == (f"{QWEN} is now called New/Name on the Hub",)


def test_without_the_client_installed(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    found = catalogue(folder)
    assert found.source.startswith("snapshot of ")
    assert "huggingface_hub is not installed" in found.warnings[0]


def test_entries_of_several_dates(folder, monkeypatch):
    monkeypatch.setenv("KVDOCS_HUB", "snapshot")
    path = Path(snapshot.path_of(QWEN, folder))
    path.write_text(path.read_text().replace(snapshot.load(QWEN).source.retrieved, "2099-01-31"))
    dates = sorted({model.source.retrieved for model in snapshot.load_all(folder)})
    assert catalogue(folder).source == f"snapshot of {dates[0]} to 2099-01-31"


def test_a_misspelt_mode(folder, monkeypatch):
    monkeypatch.setenv("KVDOCS_HUB", "offline")
    with pytest.raises(LookupFailed, match="KVDOCS_HUB"):
        catalogue(folder)
