"""Layouts stated by hand: the same answers as by rule, and every mistake named."""

import json
import subprocess
import sys

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
    assert answer["known_by"] == "unverified"
    assert find(str(path)).source.kind == "file"


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_can_be_stated(kind):
    sizes = "\n".join(f"{name} = {value}" for name, value in SIZES[kind].items())
    found = by_hand(f'[[layers]]\nkeeps = "{kind}"\n{sizes}')
    assert [layer.kind for layer in found.layers] == [kind]
    assert (found.bytes(100) > 0) is (kind not in ("shared", "none"))


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("", "layers"),
        ("layers = 3", "layers"),
        ("[[layers]]", "layers entry 1, keeps"),
        ('[[layers]]\nkeeps = "all"', "layers entry 1, keeps"),
        ("[[layers]]\nkeeps = []", "layers entry 1, keeps"),
        ('[[layers]]\nkeeps = ["full", 3]', "layers entry 1, keeps"),
        ('[[layers]]\nkeeps = "full"\nkv_heads = 4', "layers entry 1, k_dim"),
        ('[[layers]]\nkeeps = "full"\nkv_heads = "4"\nhead_dim = 8', "layers entry 1, kv_heads"),
        ('[[layers]]\nkeeps = "full"\nkv_heads = true\nhead_dim = 8', "layers entry 1, kv_heads"),
        ('[[layers]]\nkeeps = "full"\nkv_heads = -4\nhead_dim = 8', "layers entry 1, kv_heads"),
        ('[[layers]]\nkeeps = "full"\nkv_heads = 4\nhead_dim = 1e3', "layers entry 1, k_dim"),
        (GPT_OSS.replace("window = 128", "windwo = 128"), "layers entry 1, windwo"),
        (GPT_OSS.replace("count = 12", "count = 0"), "layers entry 1, count"),
        (GPT_OSS.replace("count = 12", "count = 10001"), "layers entry 1"),
        (GPT_OSS + "rate = 4", "layers entry 2, rate"),
        ("tokens = 3\n" + GPT_OSS, "tokens"),
        ("[[layers]", ""),
    ],
)
def test_each_mistake_is_named_and_gives_no_number(text, field):
    with pytest.raises(ConfigError) as caught:
        by_hand(text)
    assert caught.value.field == field
    assert str(caught.value).startswith("my.toml")
