"""Bad configs: each refused by one sentence that names the field, never answered."""

import pytest

from kvdocs.facts.snapshot import load
from kvdocs.formula import ConfigError, layout_of, parse_config

QWEN = dict(load("Qwen/Qwen2.5-7B-Instruct").config)
GPT_OSS = dict(load("openai/gpt-oss-20b").config)
DEEPSEEK = dict(load("deepseek-ai/DeepSeek-V3").config)
GEMMA = dict(load("google/gemma-3-4b-it").config)


@pytest.mark.parametrize(
    ("config", "field", "says"),
    [
        (QWEN | {"num_hidden_layers": 0}, "num_hidden_layers", "must be 1 or more"),
        (QWEN | {"num_hidden_layers": -28}, "num_hidden_layers", "must be 1 or more"),
        (QWEN | {"num_hidden_layers": "28"}, "num_hidden_layers", '"28", not a whole number'),
        (QWEN | {"num_hidden_layers": 28.0}, "num_hidden_layers", "not a whole number"),
        (QWEN | {"num_hidden_layers": True}, "num_hidden_layers", "not a whole number"),
        (QWEN | {"num_hidden_layers": [28]}, "num_hidden_layers", "not a whole number"),
        (QWEN | {"num_hidden_layers": None}, "num_hidden_layers", "is null"),
        (QWEN | {"num_hidden_layers": 10**9}, "num_hidden_layers", "more than"),
        (QWEN | {"num_key_value_heads": 5}, "num_key_value_heads", "does not divide"),
        (QWEN | {"num_key_value_heads": {}}, "num_key_value_heads", "not a whole number"),
        (QWEN | {"hidden_size": 3585}, "hidden_size", "not divisible"),
        (QWEN | {"num_attention_heads": float("inf")}, "num_attention_heads", "Infinity"),
        (QWEN | {"use_sliding_window": "no"}, "use_sliding_window", "not true or false"),
        (
            QWEN | {"use_sliding_window": True, "max_window_layers": "7"},
            "max_window_layers",
            "whole",
        ),
        (QWEN | {"layer_types": ["full_attention"]}, "layer_types", "28 names"),
        (QWEN | {"layer_types": "full_attention"}, "layer_types", "28 names"),
        (QWEN | {"layer_types": ["mamba"] * 28}, "layer_types", "'mamba' for layer 0"),
        (QWEN | {"layer_types": [["x"]] * 28}, "layer_types", "for layer 0"),
        (QWEN | {"model_type": "qwen9"}, "model_type", "'qwen9'"),
        (QWEN | {"model_type": 7}, "model_type", "not a name"),
        (QWEN | {"model_type": ""}, "model_type", "not a name"),
        ({k: v for k, v in QWEN.items() if k != "model_type"}, "model_type", "missing"),
        (GPT_OSS | {"sliding_window": None}, "sliding_window", "layers slide"),
        (DEEPSEEK | {"kv_lora_rank": None}, "kv_lora_rank", "is null"),
        (GEMMA | {"text_config": [1]}, "text_config", "not an object"),
        (GEMMA | {"text_config": {"model_type": 5}}, "text_config.model_type", "5"),
        (GEMMA | {"text_config": {"head_dim": 0}}, "text_config.head_dim", "1 or more"),
        ({"model_type": "llama", "sliding_window": 512}, "sliding_window", "has no windows"),
        ({"model_type": "mistral", "layer_types": ["full_attention"] * 32}, "layer_types", "does"),
        ({"model_type": "llama", "num_key_value_heads": 3}, "num_key_value_heads", "divide the 32"),
        (
            {"model_type": "gemma4_text", "use_bidirectional_attention": "all"},
            "use_bidirectional_attention",
            "an encoder keeps no cache",
        ),
        ({"model_type": "dory", "n_recurrent_loops": 101}, "n_recurrent_loops", "no model runs"),
        (
            {"model_type": "gemma3n_text", "num_kv_shared_layers": 35},
            "num_kv_shared_layers",
            "none of the 35 layers keeps a cache",
        ),
    ],
)
def test_each_names_its_field_and_gives_no_number(config, field, says):
    with pytest.raises(ConfigError) as caught:
        layout_of(config, "some/config.json")
    assert caught.value.field == field
    assert str(caught.value).startswith(f"some/config.json: {field} ")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "line 1, column 1"),
        ("{", "is not JSON"),
        ('{"a": 1,}', "line 1"),
        ("[1, 2]", "holds [1, 2], not a JSON object"),
        ("null", "holds null, not a JSON object"),
        ("[" * 100_000, "JSON"),
        ('{"a": ' + "9" * 5000 + "}", "JSON"),
        ("<html>", "is not JSON"),
    ],
)
def test_what_is_no_json_object_is_refused_by_the_files_name(text, says):
    with pytest.raises(ConfigError, match=r"upload\.json") as caught:
        parse_config(text, "upload.json")
    assert says in str(caught.value)


def test_infinity_where_it_does_not_matter_is_no_obstacle():
    config = parse_config('{"model_type": "llama", "time_step_limit": [0.0, Infinity]}', "x")
    assert layout_of(config).slope() == 524_288  # LlamaConfig's own defaults are Llama-1-7B


def test_a_byte_order_mark_is_no_obstacle():
    assert parse_config('\ufeff{"a": 1}', "x") == {"a": 1}


@pytest.mark.parametrize("model_type", ["openai-gpt", "a_class_of_tomorrow"])
def test_a_model_without_a_rule_is_refused_with_the_fields_that_were_found(model_type):
    with pytest.raises(ConfigError, match="Fields found: num_hidden_layers") as caught:
        layout_of(QWEN | {"model_type": model_type})
    assert caught.value.field == "model_type"


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({"model_type": "llama", "head_dim": 10**30}, "head_dim"),
        (
            {"model_type": "llama", "hidden_size": 10**9 + 1, "num_attention_heads": 1},
            "hidden_size",
        ),
        ({"model_type": "mpt", "attn_config": {"kv_n_heads": 8}}, "attn_config.kv_n_heads"),
        (
            {"model_type": "mpt", "attn_config": {"attn_type": "grouped_query_attention"}},
            "attn_config.attn_type",
        ),
    ],
)
def test_a_size_that_no_cache_can_have_is_refused_by_its_name(config, field):
    with pytest.raises(ConfigError) as caught:
        layout_of(config)
    assert caught.value.field == field
