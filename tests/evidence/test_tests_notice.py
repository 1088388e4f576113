"""The tests of the tests: the formula broken on purpose, in each of four ways.

In: a rule of the formula with one mistake. Out: the checks of this folder fail, and what they say
names the model and the layers that the mistake touches, and no other.
"""

import pytest

from kvdocs.formula.architectures import table_with
from kvdocs.formula.layers import FullAttention, Latent, SlidingWindow
from tests.evidence.exact import assert_exact
from tests.evidence.test_caches_on_cpu import every_layer_is_exact as on_cpu
from tests.evidence.test_caches_on_meta import MODELS, measured
from tests.evidence.tiny import FAMILIES
from tests.installed import missing_architecture, other_cache


def without_the_factor_2(layer):
    return FullAttention(layer.kv_heads, layer.k_dim, 0)


def with_attention_heads(layer):
    return FullAttention(HEADS[layer.kv_heads], layer.k_dim, layer.v_dim)


HEADS = {2: 8, 4: 28}  # KV heads to attention heads, of the small model and of Qwen2.5-7B


def with_the_latent_twice(layer):
    return Latent(2 * layer.kv_lora_rank, 2 * layer.rope_dim)


def without_its_window(layer):
    if isinstance(layer, SlidingWindow):
        return FullAttention(layer.kv_heads, layer.k_dim, layer.v_dim)
    return layer


@pytest.fixture
def break_formula(monkeypatch):
    """Put a mistake into every layer that the rule of a model_type gives."""

    def break_formula(model_type, mistake):
        table = table_with(model_type)
        right = table[model_type]
        monkeypatch.setitem(
            table, model_type, lambda config: [mistake(layer) for layer in right(config)]
        )

    return break_formula


def named(error) -> set[str]:
    """The model and layer with which each line of a failure begins."""
    return {line.partition(" (")[0] for line in str(error.value).splitlines()}


# (mistake, small model, its wrong layers, published model, its wrong layers)
MISTAKES = [
    (
        without_the_factor_2,
        ("qwen2, no head_dim", range(4)),
        ("Qwen/Qwen2.5-7B-Instruct", range(28)),
    ),
    (
        with_attention_heads,
        ("qwen2, no head_dim", range(4)),
        ("Qwen/Qwen2.5-7B-Instruct", range(28)),
    ),
    (
        with_the_latent_twice,
        ("deepseek_v3, latent", range(4)),
        ("deepseek-ai/DeepSeek-V3", range(61)),
    ),
    (
        without_its_window,
        ("gpt_oss, alternating", range(0, 4, 2)),
        ("openai/gpt-oss-20b", range(0, 24, 2)),
    ),
]
NAMES = [mistake.__name__ for mistake, *_ in MISTAKES]


@pytest.mark.parametrize(("mistake", "small", "published"), MISTAKES, ids=NAMES)
def test_real_tensors_name_the_layers(break_formula, mistake, small, published):
    family, wrong_layers = small
    config, _ = FAMILIES[family]
    model_type = config["model_type"]
    if reason := missing_architecture(model_type) or other_cache(model_type):
        pytest.skip(reason)
    on_cpu(family, 21, "bfloat16")
    break_formula(config["model_type"], mistake)
    with pytest.raises(AssertionError) as caught:
        on_cpu(family, 21, "bfloat16")
    assert named(caught) == {f"{family}: layer {index}" for index in wrong_layers}


@pytest.mark.parametrize(("mistake", "small", "published"), MISTAKES, ids=NAMES)
def test_published_models_name_the_layers(break_formula, mistake, small, published):
    model_id, wrong_layers = published
    break_formula(MODELS[model_id].config["model_type"], mistake)
    with pytest.raises(AssertionError) as caught:
        assert_exact(measured(MODELS[model_id], 4096))
    assert named(caught) == {f"{model_id}: layer {index}" for index in wrong_layers}
