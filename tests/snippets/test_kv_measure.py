"""Experiment 2 as a reader runs it: its own process, an empty folder, real tensors."""

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from kvdocs.facts import snapshot
from tests import smollm2
from tests.hub_cache import model_folder, offline_environment
from tests.installed import no_meta, version

ROOT = Path(__file__).parents[2]
SNIPPET = ROOT / "snippets" / "kv_measure.py"
OUTPUT = ROOT / "snippets" / "output" / "kv_measure.txt"
SMOLLM2_TOKEN = 23_040  # bytes: 2 x 30 layers x 3 KV heads x 64 x 2


@dataclass(frozen=True)
class Run:
    """One of the two prompts of a run."""

    tokens: int
    predicted: int
    measured: int
    kib_per_token: str
    ratio: str


@pytest.fixture(scope="module", autouse=True)
def _packages():
    version()  # skips where torch or transformers is not installed


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    return offline_environment(tmp_path_factory.mktemp("hf"))


@pytest.fixture
def script(tmp_path, hub):
    """Run the snippet in an empty folder, after edits that each change exactly one line."""

    def script(*arguments: str, edit: tuple[str, str] | None = None, status: int = 0) -> str:
        path = Path(shutil.copy(SNIPPET, tmp_path))
        if edit:
            text = path.read_text()
            assert text.count(edit[0]) == 1, f"{edit[0]!r} is not one line of {SNIPPET.name}"
            path.write_text(text.replace(*edit))
        done = subprocess.run(
            [sys.executable, path.name, *arguments],
            cwd=tmp_path,
            env=hub,
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == status, done.stderr
        return done.stdout if status == 0 else done.stderr

    return script


def runs(output: str) -> list[Run]:
    """The figures of each prompt, as printed."""

    def number(name: str) -> list[int]:
        return [int(x.replace(",", "")) for x in re.findall(rf"{name} *: ([\d,]+)", output)]

    measured = re.findall(r"measured .*\((.+) KiB/token\)", output)
    ratios = re.findall(r"ratio *: (.+)", output)
    columns = number("tokens in prompt"), number("predicted"), number("measured"), measured, ratios
    return [Run(*row) for row in zip(*columns, strict=True)]


# On real weights.


def test_real_weights_hold_what_the_formula_says(script):
    once, twice = runs(script(str(smollm2.weights())))
    assert once.measured == once.predicted == once.tokens * SMOLLM2_TOKEN
    assert twice.measured == twice.predicted == 2 * once.measured
    assert twice.tokens == 2 * once.tokens
    assert once.tokens > 200
    assert {once.ratio, twice.ratio} == {"1.000"}
    assert {once.kib_per_token, twice.kib_per_token} == {"22.5"}


def test_edit_twice_the_prompt_on_real_weights(script):
    once, _ = runs(script(str(smollm2.weights()), edit=('begins" * 40', 'begins" * 80')))
    assert once.tokens > 500
    assert once.measured == once.tokens * SMOLLM2_TOKEN
    assert (once.kib_per_token, once.ratio) == ("22.5", "1.000")


def test_edit_32_bits_double_the_cost_of_a_token(script):
    edit = ("DTYPE = torch.bfloat16", "DTYPE = torch.float32")
    once, _ = runs(script(str(smollm2.weights()), edit=edit))
    assert (once.kib_per_token, once.ratio) == ("45.0", "1.000")


# Unmodified and without arguments, on the article's model: its attention at full size with random
# weights, a small vocabulary and small feed-forward layers, which no cache depends on.


@pytest.fixture
def qwen(hub):
    """The default model in the Hub's cache, so that ``from_pretrained`` finds it."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

    words = ["?", "The", "history", "of", "paged", "memory", "begins"]
    vocabulary = {word: index for index, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()

    model_id = "Qwen/Qwen2.5-0.5B-Instruct"
    small = {"vocab_size": len(words), "intermediate_size": 64, "eos_token_id": 0}
    fields = dict(snapshot.load(model_id).config) | small | {"bos_token_id": None}
    config = AutoConfig.for_model(fields.pop("model_type"), **fields)
    folder = model_folder(Path(hub["HF_HOME"]), model_id)
    published = (folder / "config.json").read_text()
    AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="?").save_pretrained(folder)
    yield folder
    shutil.rmtree(folder)
    folder.mkdir()
    (folder / "config.json").write_text(published)


def test_without_arguments_it_prints_the_articles_figures(script, qwen):
    output = script()
    assert output.startswith("Qwen/Qwen2.5-0.5B-Instruct on ")
    assert runs(output) == [
        Run(240, 240 * 12_288, 240 * 12_288, "12.0", "1.000"),
        Run(480, 480 * 12_288, 480 * 12_288, "12.0", "1.000"),
    ]


def test_a_folder_is_a_model_too(script, qwen):
    once, twice = runs(script(str(qwen)))
    assert (once.measured, twice.measured) == (240 * 12_288, 480 * 12_288)


# Full size on the meta device.


@pytest.fixture
def meta():
    if reason := no_meta():
        pytest.skip(reason)


@pytest.mark.usefixtures("meta")
def test_meta_measures_the_full_size_without_weights(script):
    once, twice = runs(script("--meta", "Qwen/Qwen2.5-7B-Instruct"))
    assert once == Run(4096, 234_881_024, 234_881_024, "56.0", "1.000")
    assert twice == Run(8192, 469_762_048, 469_762_048, "56.0", "1.000")


@pytest.mark.usefixtures("meta")
def test_a_cache_that_the_simple_formula_does_not_describe_is_not_called_equal(script):
    output = script("--meta", "deepseek-ai/DeepSeek-V3")
    once, twice = runs(output)
    assert (once.measured, twice.measured) == (4096 * 70_272, 8192 * 70_272)
    assert "1.000" not in {once.ratio, twice.ratio}
    assert output.count("not equal: this cache is not K and V of every") == 2


def test_meta_says_what_it_needs_where_it_cannot_run(script):
    if not no_meta():
        pytest.skip("the installed pair runs on the meta device")
    reason = script("--meta", "Qwen/Qwen2.5-7B-Instruct", status=1)
    assert "cannot run this on meta" in reason
    assert "pip install -U transformers" in reason


@pytest.mark.usefixtures("meta")
def test_the_pages_output_is_what_it_prints(script, tmp_path):
    shutil.copy(smollm2.weights(), tmp_path)
    printed = []
    for command in re.findall(r"^\$ python kv_measure.py (.*)$", OUTPUT.read_text(), re.M):
        printed.append(f"$ python kv_measure.py {command}\n{script(*command.split())}")
    assert "\n".join(printed) == OUTPUT.read_text()
