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
QWEN = "Qwen/Qwen2.5-0.5B-Instruct"
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

    def script(*arguments: str, hub=hub, edit=("", ""), status: int = 0) -> str:
        path = Path(shutil.copy(SNIPPET, tmp_path))
        if edit[0]:
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


# Without arguments, on the article's model: its attention at full size with random weights; the
# vocabulary and the feed-forward layers, on which no cache depends, are small.


@pytest.fixture(scope="module")
def qwen(tmp_path_factory):
    """A Hub cache in which the default model has weights and a tokenizer."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

    home = tmp_path_factory.mktemp("hf-qwen")
    environment = offline_environment(home, QWEN)
    folder = model_folder(home, QWEN)

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator([" The notes grow as the story does" * 2], trainer)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer).save_pretrained(folder)

    small = {"vocab_size": 400, "intermediate_size": 64, "eos_token_id": 0, "bos_token_id": 0}
    fields = dict(snapshot.load(QWEN).config) | small
    config = AutoConfig.for_model(fields.pop("model_type"), **fields)
    AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).save_pretrained(folder)
    return environment


def test_without_arguments_it_prints_the_articles_figures(script, qwen):
    output = script(hub=qwen)
    once, twice = runs(output)
    assert output.startswith(f"{QWEN} on ")
    assert once == Run(once.tokens, once.measured, once.tokens * 12_288, "12.0", "1.000")
    assert twice == Run(2 * once.tokens, 2 * once.measured, 2 * once.measured, "12.0", "1.000")
    assert once.tokens > 200


def test_a_folder_is_a_model_too(script, qwen):
    folder = model_folder(Path(qwen["HF_HOME"]), QWEN)
    assert runs(script(str(folder))) == runs(script(hub=qwen))


def test_edit_twice_the_prompt(script, qwen):
    once, _ = runs(script(hub=qwen))
    doubled, _ = runs(script(hub=qwen, edit=('does" * 40', 'does" * 80')))
    assert (doubled.tokens, doubled.measured) == (2 * once.tokens, 2 * once.measured)
    assert (doubled.kib_per_token, doubled.ratio) == ("12.0", "1.000")


def test_edit_32_bits_double_the_cost_of_a_token(script, qwen):
    once, _ = runs(script(hub=qwen, edit=("DTYPE = torch.bfloat16", "DTYPE = torch.float32")))
    assert (once.kib_per_token, once.ratio) == ("24.0", "1.000")


# On real weights.


def test_real_weights_hold_what_the_formula_says(script, tmp_path):
    shutil.copy(smollm2.weights(), tmp_path)
    output = script(smollm2.FILE)
    once, twice = runs(output)
    assert once.measured == once.predicted == once.tokens * SMOLLM2_TOKEN
    assert twice.measured == twice.predicted == 2 * once.measured
    assert (once.kib_per_token, once.ratio) == (twice.kib_per_token, twice.ratio)
    assert (once.kib_per_token, once.ratio) == ("22.5", "1.000")
    if version() >= (5, 0):  # before that the tokenizer begins with one more token
        assert output == pages_output()[smollm2.FILE]


def pages_output() -> dict[str, str]:
    """What the page shows, by the arguments after ``$ python kv_measure.py``."""
    blocks = re.split(r"^\$ python kv_measure\.py (.*)\n", OUTPUT.read_text(), flags=re.M)[1:]
    return {blocks[i]: blocks[i + 1].strip() + "\n" for i in range(0, len(blocks), 2)}


# Full size on the meta device.


@pytest.fixture
def meta():
    if reason := no_meta():
        pytest.skip(reason)


@pytest.mark.usefixtures("meta")
def test_meta_measures_the_full_size_without_weights(script):
    arguments = "--meta Qwen/Qwen2.5-7B-Instruct"
    output = script(*arguments.split())
    once, twice = runs(output)
    assert once == Run(4096, 234_881_024, 234_881_024, "56.0", "1.000")
    assert twice == Run(8192, 469_762_048, 469_762_048, "56.0", "1.000")
    assert output == pages_output()[arguments]


def test_the_page_shows_these_two_runs():
    assert list(pages_output()) == [smollm2.FILE, "--meta Qwen/Qwen2.5-7B-Instruct"]


@pytest.mark.usefixtures("meta")
def test_a_cache_that_the_simple_formula_does_not_describe_is_not_called_equal(script):
    output = script("--meta", "deepseek-ai/DeepSeek-V3")
    once, twice = runs(output)
    assert (once.measured, twice.measured) == (4096 * 70_272, 8192 * 70_272)
    assert "1.000" not in {once.ratio, twice.ratio}
    assert output.count("not equal: this cache is not K and V of every") == 2


def test_where_it_cannot_run_it_says_what_is_needed(script):
    # transformers 4.57 has no meta device at all; experts in float16 have none today.
    edit = ("DTYPE = torch.bfloat16", "DTYPE = torch.float16")
    reason = script("--meta", "mistralai/Mixtral-8x7B-v0.1", edit=edit, status=1)
    assert "cannot run this on meta" in reason
    assert "pip install -U transformers" in reason
