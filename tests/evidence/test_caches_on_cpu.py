"""Small models of every family with real tensors: a prompt, then tokens decoded one by one."""

import pytest

from kvdocs.engines.transformers.cache import kept_by_transformers
from kvdocs.evidence.transformers.caches import build_decoder, cache_after_each_step, held
from kvdocs.evidence.transformers.measure import measure
from kvdocs.formula import layout_of
from kvdocs.formula.layers import FullAttention, SlidingWindow
from tests.evidence.exact import assert_exact
from tests.evidence.tiny import FAMILIES
from tests.installed import missing_architecture, other_cache


def config_of(family: str) -> dict:
    config, _ = FAMILIES[family]
    model_type = config["model_type"]
    if reason := missing_architecture(model_type) or other_cache(model_type):
        pytest.skip(reason)
    return config


def every_layer_is_exact(family: str, prompt: int, dtype: str) -> None:
    found = measure(config_of(family), family, prompt + 6, "cpu", dtype, decoded=6)
    assert_exact(found)
    assert [step.tokens for step in found.steps] == list(range(prompt, prompt + 7))
    assert found.held == layout_of(FAMILIES[family][0]).bytes(prompt + 6, dtype)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_layer_is_exact_after_every_step(family):
    for dtype in ("float32", "bfloat16"):
        for prompt in (3, 7, 8, 21):  # the windows are 8
            every_layer_is_exact(family, prompt, dtype)


def stays_in_32_bits(family: str) -> bool:
    """Whether parts of its cache are in 32 bits whatever the dtype is."""
    return any(part in kind for kind in FAMILIES[family][1] for part in ("state", "compressed"))


@pytest.mark.parametrize("family", [name for name in FAMILIES if not stays_in_32_bits(name)])
def test_32_bits_take_twice_16(family):
    config = config_of(family)
    half, full = (measure(config, family, 12, "cpu", dtype) for dtype in ("float16", "float32"))
    assert full.held == 2 * half.held


def test_each_family_has_the_layers_it_is_here_for():
    for family, (config, kinds) in FAMILIES.items():
        assert {layer.kind for layer in layout_of(config).layers} == kinds, family


def test_every_kind_of_layer_has_a_small_model():
    kinds = {kind for _, kinds in FAMILIES.values() for name in kinds for kind in name.split(" + ")}
    assert kinds == {
        *("full", "window", "chunk", "latent", "index", "compressed"),
        *("state", "shared", "none"),
    }


@pytest.mark.parametrize(
    ("prompt", "shown", "stored", "shown_next", "stored_next"),
    [
        (10, 10, 10, 11, 11),
        (31, 31, 31, 31, 32),
        (32, 31, 32, 31, 32),
        (100, 31, 100, 31, 32),
    ],
)
def test_a_sliding_layer_shows_window_minus_1_tokens(
    prompt, shown, stored, shown_next, stored_next
):
    config = FAMILIES["mistral, window"][0] | {"sliding_window": 32}
    model = build_decoder(config, "mistral", "cpu", "float32")
    token = 2 * 2 * 16 * 4  # K and V, 2 KV heads, head_dim 16, 4 bytes
    after_prompt, after_token = (
        held(cache, "mistral") for _, cache in cache_after_each_step(model, "mistral", prompt, 1)
    )
    assert after_prompt == [(shown * token, stored * token)] * 4
    assert after_token == [(shown_next * token, stored_next * token)] * 4

    layer = SlidingWindow(kv_heads=2, k_dim=16, v_dim=16, window=32)
    assert kept_by_transformers(layer, prompt, prompt) == (shown, stored)
    assert kept_by_transformers(layer, prompt + 1, 1) == (shown_next, stored_next)


def test_a_layer_that_keeps_every_token_shows_and_stores_them():
    assert kept_by_transformers(FullAttention(2, 16, 16), tokens=100, new=100) == (100, 100)
