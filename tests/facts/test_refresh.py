"""``kvdocs snapshot check|update``: what moves a byte, and that no file is ever half-written."""

import argparse
import json
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from kvdocs.facts import hub, refresh, snapshot
from kvdocs.facts.models import LookupFailed, Weights
from tests.facts.hub_faults import on, stall, status
from tests.facts.hub_server import COMMIT, client_of, running_hub

pytest.importorskip("huggingface_hub", reason="the live Hub needs huggingface_hub")

QWEN = "Qwen/Qwen2.5-7B-Instruct"
GEMMA = "google/gemma-3-1b-it"
SMOL = "HuggingFaceTB/SmolLM3-3B"
ODD = "org/odd"  # no rule covers it
IDS = [QWEN, GEMMA, SMOL, ODD]


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "snapshot"
    folder.mkdir()
    for name in IDS[:3]:
        shutil.copy(snapshot.path_of(name), folder)
    odd = replace(snapshot.load(QWEN), id=ODD, config={"model_type": "odd", "layers": 32})
    Path(snapshot.path_of(ODD, folder)).write_text(refresh.entry(odd))
    return folder


@pytest.fixture
def server(monkeypatch, tmp_path, folder):
    """A Hub that has what the snapshot has."""
    with running_hub() as server, client_of(server.url, monkeypatch, tmp_path):
        for name in IDS:
            publish(server, snapshot.load(name, folder))
        yield server


def publish(server, known, **changes):
    """The Hub has this model, with these changes to its config."""
    if isinstance(known, str):
        known = snapshot.load(known)
    repo = server.add(known.id, dict(known.config) | changes)
    repo.info["safetensors"] = {"parameters": {"F8_E4M3": known.weights.bytes}}
    return repo


def contents(folder: Path):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def lines(differences):
    return [str(difference) for difference in differences]


# What is a difference


def test_no_difference(server, folder):
    before = contents(folder)
    assert refresh.check((), folder) == []
    assert contents(folder) == before


def test_a_field_that_moves_a_byte(server, folder):
    publish(server, QWEN, num_key_value_heads=8, num_attention_heads=32, head_dim=128)
    assert lines(refresh.check([QWEN], folder)) == [
        f"{QWEN}: num_attention_heads 28 → 32",
        f"{QWEN}: num_key_value_heads 4 → 8",
        f"{QWEN}: head_dim not set → 128",
        f"{QWEN}: cache of 4,096 tokens 224 MiB → 448 MiB",
    ]


def test_a_field_that_moves_none(server, folder):
    publish(server, QWEN, sliding_window=4096, rope_theta=5.0, torch_dtype="float16")
    assert refresh.check([QWEN], folder) == []


def test_another_cache_dtype_in_the_file_beside_the_config(server, folder):
    quantised = {"quantization": {"kv_cache_quant_algo": "FP8"}}
    files = server.repos[QWEN].files
    files["hf_quant_config.json"] = json.dumps(quantised).encode()
    assert lines(refresh.update([QWEN], folder)) == [
        f'{QWEN}: cache dtype not named → hf_quant_config.quantization.kv_cache_quant_algo "FP8"',
    ]
    assert snapshot.load(QWEN, folder).config["hf_quant_config"] == quantised
    assert refresh.check([QWEN], folder) == []


def test_a_list_is_shown_as_counts(server, folder):
    types = ["sliding_attention"] * 25 + ["full_attention"]
    publish(server, GEMMA, layer_types=types)
    found = lines(refresh.check([GEMMA], folder))
    assert f"{GEMMA}: layer_types not set → 25 × sliding_attention, 1 × full_attention" in found
    assert re.search(r"cache of 4,096 tokens \S+ MiB → \S+ MiB", found[-1])


def test_a_window_beyond_the_usual_length_is_seen(server, folder):
    publish(server, GEMMA, sliding_window=100_000)
    old = snapshot.load(GEMMA).config["sliding_window"]
    found = lines(refresh.check([GEMMA], folder))
    assert found[0] == f"{GEMMA}: sliding_window {old} → 100000"
    assert "cache of 100,001 tokens" in found[1]


def test_another_weight_size(server, folder):
    server.repos[QWEN].info["safetensors"] = {"parameters": {"BF16": 1}}
    assert lines(refresh.check([QWEN], folder)) == [
        f"{QWEN}: weights 15,231,233,024 bytes → 2 bytes"
    ]


def test_no_weights_on_the_hub_is_no_news(server, folder):
    server.repos[QWEN].info.clear()
    assert refresh.check([QWEN], folder) == []
    refresh.update([QWEN], folder)
    assert snapshot.load(QWEN, folder).weights == snapshot.load(QWEN).weights


def test_weights_that_were_not_known(server, folder):
    old = replace(snapshot.load(QWEN), weights=None)
    new = replace(old, weights=Weights(5, "k", "s", "good"))
    assert lines(refresh.compare(old, new)) == [f"{QWEN}: weights not known → 5 bytes"]


def test_a_config_that_no_rule_covers_any_more(server, folder):
    publish(server, QWEN, model_type="qwen99")
    found = lines(refresh.check([QWEN], folder))
    assert found[0] == f'{QWEN}: model_type "qwen2" → "qwen99"'
    assert found[-1] == f"{QWEN}: cache of 4,096 tokens 224 MiB → no rule"


def test_a_config_without_model_type(server, folder):
    publish(server, QWEN, model_type=None)
    assert lines(refresh.check([QWEN], folder)) == [
        f"{QWEN}: cache of 4,096 tokens 224 MiB → no rule"
    ]


def test_a_config_that_no_rule_covers_moves_nothing(server, folder):
    publish(server, snapshot.load(ODD, folder), layers=64)
    assert refresh.check([ODD], folder) == []


def test_a_model_the_snapshot_does_not_have(server, folder):
    server.add("org/new", snapshot.load(QWEN).config)
    assert lines(refresh.check(["org/new"], folder)) == [
        "org/new: entry not in the snapshot → on the Hub"
    ]
    refresh.update(["org/new"], folder)
    assert snapshot.load("org/new", folder).layout.slope() == 57_344
    assert refresh.check(["org/new"], folder) == []


# Updating


def test_update_takes_the_hub_over_and_then_nothing_differs(server, folder):
    publish(server, QWEN, num_key_value_heads=7)
    assert refresh.update((), folder) == refresh.compare(
        snapshot.load(QWEN), snapshot.load(QWEN, folder)
    )
    assert refresh.check((), folder) == []
    model = snapshot.load(QWEN, folder)
    assert model.source.kind == "snapshot"
    assert model.source.revision == COMMIT
    assert model.source.detail == f"{server.url}/{QWEN}/blob/{COMMIT}/config.json"
    assert model.weights.confidence == "good"
    assert sorted(contents(folder)) == sorted(Path(snapshot.path_of(name)).name for name in IDS)


def test_update_keeps_what_people_noted_while_it_is_still_about_the_same(server, folder):
    refresh.update([QWEN], folder)
    kept = snapshot.load(QWEN, folder)
    assert kept.notes == snapshot.load(QWEN).notes != ""
    assert kept.agrees == snapshot.load(QWEN).agrees != ()
    publish(server, QWEN, num_key_value_heads=7)
    refresh.update([QWEN], folder)
    changed = snapshot.load(QWEN, folder)
    assert (changed.notes, changed.agrees) == ("", ())


def test_a_written_file_can_be_read_by_others(server, folder):
    refresh.update([QWEN], folder)
    assert Path(snapshot.path_of(QWEN, folder)).stat().st_mode & 0o444


# Nothing half-written


def test_one_lookup_that_fails_and_nothing_is_written(server, folder):
    before = contents(folder)
    server.fault = on(f"/{SMOL}/resolve/", status(500))
    with pytest.raises(LookupFailed, match=r"SmolLM3-3B: the Hub failed \(500\)"):
        refresh.update((), folder)
    assert contents(folder) == before


def fail_at(call, count):
    """``call``, but its ``count``-th use fails as on a full disk."""
    calls = []

    def failing(*args):
        calls.append(args)
        if len(calls) == count:
            raise OSError(28, "No space left on device")
        return call(*args)

    return failing


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_a_write_that_fails_changes_nothing(server, folder, monkeypatch, count):
    before = contents(folder)
    monkeypatch.setattr(refresh, "_write_through", fail_at(refresh._write_through, count))
    with pytest.raises(OSError, match="No space left"):
        refresh.update((), folder)
    assert contents(folder) == before


def test_a_write_that_fails_half_way_through_a_file(server, folder, monkeypatch):
    before = contents(folder)
    monkeypatch.setattr(os, "fsync", fail_at(os.fsync, 3))
    with pytest.raises(OSError, match="No space left"):
        refresh.update((), folder)
    assert contents(folder) == before


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_a_replacement_that_fails_leaves_every_file_whole(server, folder, monkeypatch, count):
    before = contents(folder)
    monkeypatch.setattr(os, "replace", fail_at(os.replace, count))
    with pytest.raises(OSError, match="No space left"):
        refresh.update((), folder)
    after = contents(folder)
    assert after.keys() == before.keys()
    changed = [name for name in after if after[name] != before[name]]
    assert len(changed) == count - 1
    for name in IDS:
        assert snapshot.load(name, folder).layout if name != ODD else True
        assert json.loads(Path(snapshot.path_of(name, folder)).read_text())["id"] == name


def test_a_config_that_cannot_be_written_changes_nothing(server, folder):
    before = contents(folder)
    publish(server, SMOL, note="\ud800")  # valid JSON, but no character
    with pytest.raises(ValueError, match="surrogates"):
        refresh.update((), folder)
    assert contents(folder) == before


def test_a_folder_that_does_not_exist(server, tmp_path):
    with pytest.raises(FileNotFoundError):
        refresh.update([QWEN], tmp_path / "nowhere")


# The command


def command(action, *models):
    return argparse.Namespace(action=action, models=list(models))


def test_check_says_that_nothing_differs(server, folder, capsys):
    assert refresh.run(command("check"), folder) == 0
    assert capsys.readouterr().out == "4 models: the Hub and the snapshot agree in every byte\n"


def test_check_says_what_differs(server, folder, capsys):
    publish(server, QWEN, num_key_value_heads=7)
    assert refresh.run(command("check", QWEN, GEMMA), folder) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{QWEN}: num_key_value_heads 4 → 7",
        f"{QWEN}: cache of 4,096 tokens 224 MiB → 392 MiB",
        "1 of 2 models with other bytes; accept with: kvdocs snapshot update MODEL",
    ]


def test_update_says_what_it_did(server, folder, capsys):
    publish(server, QWEN, num_key_value_heads=7)
    assert refresh.run(command("update", QWEN, GEMMA), folder) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{QWEN}: num_key_value_heads 4 → 7",
        f"{QWEN}: cache of 4,096 tokens 224 MiB → 392 MiB",
        "2 models updated, 1 with other bytes",
    ]


def test_a_new_name_is_said(server, folder, capsys):
    server.repos["New/Name"] = server.repos.pop(QWEN)
    server.add(QWEN, {}).renamed_to = "New/Name"
    assert refresh.run(command("check", QWEN), folder) == 0
    assert capsys.readouterr().out.startswith(f"{QWEN} is now called New/Name on the Hub\n")


@pytest.mark.parametrize("action", ["check", "update"])
def test_a_failure_is_status_2_and_differences_are_still_said(server, folder, capsys, action):
    before = contents(folder)
    publish(server, QWEN, num_key_value_heads=7)
    server.fault = on(f"/{SMOL}/resolve/", status(500))
    assert refresh.run(command(action), folder) == 2
    output = capsys.readouterr()
    assert f"{QWEN}: num_key_value_heads 4 → 7" in output.out
    assert output.err.startswith(f"kvdocs snapshot {action}: {SMOL}: the Hub failed (500). ")
    assert output.err.count("\n") == 1
    assert contents(folder) == before


def test_an_unreachable_hub_is_said_once_for_all(server, folder, capsys, monkeypatch):
    monkeypatch.setattr(hub, "LIVE_SECONDS", 1.0)
    server.fault = stall()
    assert refresh.run(command("check"), folder) == 2
    said = capsys.readouterr().err
    assert "4 of 4 models: the Hub did not answer within 1 seconds (" in said
    assert " and 1 more)" in said
    assert said.count("did not answer") == 1


@pytest.mark.parametrize("model", ["../../etc/passwd", "a b", ""])
def test_a_bad_id_is_status_2(server, folder, capsys, model):
    assert refresh.run(command("update", model), folder) == 2
    assert "neither a file nor a Hub id" in capsys.readouterr().err


def test_a_full_disk_is_status_2(server, folder, capsys, monkeypatch):
    monkeypatch.setattr(refresh, "_write_through", fail_at(refresh._write_through, 1))
    assert refresh.run(command("update", QWEN), folder) == 2
    assert capsys.readouterr().err == (
        "kvdocs snapshot update: [Errno 28] No space left on device\n"
    )


def test_the_mode_that_forbids_the_hub(server, folder, capsys, monkeypatch):
    monkeypatch.setenv("KVDOCS_HUB", "snapshot")
    assert refresh.run(command("check"), folder) == 2
    assert "forbids asking the Hub" in capsys.readouterr().err
    assert not server.requests
