"""How many sequences fit in transformers, against batches that are really cached and grow."""

import pytest

from kvdocs.engines.transformers.cache import held as total_held
from kvdocs.engines.transformers.cache import most_while_growing, peak_of_next_token
from kvdocs.evidence.transformers.caches import build_decoder, held, returned
from kvdocs.facts.models import Model, Source
from kvdocs.facts.snapshot import load
from kvdocs.fit.answer import Question, fit, what_helps
from kvdocs.fit.options import question
from kvdocs.formula import CacheLayout, layout_of
from kvdocs.formula.layers import Latent
from kvdocs.formula.several import IndexKeys, Several
from tests.evidence.tiny import FAMILIES
from tests.installed import missing_architecture, no_index, other_cache, version

V32 = "deepseek-ai/DeepSeek-V3.2"
EXACT = (
    "llama, grouped",
    "gemma3, every sixth full",  # the windows are 8
    "gpt_oss, alternating",
    "mistral, window",
    "deepseek_v3, latent",
    "deepseek_v32, latent and index",
    "llama4, chunks",
    "gemma3n, shared",
)
BOUNDED = (
    "qwen3_next, gated delta",
    "falcon_h1, attention and state",
    "lfm2, short convolutions",
    "mamba2, states only",
)


def asked(name: str) -> Model:
    config = FAMILIES[name][0]
    model_type = config["model_type"]
    if reason := missing_architecture(model_type) or other_cache(model_type):
        pytest.skip(reason)
    return Model(name, config, Source("file"))


def ask(model: Model, **changes) -> Question:
    return question(model, engine="transformers", **changes)


def one_token(cache) -> list:
    """What a model would hand over to each layer for one more token, per layer."""
    return [
        {
            "kv": [x[:, :, :1].clone() for x in (layer.keys, layer.values)]
            if getattr(layer, "keys", None) is not None
            else None,
            "index": layer.indexer_keys[:, :1].clone() if hasattr(layer, "indexer_keys") else None,
            "conv": {n: x[..., :1].clone() for n, x in getattr(layer, "conv_states", {}).items()},
        }
        for layer in cache.layers
    ]


def grow(cache, new: list) -> None:
    """One more token joins, as in a forward: each layer in turn. A recurrence makes a new state."""
    import torch

    for index, (layer, given) in enumerate(zip(cache.layers, new, strict=True)):
        for number, states in given["conv"].items():
            cache.update_conv_state(states, index, state_idx=number)
        for number, state in dict(getattr(layer, "recurrent_states", {})).items():
            if state is not None:  # short convolutions have none
                cache.update_recurrent_state(torch.ones_like(state), index, state_idx=number)
        if given["kv"]:
            cache.update(*given["kv"], index)
        if given["index"] is not None:
            cache.update_indexer(given["index"], index)


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("name", [*EXACT, *BOUNDED])
def test_a_batch_takes_what_is_said_and_grows_within_it(name, batch):
    version()
    import torch

    from tests.gpu.experiments import memory

    asks, tokens = ask(asked(name), available=0), 40
    model = build_decoder(asks.on.model.config, name, "cpu", "bfloat16")
    with memory("cpu") as meter, torch.no_grad():
        ids = torch.zeros(batch, tokens, dtype=torch.long)
        out = model(input_ids=ids, use_cache=True, logits_to_keep=1)
        cache = next(iter(returned(out).values()))
        stored = sum(size for _, size in held(cache, name))
        del out
        new = one_token(cache)
        before = meter.requested()
        meter.forget_peak()
        grow(cache, new)
        grown = meter.peak() - before
    one = asks.on.pool.one(tokens)
    assert stored == batch * one.held
    assert one.exact == (name in EXACT)
    if one.exact:
        assert grown == batch * one.growth
    else:
        assert 0 < grown <= batch * one.growth


def test_index_keys_in_32_bits_are_copied_in_32_bits():
    if reason := no_index():
        pytest.skip(reason)
    import torch
    from transformers import DynamicCache
    from transformers.cache_utils import DynamicIndexedLayer

    from tests.gpu.experiments import memory

    def states(tokens):
        sizes = (24, torch.bfloat16), (8, torch.bfloat16), (64, torch.float32)
        latent, rope, index = (torch.zeros(1, 1, tokens, n, dtype=dtype) for n, dtype in sizes)
        return {"kv": [latent, rope], "index": index[:, 0], "conv": {}}

    layout = CacheLayout((Several((Latent(24, 8), IndexKeys(64, float32=True))),) * 3)
    cache = DynamicCache()
    cache.layers = [DynamicIndexedLayer() for _ in layout.layers]
    with memory("cpu") as meter:
        grow(cache, [states(40) for _ in layout.layers])
        new = [states(1) for _ in layout.layers]
        given = sum(x.nbytes for one in new for x in (*one["kv"], one["index"]))
        before = meter.requested() - given
        meter.forget_peak()
        grow(cache, new)
        peak = meter.peak() - given
    assert before == layout.bytes(40)
    assert peak == peak_of_next_token(layout, 40, 40)


def test_inputs_that_xlnet_keeps_stay_until_the_step_has_ended():
    version()
    import torch
    from transformers import XLNetConfig, XLNetModel

    from tests.gpu.experiments import memory

    config = {"n_layer": 3, "d_model": 64, "n_head": 4, "d_inner": 64, "mem_len": 16}
    layout = layout_of({"model_type": "xlnet"} | config)
    keep = XLNetModel(XLNetConfig(vocab_size=64, **config)).cache_mem
    with memory("cpu") as meter:
        kept = [keep(torch.zeros(40, 1, 64), None) for _ in layout.layers]
        new = [torch.zeros(1, 1, 64) for _ in layout.layers]
        given = sum(one.nbytes for one in new)
        before = meter.requested() - given
        meter.forget_peak()
        assert len([keep(*pair) for pair in zip(new, kept, strict=True)]) == 3
        peak = meter.peak() - given
    assert before == total_held(layout, 40, 40, "float32").stored
    most, exact = most_while_growing(layout, 40, 40, "float32")
    assert before < peak <= most
    assert not exact


@pytest.mark.parametrize("name", ["llama, grouped", "gpt_oss, alternating"])
def test_the_batch_that_fits_is_the_largest(name):
    """Room for three growing sequences, to the byte."""
    model = asked(name)
    one = ask(model, available=0).on.pool.one(40)
    room = 3 * (one.held + one.growth)
    found = {left: fit(ask(model, tokens=40, available=left)) for left in (room - 1, room)}
    assert [answer.sure.sequences for answer in found.values()] == [2, 3]
    assert found[room].available == 3 * one.held
    longest = [fit(ask(model, users=3, available=left)).tokens for left in (room - 1, room)]
    assert longest == [39, 40]


def on(model_id: str, **changes) -> Question:
    return ask(load(model_id), **{"available": 2**30, "tokens": 4096, **changes})


def test_the_second_copy_is_its_own_term():
    """The figures of kvdocs cost: 234,881,024 bytes, and 4,251,648 more while a token joins."""
    answer = fit(on("Qwen/Qwen2.5-7B-Instruct", users=2))
    assert [(term.sign, term.bytes) for term in answer.terms] == [(1, 2**30), (-1, 2 * 4_251_648)]
    assert answer.sure.held == 234_881_024
    assert answer.fits


def test_remedies_are_those_that_transformers_has():
    asks = {"gpu": "4090", "available": None, "users": 45, "overhead": 2**30}
    found = what_helps(fit(on("Qwen/Qwen2.5-7B-Instruct", **asks)))
    flags = [remedy.flag.split()[0] for remedy in found]
    assert flags == ["--tokens", "--weights-dtype", "--gpu"]  # no FP8 cache, no ranks


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kv_dtype": "fp8"}, "not in fp8_e4m3"),
        ({"users": 0}, "--users is 0"),
        ({"available": None, "vram": 2**34, "model": V32}, "state --weights"),
        ({"available": None, "vram": 2**34, "weights": 2**30}, "no range with a source"),
    ],
)
def test_contradictions_are_named(changes, words):
    model = changes.pop("model", "Qwen/Qwen2.5-7B-Instruct")
    with pytest.raises(ValueError, match=words):
        fit(on(model, **changes))
