"""How transformers holds a layout, against caches that the installed release really fills."""

import pytest

from kvdocs.engines.transformers.cache import (
    EXPANDED_BEFORE,
    as_cached,
    expanded,
    held,
    peak_of_next_token,
    static,
)
from kvdocs.evidence.transformers import caches
from kvdocs.facts.snapshot import load
from kvdocs.formula import CacheLayout, layout_of
from kvdocs.formula.layers import FullAttention, Latent, SlidingWindow
from tests.evidence.tiny import FAMILIES
from tests.installed import missing_architecture, own_class, version

NEW_FALCON = FAMILIES["falcon, one KV head"][0] | {
    "new_decoder_architecture": True,
    "multi_query": False,
    "num_kv_heads": 2,
}
CONFIGS = {name: config for name, (config, _) in FAMILIES.items()} | {"new falcon": NEW_FALCON}


@pytest.mark.parametrize("prompt", [3, 8, 21])  # the windows are 8
@pytest.mark.parametrize("name", CONFIGS)
def test_what_is_held_after_the_prompt_and_after_each_token(name, prompt):
    config = CONFIGS[name]
    model_type = config["model_type"]
    if reason := missing_architecture(model_type) or own_class(model_type):
        pytest.skip(reason)
    layout = as_cached(layout_of(config), config, name)
    if version() < EXPANDED_BEFORE.get(model_type, ()):
        layout, _ = expanded(layout, config, name)
    model = caches.build_decoder(config, name, "cpu", "bfloat16")
    tokens = 0
    for new, cache in caches.cache_after_each_step(model, name, prompt, 2):
        tokens += new
        found = caches.held(cache, name)
        expected = held(layout, tokens, new)
        assert sum(shown for shown, _ in found) == expected.shown
        assert sum(stored for _, stored in found) == expected.stored


def test_deepseek_v3_before_and_after_the_latent():
    model = load("deepseek-ai/DeepSeek-V3")
    before, release = expanded(model.layout, model.config, model.id)
    # measured with transformers 4.57.6 and 5.24.0
    assert (before.bytes(1), model.layout.bytes(1), release) == (4_997_120, 70_272, "5.15")


FULL, SLIDING = FullAttention(2, 16, 8), SlidingWindow(2, 16, 16, window=8)
LAYOUTS = [
    CacheLayout((FULL,) * 3),
    CacheLayout((SLIDING,) * 3),
    CacheLayout((SLIDING, FULL, SLIDING)),
    CacheLayout((Latent(24, 8),) * 2),
]


def _states(layer, count):
    import torch

    if isinstance(layer, Latent):
        heads, dims = 1, (layer.kv_lora_rank, layer.rope_dim)
    else:
        heads, dims = layer.kv_heads, (layer.k_dim, layer.v_dim)
    return [torch.zeros(1, heads, count, dim, dtype=torch.bfloat16) for dim in dims]


def _cache(layout):
    from transformers import DynamicCache
    from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

    cache = DynamicCache()
    cache.layers = [
        DynamicLayer() if layer.window is None else DynamicSlidingWindowLayer(layer.window)
        for layer in layout.layers
    ]
    return cache


@pytest.mark.parametrize("tokens", [3, 7, 8, 40])
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda x: " ".join(y.kind for y in x.layers))
def test_the_peak_while_one_more_token_joins(layout, tokens):
    version()
    from tests.gpu.experiments import memory

    cache = _cache(layout)
    with memory("cpu") as meter:
        for index, layer in enumerate(layout.layers):
            cache.update(*_states(layer, tokens), index)
        new = [_states(layer, 1) for layer in layout.layers]
        given = sum(x.nbytes for states in new for x in states)
        before = meter.requested() - given
        meter.forget_peak()
        for index, states in enumerate(new):
            cache.update(*states, index)
        peak = meter.peak() - given
    assert before == held(layout, tokens, tokens).stored
    assert peak == peak_of_next_token(layout, tokens, tokens)


@pytest.mark.parametrize("longest", [5, 8, 64])
@pytest.mark.parametrize("name", ["llama, grouped", "gpt_oss, alternating", "mistral, window"])
def test_a_static_cache_takes_all_of_it_at_once(name, longest):
    version()
    from transformers import AutoConfig, StaticCache

    config = dict(CONFIGS[name])
    layout = layout_of(config)
    auto = AutoConfig.for_model(config.pop("model_type"), **config)
    cache = StaticCache(config=auto, max_cache_len=longest)
    for index, layer in enumerate(layout.layers):
        cache.update(*_states(layer, 1), index, {"cache_position": _first_position()})
    found = [x for layer in cache.layers for x in (layer.keys, layer.values)]
    assert sum(x.nbytes for x in found) == static(layout, longest)


def _first_position():
    import torch

    return torch.zeros(1, dtype=torch.long)
