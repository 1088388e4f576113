"""Experiment 1 as a reader runs it: an empty folder, published configs only."""

import subprocess
import sys
from pathlib import Path

import pytest

from kvdocs.facts import snapshot
from kvdocs.formula import ConfigError
from tests.hub_cache import offline_environment
from tests.installed import missing_architecture, version
from tests.snippets.together import Variant, run_together

ROOT = Path(__file__).parents[2]
SNIPPET = ROOT / "snippets" / "kv_cost.py"
QWEN = "Qwen/Qwen2.5-7B-Instruct"


@pytest.fixture(scope="module", autouse=True)
def _packages():
    version()  # skips where transformers is not installed


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    return offline_environment(tmp_path_factory.mktemp("hf"))


def priced():
    return [m for m in snapshot.load_all() if not missing_architecture(m.config["model_type"])]


def variants() -> dict[str, Variant]:
    """Runs with other models, and each edit of the article's "Now change one thing"."""
    heads = ('kv_h = getattr(cfg, "num_key_value_heads", None) or att_h', "kv_h = att_h")
    return {
        "as it is": Variant(),
        "every model": Variant(tuple(model.id for model in priced())),
        "no such model": Variant(("no/such-model", QWEN)),
        "attention heads": Variant(edits=(heads,)),
        "one byte": Variant(edits=(("DTYPE_BYTES = 2", "DTYPE_BYTES = 1"),)),
        "short": Variant(edits=(("TOKENS = 4096", "TOKENS = 1024"),)),
    }


@pytest.fixture(scope="module")
def rows(tmp_path_factory, hub):
    """The rows of each run by model."""

    def by_model(output: str) -> dict[str, list[str]]:
        header, *rows = output.splitlines()
        return {"header": header.split()} | {row.split()[0]: row.split()[1:] for row in rows}

    done = run_together(SNIPPET, variants(), tmp_path_factory.mktemp("kv_cost"), hub)
    assert {status for _, status in done.values()} == {0}
    return {name: by_model(output) for name, (output, _) in done.items()}


def test_the_pages_output_is_what_it_prints(tmp_path, hub):
    done = subprocess.run(
        [sys.executable, SNIPPET],
        cwd=tmp_path,
        env=hub,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    assert done.stdout == (ROOT / "snippets" / "output" / "kv_cost.txt").read_text()


def test_the_articles_models(rows):
    rows = rows["as it is"]
    # layers, KV heads, heads, head_dim, KiB/token, GB for 50 x 4,096
    assert rows["Qwen/Qwen2.5-0.5B-Instruct"] == ["24", "2", "14", "64", "12.0", "2.52"]
    assert rows[QWEN] == ["28", "4", "28", "128", "56.0", "11.74"]
    assert rows["mistralai/Mistral-7B-Instruct-v0.3"] == ["32", "8", "32", "128", "128.0", "26.84"]
    phi = rows["microsoft/Phi-3-mini-4k-instruct"]
    assert phi[:6] == ["32", "32", "32", "96", "384.0", "40.25"]
    assert " ".join(phi[6:]) == "32 layers keep the last 2,047 tokens"


def test_every_row_is_the_formula_or_a_reason(rows):
    models, rows = priced(), rows["every model"]
    answered, refused = set(), set()
    for model in models:
        row = rows[model.id]
        if row[:2] == ["no", "answer:"]:
            refused.add(model.id)
            continue
        answered.add(model.id)
        kib, gb = model.layout.slope() / 1024, 50 * model.layout.bytes(4096) / 1e9
        assert row[4:6] == [f"{kib:.1f}", f"{gb:.2f}"], model.id
    assert len(answered) >= 38
    assert {"deepseek-ai/DeepSeek-V3", "tiiuae/falcon-7b", "openai/whisper-large-v3"} <= refused
    assert not {model.id for model in models if not has_a_rule(model)} - refused


def has_a_rule(model) -> bool:
    try:
        return bool(model.layout.layers)
    except ConfigError:
        return False


def test_a_model_that_cannot_be_read_is_one_row(rows):
    rows = rows["no such model"]
    assert rows["no/such-model"][:2] == ["no", "answer:"]
    assert rows[QWEN][4] == "56.0"


def test_edit_attention_heads_for_kv_heads(rows):
    assert rows["attention heads"][QWEN] == ["28", "28", "28", "128", "392.0", "82.21"]


def test_edit_one_byte_a_element_halves_everything(rows):
    whole, half = rows["as it is"], rows["one byte"]
    assert half[QWEN][4:6] == ["28.0", "5.87"]
    for model, row in half.items():
        if model != "header":
            assert float(row[4]) * 2 == float(whole[model][4])


def test_edit_the_length_of_a_conversation(rows):
    short = rows["short"]
    assert " ".join(short["header"]).endswith("GB for 50 x 1,024")
    assert short[QWEN][4:6] == ["56.0", "2.94"]
    # Below the window nothing is cut off: 50 x 1,024 x 393,216 bytes.
    assert short["microsoft/Phi-3-mini-4k-instruct"][5] == "20.13"
