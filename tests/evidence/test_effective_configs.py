"""The formula's reading of every published config against AutoConfig's own."""

import json

import pytest

from kvdocs.evidence.record import RECORDS
from kvdocs.evidence.transformers.caches import SAME_CLASS
from kvdocs.evidence.transformers.snapshot_caches import models_with_a_rule
from kvdocs.formula.class_defaults import release
from kvdocs.formula.layers import FullAttention, Latent
from tests.installed import missing_architecture, older_classes, version

MODELS = {model.id: model for model in models_with_a_rule()}
# The config object has 71 KV heads where one is cached: multi_query overrules the count.
MULTI_QUERY = ["tiiuae/falcon-7b", "tiiuae/falcon-7b-instruct"]


@pytest.fixture
def read(tmp_path):
    """AutoConfig's text config of a model, read from a file as the Hub would serve it."""

    def read(model_id: str):
        model_type = MODELS[model_id].config["model_type"]
        if reason := older_classes() or missing_architecture(model_type):
            pytest.skip(reason)
        from transformers import AutoConfig

        published = dict(MODELS[model_id].config)
        published["model_type"] = SAME_CLASS.get(model_type, model_type)
        (tmp_path / "config.json").write_text(json.dumps(published))
        return AutoConfig.from_pretrained(tmp_path).get_text_config(decoder=True)

    return read


@pytest.mark.parametrize("model_id", MODELS)
def test_layers_and_windows_are_those_of_transformers_own_cache(model_id, read):
    config, layers = read(model_id), MODELS[model_id].layout.layers
    from transformers import DeepseekV4ForCausalLM, DynamicCache  # the first brings its own layers

    assert DeepseekV4ForCausalLM
    built = DynamicCache(config=config).layers
    assert len(layers) == config.num_hidden_layers == len(built)
    assert [x.window for x in layers] == [getattr(x, "sliding_window", None) for x in built]


@pytest.mark.parametrize("model_id", [i for i in MODELS if i not in MULTI_QUERY])
def test_heads_and_dimensions_are_autoconfigs(model_id, read):
    whole, layers = read(model_id), MODELS[model_id].layout.layers
    for layer, config in zip(layers, whole.per_layer_config, strict=True):
        for part in layer.parts:
            if isinstance(part, Latent):
                latent = (config.kv_lora_rank, config.qk_rope_head_dim)
                assert (part.kv_lora_rank, part.rope_dim) == latent
            elif isinstance(part, FullAttention):
                heads = config.num_attention_heads
                assert part.kv_heads == (getattr(config, "num_key_value_heads", None) or heads)
                head_dim = getattr(config, "head_dim", None) or config.hidden_size // heads
                assert part.k_dim == head_dim
                assert part.v_dim in (head_dim, 0)  # 0 where K serves as V


@pytest.mark.parametrize("model_id", MULTI_QUERY)
def test_falcons_config_object_counts_heads_that_are_not_cached(model_id, read):
    config = read(model_id)
    assert config.multi_query is True
    assert config.num_kv_heads == 71
    assert {layer.kv_heads for layer in MODELS[model_id].layout.layers} == {1}


def test_class_defaults_are_those_of_the_release_they_name():
    installed = ".".join(map(str, version()))
    named = release()
    if installed != named:
        pytest.skip(f"defaults.json is made with transformers {named}, here is {installed}")
    assert RECORDS["defaults"].changes() == []
