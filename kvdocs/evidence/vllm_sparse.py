"""The backend that vLLM 0.33.0 picks for sparse latents on a card, and the format that it keeps.

In: a cache dtype, the config of the language model and a compute capability. Out: the format as
vLLM names it, or None where no backend of its list for the card takes the combination. The list,
the backends' checks and the renaming are vLLM's own; only what they ask about the machine (which
card, whether FlashInfer's kernels are there, the server's configuration) is answered here. The
0.33.0 wheel requires FlashInfer 0.7.2, which has them.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from functools import cache
from importlib import import_module
from types import SimpleNamespace
from unittest.mock import MagicMock, patch

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import Any

SIZES = (
    "num_attention_heads",
    "kv_lora_rank",
    "qk_rope_head_dim",
    "qk_nope_head_dim",
    "index_topk",
)
MLA = "vllm.v1.attention.backends.mla"
KERNELS = (  # compiled for cards, so not installed here; only names are taken from them
    "vllm._C_stable_libtorch",
    "vllm.vllm_flash_attn",
    "vllm.vllm_flash_attn.flash_attn_interface",
)


def sparse_format(dtype: str, text: Any, capability: str) -> str | None:
    """The format kept for ``--kv-cache-dtype dtype``."""
    return _of_sizes(dtype, tuple(getattr(text, name) for name in SIZES), capability)


@cache
def _of_sizes(dtype: str, sizes: tuple[int, ...], capability: str) -> str | None:
    from vllm.model_executor.layers.attention import mla_attention
    from vllm.platforms.interface import DeviceCapability

    text = SimpleNamespace(**dict(zip(SIZES, sizes, strict=True)))
    card = DeviceCapability(*map(int, capability.split(".")))
    with patch.dict(sys.modules, {name: MagicMock() for name in KERNELS}), ExitStack() as stack:
        for change in _answers(text):
            stack.enter_context(change)
        listed = _listed(dtype, text, card)
        backend = next((one for one in listed if _takes(one, dtype, text, card)), None)
    if backend is None:
        return None
    return str(mla_attention._canonicalize_sparse_mla_kv_cache_dtype(backend, dtype))


def _answers(text: Any) -> tuple[Any, ...]:
    """What the backends ask about the machine."""
    import vllm.config

    sm90, flash = (
        import_module(f"{MLA}.{name}")
        for name in ("flashinfer_mla_sparse_sm90", "flashattn_mla_sparse")
    )
    parallel = SimpleNamespace(prefill_context_parallel_size=1, decode_context_parallel_size=1)
    model = SimpleNamespace(hf_text_config=text)
    server = SimpleNamespace(model_config=model, parallel_config=parallel)
    return (
        patch.object(vllm.config, "get_current_vllm_config", lambda: server),
        patch.object(vllm.config, "get_current_vllm_config_or_none", lambda: server),
        patch.object(sm90, "has_flashinfer_sm90_nope_mla", lambda: True),
        patch.object(flash, "flash_attn_supports_mla", lambda: True),
        patch("vllm.utils.flashinfer.has_flashinfer_sparse_mla_sm120", lambda: True),
    )


def _listed(dtype: str, text: Any, card: Any) -> list[Any]:
    """The sparse backends of vLLM's list for the card, the preferred one first."""
    from vllm.platforms import cuda

    heads = text.num_attention_heads
    names = cuda._get_backend_priorities(
        True, card, heads, dtype, head_size=text.kv_lora_rank + text.qk_rope_head_dim
    )
    return [name.get_class() for name in names if "SPARSE" in name.name]


def _takes(backend: Any, dtype: str, text: Any, card: Any) -> bool:
    import torch
    from vllm.v1.attention.selector import AttentionSelectorConfig

    size = text.kv_lora_rank + text.qk_rope_head_dim
    asked = AttentionSelectorConfig(
        size, torch.bfloat16, dtype, None, use_mla=True, use_sparse=True
    )
    return not backend.validate_configuration(device_capability=card, **asked._asdict())
