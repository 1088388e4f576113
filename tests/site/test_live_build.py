"""A live build after the Hub has changed a config: it stops, and says what would change."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from kvdocs.facts import hub, snapshot
from kvdocs.site import scope
from tests.facts.hub_server import client_of, running_hub

DOCS = Path(__file__).parents[2] / "docs"
QWEN = "Qwen/Qwen2.5-7B-Instruct"


@pytest.fixture
def server(monkeypatch, tmp_path):
    pytest.importorskip("huggingface_hub", reason="the live Hub needs huggingface_hub")
    pytest.importorskip("mkdocs", reason="the site's packages are not installed")
    with running_hub() as server, client_of(server.url, monkeypatch, tmp_path):
        monkeypatch.setattr(hub, "LIVE_SECONDS", 60.0)
        monkeypatch.setenv("KVDOCS_HUB", "live")
        for model in snapshot.load_all():
            size = model.weights and {"parameters": {"F8_E4M3": model.weights.bytes}}
            server.add(model.id, model.config, safetensors=size)
        yield server
    scope.forget()


@pytest.mark.parametrize(
    ("heads", "said_of_a_number"),
    [
        (7, 'says "56 KiB", but qwen2_5_7b.slope() gives "98 KiB"'),
        (8, '"56 KiB": Qwen/Qwen2.5-7B-Instruct: num_key_value_heads is 8, which does not divide'),
    ],
)
def test_a_changed_head_count_is_named_with_every_number_it_moves(server, heads, said_of_a_number):
    from mkdocs.exceptions import PluginError

    from kvdocs.site import hooks

    changed = dict(snapshot.load(QWEN).config) | {"num_key_value_heads": heads}
    server.add(QWEN, changed, safetensors={"parameters": {"BF16": 7_615_616_512}})
    with pytest.raises(PluginError) as stopped:
        hooks.on_config(SimpleNamespace(docs_dir=str(DOCS)))
    said = str(stopped.value)
    assert f"{QWEN}: num_key_value_heads 4 → {heads}" in said
    assert f"kvdocs snapshot update {QWEN}" in said
    assert said_of_a_number in said
    named = {line.strip().split(":")[0].rpartition("/")[2] for line in said.splitlines()}
    assert {"kv-cache.md", "index.md", "check-yourself.md", "will-it-fit.md"} <= named
