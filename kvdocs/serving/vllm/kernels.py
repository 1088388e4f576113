"""Which layers vLLM 0.33.0 has kernels for, in cache formats that only one backend reads.

In: a layout, its config, a ``--kv-cache-dtype`` and, where it is known, the card. Out: vLLM's
reason where it refuses to start. What a format takes of a card alone is in ``dtypes.py``.
Paths are in the vLLM 0.33.0 wheel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kvdocs.formula import CacheLayout
from kvdocs.formula.config import EffectiveConfig
from kvdocs.formula.constant import CrossAttention
from kvdocs.formula.layers import Chunk, FullAttention, SlidingWindow

BACKENDS = "v1/attention/backends"


@dataclass(frozen=True)
class Kernels:
    """What the only backend of some formats reads: heads of these sizes (empty: of any), and
    whether sliding layers, and attention sinks. None of them reads an encoder's output
    (v1/attention/backend.py:251)."""

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
OLDER_FLASHINFER = (8, 9, 12)  # generations that read nvfp4 without TensorRT's kernels
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
    family = dtype.partition("_")[0]
    if family not in KERNELS or dtype.endswith("ds_mla"):
        return ""
    cfg = EffectiveConfig.of(config, "config.json")
    reasons = _of_family(KERNELS[family], dtype, layout, cfg)
    if family == "nvfp4" and capability and int(float(capability)) in OLDER_FLASHINFER:
        reasons = [*reasons, *_older(layout, cfg)]
    return next(iter(reasons), "")


def _of_family(
    kernels: Kernels, dtype: str, layout: CacheLayout, cfg: EffectiveConfig
) -> list[str]:
    def found() -> Iterator[str]:
        source = f"({kernels.source})"
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
        if kernels.rotary and dims and (rotary := _rotary(cfg, max(dims))) != kernels.rotary:
            yield f"{dtype} needs {kernels.rotary} rotary dimensions, not {rotary} {source}"

    return list(found())


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
