"""The specs that vLLM 0.33.0's own layers make, without building a model.

In: a config as vLLM read it, and the stand-in for its configuration. Out: for each layer the
KVCacheSpecs that the engine would plan with. Every spec comes from the layer class's own
``get_kv_cache_spec``, called on a stand-in that has the attributes it reads; the sizes of states
come from the model class.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from functools import cache
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock, patch

from kvdocs.evidence.vllm.backends import flashinfer_backend
from kvdocs.evidence.vllm.deepseek_v4 import specs_of_stages
from kvdocs.evidence.vllm.geometry import Geometry
from kvdocs.evidence.vllm.sparse_latents import SPARSE_CARDS, sparse_format

STATE_MODELS = {  # models whose layers without attention keep a state: module and class
    "falcon_h1": ("falcon_h1", "FalconH1ForCausalLM"),
    "granitemoehybrid": ("granitemoehybrid", "GraniteMoeHybridForCausalLM"),
    "nemotron_h": ("nemotron_h", "NemotronHForCausalLM"),
    "qwen3_next": ("qwen3_next", "Qwen3NextForCausalLM"),
    # Qwen3.5 has Qwen3-Next's sizes (models/qwen3_5.py:399); its own module wants torchvision.
    "qwen3_5_text": ("qwen3_next", "Qwen3NextForCausalLM"),
    "qwen3_5_moe_text": ("qwen3_next", "Qwen3NextForCausalLM"),
}


def specs(found: Geometry, config: Any) -> list[dict[str, Any]]:
    """The specs of every pipeline stage, by name of the layer; ranks of a stage are alike."""
    from vllm.distributed.utils import get_pp_indices

    count = config.parallel_config.pipeline_parallel_size
    stages = [range(*get_pp_indices(len(found.kinds), stage, count)) for stage in range(count)]
    if found.compresses:
        return specs_of_stages(stages, config)
    if config.cache_config.cache_dtype.startswith(("turboquant", "ultraquant")):
        _skip_ends(found, config)
    if found.states:
        _align(found, config)
    return [
        {name: spec for layer in stage for name, spec in _of_layer(found, layer, config)}
        for stage in stages
    ]


def _skip_ends(found: Geometry, config: Any) -> None:
    """The layers left in 16 bits (engine/arg_utils.py:2345) and the block that these ask for, as
    the platform picks it by the first layer's backend (platforms/interface.py:792)."""
    from vllm.model_executor.layers.quantization.turboquant.config import TurboQuantConfig
    from vllm.platforms.interface import Platform

    model = SimpleNamespace(is_hybrid=found.states, hf_text_config=found.text)
    skipped = [] if found.states else TurboQuantConfig.get_boundary_skip_layers(model)
    config.cache_config.kv_cache_dtype_skip_layers = skipped
    if skipped:
        with patch("vllm.config.vllm.set_current_vllm_config", lambda _: nullcontext()):
            Platform._align_heterogeneous_kv_block_size(config, _backend("auto", latent=False))


def _of_layer(found: Geometry, layer: int, config: Any) -> Iterator[tuple[str, Any]]:
    from vllm.v1.worker.utils import customize_attention_spec

    kind, name = found.kinds[layer], f"model.layers.{layer}"
    if kind in ("linear_attention", "mamba", "hybrid"):
        yield f"{name}.mixer", _state(found, config)
    if kind not in ("linear_attention", "mamba", "none"):
        backend = _backend(_dtype(layer, config), found.arch.is_deepseek_mla)
        spec = _attention(found, layer, backend, config)
        yield f"{name}.attn", customize_attention_spec(backend, spec)
    if kind != "none" and (size := getattr(found.text, "index_head_dim", None)):
        yield f"{name}.indexer", _indexer(size, config)
    if getattr(found.text, "is_encoder_decoder", False):
        yield f"{name}.cross", _cross(found, layer, config)


def _attention(found: Geometry, layer: int, backend: Any, config: Any) -> Any:
    """From Attention, ChunkedLocalAttention or MLAAttention."""
    from vllm.model_executor.layers.attention.attention import Attention
    from vllm.model_executor.layers.attention.chunked_local_attention import ChunkedLocalAttention
    from vllm.model_executor.layers.attention.mla_attention import MLAAttention

    stand_in = _stand_in(found, layer, backend, config)
    if found.arch.is_deepseek_mla:
        stand_in.kv_cache_dtype = _latent_dtype(found, config)
        return MLAAttention.get_kv_cache_spec(stand_in, config)
    if found.kinds[layer] == "chunked_attention":
        stand_in.attention_chunk_size = found.text.attention_chunk_size
        return ChunkedLocalAttention.get_kv_cache_spec(stand_in, config)
    return Attention.get_kv_cache_spec(stand_in, config)


def _stand_in(found: Geometry, layer: int, backend: Any, config: Any) -> SimpleNamespace:
    from vllm.v1.attention.backend import AttentionType

    dtype, arch = _dtype(layer, config), found.arch[layer]
    slides = found.kinds[layer] == "sliding_attention"
    return SimpleNamespace(
        attn_type=AttentionType.DECODER,
        attn_backend=backend,
        kv_cache_dtype=dtype,
        kv_cache_torch_dtype=torch_dtype(dtype),
        num_kv_heads=config.model_config.heads(config.parallel_config, arch),
        head_size=arch.head_size,
        head_size_v=arch.head_size,
        sliding_window=found.text.sliding_window if slides else None,
        topk_buffer_width=None,
        indexer=None,
        non_causal_multi_token_decode=False,
    )


def _dtype(layer: int, config: Any) -> str:
    """The cache dtype of one layer (layers/attention/attention.py:312)."""
    skipped = str(layer) in config.cache_config.kv_cache_dtype_skip_layers
    return "auto" if skipped else str(config.cache_config.cache_dtype)


def _latent_dtype(found: Geometry, config: Any) -> str:
    """That of sparse latents is their backend's on Hopper, or on Blackwell, which has one more."""
    dtype: str = config.cache_config.cache_dtype
    if not hasattr(found.text, "index_topk"):
        return dtype
    kept = (sparse_format(dtype, found, card) for card in SPARSE_CARDS)
    return next(name for name in kept if name)


def _indexer(size: int, config: Any) -> Any:
    """One FP8 key and its scale a token (models/deepseek_v2.py:731)."""
    import torch
    from vllm.model_executor.models.deepseek_v2 import DeepseekV32IndexerCache

    stand_in = SimpleNamespace(
        cache_config=config.cache_config, head_dim=size + size // 128 * 4, dtype=torch.uint8
    )
    return DeepseekV32IndexerCache.get_kv_cache_spec(stand_in, config)


def _cross(found: Geometry, layer: int, config: Any) -> Any:
    from vllm.model_executor.layers.attention.cross_attention import CrossAttention

    stand_in = _stand_in(found, layer, None, config)
    return CrossAttention.get_kv_cache_spec(stand_in, config)


def _state(found: Geometry, config: Any) -> Any:
    """From MambaBase, with the sizes of the model class; Mamba-2 layers take one checkpoint more
    (layers/mamba/mamba_mixer2.py:1108)."""
    from dataclasses import replace

    from vllm.model_executor.layers.mamba.abstract import MambaBase
    from vllm.v1.attention.backends.registry import MambaAttentionBackendEnum

    model = _state_model(found)
    stand_in = SimpleNamespace(
        get_state_shape=lambda: model.get_mamba_state_shape_from_config(config),
        get_state_dtype=lambda: model.get_mamba_state_dtype_from_config(config),
        mamba_type=MambaAttentionBackendEnum.MAMBA2,
        is_kv_cache_tp_replicated=False,
    )
    spec = MambaBase.get_kv_cache_spec(stand_in, config)
    if _delta_rule(found):
        return spec
    return replace(spec, num_prefill_checkpoint_blocks=1, prefill_checkpoint_alignment=1)


def _align(found: Geometry, config: Any) -> None:
    """The platform's own choice of the block, so that a page of attention holds a state."""
    from vllm.platforms.interface import Platform

    backend = _backend(config.cache_config.cache_dtype, latent=False)
    models = MagicMock()
    models.resolve_model_cls.return_value = (_state_model(found), "")
    mamba = "vllm.model_executor.layers.mamba.abstract.get_mamba_prefill_checkpoint_alignment"
    with (
        patch("vllm.model_executor.models.ModelRegistry", models),
        patch("vllm.config.vllm.set_current_vllm_config", lambda _: nullcontext()),
        patch.object(Platform, "_find_non_ssm_backends", lambda _: [backend]),
        patch(mamba, lambda _: None if _delta_rule(found) else 1),
    ):
        Platform._align_hybrid_block_size(config, backend)


def _state_model(found: Geometry) -> Any:
    from importlib import import_module

    module, name = STATE_MODELS[found.text.model_type]
    return getattr(import_module(f"vllm.model_executor.models.{module}"), name)


def _delta_rule(found: Geometry) -> bool:
    """Whether the states are those of a gated delta rule, not Mamba-2. Its prefill runs on Triton
    here, as on Ampere and Ada cards, and exports no checkpoints."""
    return STATE_MODELS[found.text.model_type][0] == "qwen3_next"


def state_dtype(text: Any) -> str:
    """The width of recurrent states, as the model's config class sets it
    (models/config.py:813-976)."""
    if text.model_type == "nemotron_h":
        return str(getattr(text, "mamba_ssm_cache_dtype", "float32"))
    return str(getattr(text, "mamba_ssm_dtype", None) or "auto")


@cache
def _backend(dtype: str, latent: bool) -> Any:
    """A backend that packs the cache in this dtype; plain formats are packed alike by all."""
    if latent:
        from vllm.model_executor.layers.attention.mla_attention import MLACommonBackend

        return MLACommonBackend
    from vllm.v1.attention.backends.flash_attn import FlashAttentionBackend

    if dtype.endswith("per_token_head"):
        from vllm.v1.attention.backends.triton_attn import TritonAttentionBackend

        return TritonAttentionBackend
    if dtype.startswith("turboquant"):
        from vllm.v1.attention.backends.turboquant_attn import TurboQuantAttentionBackend

        return TurboQuantAttentionBackend
    return flashinfer_backend() if dtype.startswith("nvfp4") else FlashAttentionBackend


def torch_dtype(name: str) -> Any:
    """The element type of a cache dtype; ``auto`` is the model's, 16 bits here."""
    import torch
    from vllm.utils.torch_utils import STR_DTYPE_TO_TORCH_DTYPE

    return torch.bfloat16 if name == "auto" else STR_DTYPE_TO_TORCH_DTYPE[name]
