"""Which cache formats vLLM takes for a model on a card: its own backends asked, no GPU needed."""

from unittest.mock import patch

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed here; run make test-engines")

import vllm.config  # noqa: F401  first: the modules below import it, and it them

from kvdocs.evidence.vllm import geometry
from kvdocs.evidence.vllm_specs import flashinfer_backend
from kvdocs.facts.snapshot import load_all
from kvdocs.formula.config import EffectiveConfig
from kvdocs.formula.constant import CrossAttention
from kvdocs.formula.layers import Chunk, FullAttention, Latent, SlidingWindow
from kvdocs.serving.vllm.dtypes import KV_DTYPES, cards, head_bytes
from kvdocs.serving.vllm.kernels import KERNELS, refusal

pytestmark = pytest.mark.engine
CARDS = ("7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "12.0")
NVIDIA = [name for name in KV_DTYPES if name.startswith(("nvfp4", "turbo")) and "ds" not in name]
OCTAVE = [name for name in KV_DTYPES if name.startswith("octave")]
MODELS = {
    model.id: model
    for model in load_all()
    if not any(isinstance(part, Latent) for part, _ in model.layout.groups())
    and "V4" not in model.id
}


def _layers(model):
    """Of each kind of attention layer: head_dim, whether it slides, whether it has sinks, its type
    as vLLM names it. Sinks are in gpt-oss only, of these models (models/gpt_oss.py:131)."""
    sinks = EffectiveConfig.of(model.config, model.id).model_type == "gpt_oss"
    return {
        (
            part.k_dim,
            isinstance(part, SlidingWindow) and not isinstance(part, Chunk),
            sinks,
            "encoder_decoder" if isinstance(part, CrossAttention) else "decoder",
        )
        for part, _ in model.layout.groups()
        if isinstance(part, FullAttention)
    }


def _valid(backend, layer, dtype, capability) -> bool:
    import torch
    from vllm.platforms.interface import DeviceCapability
    from vllm.v1.attention.selector import AttentionSelectorConfig

    head_dim, slides, sinks, kind = layer
    asked = AttentionSelectorConfig(
        head_dim, torch.bfloat16, dtype, 16, has_sink=sinks, attn_type=kind,
        has_sliding_window=slides,
    )  # fmt: skip
    major, minor = map(int, capability.split("."))
    found = backend.validate_configuration(
        device_capability=DeviceCapability(major, minor), **asked._asdict()
    )
    return not found


class _Card:
    """Answers for ``current_platform`` about a card of one compute capability."""

    def __init__(self, capability: str) -> None:
        self.number = int(capability.replace(".", ""))

    def is_device_capability_family(self, family: int) -> bool:
        return self.number // 10 == family // 10

    def is_device_capability(self, number: int) -> bool:
        return self.number == number


@pytest.mark.parametrize("capability", CARDS)
@pytest.mark.parametrize("name", MODELS)
def test_a_format_is_refused_where_no_backend_of_vllms_takes_every_layer(name, capability):
    from vllm.v1.attention.backends import flex_attention, triton_attn, turboquant_attn

    model, card = MODELS[name], _Card(capability)
    flashinfer = flashinfer_backend()
    backends = (
        flashinfer,
        triton_attn.TritonAttentionBackend,
        flex_attention.FlexAttentionBackend,
        turboquant_attn.TurboQuantAttentionBackend,
    )
    with (
        patch(f"{flashinfer.__module__}.current_platform", card),
        patch(f"{flashinfer.__module__}.supports_trtllm_attention", lambda is_prefill: True),
        patch.object(flashinfer, "supports_sink", lambda: True),  # asks for a download
    ):
        for dtype in NVIDIA:
            takes = all(
                any(_valid(backend, layer, dtype, capability) for backend in backends)
                for layer in _layers(model)
            )
            said = refusal(dtype, model.layout, model.config, capability)
            ours = cards(dtype).take(capability) and not said
            assert takes == ours, (dtype, said)


@pytest.mark.parametrize("name", MODELS)
def test_octave_is_refused_where_its_backend_refuses(name):
    from vllm.v1.attention.backends.rocm_octave_attn import RocmOctaveAttentionBackend as Backend
    from vllm.v1.attention.ops.rocm_octave import rope_dim_from_hf_config

    model = MODELS[name]
    text = geometry(model.config).text
    with patch.object(Backend, "supports_compute_capability", lambda _: True):
        for dtype in OCTAVE:
            takes = all(
                _valid(Backend, layer, dtype, "9.4")
                and rope_dim_from_hf_config(text, layer[0]) == KERNELS["octave"].rotary
                for layer in _layers(model)
            )
            assert takes == (not refusal(dtype, model.layout, model.config)), dtype


@pytest.mark.parametrize("name", OCTAVE)
def test_octave_takes_what_its_own_format_says(name):
    from vllm.v1.attention.ops.rocm_octave import OctaveFormat

    assert head_bytes(name, 256, 256) == OctaveFormat.from_cache_dtype(name, 256, 64).slot_bytes
