"""The weight size from the live Hub: exact bytes, without downloading a weight."""

import json
import struct

import pytest

from kvdocs.facts import live
from kvdocs.facts.models import LookupFailed
from tests.facts.hub_faults import FIFTY_MB, on
from tests.facts.hub_server import client_of, running_hub

pytest.importorskip("huggingface_hub", reason="the live Hub needs huggingface_hub")

CONFIG = {"model_type": "gpt_oss"}
AT_MOST = 20  # seconds


@pytest.fixture
def server(monkeypatch, tmp_path):
    with running_hub() as server, client_of(server.url, monkeypatch, tmp_path):
        yield server


def header_of(sizes, metadata=True):
    tensors, end = {"__metadata__": {"format": "pt"}} if metadata else {}, 0
    for name, size in sizes.items():
        tensors[name] = {"dtype": "U8", "shape": [size], "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(tensors).encode()
    return struct.pack("<Q", len(text)) + text


def test_packed_weights_are_taken_from_the_index(server):
    # The summary counts the parameters packed into the bytes: 19.1 G of 4 bits and their scales.
    summary = {"parameters": {"BF16": 1_804_459_584, "U8": 19_110_297_600}, "total": 1}
    repo = server.add("openai/gpt-oss-20b", CONFIG, safetensors=summary)
    index = {"metadata": {"total_size": 13_761_264_768}, "weight_map": {}}
    repo.files["model.safetensors.index.json"] = json.dumps(index).encode()
    weights = live.fetch("openai/gpt-oss-20b", AT_MOST).weights
    assert weights.bytes == 13_761_264_768
    assert weights.kind == "sum of tensor bytes (index metadata.total_size)"


@pytest.mark.parametrize("large", [True, False])
@pytest.mark.parametrize("metadata", [True, False])
def test_packed_weights_in_one_file_are_taken_from_its_header(server, large, metadata):
    summary = {"parameters": {"I32": 5}, "total": 5}
    repo = server.add("a/b", CONFIG, safetensors=summary)
    sizes = {f"layer.{number}.weight": 1000 + number for number in range(200)}
    repo.files["model.safetensors"] = header_of(sizes, metadata) + b"\0" * 1_000_000
    repo.large = frozenset({"model.safetensors"}) if large else frozenset()
    weights = live.fetch("a/b", AT_MOST).weights
    assert weights.bytes == sum(sizes.values())
    assert weights.kind == "sum of tensor bytes (file header)"
    assert server.sent < 100_000, "the weights were downloaded"


def test_a_server_that_ignores_ranges_does_not_make_us_download_the_weights(server):
    repo = server.add("a/b", CONFIG)
    repo.files["model.safetensors"] = b""  # listed; its answer follows

    def everything(handler):
        handler.close_connection = True
        data = header_of({"x": FIFTY_MB})
        handler.start(200, {"Content-Length": str(len(data) + FIFTY_MB)})
        handler.write(data)
        for _ in range(FIFTY_MB // 100_000):
            handler.write(b"\0" * 100_000)
        return True

    server.fault = on("/model.safetensors", everything)
    assert live.fetch("a/b", AT_MOST).weights.bytes == FIFTY_MB
    server.stopping.wait(0.2)
    assert server.sent < FIFTY_MB


@pytest.mark.parametrize(
    "info",
    [{}, {"safetensors": None}, {"safetensors": {}}, {"safetensors": {"parameters": {}}}],
)
def test_no_safetensors_no_weights(server, info):
    server.add("a/b", CONFIG, **info)
    assert live.fetch("a/b", AT_MOST).weights is None


@pytest.mark.parametrize("index", [b"{}", b'{"metadata": {}}', b'{"metadata": {"total_size": 0}}'])
def test_an_index_without_a_size_states_no_weights(server, index):
    server.add("a/b", CONFIG).files["model.safetensors.index.json"] = index
    assert live.fetch("a/b", AT_MOST).weights is None


@pytest.mark.parametrize(
    "header",
    [b"", b"\xff" * 8, struct.pack("<Q", 2) + b"{}", struct.pack("<Q", 9) + b'{"x": {}}', b"short"],
)
def test_a_broken_header_is_a_failure_in_a_sentence(server, header):
    server.add("a/b", CONFIG).files["model.safetensors"] = header
    with pytest.raises(LookupFailed) as failed:
        live.fetch("a/b", AT_MOST)
    assert failed.value.reason
