"""What a layer without attention keeps on one rank of vLLM 0.33.0: Mamba-2 and gated delta rules.

In: a published config and the number of ranks. Out: a ``RankState`` for ``Options.state``. The
sizes differ from transformers' (``kvdocs.formula``): vLLM keeps one column of the convolution less,
and keeps the recurrent part in 16 bits unless the config or the model class says otherwise.
Paths in docstrings are in the vLLM 0.33.0 wheel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kvdocs.engines.vllm.layers import RankState
from kvdocs.formula.config import EffectiveConfig
from kvdocs.formula.dtypes import element_bytes

GDN_GRID = 64  # tokens (v1/attention/backends/gdn_attn.py:34)
WIDTH = {name: element_bytes(name) for name in ("float32", "bfloat16", "float16")}


def rank_state(
    config: Mapping[str, object], ranks: int, source: str = "config.json", flashinfer: bool = False
) -> RankState | None:
    """What one such layer keeps on one of ``ranks`` ranks; None for models without such layers.

    ``flashinfer``: the delta rule's prefill runs on FlashInfer, as on Hopper and Blackwell cards
    (layers/mamba/gdn/qwen_gdn_linear_attn.py:148).

    Raises:
        ConfigError: a field without a usable value.
        ValueError: the ranks cannot share the heads of the state.

    >>> from kvdocs.facts.snapshot import load
    >>> rank_state(load("Qwen/Qwen3-Next-80B-A3B-Instruct").config, ranks=1).bytes
    1097728
    """
    effective = EffectiveConfig.of(config, source)
    if effective.model_type in MAMBA2:
        return RankState(MAMBA2[effective.model_type](effective, ranks), checkpoints=1, grid=1)
    if effective.model_type in ("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"):
        size = _delta_rule(effective, ranks)
        return RankState(size, 1, GDN_GRID) if flashinfer else RankState(size, 0, 1)
    return None


def _granite(cfg: EffectiveConfig, ranks: int) -> int:
    """models/granitemoehybrid.py:617."""
    inner = cfg.required("mamba_expand") * cfg.required("hidden_size")
    heads, groups = cfg.required("mamba_n_heads"), cfg.required("mamba_n_groups")
    sizes = (inner // heads, cfg.required("mamba_d_state"), cfg.required("mamba_d_conv"))
    return _mamba2(inner, heads, groups, sizes, 2, ranks)


def _nemotron(cfg: EffectiveConfig, ranks: int) -> int:
    """models/nemotron_h.py:780; the recurrent part in 32 bits unless the config says otherwise
    (models/config.py:813)."""
    heads, head_dim = cfg.required("mamba_num_heads"), cfg.required("mamba_head_dim")
    sizes = (head_dim, cfg.required("ssm_state_size"), cfg.required("conv_kernel"))
    width = WIDTH.get(str(cfg.published.get("mamba_ssm_cache_dtype")), 4)
    return _mamba2(heads * head_dim, heads, cfg.required("n_groups"), sizes, width, ranks)


def _falcon(cfg: EffectiveConfig, ranks: int) -> int:
    """models/falcon_h1.py:538: a state beside the attention of every layer."""
    inner = cfg.optional("mamba_d_ssm") or cfg.times("mamba_expand", "hidden_size")
    heads, groups = cfg.required("mamba_n_heads"), cfg.required("mamba_n_groups")
    sizes = (inner // heads, cfg.required("mamba_d_state"), cfg.required("mamba_d_conv"))
    return _mamba2(inner, heads, groups, sizes, 2, ranks)


MAMBA2: dict[str, Callable[[EffectiveConfig, int], int]] = {
    "falcon_h1": _falcon,
    "granitemoehybrid": _granite,
    "nemotron_h": _nemotron,
}


def _mamba2(
    inner: int, heads: int, groups: int, sizes: tuple[int, int, int], width: int, ranks: int
) -> int:
    """Bytes of the convolution (16 bits) and of the recurrent state (``width`` bytes an element).

    Groups that the ranks cannot share are copied to every one (layers/mamba/mamba_utils.py:186,
    261)."""
    head_dim, state, kernel = sizes
    groups += 0 if groups % ranks == 0 else ranks - groups
    conv = _shared(inner + 2 * groups * state, ranks) * (kernel - 1)
    return conv * 2 + _shared(heads, ranks) * head_dim * state * width


def _delta_rule(cfg: EffectiveConfig, ranks: int) -> int:
    """layers/mamba/mamba_utils.py:272; Qwen3.5 says the width of the recurrent part
    (models/config.py:953), Qwen3-Next keeps it in 16 bits."""
    keys = cfg.required("linear_num_key_heads") * cfg.required("linear_key_head_dim")
    heads, head_dim = cfg.required("linear_num_value_heads"), cfg.required("linear_value_head_dim")
    conv = _shared(2 * keys + heads * head_dim, ranks) * (
        cfg.required("linear_conv_kernel_dim") - 1
    )
    width = WIDTH.get(str(cfg.published.get("mamba_ssm_dtype")), 2)
    return conv * 2 + _shared(heads, ranks) * head_dim * cfg.required("linear_key_head_dim") * width


def _shared(count: int, ranks: int) -> int:
    if count % ranks:
        raise ValueError(f"{ranks} ranks cannot share a state of {count:,} rows evenly")
    return count // ranks
