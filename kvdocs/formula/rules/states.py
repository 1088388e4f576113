"""What a layer with a state keeps instead of K and V: Mamba, delta rules, short convolutions.

In: an effective config. Out: a layer. A convolution keeps its last ``kernel`` inputs, a recurrence
one matrix a head. Sources are the mixer classes of transformers 5.24.0, named at each function.
"""

from __future__ import annotations

from kvdocs.formula.config import EffectiveConfig
from kvdocs.formula.constant import NoCache, State
from kvdocs.formula.layers import FullAttention, Layer
from kvdocs.formula.rules.types import Keeps
from kvdocs.formula.several import Several
from kvdocs.units import ceil_div


def gated_delta(cfg: EffectiveConfig) -> State:
    """One key × value matrix a value head; Qwen3NextGatedDeltaNet."""
    keys = cfg.required("linear_num_key_heads") * cfg.required("linear_key_head_dim")
    value_heads, value_dim = (
        cfg.required("linear_num_value_heads"),
        cfg.required("linear_value_head_dim"),
    )
    conv = (2 * keys + value_heads * value_dim) * cfg.required("linear_conv_kernel_dim")
    return State(conv, value_heads * cfg.required("linear_key_head_dim") * value_dim)


def olmo_delta(cfg: EffectiveConfig) -> State:
    """As ``gated_delta``, its sizes derived from the attention's; OlmoHybridConfig."""
    heads = cfg.required("num_attention_heads")
    key_heads = cfg.optional("linear_num_key_heads") or heads
    derived = 3 * cfg.required("hidden_size") // (4 * key_heads)
    key_dim = cfg.optional("linear_key_head_dim") or max(1, derived)
    value_dim = cfg.optional("linear_value_head_dim") or 2 * key_dim
    keys = key_heads * key_dim
    value_heads = cfg.optional("linear_num_value_heads") or heads
    conv = (2 * keys + value_heads * value_dim) * cfg.required("linear_conv_kernel_dim")
    return State(conv, value_heads * key_dim * value_dim)


def kimi_delta(cfg: EffectiveConfig) -> State:
    """Three convolutions and one square matrix a head; KimiLinearDeltaAttention."""
    own = cfg.part("linear_attn_config")
    heads = own.optional("num_heads") or cfg.required("linear_num_heads")
    dim = own.optional("head_dim") or cfg.required("linear_head_dim")
    kernel = own.optional("short_conv_kernel_size") or cfg.required("linear_conv_kernel_dim")
    return State(3 * heads * dim * kernel, heads * dim * dim)


def bailing_delta(cfg: EffectiveConfig) -> State:
    """``kimi_delta`` with the attention's heads and ``head_dim``; BailingHybridConfig.

    A config that transformers has saved keeps them under ``linear_`` names, and has the rotary
    width in ``head_dim``.
    """
    heads = cfg.optional("linear_num_heads") or cfg.required("num_attention_heads")
    dim = cfg.optional("linear_head_dim") or cfg.required("head_dim")
    kernel = cfg.optional("linear_conv_kernel_dim") or cfg.required("short_conv_kernel_size")
    return State(3 * heads * dim * kernel, heads * dim * dim)


def mamba1(cfg: EffectiveConfig) -> State:
    """A state of ``state_size`` a channel; MambaMixer, JambaMambaMixer, ZambaMambaMixer."""
    if "mamba_expand" in cfg.defaults:
        channels = cfg.times("mamba_expand", "hidden_size")
        kernel, state = cfg.required("mamba_d_conv"), cfg.required("mamba_d_state")
    else:
        channels = cfg.optional("intermediate_size") or cfg.times("expand", "hidden_size")
        kernel, state = cfg.required("conv_kernel"), cfg.required("state_size")
    return State(channels * kernel, channels * state)


def mamba2(cfg: EffectiveConfig) -> State:
    """A head_dim × state matrix a head; Mamba2Mixer."""
    channels, dim = cfg.times("expand", "hidden_size"), cfg.required("head_dim")
    state, kernel = cfg.required("state_size"), cfg.required("conv_kernel")
    return _mamba2(channels, channels // dim, dim, state, cfg.required("n_groups"), kernel)


def bamba_mamba2(cfg: EffectiveConfig) -> State:
    """Mamba-2 under Bamba's names; BambaMixer, GraniteMoeHybridMambaLayer, FalconH1Mixer."""
    channels = cfg.optional("mamba_d_ssm") or cfg.times("mamba_expand", "hidden_size")
    heads = cfg.required("mamba_n_heads")
    auto = cfg.get("mamba_d_head") in ("auto", None)
    dim = channels // heads if auto else cfg.required("mamba_d_head")
    state, kernel = cfg.required("mamba_d_state"), cfg.required("mamba_d_conv")
    return _mamba2(channels, heads, dim, state, cfg.required("mamba_n_groups"), kernel)


def nemotron_mamba2(cfg: EffectiveConfig) -> State:
    """Mamba-2 under Nemotron's names; NemotronHMamba2Mixer."""
    heads, dim = cfg.required("mamba_num_heads"), cfg.required("mamba_head_dim")
    state, kernel = cfg.required("ssm_state_size"), cfg.required("conv_kernel")
    return _mamba2(heads * dim, heads, dim, state, cfg.required("n_groups"), kernel)


def zamba_mamba2(cfg: EffectiveConfig) -> State:
    """Mamba-2 under Zamba's names; Zamba2MambaMixer."""
    channels, heads = cfg.times("mamba_expand", "hidden_size"), cfg.required("n_mamba_heads")
    state, kernel = cfg.required("mamba_d_state"), cfg.required("mamba_d_conv")
    groups = cfg.required("mamba_ngroups")
    return _mamba2(channels, heads, channels // heads, state, groups, kernel)


def _mamba2(channels: int, heads: int, dim: int, state: int, groups: int, kernel: int) -> State:
    return State((channels + 2 * groups * state) * kernel, heads * dim * state)


def short_conv(cfg: EffectiveConfig) -> State:
    """The last ``conv_L_cache`` inputs of every channel, no recurrence; Lfm2ShortConv."""
    return State(cfg.required("hidden_size") * cfg.required("conv_L_cache"), 0)


def lightning(cfg: EffectiveConfig) -> State:
    """One square matrix a head, in the model's dtype; MiniMaxLightningAttention."""
    heads = cfg.required("num_attention_heads")
    dim = cfg.optional("head_dim") or cfg.required("hidden_size") // heads
    return State(0, heads * dim * dim, float32=False)


def xlstm(cfg: EffectiveConfig) -> State:
    """A key × value matrix, a key and one number a head, in the model's dtype; xLSTMCache.

    Keys and values are ``qk_dim_factor`` and ``v_dim_factor`` times as wide as the layer, rounded
    up to 64.
    """
    for other, name in (("embedding_dim", "hidden_size"), ("num_blocks", "num_hidden_layers")):
        if cfg.optional(other) not in (None, cfg.required(name)):
            raise cfg.error(other, f"is {cfg.get(other)}, and {name} is {cfg.get(name)}")
    heads = cfg.required("num_heads")
    keys, values = (
        ceil_div(cfg.times(factor, "hidden_size"), 64) * 64 // heads
        for factor in ("qk_dim_factor", "v_dim_factor")
    )
    return State(0, heads * (keys * values + keys + 1), float32=False)


def no_cache(cfg: EffectiveConfig) -> Layer:
    """A layer of experts or an MLP only."""
    return NoCache()


def hybrid(attention: Keeps, state: Keeps) -> Keeps:
    """A layer with attention and a state side by side (Falcon-H1, Zamba)."""
    return lambda cfg: Several((attention(cfg), state(cfg)))


def zamba_attention(cfg: EffectiveConfig) -> FullAttention:
    """Attention over two residual streams: twice the hidden size; ZambaAttention."""
    heads = cfg.required("num_attention_heads")
    dim = 2 * cfg.required("hidden_size") // heads
    if "attention_head_dim" in cfg.defaults:
        dim = cfg.optional("attention_head_dim") or dim
    return FullAttention(cfg.optional("num_key_value_heads") or heads, dim, dim)


def rg_lru(cfg: EffectiveConfig) -> State:
    """All inputs of the convolution but the newest, and one sum a channel; RecurrentGemma."""
    width = cfg.optional("lru_width") or cfg.required("hidden_size")
    return State(width * (cfg.required("conv1d_width") - 1), width)
