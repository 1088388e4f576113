"""Layouts stated by hand: the same answers as by rule, and every mistake named."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kvdocs.facts.hub import find
from kvdocs.facts.snapshot import load
from kvdocs.formula import ConfigError, layout_of
from kvdocs.formula.by_hand import KINDS, parse

GPT_OSS = """
[[layers]]
keeps = "window"
count = 12
kv_heads = 8
head_dim = 64
window = 128

[[layers]]
keeps = "full"
count = 12
kv_heads = 8
head_dim = 64
"""
DEEPSEEK_V32 = """
[[layers]]
keeps = ["latent", "index"]
count = 61
kv_lora_rank = 512
rope_dim = 64
index_dim = 128
"""
SIZES = {
    "full": {"kv_heads": 2, "head_dim": 8},
    "window": {"kv_heads": 2, "head_dim": 8, "window": 4},
    "chunk": {"kv_heads": 2, "head_dim": 8, "window": 4},
    "latent": {"kv_lora_rank": 8, "rope_dim": 0},
    "latent window": {"kv_lora_rank": 8, "rope_dim": 4, "window": 4},
    "index": {"index_dim": 8},
    "state": {"conv": 8, "recurrent": 0},
    "cross": {"kv_heads": 2, "k_dim": 8, "v_dim": 4, "encoder_tokens": 10},
    "compressed": {"rate": 4, "entry": 8, "waiting": 16},
    "hidden": {"hidden_size": 64},
    "hidden window": {"hidden_size": 64, "window": 4},
    "shared": {},
    "none": {},
}


def by_hand(text):
    return layout_of(parse(text, "my.toml"), "my.toml")


@pytest.mark.parametrize("tokens", [1, 127, 128, 5000])
@pytest.mark.parametrize(
    ("text", "model_id"),
    [(GPT_OSS, "openai/gpt-oss-20b"), (DEEPSEEK_V32, "deepseek-ai/DeepSeek-V3.2")],
)
def test_a_layout_stated_by_hand_gives_what_the_rule_gives(text, model_id, tokens):
    assert by_hand(text).bytes(tokens) == load(model_id).layout.bytes(tokens)


def test_the_command_line_takes_the_file(tmp_path):
    path = tmp_path / "layout.toml"
    path.write_text(GPT_OSS, encoding="utf-8")
    command = [sys.executable, "-m", "kvdocs", "cost", str(path), "--json"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    answer = json.loads(run.stdout)
    assert answer["bytes"] == load("openai/gpt-oss-20b").layout.bytes(4096)
    assert answer["known_by"] == "stated"
    run = subprocess.run(command[:-1], capture_output=True, text=True, check=True)
    assert "known by: as stated by hand" in run.stdout
    assert find(str(path)).source.kind == "file"


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_can_be_stated(kind):
    sizes = "\n".join(f"{name} = {value}" for name, value in SIZES[kind].items())
    first = '[[layers]]\nkeeps = "full"\nkv_heads = 1\nhead_dim = 1\n'
    found = by_hand(f'{first}[[layers]]\nkeeps = "{kind}"\n{sizes}')
    assert [layer.kind for layer in found.layers] == ["full", kind]
    assert (found.bytes(100) > by_hand(first).bytes(100)) is (kind not in ("shared", "none"))


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("", "layers"),
        ("layers = 3", "layers"),
        ("[[layers]]", "layers entry 1, keeps"),
        ('[[layers]]\nkeeps = "all"', "layers entry 1, keeps"),
        ("[[layers]]\nkeeps = []", "layers entry 1, keeps"),
        ('[[layers]]\nkeeps = ["full", 3]', "layers entry 1, keeps"),
        ('[[layers]]\nkeeps = "full"\nkv_heads = 4', "layers entry 1, head_dim"),
        ('[[layers]]\nkeeps = "full"\nkv_heads = 4\nk_dim = 8', "layers entry 1, v_dim"),
        (GPT_OSS.replace("window = 128", "k_dim = 8"), "layers entry 1, head_dim"),
        ('[[layers]]\nkeeps = "shared"', "layers entry 1, keeps"),
        ('[[layers]]\nkeeps = "none"\n[[layers]]\nkeeps = "shared"', "layers entry 2, keeps"),
        ('[[layers]]\nkeeps = "none"\ncount = 3', "layers"),
        ('model_type = "llama"' + GPT_OSS, "model_type"),
        ('[[layers]]\nkeeps = "full"\nkv_heads = "4"\nhead_dim = 8', "layers entry 1, kv_heads"),
        ('[[layers]]\nkeeps = "full"\nkv_heads = true\nhead_dim = 8', "layers entry 1, kv_heads"),
        ('[[layers]]\nkeeps = "full"\nkv_heads = -4\nhead_dim = 8', "layers entry 1, kv_heads"),
        ('[[layers]]\nkeeps = "full"\nkv_heads = 4\nhead_dim = 1e3', "layers entry 1, head_dim"),
        (GPT_OSS.replace("window = 128", "windwo = 128"), "layers entry 1, windwo"),
        (GPT_OSS.replace("count = 12", "count = 0"), "layers entry 1, count"),
        (GPT_OSS.replace("count = 12", "count = 10001"), "layers entry 1"),
        (GPT_OSS + "rate = 4", "layers entry 2, rate"),
        ("tokens = 3\n" + GPT_OSS, "tokens"),
        ('[[layers]]\nkeeps = "state"\nconv = 0\nrecurrent = 0', "layers entry 1, keeps"),
        (f'[[layers]]\nkeeps = "index"\nindex_dim = {"9" * 5000}', "index_dim"),
        (f'[[layers]]\nkeeps = "index"\nindex_dim = 0x{"f" * 5000}', "layers entry 1, index_dim"),
        ("a = " + "[" * 5000 + "]" * 5000, ""),
        ("[[layers]", ""),
    ],
)
def test_each_mistake_is_named_and_gives_no_number(text, field):
    with pytest.raises(ConfigError) as caught:
        by_hand(text)
    assert caught.value.field == field
    assert str(caught.value).startswith("my.toml")


def test_the_mark_of_byte_order_is_no_part_of_it():
    assert by_hand("\ufeff" + GPT_OSS) == by_hand(GPT_OSS)


def test_toml_on_standard_input_is_sent_to_a_file():
    command = [sys.executable, "-m", "kvdocs", "cost", "-"]
    run = subprocess.run(command, input=GPT_OSS, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (2, "")
    assert "standard input: it holds a layout in TOML" in run.stderr
    assert ".toml" in run.stderr


def test_the_page_says_what_every_kind_needs():
    """The table of docs/compute.md names every word and every size that must be stated."""
    page = (Path(__file__).parents[2] / "docs" / "compute.md").read_text(encoding="utf-8")
    for kind, sizes in SIZES.items():
        row = next(
            line for line in page.splitlines() if line.startswith('| `"') and f'`"{kind}"`' in line
        )
        if "the same" not in row:
            assert all(f"`{name}`" in row for name in sizes if name not in ("k_dim", "v_dim"))
