"""Experiment 2 as a reader runs it: an empty folder, real tensors."""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from kvdocs.facts import snapshot
from tests import smollm2
from tests.hub_cache import model_folder, offline_environment
from tests.installed import no_meta, version
from tests.snippets.together import Variant, run_together

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
def hub(tmp_path_factory):
    """A Hub cache of every config, in which the default model has weights and a tokenizer."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

    home = tmp_path_factory.mktemp("hf")
    environment = offline_environment(home)
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


META = "--meta Qwen/Qwen2.5-7B-Instruct"
VARIANTS = {
    "as it is": Variant(),
    "twice": Variant(edits=(('does" * 40', 'does" * 80'),)),
    "32 bits": Variant(edits=(("DTYPE = torch.bfloat16", "DTYPE = torch.float32"),)),
    "latent": Variant(("--meta", "deepseek-ai/DeepSeek-V3")),
    # transformers 4.57 has no meta device at all; experts in float16 have none today.
    "cannot run": Variant(
        ("--meta", "mistralai/Mixtral-8x7B-v0.1"),
        edits=(("DTYPE = torch.bfloat16", "DTYPE = torch.float16"),),
    ),
}


@pytest.fixture(scope="module")
def printed(tmp_path_factory, hub):
    """What each run printed, and its exit status."""
    folder = str(model_folder(Path(hub["HF_HOME"]), QWEN))
    variants = VARIANTS | {"a folder": Variant((folder,))}
    return run_together(SNIPPET, variants, tmp_path_factory.mktemp("kv_measure"), hub)


@pytest.fixture(scope="module")
def found(printed):
    """The figures of the two prompts of each run."""
    return {name: runs(output) for name, (output, _) in printed.items()}


def test_without_arguments_it_prints_the_articles_figures(printed, found):
    once, twice = found["as it is"]
    assert printed["as it is"][0].startswith(f"{QWEN} on ")
    assert once == Run(once.tokens, once.measured, once.tokens * 12_288, "12.0", "1.000")
    assert twice == Run(2 * once.tokens, 2 * once.measured, 2 * once.measured, "12.0", "1.000")
    assert once.tokens > 200


def test_a_folder_is_a_model_too(found):
    assert found["a folder"] == found["as it is"]


def test_edit_twice_the_prompt(found):
    (once, _), (doubled, _) = found["as it is"], found["twice"]
    assert (doubled.tokens, doubled.measured) == (2 * once.tokens, 2 * once.measured)
    assert (doubled.kib_per_token, doubled.ratio) == ("12.0", "1.000")


def test_edit_32_bits_double_the_cost_of_a_token(found):
    once, _ = found["32 bits"]
    assert (once.kib_per_token, once.ratio) == ("24.0", "1.000")


# On real weights: the notebook runs this, and its test holds the output against the page's.


def test_real_weights_hold_what_the_formula_says():
    once, twice = runs(pages_output()[smollm2.FILE])
    assert once.measured == once.predicted == once.tokens * SMOLLM2_TOKEN
    assert twice.measured == twice.predicted == 2 * once.measured
    assert (once.kib_per_token, once.ratio) == (twice.kib_per_token, twice.ratio)
    assert (once.kib_per_token, once.ratio) == ("22.5", "1.000")


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
def test_meta_measures_the_full_size_without_weights(hub, tmp_path):
    """As a reader runs it, in a process of its own."""
    done = subprocess.run(
        [sys.executable, SNIPPET, *META.split()],
        cwd=tmp_path,
        env=hub,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    once, twice = runs(done.stdout)
    assert once == Run(4096, 234_881_024, 234_881_024, "56.0", "1.000")
    assert twice == Run(8192, 469_762_048, 469_762_048, "56.0", "1.000")
    assert done.stdout == pages_output()[META]


def test_the_page_shows_these_two_runs():
    assert list(pages_output()) == [smollm2.FILE, META]


@pytest.mark.usefixtures("meta")
def test_a_cache_that_the_simple_formula_does_not_describe_is_not_called_equal(printed, found):
    once, twice = found["latent"]
    assert (once.measured, twice.measured) == (4096 * 70_272, 8192 * 70_272)
    assert "1.000" not in {once.ratio, twice.ratio}
    assert printed["latent"][0].count("not equal: this cache is not K and V of every") == 2


def test_where_it_cannot_run_it_says_what_is_needed(printed):
    _, reason = printed["cannot run"]
    assert "cannot run this on meta" in reason
    assert "pip install -U transformers" in reason
