"""vLLM 0.33.0's own planner, run for real without a GPU.

In: a published config and the flags. Out: the blocks, tokens and concurrency that vLLM would log.
vLLM reads the config itself (head counts, head sizes, windows), makes its own KVCacheSpec of every
layer and plans the pool; nothing of ``kvdocs.formula`` or ``kvdocs.serving`` takes part, except
that the flags come as ``Options``. Only the engine's configuration object is a stand-in, since the
real one wants a GPU.

Needs the environment of ``make test-engines``; everybody else reads ``records/vllm.json``, which
``python -m kvdocs.evidence.vllm`` writes. One planner run takes milliseconds, the import 20 s.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace

from kvdocs.serving.vllm import Options

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import Any


@dataclass(frozen=True)
class Planned:
    """What vLLM's planner answers. ``error`` is its message where it refuses to start."""

    blocks: int = 0
    tokens: int = 0
    concurrency: float = 0.0
    error: str = ""


@dataclass(frozen=True)
class Geometry:
    """What vLLM reads from a config: one entry a layer that keeps a cache.

    ``arch`` is vLLM's ModelArchitectureConfig, of which its own methods take the head count of a
    rank and the head size.
    """

    arch: Any
    windows: tuple[int | None, ...]


def planned(found: Geometry, options: Options, available_bytes: int) -> Planned:
    """Run the planner for one model, one set of flags and one amount of memory on every rank."""
    from vllm.v1.core import kv_cache_planning as planning
    from vllm.v1.core import kv_cache_utils as utils

    config = _configuration(found, options)
    try:
        ranks = _specs(found, config)
        groups = planning.get_global_kv_cache_groups(config, ranks)
        memory = [available_bytes] * len(ranks)
        plans = planning.get_kv_cache_configs(config, ranks, memory, groups)
    except ValueError as error:
        return Planned(error=str(error))
    whole = utils.generate_scheduler_kv_cache_config(plans)
    tokens, concurrency = utils.get_kv_cache_capacity(config, whole)
    return Planned(plans[0].num_blocks, tokens, concurrency)


def refused(found: Geometry, options: Options) -> str:
    """Why vLLM refuses to share the model among so many ranks; empty where it does not."""
    from vllm.config import ModelConfig

    config = _configuration(found, options)
    try:
        ModelConfig.verify_with_parallel_config(config.model_config, config.parallel_config)
    except ValueError as error:
        return str(error)
    return ""


def geometry(config: Mapping[str, Any]) -> Geometry:
    """What vLLM reads from a published config, with its own code.

    Raises:
        ValueError: vLLM or its transformers does not know the architecture.
    """
    import vllm.config  # noqa: F401  first: the modules below import it, and it them
    from vllm.transformers_utils.config import get_config, get_hf_text_config
    from vllm.transformers_utils.model_arch_config_convertor import (
        MODEL_ARCH_CONFIG_CONVERTORS,
        ModelArchConfigConvertorBase,
    )

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.json").write_text(json.dumps(config), encoding="utf-8")
        whole = get_config(folder, trust_remote_code=False)
    text = get_hf_text_config(whole)
    if extra := [name for name in NOT_BUILT if getattr(text, name, None)]:
        raise ValueError(f"no layer of vLLM's is built here for {', '.join(extra)}")
    convertor = MODEL_ARCH_CONFIG_CONVERTORS.get(whole.model_type, ModelArchConfigConvertorBase)
    arch = convertor(whole, text).convert()
    return Geometry(arch, _windows(text, arch.total_num_hidden_layers))


def _windows(text: Any, layers: int) -> tuple[int | None, ...]:
    """Each layer's window, as EngineArgs (engine/arg_utils.py:2288) and the model classes
    (models/llama.py:186, models/gemma3.py:155) choose it."""
    types = getattr(text, "layer_types", None)
    if unknown := set(types or ()) - {"full_attention", "sliding_attention"}:
        raise ValueError(f"no layer of vLLM's is built here for {', '.join(sorted(unknown))}")
    if types is None or set(types) == {"sliding_attention"}:
        return (getattr(text, "sliding_window", None),) * layers
    return tuple(text.sliding_window if kind == "sliding_attention" else None for kind in types)


def _configuration(found: Geometry, options: Options) -> Any:
    """The attributes of VllmConfig that the planner reads; its own code where it computes."""
    from vllm.config import ModelConfig, VllmConfig
    from vllm.v1.kv_cache_layout import KVCacheLayout

    model = SimpleNamespace(
        model_arch_config=found.arch,
        use_mla=found.arch.is_deepseek_mla,
        max_model_len=options.max_model_len,
        original_max_model_len=options.max_model_len,
        supports_kv_cache_grouping=False,
        dtype=_torch_dtype("bfloat16"),
        get_total_num_kv_heads=lambda: found.arch.total_num_kv_heads,
        registry=SimpleNamespace(is_pp_supported_model=lambda *_: True),
        architectures=found.arch.architectures,
        multimodal_config=None,
    )
    model.heads = lambda parallel: ModelConfig.get_num_kv_heads(model, parallel)
    config = SimpleNamespace(
        model_config=model,
        cache_config=SimpleNamespace(
            block_size=options.block_size,
            cache_dtype=options.kv_cache_dtype,
            num_gpu_blocks_override=None,
            prefix_cache_retention_interval=None,
            skip_page_size_padded=None,
            get_resolved_kv_cache_layout=lambda: KVCacheLayout.LBNHC,
        ),
        parallel_config=SimpleNamespace(
            tensor_parallel_size=options.tensor_parallel_size,
            pipeline_parallel_size=options.pipeline_parallel_size,
            decode_context_parallel_size=options.decode_context_parallel_size,
            enable_hc_sp=False,
            enable_expert_parallel=False,
        ),
        scheduler_config=SimpleNamespace(
            max_num_batched_tokens=options.max_num_batched_tokens,
            async_scheduling=options.async_scheduling,
            disable_hybrid_kv_cache_manager=False,
        ),
        attention_config=SimpleNamespace(hisparse_config=None),
        speculative_config=None,
        num_prefill_lookahead_tokens=0,
        use_v2_model_runner=True,
    )
    config.max_concurrent_batches = VllmConfig.max_concurrent_batches.fget(config)
    config.max_in_flight_tokens = VllmConfig.max_in_flight_tokens.fget(config)
    return config


def _specs(found: Geometry, config: Any) -> list[dict[str, Any]]:
    """The specs of every pipeline stage, one stage one dict; ranks of a stage are alike."""
    from vllm.distributed.utils import get_pp_indices

    count = config.parallel_config.pipeline_parallel_size
    layers = found.arch.total_num_hidden_layers
    stages = [range(*get_pp_indices(layers, stage, count)) for stage in range(count)]
    return [
        {f"model.layers.{i}.attn": _spec(found, found.windows[i], config) for i in stage}
        for stage in stages
    ]


def _spec(found: Geometry, window: int | None, config: Any) -> Any:
    """One layer's spec, from the attention layer's own method and its backend's."""
    from vllm.model_executor.layers.attention.attention import Attention
    from vllm.model_executor.layers.attention.mla_attention import MLAAttention
    from vllm.v1.attention.backend import AttentionType
    from vllm.v1.worker.utils import customize_attention_spec

    dtype = config.cache_config.cache_dtype
    backend = _backend(dtype, found.arch.is_deepseek_mla)
    layer = SimpleNamespace(
        attn_type=AttentionType.DECODER,
        attn_backend=backend,
        kv_cache_dtype=dtype,
        kv_cache_torch_dtype=_torch_dtype(dtype),
        num_kv_heads=config.model_config.heads(config.parallel_config),
        head_size=found.arch.head_size,
        head_size_v=found.arch.head_size,
        sliding_window=window,
        topk_buffer_width=None,
        indexer=None,
        non_causal_multi_token_decode=False,
    )
    kind = MLAAttention if found.arch.is_deepseek_mla else Attention
    return customize_attention_spec(backend, kind.get_kv_cache_spec(layer, config))


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
    return _flashinfer() if dtype.startswith("nvfp4") else FlashAttentionBackend


def _flashinfer() -> Any:
    """FlashInfer's backend. Its kernels, which are not installed here, have no part in sizes."""
    import sys
    from unittest.mock import MagicMock, patch

    kernels = ("flashinfer", *(f"flashinfer.{part}" for part in ("decode", "prefill", "utils")))
    with patch.dict(sys.modules, {name: MagicMock() for name in kernels}):
        from vllm.v1.attention.backends.flashinfer import FlashInferBackend
    return FlashInferBackend


# Fields of configs whose layers keep something else than K and V or a latent.
NOT_BUILT = (
    "index_topk",
    "num_kv_shared_layers",
    "is_heterogeneous",
    "is_encoder_decoder",
    "layers_block_type",
)


def _torch_dtype(name: str) -> Any:
    import torch
    from vllm.utils.torch_utils import STR_DTYPE_TO_TORCH_DTYPE

    return torch.bfloat16 if name == "auto" else STR_DTYPE_TO_TORCH_DTYPE[name]
