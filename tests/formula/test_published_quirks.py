"""What published files do: decoys, cache dtypes, duplicate keys, code that is not shipped."""

import json
import subprocess
import sys

import pytest

from kvdocs.facts.snapshot import load
from kvdocs.formula import ConfigError, layout_of, parse_config
from kvdocs.formula.kv_dtype import named_kv_dtype

QWEN = dict(load("Qwen/Qwen2.5-7B-Instruct").config)


@pytest.mark.parametrize("model_id", ["zai-org/GLM-5", "deepseek-ai/DeepSeek-V3.2"])
@pytest.mark.parametrize(
    "decoy", [{"head_dim": 999}, {"num_key_value_heads": 8}, {"v_head_dim": 1}]
)
def test_heads_and_dims_beside_a_latent_are_decoys(model_id, decoy):
    config = dict(load(model_id).config)
    assert layout_of(config | decoy) == layout_of(config)


def test_chatglm_counts_the_groups_not_the_heads():
    chatglm3 = {
        "model_type": "chatglm",
        "num_layers": 28,
        "num_attention_heads": 32,
        "hidden_size": 4096,
        "kv_channels": 128,
        "multi_query_attention": True,
        "multi_query_group_num": 2,
    }
    # mindformers' ChatGLM2Config has these sizes: 28 layers × 2 × 2 groups × 128 × 2 bytes.
    assert layout_of(chatglm3).slope() == 28_672
    assert layout_of(chatglm3 | {"multi_query_attention": False}).slope() == 458_752


def nemotron_51b(*others):
    """80 blocks: 44 with 8 KV heads, 1 with 4, 6 with 2, 3 with 1, the rest without attention."""
    groups = [8] * 44 + [16] + [32] * 6 + [64] * 3
    blocks = [{"attention": {"n_heads_in_group": group, "no_op": False}} for group in groups]
    rest = 80 - len(blocks) - len(others)
    without = [{"attention": {"n_heads_in_group": None, "replace_with_linear": True}}] * rest
    return {
        "model_type": "nemotron-nas",
        "num_hidden_layers": 80,
        "num_attention_heads": 64,
        "hidden_size": 8192,
        "block_configs": [*blocks, *without, *others],
    }


def test_nemotron_51b_holds_what_exllamav2s_author_counted():
    # exllamav2 pull request 726: 512 × (44·8 + 4 + 12 + 3) bytes a token.
    assert layout_of(nemotron_51b()).slope() == 189_952


@pytest.mark.parametrize(
    ("config", "field"),
    [
        (nemotron_51b() | {"block_configs": None}, "block_configs"),
        (nemotron_51b() | {"num_hidden_layers": 79}, "block_configs"),
        (nemotron_51b({"attention": {}}), "block_configs[79].attention.n_heads_in_group"),
        (nemotron_51b({"ffn": {}}), "block_configs[79].attention"),
        (
            nemotron_51b({"attention": {"n_heads_in_group": 7}}),
            "block_configs[79].attention.n_heads_in_group",
        ),
        (QWEN | {"num_key_value_heads": [4, 0, 4]}, "num_key_value_heads"),
    ],
)
def test_what_a_block_does_not_say_is_refused_by_its_place(config, field):
    with pytest.raises(ConfigError) as caught:
        layout_of(config)
    assert caught.value.field == field


def test_a_flat_config_of_a_class_with_a_text_part_is_read_where_the_class_reads_it():
    """Qwen2.5-VL's first files have no text_config; Qwen2_5_VLConfig takes the fields over."""
    flat = {key: value for key, value in QWEN.items() if key != "model_type"}
    layout = layout_of({"model_type": "qwen2_5_vl"} | flat)
    assert layout == layout_of({"model_type": "qwen2_5_vl", "text_config": flat})
    assert layout.slope() == 57_344


def test_a_key_that_stands_twice_is_refused_unless_it_says_the_same():
    assert parse_config('{"a": 1, "b": 2, "a": 1}', "x") == {"a": 1, "b": 2}
    with pytest.raises(ConfigError, match=r"num_hidden_layers stands twice") as caught:
        parse_config('{"num_hidden_layers": 28, "num_hidden_layers": 36}', "x")
    assert caught.value.field == "num_hidden_layers"


def test_a_merge_conflict_is_called_by_its_name():
    text = '{\n"a": 1,\n<<<<<<< HEAD\n"b": 2\n=======\n"b": 3\n>>>>>>> main\n}'
    with pytest.raises(ConfigError, match="merge-conflict marker at line 3"):
        parse_config(text, "config.json")


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        (
            {"quantization_config": {"kv_cache_scheme": {"num_bits": 8, "type": "float"}}},
            "quantization_config.kv_cache_scheme",
        ),
        (
            {"quantization_config": {"kv_cache_quant_algo": "FP8"}},
            "quantization_config.kv_cache_quant_algo",
        ),
        (
            {"hf_quant_config": {"quantization": {"kv_cache_quant_algo": "FP8"}}},
            "hf_quant_config.quantization.kv_cache_quant_algo",
        ),
    ],
)
def test_a_cache_dtype_that_a_quantiser_wrote_is_used_and_named(fields, field):
    assert named_kv_dtype(QWEN | fields, "x") == ("fp8_e4m3", field)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"torch_dtype": "float32", "dtype": "float16"},
        {"quantization_config": {"quant_method": "fp8", "kv_cache_scheme": None}},
        {"quantization_config": None},
    ],
)
def test_the_dtype_of_the_weights_is_not_that_of_the_cache(fields):
    assert named_kv_dtype(QWEN | fields, "x") is None


def by_modelopt(folder, algorithm: str):
    """A model with ModelOpt's file beside its config, and the command that asks for it."""
    (folder / "config.json").write_text(json.dumps(QWEN), encoding="utf-8")
    quantised = {"quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": algorithm}}
    (folder / "hf_quant_config.json").write_text(json.dumps(quantised), encoding="utf-8")

    def ask(command, *more):
        words = [sys.executable, "-m", "kvdocs", command, str(folder), "--json", *more]
        return subprocess.run(words, capture_output=True, text=True, check=False)

    return ask


FIELD = "hf_quant_config.quantization.kv_cache_quant_algo"


def test_a_cache_dtype_in_the_file_beside_is_counted(tmp_path):
    answer = json.loads(by_modelopt(tmp_path, "FP8")("cost").stdout)
    assert (answer["kv_dtype"], answer["bytes"]) == ("fp8_e4m3", 117_440_512)
    assert answer["kv_dtype_from"] == FIELD


def test_an_unknown_cache_dtype_is_refused_and_can_be_overruled(tmp_path):
    ask = by_modelopt(tmp_path, "INT3")
    refused = ask("cost")
    assert refused.returncode == 2
    assert f"{FIELD} names a cache dtype unknown here: 'INT3'" in refused.stderr
    assert json.loads(ask("cost", "--kv-dtype", "bfloat16").stdout)["bytes"] == 234_881_024


def test_nvfp4_is_counted_as_vllm_holds_it_and_nowhere_else(tmp_path):
    ask = by_modelopt(tmp_path, "NVFP4")
    refused = ask("cost")
    assert refused.returncode == 2
    assert f"{FIELD} names nvfp4" in refused.stderr
    assert "kvdocs fit" in refused.stderr
    assert "--kv-dtype" in refused.stderr
    named = json.loads(ask("fit", "--available", "9GiB").stdout)
    asked = json.loads(ask("fit", "--available", "9GiB", "--kv-dtype", "nvfp4").stdout)
    assert (named["kv_dtype"], named["kv_dtype_from"]) == ("nvfp4", FIELD)
    assert {**named, "kv_dtype_from": None} == asked


@pytest.mark.parametrize(
    ("method", "bits", "dtype"),
    [("modelopt", 4, "nvfp4"), ("modelopt_fp4", 8, "fp8_e4m3"), ("compressed-tensors", 4, None)],
)
def test_four_bit_floats_are_nvfp4_to_modelopt_only(method, bits, dtype):
    scheme = {"num_bits": bits, "type": "float", "dynamic": False}
    config = QWEN | {"quantization_config": {"quant_method": method, "kv_cache_scheme": scheme}}
    if dtype:
        assert named_kv_dtype(config, "x") == (dtype, "quantization_config.kv_cache_scheme")
        return
    with pytest.raises(ConfigError, match="kv_cache_scheme names a cache dtype unknown here"):
        named_kv_dtype(config, "x")
