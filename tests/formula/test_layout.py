"""Layouts: sums over layers, the derivation as text, and what they refuse."""

import re

import pytest

from kvdocs.facts.snapshot import ids, load
from kvdocs.formula import CacheLayout, ConfigError, crossover, dtype_name
from kvdocs.formula.layers import FullAttention, Latent, SlidingWindow


def _models_with_a_rule():
    found = []
    for model_id in ids():
        model = load(model_id)
        try:
            _ = model.layout
        except ConfigError:
            continue
        found.append(model)
    return found


@pytest.mark.parametrize("tokens", [1, 100, 4096, 131_072])
def test_every_derivation_multiplies_out_to_the_bytes_it_claims(tokens):
    """The text is evaluated on its own: words removed, × and + as written."""
    for model in _models_with_a_rule():
        _multiplies_out(model, tokens)


def _multiplies_out(model, tokens):
    *products, last = model.layout.derivation(tokens)
    assert _claimed(last) == model.layout.bytes(tokens), model.id
    for line in [*products, last]:
        left, _, _ = line.rpartition(" = ")
        left = re.sub(r"\((K and V|the window|the chunk)\)|,", "", left)
        arithmetic = re.sub(r"[A-Za-z_]+", "", left).replace("×", "*")
        assert re.fullmatch(r"[\d\s*+()]+", arithmetic), model.id
        assert eval(arithmetic) == _claimed(line), model.id  # digits and operators only, see above


def _claimed(line):
    return int(re.search(r"= ([\d,]+) bytes$", line)[1].replace(",", ""))


def test_k_and_v_of_different_width_are_added():
    layer = FullAttention(kv_heads=4, k_dim=192, v_dim=128)
    assert layer.bytes(10, 2) == 4 * (192 + 128) * 10 * 2
    assert "(192 k_dim + 128 v_dim)" in CacheLayout((layer,)).derivation()[0]


def test_the_slope_adds_up_to_the_bytes():
    layout = CacheLayout((FullAttention(1, 8, 8), SlidingWindow(1, 8, 8, 5), Latent(8, 4)))
    assert sum(layout.slope(t) for t in range(20)) == layout.bytes(20)
    assert layout.constant_bytes() == 0


def test_without_sharing_needs_heads_to_share():
    with pytest.raises(ValueError, match="latent"):
        CacheLayout((Latent(512, 64),)).without_sharing(128)


@pytest.mark.parametrize("tokens", [-1, 1.5, True, "4096"])
def test_a_length_is_a_whole_number_of_tokens(tokens):
    with pytest.raises(ValueError, match="whole number of tokens"):
        CacheLayout((Latent(8, 4),)).bytes(tokens)


def test_an_unknown_dtype_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"q8_0.*bfloat16"):
        dtype_name("q8_0")


@pytest.mark.parametrize(
    ("weights", "conversation", "expected"), [(100, 30, 4), (90, 30, 4), (1, 30, 1)]
)
def test_the_crossover_is_the_first_count_that_exceeds(weights, conversation, expected):
    assert crossover(weights, conversation) == expected
    assert expected * conversation > weights >= (expected - 1) * conversation


def test_no_crossover_without_bytes():
    with pytest.raises(ValueError, match="at least one byte"):
        crossover(0, 10)
