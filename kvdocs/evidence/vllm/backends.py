"""Which attention backend vLLM 0.33.0 takes for a layer on a card, asked of vLLM's own chooser.

In: a layer, a cache dtype, a compute capability. Out: the backend's name, or vLLM's refusal. The
chooser is ``CudaPlatform``'s, the answers are the backends' own, and what the Triton backends check
when they are made is checked too. No GPU is needed: only the card is a stand-in, with the libraries
that CUDA wheels bring and this machine lacks.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock, patch

from kvdocs.evidence.vllm.geometry import Geometry

BACKENDS = "vllm.v1.attention.backends"
KERNELS = ("flashinfer", *(f"flashinfer.{part}" for part in ("decode", "prefill", "utils", "mla")))
NOT_HERE = (ImportError, AssertionError, AttributeError)  # what an import without CUDA raises
HEADS = 32  # of the queries; only large batches of small models would be read by another kernel


@dataclass(frozen=True)
class AskedLayer:
    """An attention layer as vLLM asks for its backend. ``size`` is that of a head or of a latent;
    ``images`` says that the tokens of an image see one another."""

    size: int
    slides: bool = False
    sinks: bool = False
    crosses: bool = False
    latent: bool = False
    sparse: bool = False
    images: bool = False


def chosen(layer: AskedLayer, dtype: str, capability: str, found: Geometry) -> str:
    """The name of the backend that vLLM would run.

    Raises:
        ValueError: vLLM refuses, in its own words.
    """
    with _on_card(capability, found) as card:
        asked = as_asked(layer, dtype)
        name: str = card.get_attn_backend_cls(None, asked, num_heads=HEADS).rsplit(".", 1)[1]
        if name.startswith("Triton"):
            _made(name, layer.size, dtype, asked.attn_type)
    return name


def as_asked(layer: AskedLayer, dtype: str) -> Any:
    """The layer in the words of the chooser, for a model in bfloat16."""
    import torch
    from vllm.v1.attention.selector import AttentionSelectorConfig

    return AttentionSelectorConfig(
        layer.size,
        torch.bfloat16,
        dtype,
        None,
        use_mla=layer.latent,
        has_sink=layer.sinks,
        use_sparse=layer.sparse,
        use_mm_prefix=layer.images,
        attn_type="encoder_decoder" if layer.crosses else "decoder",
        has_sliding_window=layer.slides,
    )


def _made(name: str, size: int, dtype: str, kind: str) -> None:
    """Make Triton's part of a layer, which is where it looks at the card
    (v1/attention/backends/triton_attn.py:510, mla/triton_mla.py:199)."""
    from vllm.model_executor.layers.attention.mla_attention import MLACommonImpl
    from vllm.v1.attention.backends.mla.triton_mla import TritonMLAImpl
    from vllm.v1.attention.backends.triton_attn import TritonAttentionImpl

    def common(self: Any, *given: Any, **_: Any) -> None:
        self.kv_cache_dtype = given[6]

    if name == "TritonAttentionBackend":
        TritonAttentionImpl(HEADS, size, 1.0, HEADS, None, None, dtype, attn_type=kind)
    elif name == "TritonMLABackend":
        with patch.object(MLACommonImpl, "__init__", common), suppress(AttributeError):
            TritonMLAImpl(HEADS, size, 1.0, 1, None, None, dtype, None, kind, None)


@contextmanager
def _on_card(capability: str, found: Geometry) -> Iterator[Any]:
    """Everything in vLLM that asks for the card is told of one of this compute capability."""
    import vllm.config.vllm as configured
    import vllm.utils.flashinfer as library

    cuda = _cuda()
    card = _card(cuda, *map(int, capability.split(".")))
    asking = [
        module
        for name, module in list(sys.modules.items())
        if name.startswith("vllm.v1.attention") and "current_platform" in vars(module)
    ]
    yes = {
        (sys.modules[f"{BACKENDS}.flashinfer"], "supports_trtllm_attention"),
        (sys.modules[f"{BACKENDS}.mla.flashattn_mla_sparse"], "flash_attn_supports_mla"),
        (sys.modules[f"{BACKENDS}.mla.flashinfer_mla_sparse_sm90"], "has_flashinfer_sm90_nope_mla"),
        (library, "has_flashinfer_sparse_mla_sm120"),
    }
    with ExitStack() as stack:
        for module in asking:
            stack.enter_context(patch.object(module, "current_platform", card))
        for module, name in yes:
            stack.enter_context(patch.object(module, name, lambda *_, **__: True))
        stack.enter_context(patch.object(library, "force_use_trtllm_attention", lambda: None))
        # FlashAttention is not here; what it reads, others read as well.
        flash = sys.modules[f"{BACKENDS}.flash_attn"]
        stack.enter_context(
            patch.object(flash, "is_flash_attn_varlen_func_available", lambda: False)
        )
        stack.enter_context(patch.object(cuda, "_get_attn_backend_class", _backend))
        stack.enter_context(patch.object(configured, "_current_vllm_config", _config(found)))
        yield card


def _config(found: Geometry) -> Any:
    """The attributes of VllmConfig that backends read."""
    config = MagicMock()
    config.model_config.hf_text_config = found.text
    config.model_config.is_mm_prefix_lm = bool(found.arch.is_mm_prefix_lm)
    config.model_config.get_head_size = lambda: found.arch.head_size
    config.model_config.get_num_kv_heads = lambda *_: found.arch.total_num_kv_heads
    config.model_config.get_num_attention_heads = lambda *_: HEADS
    config.attention_config.flash_attn_version = None
    config.parallel_config = SimpleNamespace(
        decode_context_parallel_size=1,
        prefill_context_parallel_size=1,
        tensor_parallel_size=1,
        pipeline_parallel_size=1,
    )
    return config


def _card(cuda: Any, major: int, minor: int) -> Any:
    import torch
    from vllm.platforms.interface import DeviceCapability

    class Card(cuda.CudaPlatformBase):  # type: ignore[misc]
        device_name = "card"

        def num_compute_units(self, device_id: int = 0) -> int:
            return 100

        @classmethod
        def get_device_capability(cls, device_id: int = 0) -> Any:
            return DeviceCapability(major, minor)

        @classmethod
        def get_device_name(cls, device_id: int = 0) -> str:
            return cls.device_name

        @classmethod
        def fp8_dtype(cls) -> Any:
            return torch.float8_e4m3fn

    return Card()


def _backend(backend: Any) -> Any:
    """The backend's class; one that wants CUDA to be imported is as good as not installed."""
    try:
        return backend.get_class()
    except NOT_HERE as error:
        raise ImportError(str(error)) from None


@cache
def _cuda() -> Any:
    """vLLM's module for CUDA, and its backends imported, kernels aside."""
    import vllm._custom_ops
    import vllm.config  # noqa: F401  first: the modules below import it, and it them
    from vllm.v1.attention.backends.registry import AttentionBackendEnum

    for backend in AttentionBackendEnum:  # first those that need no stand-in
        with suppress(*NOT_HERE, ValueError):
            backend.get_class()
    with _stand_ins(*KERNELS, "vllm._C_stable_libtorch"):
        import vllm.platforms.cuda as cuda

        for backend in AttentionBackendEnum:
            with suppress(*NOT_HERE, ValueError):
                backend.get_class()
    return cuda


@cache
def flashinfer_backend() -> Any:
    """FlashInfer's backend. Its kernels, which are not installed here, have no part in sizes."""

    with _stand_ins(*KERNELS):
        from vllm.v1.attention.backends.flashinfer import FlashInferBackend
    return FlashInferBackend


@contextmanager
def _stand_ins(*names: str) -> Iterator[None]:
    """Modules that are not installed, replaced while others are imported."""
    missing = [name for name in names if name not in sys.modules]
    sys.modules.update({name: MagicMock() for name in missing})
    try:
        yield
    finally:
        for name in missing:
            del sys.modules[name]
