"""Which cache formats vLLM takes for a model on a card: its own chooser asked, no GPU needed."""

from unittest.mock import patch

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed here; run make test-engines")

import vllm.config  # noqa: F401  first: the modules below import it, and it them

from kvdocs.engines.vllm.compressed import compresses
from kvdocs.engines.vllm.dtypes import KV_DTYPES, cards, head_bytes, kv_dtype
from kvdocs.engines.vllm.kernels import KERNELS, least_capability, refusal
from kvdocs.evidence.vllm.backends import AskedLayer, as_asked, chosen
from kvdocs.evidence.vllm.planner import geometry
from kvdocs.facts.snapshot import load, load_all
from kvdocs.formula.constant import CrossAttention
from kvdocs.formula.layers import Chunk, FullAttention, Latent, SlidingWindow
from kvdocs.formula.several import IndexKeys

pytestmark = pytest.mark.engine
CARDS = ("7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "12.0")
OCTAVE = [name for name in KV_DTYPES if name.startswith("octave")]
NVIDIA = [name for name in KV_DTYPES if not cards(name).maker]
MODELS = {model.id: model for model in load_all() if not compresses(model.layout)}
V4 = {model.id: model for model in load_all() if compresses(model.layout)}


def _layers(model, found):
    """The attention layers as vLLM asks for their backends, each kind once. Sinks are in gpt-oss
    only, of these models (models/gpt_oss.py:131)."""
    asked, images = set(), bool(found.arch.is_mm_prefix_lm)
    for layer in model.layout.layers:
        sparse = any(isinstance(part, IndexKeys) for part in layer.parts)
        for part in layer.parts:
            if isinstance(part, Latent):
                size = part.kv_lora_rank + part.rope_dim
                asked.add(AskedLayer(size, latent=True, sparse=sparse))
            elif isinstance(part, FullAttention):
                slides = isinstance(part, SlidingWindow) and not isinstance(part, Chunk)
                crosses = isinstance(part, CrossAttention)
                sinks = found.text.model_type == "gpt_oss"
                asked.add(AskedLayer(part.k_dim, slides, sinks, crosses, images=images))
    return asked


def _refused(layer, dtype, card, found) -> str:
    try:
        chosen(layer, dtype, card, found)
    except ValueError as error:
        return str(error)
    return ""


def _has(layers, dtype) -> bool:
    """Whether the dtype has a size for these layers."""
    found = kv_dtype(dtype)
    return all((found.latent if one.latent else found.head) is not None for one in layers)


@pytest.mark.parametrize("card", CARDS)
@pytest.mark.parametrize("name", MODELS)
def test_a_format_is_refused_where_vllms_chooser_refuses_a_layer(name, card):
    model = MODELS[name]
    found = geometry(model.config)
    layers = _layers(model, found)
    for dtype in NVIDIA:
        if not _has(layers, dtype):
            continue  # refused, whatever a chooser says: the dtype has no size for such layers
        theirs = next(filter(None, (_refused(one, dtype, card, found) for one in layers)), "")
        said = refusal(dtype, model.layout, model.config, card)
        takes = cards(dtype).take(card) and not said
        assert takes == (not theirs), (dtype, said, theirs[-300:])


def test_the_chooser_and_triton_are_really_asked():
    """Two accept; the words are Triton's refusal (triton_attn.py:522, mla/triton_mla.py:209)."""
    qwen, latent = geometry(load("Qwen/Qwen2.5-7B-Instruct").config), AskedLayer(576, latent=True)
    assert chosen(AskedLayer(128), "fp8", "8.0", qwen) == "FlashInferBackend"
    assert chosen(latent, "fp8", "8.9", qwen) == "TritonMLABackend"
    for layer in (AskedLayer(96), AskedLayer(64, sinks=True), latent):
        with pytest.raises(ValueError, match=r"native FP8 \(fp8e4nv\) requires SM89\+"):
            chosen(layer, "fp8", "8.6", qwen)


@pytest.mark.parametrize("name", V4)
def test_deepseek_v4_runs_on_the_cards_of_its_backends(name):
    from vllm.models.deepseek_v4.nvidia.flashinfer_sparse import (
        DeepseekV4FlashInferMLASparseBackend as FlashInfer,
    )
    from vllm.models.deepseek_v4.sparse_mla import DeepseekV4FlashMLABackend as FlashMLA
    from vllm.platforms.interface import DeviceCapability

    model = V4[name]
    for card in CARDS:
        capability = DeviceCapability(*map(int, card.split(".")))
        takes = any(one.supports_compute_capability(capability) for one in (FlashMLA, FlashInfer))
        assert takes == (not refusal("auto", model.layout, model.config, card)), card
    assert least_capability("fp8", model.layout, model.config) == "9.0"


@pytest.mark.parametrize("name", MODELS)
def test_octave_is_refused_where_its_backend_refuses(name):
    from vllm.platforms.interface import DeviceCapability
    from vllm.v1.attention.backends.rocm_octave_attn import RocmOctaveAttentionBackend as Backend
    from vllm.v1.attention.ops.rocm_octave import rope_dim_from_hf_config

    model = MODELS[name]
    found = geometry(model.config)
    card = DeviceCapability(9, 4)
    with patch.object(Backend, "supports_compute_capability", lambda _: True):
        for dtype in OCTAVE:
            takes = all(
                not Backend.validate_configuration(
                    device_capability=card, **as_asked(layer, dtype)._asdict()
                )
                and rope_dim_from_hf_config(found.text, layer.size) == KERNELS["octave"].rotary
                for layer in _layers(model, found)
            )
            assert takes == (not refusal(dtype, model.layout, model.config)), dtype


@pytest.mark.parametrize("name", OCTAVE)
def test_octave_takes_what_its_own_format_says(name):
    from vllm.v1.attention.ops.rocm_octave import OctaveFormat

    assert head_bytes(name, 256, 256) == OctaveFormat.from_cache_dtype(name, 256, 64).slot_bytes
