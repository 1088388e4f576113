"""Experiment 1 as a reader runs it: its own process, an empty folder, published configs only."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kvdocs.facts import snapshot
from kvdocs.formula import ConfigError
from tests.hub_cache import offline_environment
from tests.installed import missing_architecture, version

ROOT = Path(__file__).parents[2]
SNIPPET = ROOT / "snippets" / "kv_cost.py"
QWEN = "Qwen/Qwen2.5-7B-Instruct"


@pytest.fixture(scope="module", autouse=True)
def _packages():
    version()  # skips where transformers is not installed


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    return offline_environment(tmp_path_factory.mktemp("hf"))


@pytest.fixture
def run(tmp_path, hub):
    """The snippet's rows by model, after edits that each change exactly one line."""

    def run(*models: str, edits: tuple[tuple[str, str], ...] = ()) -> dict[str, list[str]]:
        script = Path(shutil.copy(SNIPPET, tmp_path))
        text = script.read_text()
        for old, new in edits:
            assert text.count(old) == 1, f"{old!r} is not one line of {SNIPPET.name}"
            text = text.replace(old, new)
        script.write_text(text)
        done = subprocess.run(
            [sys.executable, script.name, *models],
            cwd=tmp_path,
            env=hub,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        assert [path.name for path in tmp_path.iterdir()] == [script.name]
        header, *rows = done.stdout.splitlines()
        return {"header": header.split()} | {row.split()[0]: row.split()[1:] for row in rows}

    return run


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


def test_the_articles_models(run):
    rows = run()
    # layers, KV heads, heads, head_dim, KiB/token, GB for 50 x 4,096
    assert rows["Qwen/Qwen2.5-0.5B-Instruct"] == ["24", "2", "14", "64", "12.0", "2.52"]
    assert rows[QWEN] == ["28", "4", "28", "128", "56.0", "11.74"]
    assert rows["mistralai/Mistral-7B-Instruct-v0.3"] == ["32", "8", "32", "128", "128.0", "26.84"]
    phi = rows["microsoft/Phi-3-mini-4k-instruct"]
    assert phi[:6] == ["32", "32", "32", "96", "384.0", "40.25"]
    assert " ".join(phi[6:]) == "32 layers keep the last 2,047 tokens"


def test_every_row_is_the_formula_or_a_reason(run):
    models = [m for m in snapshot.load_all() if not missing_architecture(m.config["model_type"])]
    rows = run(*(model.id for model in models))
    priced, refused = set(), set()
    for model in models:
        row = rows[model.id]
        if row[:2] == ["no", "answer:"]:
            refused.add(model.id)
            continue
        priced.add(model.id)
        kib, gb = model.layout.slope() / 1024, 50 * model.layout.bytes(4096) / 1e9
        assert row[4:6] == [f"{kib:.1f}", f"{gb:.2f}"], model.id
    assert len(priced) >= 38
    assert {"deepseek-ai/DeepSeek-V3", "tiiuae/falcon-7b", "openai/whisper-large-v3"} <= refused
    assert not {model.id for model in models if not has_a_rule(model)} - refused


def has_a_rule(model) -> bool:
    try:
        return bool(model.layout.layers)
    except ConfigError:
        return False


def test_a_model_that_cannot_be_read_is_one_row(run, hub):
    rows = run("no/such-model", QWEN)
    assert rows["no/such-model"][:2] == ["no", "answer:"]
    assert rows[QWEN][4] == "56.0"


# "Now change one thing": each edit of the article, made in the text and run.


def test_edit_attention_heads_for_kv_heads(run):
    edit = ('kv_h = getattr(cfg, "num_key_value_heads", None) or att_h', "kv_h = att_h")
    rows = run(edits=(edit,))
    assert rows[QWEN] == ["28", "28", "28", "128", "392.0", "82.21"]


def test_edit_one_byte_a_element_halves_everything(run):
    whole, half = run(), run(edits=(("DTYPE_BYTES = 2", "DTYPE_BYTES = 1"),))
    assert half[QWEN][4:6] == ["28.0", "5.87"]
    for model, row in half.items():
        if model != "header":
            assert float(row[4]) * 2 == float(whole[model][4])


def test_edit_the_length_of_a_conversation(run):
    rows = run(edits=(("TOKENS = 4096", "TOKENS = 1024"),))
    assert " ".join(rows["header"]).endswith("GB for 50 x 1,024")
    assert rows[QWEN][4:6] == ["56.0", "2.94"]
    # Below the window nothing is cut off: 50 x 1,024 x 393,216 bytes.
    assert rows["microsoft/Phi-3-mini-4k-instruct"][5] == "20.13"
