"""vLLM 0.33.0's own planner, run for real without a GPU.

In: what vLLM read from a config, and the flags. Out: the blocks, tokens and concurrency that vLLM
would log. vLLM makes its own KVCacheSpec of every layer and plans the pool; nothing of
``kvdocs.formula`` or ``kvdocs.engines`` takes part. Only the engine's configuration object is a
stand-in, since the real one wants a GPU. One run takes milliseconds, the import 20 s.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from kvdocs.evidence.vllm.geometry import Geometry
from kvdocs.evidence.vllm.specs import specs, state_dtype, torch_dtype


@dataclass(frozen=True)
class Flags:
    """The flags that the planner reads, as vLLM names them; lengths in tokens."""

    max_model_len: int = 32_768
    kv_cache_dtype: str = "auto"
    block_size: int = 16
    tensor_parallel_size: int = 1
    pipeline_parallel_size: int = 1
    decode_context_parallel_size: int = 1
    max_num_batched_tokens: int = 2_048
    async_scheduling: bool = True
    prefix_caching: bool = True


@dataclass(frozen=True)
class Planned:
    """What vLLM's planner answers. ``error`` is its message where it refuses to start."""

    blocks: int = 0
    tokens: int = 0
    concurrency: float = 0.0
    error: str = ""


def planned(found: Geometry, flags: Flags, available_bytes: int) -> Planned:
    """Run the planner for one model, one set of flags and one amount of memory on every rank."""
    from vllm.v1.core import kv_cache_utils as utils

    config = _configuration(found, flags)
    try:
        pool = _pool(found, config, available_bytes)
    except ValueError as error:
        return Planned(error=str(error))
    tokens, concurrency = utils.get_kv_cache_capacity(config, pool)
    return Planned(pool.num_blocks, tokens, concurrency)


def planned_pool(found: Geometry, flags: Flags, available_bytes: int) -> Any:
    """The KVCacheConfig that the planner gives the scheduler.

    Raises:
        ValueError: vLLM refuses to start.
    """
    return _pool(found, _configuration(found, flags), available_bytes)


def _pool(found: Geometry, config: Any, available_bytes: int) -> Any:
    from vllm.v1.core import kv_cache_planning as planning
    from vllm.v1.core import kv_cache_utils as utils

    ranks = specs(found, config)
    groups = planning.get_global_kv_cache_groups(config, ranks)
    memory = [available_bytes] * len(ranks)
    plans = planning.get_kv_cache_configs(config, ranks, memory, groups)
    return utils.generate_scheduler_kv_cache_config(plans)


def refused(found: Geometry, flags: Flags) -> str:
    """Why vLLM refuses to share the model among so many ranks; empty where it does not."""
    from vllm.config import ModelConfig

    config = _configuration(found, flags)
    try:
        ModelConfig.verify_with_parallel_config(config.model_config, config.parallel_config)
    except ValueError as error:
        return str(error)
    return ""


def _configuration(found: Geometry, flags: Flags) -> Any:
    """The attributes of VllmConfig that the planner reads; its own code where it computes."""
    from vllm.config import ModelConfig, VllmConfig
    from vllm.v1.kv_cache_layout import KVCacheLayout

    model = SimpleNamespace(
        model_arch_config=found.arch,
        use_mla=found.arch.is_deepseek_mla,
        max_model_len=flags.max_model_len,
        original_max_model_len=flags.max_model_len,
        supports_kv_cache_grouping=False,
        dtype=torch_dtype("bfloat16"),
        hf_config=found.text,
        hf_text_config=found.text,
        architecture="",
        get_head_size=lambda: found.arch.head_size,
        get_total_num_kv_heads=lambda: found.arch.total_num_kv_heads,
        registry=SimpleNamespace(is_pp_supported_model=lambda *_: True),
        architectures=found.arch.architectures,
        multimodal_config=None,
    )
    model.heads = lambda *asked: ModelConfig.get_num_kv_heads(model, *asked)
    model.get_num_kv_heads = model.heads
    config = SimpleNamespace(
        model_config=model,
        cache_config=SimpleNamespace(
            block_size=flags.block_size,
            cache_dtype=flags.kv_cache_dtype,
            num_gpu_blocks_override=None,
            prefix_cache_retention_interval=None,
            skip_page_size_padded=None,
            kv_cache_dtype_skip_layers=[],
            mamba_cache_mode="align" if flags.prefix_caching else "none",
            mamba_cache_dtype="auto",
            mamba_ssm_cache_dtype=state_dtype(found.text),
            mamba_block_size=flags.block_size,
            mamba_page_size_padded=None,
            use_replayssm=False,
            get_resolved_kv_cache_layout=lambda: KVCacheLayout.LBNHC,
        ),
        parallel_config=SimpleNamespace(
            tensor_parallel_size=flags.tensor_parallel_size,
            pipeline_parallel_size=flags.pipeline_parallel_size,
            decode_context_parallel_size=flags.decode_context_parallel_size,
            enable_hc_sp=False,
            enable_expert_parallel=False,
        ),
        scheduler_config=SimpleNamespace(
            max_num_batched_tokens=flags.max_num_batched_tokens,
            max_num_seqs=1,  # read for buffers outside the pool
            async_scheduling=flags.async_scheduling,
            max_num_encoder_input_tokens=flags.max_num_batched_tokens,  # config/scheduler.py:306
            # config/vllm.py:2235: off for chunks, unless an environment variable asks otherwise
            disable_hybrid_kv_cache_manager="chunked_attention" in found.kinds,
        ),
        attention_config=SimpleNamespace(
            hisparse_config=None, backend=None, resolve_indexer_kv_dtype=lambda default: default
        ),
        quant_config=None,
        kernel_config=SimpleNamespace(enable_jit_warmup=False),
        speculative_config=None,
        num_prefill_lookahead_tokens=0,
        num_speculative_tokens=0,
        use_v2_model_runner=True,
    )
    config.max_concurrent_batches = VllmConfig.max_concurrent_batches.fget(config)
    config.max_in_flight_tokens = VllmConfig.max_in_flight_tokens.fget(config)
    return config
