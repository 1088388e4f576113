"""The specs of DeepSeek V4's layers: vLLM 0.33.0's own attention module, built without weights.

In: the stand-in for vLLM's configuration. Out: for each pipeline stage the KVCacheSpecs of all
that its layers register, by name, as the worker collects them. Projections, norms and kernels are
stand-ins too, since they want a GPU; the caches are vLLM's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock, patch

V4 = "vllm.models.deepseek_v4"
NO_PART_IN_SIZES = {
    f"{V4}.attention": (
        "MergedColumnParallelLinear",
        "ColumnParallelLinear",
        "RowParallelLinear",
        "ReplicatedLinear",
        "RMSNorm",
        "SparseAttnIndexer",
        "build_deepseek_v4_rope",
        "get_max_prefill_buffer_size",
        "make_attention_sink",
        "torch.cuda.Event",
    ),
    f"{V4}.compressor": ("MergedColumnParallelLinear", "RMSNorm"),
}
CONFIGURED = (f"{V4}.attention", f"{V4}.compressor", "vllm.v1.attention.backends.mla.sparse_swa")


def specs_of_stages(stages: list[range], config: Any) -> list[dict[str, Any]]:
    """The specs of every pipeline stage; sets the block and the layout that the backends want."""
    registered = [_built(stage, config) for stage in stages]
    modules = [module for stage in registered for module in stage.values()]
    _settle(list(dict.fromkeys(module.get_attn_backend() for module in modules)), config)
    return [
        {
            name: spec
            for name, module in stage.items()
            if (spec := module.get_kv_cache_spec(config)) is not None
        }
        for stage in registered
    ]


def _built(stage: range, config: Any) -> dict[str, Any]:
    """The modules with a cache that the attention of these layers registers, by name."""
    from vllm.models.deepseek_v4.nvidia.model import _select_dsv4_attn_cls

    registered: dict[str, Any] = {}
    config.compilation_config = SimpleNamespace(static_forward_context=registered)
    with _without_kernels(config):
        for layer in stage:
            _select_dsv4_attn_cls(config)(config, prefix=f"model.layers.{layer}.attn")
    return registered


@contextmanager
def _without_kernels(config: Any) -> Iterator[None]:
    with ExitStack() as stack:
        for module, names in NO_PART_IN_SIZES.items():
            for name in names:
                stack.enter_context(patch(f"{module}.{name}", MagicMock()))
        ranks = config.parallel_config.tensor_parallel_size
        size = f"{V4}.attention.get_tensor_model_parallel_world_size"
        stack.enter_context(patch(size, lambda: ranks))
        recipe = f"{V4}.nvidia.flashmla.compute_fp8_einsum_recipe"
        stack.enter_context(patch(recipe, lambda: (None, None)))
        for module in CONFIGURED:
            stack.enter_context(patch(f"{module}.get_current_vllm_config", lambda: config))
        yield


def _settle(backends: list[Any], config: Any) -> None:
    """The block size as the platform picks it, the layout as the engine does."""
    from vllm.platforms.interface import Platform
    from vllm.v1.attention.backends.utils import get_supported_kv_cache_layouts

    cache = config.cache_config
    with patch("vllm.config.vllm.set_current_vllm_config", lambda _: nullcontext()):
        block = Platform._preferred_block_size_for_backends(backends, cache.block_size, config)
    layout = get_supported_kv_cache_layouts(backends)[0]
    cache.block_size = block
    cache.get_resolved_kv_cache_layout = lambda: layout
