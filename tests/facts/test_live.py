"""The live Hub through the real client, against a server on loopback."""

import json
import logging
import os
import re
import subprocess
import sys
import threading
import time
import traceback
from datetime import UTC, datetime

import pytest

from kvdocs.facts import hub, live
from kvdocs.facts.models import LookupFailed
from kvdocs.formula.kv_dtype import named_kv_dtype
from tests.facts.hub_faults import (
    FAULTS,
    FIFTY_MB,
    compressed,
    on,
    patience,
    stall,
    status,
    trickle,
    trickle_headers,
    truncated,
)
from tests.facts.hub_server import COMMIT, client_of, running_hub

pytest.importorskip("huggingface_hub", reason="the live Hub needs huggingface_hub")

MODEL = "Qwen/Qwen2.5-7B-Instruct"
CONFIG = {
    "model_type": "qwen2",
    "hidden_size": 3584,
    "num_attention_heads": 28,
    "num_hidden_layers": 28,
    "num_key_value_heads": 4,
}
BF16 = {"parameters": {"BF16": 7_615_616_512}, "total": 7_615_616_512}
TOKEN = "hf_" + "SecretSecretSecret"
AT_MOST = 20  # seconds; only says that a deadline of 1 was not ignored


@pytest.fixture
def server(monkeypatch, tmp_path):
    with running_hub() as server, client_of(server.url, monkeypatch, tmp_path):
        server.add(MODEL, CONFIG, safetensors=BF16)
        yield server


def test_a_model_comes_with_its_commit_date_and_weights(server):
    model = live.fetch(MODEL, AT_MOST)
    assert model.id == MODEL
    assert model.config == CONFIG
    assert model.layout.slope() == 57_344
    assert model.source.kind == "hub"
    assert model.source.revision == COMMIT
    assert model.source.retrieved == datetime.now(UTC).date().isoformat()
    assert str(model.source) == f"Hub, commit {COMMIT}"
    assert model.source.detail == f"{server.url}/{MODEL}/blob/{COMMIT}/config.json"
    assert model.weights.bytes == 15_231_233_024
    assert model.weights.kind == "sum over dtypes of elements x itemsize"


def test_two_requests_are_all_and_the_config_is_read_at_the_commit(server):
    live.fetch(MODEL, AT_MOST)
    assert server.paths() == [f"/api/models/{MODEL}", f"/{MODEL}/resolve/{COMMIT}/config.json"]


QUANT = {"producer": {"name": "modelopt"}, "quantization": {"kv_cache_quant_algo": "FP8"}}
QUANT_PATH = f"/{MODEL}/resolve/{COMMIT}/hf_quant_config.json"


def test_modelopts_file_beside_the_config_says_what_dtype_the_cache_has(server):
    server.repos[MODEL].files["hf_quant_config.json"] = json.dumps(QUANT).encode()
    model = live.fetch(MODEL, AT_MOST)
    assert model.config == {**CONFIG, "hf_quant_config": QUANT}
    field = "hf_quant_config.quantization.kv_cache_quant_algo"
    assert named_kv_dtype(model.config, MODEL) == ("fp8_e4m3", field)
    assert server.paths()[-1] == QUANT_PATH


def test_modelopts_file_is_not_asked_for_where_the_config_names_the_dtype(server):
    scheme = {"kv_cache_scheme": {"num_bits": 8, "type": "float"}}
    repo = server.add(MODEL, {**CONFIG, "quantization_config": scheme}, safetensors=BF16)
    repo.files["hf_quant_config.json"] = b"never read"
    live.fetch(MODEL, AT_MOST)
    assert QUANT_PATH not in server.paths()


def test_modelopts_file_that_is_listed_and_gone_is_no_error(server):
    listed = [{"rfilename": "config.json"}, {"rfilename": "hf_quant_config.json"}]
    server.add(MODEL, CONFIG, safetensors=BF16, siblings=listed)
    assert live.fetch(MODEL, AT_MOST).config == CONFIG
    assert server.paths()[-1] == QUANT_PATH


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"[]", "the Hub's answer holds [], not a JSON object"), (b"\xff", "not UTF-8")],
)
def test_modelopts_file_that_cannot_be_read_is_not_passed_over(server, content, words):
    server.repos[MODEL].files["hf_quant_config.json"] = content
    with pytest.raises(LookupFailed, match=re.escape(words)):
        live.fetch(MODEL, AT_MOST)


def test_modelopts_file_that_does_not_come_counts_against_the_same_deadline(server):
    server.repos[MODEL].files["hf_quant_config.json"] = json.dumps(QUANT).encode()
    server.fault = on(QUANT_PATH, stall())
    with pytest.raises(LookupFailed, match="did not answer within 1 seconds"):
        live.fetch(MODEL, 1)


@pytest.mark.parametrize("name", FAULTS)
def test_whatever_goes_wrong_is_said_within_the_deadline(server, name):
    server.fault, words = FAULTS[name]
    start = time.monotonic()
    with pytest.raises(LookupFailed) as failed:
        live.fetch(MODEL, patience(words))
    assert time.monotonic() - start < AT_MOST
    assert words in failed.value.reason
    assert failed.value.remedy
    assert str(failed.value).startswith(f"{MODEL}: ")
    assert "\n" not in str(failed.value)


@pytest.mark.parametrize("part", ["/api/", "/resolve/"])
def test_a_short_wait_that_the_hub_asks_for_is_kept(server, part):
    busy = on(part, status(429, Retry_After="1"))
    server.fault = lambda handler: len(server.requests) < 3 and busy(handler)
    assert live.fetch(MODEL, AT_MOST).source.revision == COMMIT
    assert len([path for path in server.paths() if part in path]) > 1


def test_a_wait_past_the_deadline_is_not_begun(server):
    server.fault = status(429, Retry_After="3600")
    start = time.monotonic()
    with pytest.raises(LookupFailed, match="Wait 3600 seconds") as failed:
        live.fetch(MODEL, 3000)
    assert time.monotonic() - start < AT_MOST
    assert "3600" not in failed.value.reason, "a page that shows it would differ at every build"
    assert len(server.requests) == 1


def test_a_50_mb_config_is_not_downloaded_whole(server):
    server.fault, _ = FAULTS["50 MB config"]
    with pytest.raises(LookupFailed, match="too large"):
        live.fetch(MODEL, AT_MOST)
    server.stopping.wait(0.2)
    assert server.sent < FIFTY_MB // 2


def test_a_request_to_a_trickling_server_ends_by_itself(server):
    from huggingface_hub.utils import get_session

    if not callable(get_session().stream):
        pytest.skip("huggingface_hub 0 hands out a body only in full chunks")
    server.fault = trickle()
    with pytest.raises(LookupFailed, match="did not answer"):
        live.fetch(MODEL, 0.4)
    workers = [thread for thread in threading.enumerate() if thread.name == "kvdocs-hub"]
    for worker in workers:
        worker.join(AT_MOST)
    assert not any(worker.is_alive() for worker in workers)


def test_a_renamed_model_is_followed_and_its_new_name_said(server):
    server.add("Old/Name", {}).renamed_to = MODEL
    model = live.fetch("Old/Name", AT_MOST)
    assert model.id == "Old/Name", "pages keep the id they know"
    assert model.source.renamed_to == MODEL
    assert str(model.source) == f"Hub, commit {COMMIT}, now called {MODEL}"
    assert server.paths()[-1] == f"/{MODEL}/resolve/{COMMIT}/config.json"


def test_a_config_in_large_file_storage_is_checked_against_its_sha256(server):
    server.repos[MODEL].large = frozenset({"config.json"})
    assert live.fetch(MODEL, AT_MOST).config == CONFIG
    changed = json.dumps(CONFIG | {"num_key_value_heads": 8}).encode()
    server.fault = on("/cdn/", status(200, changed))
    with pytest.raises(LookupFailed, match="hash"):
        live.fetch(MODEL, AT_MOST)


def test_an_answer_that_was_compressed_on_the_way_is_read_and_checked(server):
    server.fault = on("/resolve/", compressed(json.dumps(CONFIG).encode()))
    assert live.fetch(MODEL, AT_MOST).config == CONFIG


def test_no_address(server, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", "http://hub.invalid")
    with pytest.raises(LookupFailed, match="address could not be looked up"):
        live.fetch(MODEL, AT_MOST)


def test_nobody_listens(server, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:1")
    with pytest.raises(LookupFailed, match="connection to the Hub failed"):
        live.fetch(MODEL, AT_MOST)


def test_the_clients_offline_switch_is_respected(server, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(LookupFailed, match="HF_HUB_OFFLINE is set"):
        live.fetch(MODEL, AT_MOST)
    assert not server.requests


def test_without_the_client_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(LookupFailed, match="pip install huggingface_hub"):
        live.fetch(MODEL, AT_MOST)


@pytest.mark.parametrize(
    "name", ["", "a/b/c", "../etc/passwd", "a--b/c", "a b", "-x/y", "x" * 97, "ä/b", "a/b\n", "a/"]
)
def test_what_is_no_id_is_refused_before_anything_is_asked(server, name):
    with pytest.raises(LookupFailed, match="neither a file nor a Hub id"):
        live.fetch(name, AT_MOST)
    assert not server.requests


# Many models


def test_one_deadline_covers_all_models(server):
    server.fault = stall()
    ids = [f"org/model-{number}" for number in range(67)]
    start = time.monotonic()
    answers = live.fetch_many(ids, 1)
    assert time.monotonic() - start < AT_MOST
    assert list(answers) == ids
    assert {answer.reason for answer in answers.values()} == {
        "the Hub did not answer within 1 seconds"
    }


def test_one_model_that_stalls_does_not_take_the_others_with_it(server):
    ids = [f"org/model-{number}" for number in range(40)]
    for name in ids:
        server.add(name, CONFIG)
    server.repos["org/model-7"].commit = "7" * 40
    server.fault = on("/resolve/" + "7" * 40, stall())
    answers = live.fetch_many([*ids, ids[0]], 2)
    late = [name for name, answer in answers.items() if isinstance(answer, LookupFailed)]
    assert late == ["org/model-7"]
    assert len(answers) == 40


def test_no_models_need_no_hub():
    assert live.fetch_many([], 1) == {}


# Tokens


def test_the_token_is_sent_to_the_hub(server, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    live.fetch(MODEL, AT_MOST)
    assert {request.headers.get("Authorization") for request in server.requests} == {
        f"Bearer {TOKEN}"
    }


def test_the_token_does_not_follow_a_redirect_to_another_host(server, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    server.repos[MODEL].large = frozenset({"config.json"})
    live.fetch(MODEL, AT_MOST)
    stored = [request for request in server.requests if request.host == "localhost"]
    assert [request.path for request in stored] == [f"/cdn/{MODEL}/config.json"]
    assert "Authorization" not in stored[0].headers


def test_the_switch_against_tokens_is_respected(server, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_IMPLICIT_TOKEN", True)
    live.fetch(MODEL, AT_MOST)
    assert all("Authorization" not in request.headers for request in server.requests)


@pytest.mark.parametrize("token", [TOKEN, f"{TOKEN}\nX: y", f"{TOKEN}ä", f"{TOKEN}\x01"])
def test_the_token_is_in_no_message_log_or_output(server, monkeypatch, caplog, capfd, token):
    monkeypatch.setenv("HF_TOKEN", token)
    caplog.set_level(logging.DEBUG)
    said = [repr(live.fetch_many([MODEL], 0.5))]
    for fault, _ in FAULTS.values():
        server.fault = fault
        with pytest.raises(LookupFailed) as failed:
            live.fetch(MODEL, 0.5)
        said.append("".join(traceback.format_exception(failed.value)))
    output = capfd.readouterr()
    assert "Secret" not in "".join(said) + caplog.text + output.out + output.err


# As a program: the environment, the disk, the exit


def run_python(code, tmp_path, **env):
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("HF_", "KVD"))}
    env = {"NO_PROXY": "*", "HOME": str(tmp_path), "HF_HOME": str(tmp_path / "hf"), **env}
    return subprocess.run(
        [sys.executable, "-c", code],
        env=clean | env,
        cwd=os.getcwd(),
        capture_output=True,
        text=True,
        timeout=60,
    )


FIND = f"from kvdocs.facts.hub import find; print(find({MODEL!r}).source)"


def test_the_real_environment_variables_lead_to_the_hub(server, tmp_path):
    run = run_python(FIND, tmp_path, HF_ENDPOINT=server.url, KVDOCS_HUB="live")
    assert run.stdout == f"Hub, commit {COMMIT}\n", run.stderr


def test_nothing_is_written_and_the_debug_log_hides_the_token(server, tmp_path):
    env = {"HF_ENDPOINT": server.url, "KVDOCS_HUB": "live", "HF_TOKEN": TOKEN, "HF_DEBUG": "1"}
    run = run_python(FIND, tmp_path, **env)
    assert run.returncode == 0, run.stderr
    assert "Secret" not in run.stdout + run.stderr
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_hub_that_never_finishes_does_not_keep_the_program_from_ending(server, tmp_path):
    server.fault = trickle_headers()
    code = (
        f"from kvdocs.facts import hub; hub.AUTO_SECONDS = 1.0; print(hub.find({MODEL!r}).source)"
    )
    start = time.monotonic()
    run = run_python(code, tmp_path, HF_ENDPOINT=server.url, KVDOCS_HUB="auto")
    assert time.monotonic() - start < AT_MOST
    assert re.fullmatch(r"snapshot of [-\d]+, because the Hub did not answer .*\n", run.stdout)
    assert run.stderr == ""


def test_the_seconds_of_auto_are_five():
    assert hub.seconds("auto") == 5


def test_a_truncated_body_is_not_half_read(server):
    server.fault = on("/resolve/", truncated())
    with pytest.raises(LookupFailed, match="failed"):
        live.fetch(MODEL, AT_MOST)
