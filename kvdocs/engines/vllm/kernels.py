"""Which layers vLLM 0.33.0 has kernels for, by cache format and card.

In: a layout, its config, a ``--kv-cache-dtype`` and, where it is known, the card. Out: vLLM's
reason where it refuses to start. What a format takes of a card alone is in ``dtypes.py``.
Paths are in the vLLM 0.33.0 wheel. ``kvdocs.evidence.vllm.kernels`` asks vLLM's own choosers, and
the tests hold this module against that record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kvdocs.engines.vllm.compressed import compresses
from kvdocs.formula import CacheLayout
from kvdocs.formula.config import EffectiveConfig
from kvdocs.formula.constant import CrossAttention
from kvdocs.formula.layers import Chunk, FullAttention, Latent, Layer, SlidingWindow
from kvdocs.formula.several import IndexKeys
from kvdocs.startup import dataclass

BACKENDS = "v1/attention/backends"


@dataclass(frozen=True)
class Kernels:
    """What the only backend of some formats reads: heads of these sizes (empty: of any), and
    whether sliding layers, and attention sinks. None of them reads an encoder's output, or images
    whose tokens see one another (v1/attention/backend.py:251, 178)."""

    head_dims: tuple[int, ...] = ()
    windows: bool = True
    sinks: bool = True
    rotary: int | None = None
    source: str = ""


KERNELS = {  # by the first word of the format's name
    "nvfp4": Kernels((64, 128, 256, 512), source=f"{BACKENDS}/flashinfer.py:691"),
    "turboquant": Kernels(windows=False, sinks=False, source=f"{BACKENDS}/turboquant_attn.py:123"),
    "ultraquant": Kernels(windows=False, sinks=False, source=f"{BACKENDS}/ultraquant_attn.py:63"),
    "octave": Kernels((256,), False, False, 64, f"{BACKENDS}/rocm_octave_attn.py:299"),
}
# FP8 below 8.9: Triton and FlashAttention refuse it there (triton_attn.py:515, fa_utils.py:282 of
# the same folder), which leaves FlashInfer, and that reads no sinks on 8.x (flashinfer.py:703).
OLD_FP8 = Kernels((64, 128, 256, 512), sinks=False, source=f"{BACKENDS}/flashinfer.py:573-720")
FP8_ARITHMETIC = 8.9
FP8 = ("fp8", "fp8_e4m3", "fp8_e5m2")
# Latents: what the backends read together (mla/triton_mla.py:101 and its neighbours).
LATENT = ("auto", "float16", "bfloat16", "fp8", "fp8_e4m3")
# Latents of which an index picks some: by generation (mla/flashmla_sparse.py, flashinfer_mla_*.py,
# flashattn_mla_sparse.py: supported_kv_cache_dtypes and supports_compute_capability).
SPARSE = {
    9: (*LATENT, "fp8_ds_mla"),
    10: (*LATENT, "fp8_ds_mla", "nvfp4_ds_mla"),
    12: ("auto", "fp8", "fp8_e4m3", "fp8_ds_mla"),
}
COMPRESSED = (9, 10, 12)  # models/deepseek_v4/sparse_mla.py:96, nvidia/flashinfer_sparse.py:141
OLDER_FLASHINFER = (8, 9, 12)  # generations that read nvfp4 without TensorRT's kernels
IMAGES = ("bagel", "gemma3", "molmo2", "moondream3", "paligemma")
SINK_FLAGS = ("add_swa_attention_sink_bias", "swa_attention_sink_enabled", "attention_sinks")


def refusal(
    dtype: str, layout: CacheLayout, config: Mapping[str, object], capability: str | None = None
) -> str:
    """Why vLLM has no kernel for these layers in this format; empty where it has one.

    ``capability`` is the card's compute capability, None where the card is not known.

    >>> from kvdocs.facts.snapshot import load
    >>> oss = load("openai/gpt-oss-20b")
    >>> refusal("nvfp4", oss.layout, oss.config, "9.0").partition(" (")[0]
    'nvfp4 is misread at head_dim 64 on cards of 8.x, 9.x and 12.x'
    >>> refusal("nvfp4", oss.layout, oss.config, "10.0")
    ''
    """
    return next(_reasons(dtype, layout, config, float(capability) if capability else None), "")


def least_capability(dtype: str, layout: CacheLayout, config: Mapping[str, object]) -> str:
    """The oldest of the generations for which vLLM takes the format; empty where there is none."""
    known = ("8.0", "8.9", "9.0", "10.0", "12.0")
    return next((card for card in known if not refusal(dtype, layout, config, card)), "")


def _reasons(
    dtype: str, layout: CacheLayout, config: Mapping[str, object], card: float | None
) -> Iterator[str]:
    if compresses(layout):
        if card and int(card) not in COMPRESSED:
            yield "its kernels are for cards of 9.x, 10.x and 12.x (models/deepseek_v4)"
        return
    for layer in layout.layers:
        if any(isinstance(part, Latent) for part in layer.parts):
            yield from _latent(dtype, layer, card)
    family = dtype.partition("_")[0]
    if family in KERNELS and not dtype.endswith("ds_mla"):
        yield from _of_family(KERNELS[family], dtype, layout, config)
        if family == "nvfp4" and card and int(card) in OLDER_FLASHINFER:
            yield from _older(layout, EffectiveConfig.of(config, "config.json"))
    elif dtype in FP8 and card and card < FP8_ARITHMETIC:
        for reason in _of_family(OLD_FP8, dtype, layout, config):
            yield f"below compute capability {FP8_ARITHMETIC} {reason}"


def _latent(dtype: str, layer: Layer, card: float | None) -> Iterator[str]:
    """Why no backend reads a latent layer."""
    if any(isinstance(part, IndexKeys) for part in layer.parts):
        taken = SPARSE.get(int(card), ()) if card else SPARSE[10]
        if not taken:
            yield f"indexed latents have no kernel on cards of {card} ({BACKENDS}/mla)"
        elif dtype not in taken:
            where = f" on cards of {int(card)}.x" if card else ""
            yield f"{dtype} has no kernel for indexed latents{where} ({BACKENDS}/mla)"
    elif dtype not in LATENT:
        yield f"{dtype} has no kernel for latents ({BACKENDS}/mla/triton_mla.py:101)"
    elif dtype in FP8 and card and card < FP8_ARITHMETIC:
        yield (
            f"latents in FP8 need a compute capability of {FP8_ARITHMETIC} or more "
            f"({BACKENDS}/mla/triton_mla.py:205)"
        )


def _of_family(
    kernels: Kernels, dtype: str, layout: CacheLayout, config: Mapping[str, object]
) -> Iterator[str]:
    cfg, source = EffectiveConfig.of(config, "config.json"), f"({kernels.source})"
    parts = [part for part, _ in layout.groups()]
    if any(isinstance(part, CrossAttention) for part in parts):
        yield f"{dtype} has no kernel for an encoder's output {source}"
    dims = _head_dims(layout)
    other = dims - set(kernels.head_dims)
    if kernels.head_dims and other:
        sizes = " or ".join(f"{size}" for size in kernels.head_dims)
        yield f"{dtype} needs a head_dim of {sizes}, not {max(other)} {source}"
    if not kernels.windows and any(_slides(part) for part in parts):
        yield f"{dtype} has no kernel for sliding layers {source}"
    if not kernels.sinks and has_sinks(cfg):
        yield f"{dtype} has no kernel for attention sinks {source}"
    if dims and images_see_both_ways(config):
        yield f"{dtype} has no kernel for images whose tokens see one another {source}"
    if kernels.rotary and dims and (rotary := _rotary(cfg, max(dims))) != kernels.rotary:
        yield f"{dtype} needs {kernels.rotary} rotary dimensions, not {rotary} {source}"


def _older(layout: CacheLayout, cfg: EffectiveConfig) -> Iterator[str]:
    """v1/attention/backends/flashinfer.py:666."""
    where = "on cards of 8.x, 9.x and 12.x"
    if 64 in _head_dims(layout):
        yield f"nvfp4 is misread at head_dim 64 {where} ({BACKENDS}/flashinfer.py:685)"
    if has_sinks(cfg):
        yield f"nvfp4 has no kernel for attention sinks {where} ({BACKENDS}/flashinfer.py:687)"


def has_sinks(cfg: EffectiveConfig) -> bool:
    """Whether the model's attention has learned sinks, as vLLM's model classes read the config
    (models/gpt_oss.py:131, mimo_v2.py:418, laguna.py:486, granite.py:109)."""
    if cfg.model_type in ("granite", "granitemoe") and cfg.get("attention_sinks") is None:
        return cfg.get("layer_types") is not None
    return cfg.model_type == "gpt_oss" or any(cfg.get(flag) is True for flag in SINK_FLAGS)


def images_see_both_ways(config: Mapping[str, object]) -> bool:
    """Whether the tokens of an image see one another, later ones too, so that vLLM asks for a
    kernel for it unless it is started with --language-model-only
    (transformers_utils/model_arch_config_convertor.py:344, 782)."""
    kind, text = str(config.get("model_type")), config.get("text_config")
    if kind.startswith("gemma4"):
        own = text if isinstance(text, Mapping) else config
        return own.get("use_bidirectional_attention") == "vision"
    said = config.get("is_mm_prefix_lm")
    return said is True or (said is None and kind in IMAGES)


def _head_dims(layout: CacheLayout) -> set[int]:
    return {part.k_dim for part, _ in layout.groups() if isinstance(part, FullAttention)}


def _slides(part: object) -> bool:
    return isinstance(part, SlidingWindow) and not isinstance(part, Chunk)


def _rotary(cfg: EffectiveConfig, head_dim: int) -> int:
    """Dimensions of a head that turn with the position (v1/attention/ops/rocm_octave.py:76)."""
    rope = cfg.get("rope_parameters")
    factor = cfg.get("partial_rotary_factor")
    if factor is None and isinstance(rope, Mapping):
        factor = rope.get("partial_rotary_factor")
    return int(head_dim * factor) if isinstance(factor, int | float) else head_dim
