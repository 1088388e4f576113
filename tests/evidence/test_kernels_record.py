"""What vLLM takes on a card, against the recorded answers of its own choosers."""

from types import SimpleNamespace

import pytest

from kvdocs.engines.vllm.auto import NO_FLOAT16, by_architecture, kept, loaded
from kvdocs.engines.vllm.compressed import compresses
from kvdocs.engines.vllm.dtypes import KV_DTYPES, cards, head_bytes, kv_dtype, latent_bytes
from kvdocs.engines.vllm.kernels import least_capability, refusal
from kvdocs.engines.vllm.pool import Options, rank_slope
from kvdocs.evidence.known import recorded
from kvdocs.facts.snapshot import load_all
from kvdocs.formula.layers import FullAttention, Latent

RECORD = recorded("kernels")
CARDS = RECORD["cards"]
MODELS = {model.id: model for model in load_all()}
TAKES = {name: one for one in RECORD["takes"] for name in one["models"]}
LOADED = {name: one["dtypes"] for one in RECORD["loaded"] for name in one["models"]}


def _has_a_size(dtype, layout):
    """A dtype that has none for such layers is refused, whatever a chooser says."""
    found = kv_dtype(dtype)
    parts = [part for layer in layout.layers for part in layer.parts]
    latents = any(isinstance(part, Latent) for part in parts)
    heads = any(isinstance(part, FullAttention) for part in parts)
    return (found.latent or not latents) and (found.head or not heads)


def _asked(name):
    layout = MODELS[name].layout
    if compresses(layout):
        return ["auto"]
    nvidia = (dtype for dtype in RECORD["dtypes"] if not cards(dtype).maker)
    return [dtype for dtype in nvidia if _has_a_size(dtype, layout)]


@pytest.mark.parametrize("card", CARDS)
def test_a_format_is_refused_where_vllms_chooser_refuses_a_layer(card):
    for name, model in MODELS.items():
        theirs = TAKES[name]["takes"].get(card, [])
        ours = [
            dtype
            for dtype in _asked(name)
            if cards(dtype).take(card) and not refusal(dtype, model.layout, model.config, card)
        ]
        assert ours == [dtype for dtype in theirs if dtype in _asked(name)], name


def test_octave_is_refused_where_its_backend_refuses():
    for name, model in MODELS.items():
        if not compresses(model.layout):
            octave = [dtype for dtype in RECORD["dtypes"] if dtype.startswith("octave")]
            ours = [one for one in octave if not refusal(one, model.layout, model.config)]
            assert ours == TAKES[name]["amd"], name


@pytest.mark.parametrize("name", RECORD["sparse"])
def test_sparse_latents_are_kept_as_vllm_keeps_them(name):
    model = MODELS[name]
    bare = SimpleNamespace(config={**model.config, "architectures": []}, layout=model.layout)
    index_keys = rank_slope(model.layout, Options()) - len(model.layout.layers) * 2 * 576
    for card, formats in RECORD["sparse"][name].items():
        taken = [d for d in KV_DTYPES if not refusal(d, model.layout, model.config, card)]
        assert sorted(taken) == sorted(formats), card
        for dtype, theirs in formats.items():
            options = Options(kv_cache_dtype=kept(dtype, bare, card))
            held = rank_slope(model.layout, options) - index_keys
            assert held == len(model.layout.layers) * latent_bytes(theirs, 576), (card, dtype)


@pytest.mark.parametrize("name", RECORD["architecture"])
def test_an_architecture_changes_auto_as_vllm_does(name):
    for card, changed in RECORD["architecture"][name].items():
        for dtype in ("auto", "bfloat16", "fp8"):
            ours = by_architecture(dtype, MODELS[name].config, card)
            assert ours == changed.get(dtype, dtype), (card, dtype)


def test_models_are_loaded_in_the_dtype_that_vllm_resolves():
    assert sorted(NO_FLOAT16) == RECORD["no_float16"]
    for name, model in MODELS.items():
        assert [loaded(model, card) for card in CARDS] == LOADED[name], name


def test_every_cache_dtype_of_the_command_line_is_known():
    assert set(RECORD["dtypes"]) == set(KV_DTYPES)


@pytest.mark.parametrize("dtype", RECORD["slots"])
def test_a_head_takes_what_the_formats_own_code_says(dtype):
    for head_dim, size in RECORD["slots"][dtype].items():
        assert head_bytes(dtype, int(head_dim), int(head_dim)) == size


def test_the_record_covers_the_snapshot_and_its_answers_differ():
    assert set(TAKES) == set(LOADED) == set(MODELS)
    assert len(RECORD["takes"]) > 8
    assert len(RECORD["sparse"]) == len(RECORD["architecture"]) == 3
    v4 = MODELS["deepseek-ai/DeepSeek-V4-Flash"]
    assert least_capability("fp8", v4.layout, v4.config) == "9.0"
