"""What vLLM 0.33.0 takes for every snapshot model, card by card: the record ``kernels``.

In: the snapshot, and vLLM. Out: the record's content: the cache formats that its choosers of
attention backends accept, the formats in which it keeps sparse latents, what an architecture makes
of auto, and the dtype a model is loaded in. Only the cards are stand-ins.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from kvdocs.evidence.vllm.backends import AskedLayer, as_asked, chosen
from kvdocs.evidence.vllm.geometry import Geometry, geometry
from kvdocs.evidence.vllm.sparse_latents import sparse_format
from kvdocs.facts.models import Model
from kvdocs.facts.snapshot import load_all
from kvdocs.formula.constant import CrossAttention
from kvdocs.formula.layers import Chunk, FullAttention, Latent, SlidingWindow
from kvdocs.formula.several import IndexKeys

CARDS = ("7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "12.0")
OTHER_MAKERS = ("fp8_inc", "octave", "ultraquant")  # formats of Intel's and AMD's cards
OCTAVE_ROTARY = 64  # v1/attention/backends/rocm_octave_attn.py:65
WHAT = (
    "vLLM's own choosers, asked on a CPU that stands in for cards of each compute capability. "
    "takes: the formats for which a backend reads every attention layer of these models; amd: the "
    "same of the octave formats, on AMD's cards. DeepSeek V4 has backends of its own, and is asked "
    "for auto only. sparse: the format in which latents picked by an index are kept; a format that "
    "is not there is refused. architecture: what auto, bfloat16 and fp8 become where they change. "
    "loaded: the dtype of the model for dtype auto, on each of cards; no_float16: the model_types "
    "that are not run in float16. slots: bytes of one token in "
    "one KV head, by head_dim."
)


def measured() -> dict[str, Any]:
    """The record's content; takes a minute or two."""
    from vllm.config.cache import KV_CACHE_DTYPES
    from vllm.config.model import _FLOAT16_NOT_SUPPORTED_MODELS

    dtypes = tuple(KV_CACHE_DTYPES)
    nvidia = tuple(name for name in dtypes if not name.startswith(OTHER_MAKERS))
    models = {model.id: model for model in load_all()}
    read = {name: geometry(model.config) for name, model in models.items()}
    sparse = [name for name, found in read.items() if hasattr(found.text, "index_topk")]
    sparse = [name for name in sparse if not read[name].compresses]
    return {
        "cards": CARDS,
        "dtypes": dtypes,
        "takes": _alike({name: _takes(models[name], read[name], nvidia) for name in models}),
        "sparse": {
            name: {card: _formats(dtypes, read[name], card) for card in CARDS} for name in sparse
        },
        "architecture": {name: _by_architecture(models[name]) for name in sparse},
        "loaded": _alike({name: {"dtypes": _loaded(model)} for name, model in models.items()}),
        "no_float16": sorted(_FLOAT16_NOT_SUPPORTED_MODELS),
        "slots": _slots(dtypes),
    }


def _alike(answers: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """The answers, each once, with the models that have it."""
    found: list[dict[str, Any]] = []
    for name, answer in answers.items():
        same = next((one for one in found if one | answer == one), None)
        if same is None:
            found.append(answer | {"models": [name]})
        else:
            same["models"].append(name)
    return found


def _takes(model: Model, found: Geometry, dtypes: tuple[str, ...]) -> dict[str, Any]:
    if found.compresses:
        return {"takes": {card: ["auto"] for card in CARDS if _taken_by_v4(card)}, "amd": []}
    layers = sorted(set(asked_layers(model, found)), key=str)
    taken_by = {
        card: [dtype for dtype in dtypes if all(_read(one, dtype, card, found) for one in layers)]
        for card in CARDS
    }
    return {"takes": taken_by, "amd": list(_octave(layers, found))}


def asked_layers(model: Model, found: Geometry) -> Iterator[AskedLayer]:
    """The attention layers as vLLM asks for their backends. Sinks are in gpt-oss only, of the
    snapshot's models (models/gpt_oss.py:131)."""
    images = bool(found.arch.is_mm_prefix_lm)
    for layer in model.layout.layers:
        sparse = any(isinstance(part, IndexKeys) for part in layer.parts)
        for part in layer.parts:
            if isinstance(part, Latent):
                size = part.kv_lora_rank + part.rope_dim
                yield AskedLayer(size, latent=True, sparse=sparse)
            elif isinstance(part, FullAttention):
                slides = isinstance(part, SlidingWindow) and not isinstance(part, Chunk)
                crosses = isinstance(part, CrossAttention)
                sinks = found.text.model_type == "gpt_oss"
                yield AskedLayer(part.k_dim, slides, sinks, crosses, images=images)


def _read(layer: AskedLayer, dtype: str, card: str, found: Geometry) -> bool:
    try:
        return bool(chosen(layer, dtype, card, found))
    except ValueError:
        return False


def _taken_by_v4(card: str) -> bool:
    from vllm.models.deepseek_v4.nvidia import flashinfer_sparse
    from vllm.models.deepseek_v4.sparse_mla import DeepseekV4FlashMLABackend
    from vllm.platforms.interface import DeviceCapability

    backends = DeepseekV4FlashMLABackend, flashinfer_sparse.DeepseekV4FlashInferMLASparseBackend
    capability = DeviceCapability(*map(int, card.split(".")))
    return any(one.supports_compute_capability(capability) for one in backends)


def _octave(layers: list[AskedLayer], found: Geometry) -> Iterator[str]:
    """The octave formats whose only backend reads every layer, on the cards it is for."""
    from vllm.config.cache import KV_CACHE_DTYPES
    from vllm.platforms.interface import DeviceCapability
    from vllm.v1.attention.backends.rocm_octave_attn import RocmOctaveAttentionBackend as Backend
    from vllm.v1.attention.ops.rocm_octave import rope_dim_from_hf_config

    card = DeviceCapability(9, 4)
    with patch.object(Backend, "supports_compute_capability", lambda _: True):
        for dtype in (name for name in KV_CACHE_DTYPES if name.startswith("octave")):
            if all(
                not Backend.validate_configuration(
                    device_capability=card, **as_asked(layer, dtype)._asdict()
                )
                and rope_dim_from_hf_config(found.text, layer.size) == OCTAVE_ROTARY
                for layer in layers
            ):
                yield dtype


def _formats(dtypes: tuple[str, ...], found: Geometry, card: str) -> dict[str, str]:
    kept = {dtype: sparse_format(dtype, found, card) for dtype in dtypes}
    return {dtype: name for dtype, name in kept.items() if name}


def _by_architecture(model: Model) -> dict[str, dict[str, str]]:
    """By card, the formats that the architecture changes."""
    return {
        card: {
            dtype: name
            for dtype in ("auto", "bfloat16", "fp8")
            if (name := _updated(model, dtype, card)) != dtype
        }
        for card in CARDS
    }


def _updated(model: Model, dtype: str, card: str) -> str:
    from vllm.model_executor.models.config import MODELS_CONFIG_MAP

    (architecture,) = model.config["architectures"]
    cache = SimpleNamespace(cache_dtype=dtype)
    server = SimpleNamespace(
        cache_config=cache,
        model_config=SimpleNamespace(hf_config=SimpleNamespace(index_topk=2048)),
        speculative_config=None,
        parallel_config=SimpleNamespace(set_dcp_defaults=lambda **_: None),
    )
    with patch("vllm.platforms.current_platform", _platform(card)):
        MODELS_CONFIG_MAP[architecture].verify_and_update_config(server)
    return str(cache.cache_dtype)


def _loaded(model: Model) -> list[str]:
    """By card, the dtype that vLLM resolves for a model published in its dtype."""
    import torch
    from vllm.config import model as config

    places = model.config.get("text_config") or {}, model.config
    keys = ("dtype", "torch_dtype")
    named = next((one[key] for one in places for key in keys if one.get(key)), "float32")
    found = []
    for card in CARDS:
        with patch.object(config, "current_platform", _platform(card)):
            dtype = config._resolve_auto_dtype(
                model.config["model_type"], getattr(torch, named), is_pooling_model=False
            )
        found.append(str(dtype).removeprefix("torch."))
    return found


def _platform(card: str) -> SimpleNamespace:
    """The current platform's answers for a card; the dtypes are its own property's."""
    import torch

    number = int(card.replace(".", ""))
    types = [torch.bfloat16] * (number >= 80) + [torch.float16, torch.float32]
    return SimpleNamespace(
        supported_dtypes=types,
        is_cuda=lambda: True,
        is_device_capability_family=lambda family: number // 10 == family // 10,
        get_device_name=lambda: card,
        get_device_capability=lambda: None,
    )


def _slots(dtypes: tuple[str, ...]) -> dict[str, dict[int, int]]:
    from vllm.v1.attention.ops.rocm_octave import OctaveFormat
    from vllm.v1.attention.ops.ultraquant.format import slot_size

    octave = {
        name: {256: OctaveFormat.from_cache_dtype(name, 256, OCTAVE_ROTARY).slot_bytes}
        for name in dtypes
        if name.startswith("octave")
    }
    return octave | {"ultraquant_4bit": {dim: slot_size(dim) for dim in (64, 128, 256)}}
