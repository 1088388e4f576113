"""Layers with a state instead of K and V: Mamba, delta rules, short convolutions; and hybrids.

In: an effective config. Out: layers. A convolution keeps its last ``kernel`` inputs, a recurrence
one matrix a head. Sources are the mixer classes of transformers 5.24.0, named at each function.
"""

from __future__ import annotations

from kvdocs.formula.config import EffectiveConfig
from kvdocs.formula.constant import NoCache, State
from kvdocs.formula.layers import FullAttention, Layer
from kvdocs.formula.rules.keeps import full, latent, window
from kvdocs.formula.rules.types import (
    CONV,
    FULL,
    HYBRID,
    LINEAR,
    SLIDING,
    Keeps,
    Rule,
    Types,
    by_type,
    current,
    every,
    every_nth,
    named,
    where,
)
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


def at_indices(field: str, then: str, rest: str) -> Types:
    """Layers listed in ``field`` are ``then``; an absent list lists none."""

    def pattern(cfg: EffectiveConfig, count: int) -> list[str]:
        listed = set(cfg.wholes(field) or ())
        return [then if i in listed else rest for i in range(count)]

    return named(pattern)


def conv_unless_listed(cfg: EffectiveConfig, count: int) -> list[str]:
    """Attention in ``full_attn_idxs``, everywhere where that is absent (LFM2)."""
    listed = cfg.wholes("full_attn_idxs")
    return [FULL if listed is None or i in listed else CONV for i in range(count)]


def jamba_types(cfg: EffectiveConfig) -> list[str]:
    """One attention layer in each ``attn_layer_period``, at ``attn_layer_offset``."""
    period, offset = cfg.required("attn_layer_period"), cfg.whole("attn_layer_offset")
    return [FULL if i % period == offset else LINEAR for i in range(cfg.layers())]


def zamba_types(cfg: EffectiveConfig, count: int) -> list[str]:
    """Two Mamba layers, a hybrid, then one hybrid in each ``attn_layer_period``."""
    period, offset = cfg.required("attn_layer_period"), cfg.whole("attn_layer_offset")
    rest = [HYBRID if i % period == offset else LINEAR for i in range(count - 3)]
    return ([LINEAR, LINEAR, HYBRID, *rest])[:count]


def zamba2_types(cfg: EffectiveConfig, count: int) -> list[str]:
    """The pattern of the released 54 layers; other counts publish their own list."""
    mamba = [LINEAR]
    types = mamba + (mamba * 5 + [HYBRID]) * 7 + mamba * 4 + [HYBRID] + mamba * 3 + [HYBRID]
    types += mamba * 2
    if len(types) != count:
        raise cfg.error(
            "layers_block_type", f"is missing, and {count} layers have no known pattern"
        )
    return types


def nemotron_types(cfg: EffectiveConfig) -> list[str]:
    """``hybrid_override_pattern`` (M, *, - and E) or ``layers_block_type``, as long as it is."""
    letters = {"M": LINEAR, "*": FULL, "-": "mlp", "E": "moe"}
    pattern, types = cfg.get("hybrid_override_pattern"), cfg.get("layer_types")
    if types is None and isinstance(pattern, str) and pattern:
        if unknown := sorted(set(pattern) - set(letters)):
            raise cfg.error("hybrid_override_pattern", f"has the unknown letter {unknown[0]!r}")
        return cfg.at_most([letters[letter] for letter in pattern], "hybrid_override_pattern")
    if types is None and pattern is not None:
        raise cfg.error("hybrid_override_pattern", "is not a text of layer letters")
    if types is None:
        return [LINEAR, "moe", FULL, "mlp"]
    if not isinstance(types, list) or not types or not all(isinstance(x, str) for x in types):
        raise cfg.error("layer_types", "is not a list of names, one per layer")
    return cfg.at_most([current(name) for name in types], "layer_types")


def kimi_types(cfg: EffectiveConfig, count: int) -> list[str]:
    """``linear_attn_config`` lists full and linear layers, counted from 1."""
    own = cfg.part("linear_attn_config")
    full, linear = own.wholes("full_attn_layers"), own.wholes("kda_layers")
    if full is None or linear is None:
        return [FULL if i and i % 4 == 0 else LINEAR for i in range(count)]
    if sorted(full + linear) != list(range(1, count + 1)):
        raise own.error("full_attn_layers", f"and kda_layers do not list {count} layers once each")
    return [FULL if i + 1 in full else LINEAR for i in range(count)]


def olmo_types(cfg: EffectiveConfig, count: int) -> list[str]:
    """Every fourth layer has attention, and where there is none, the last (OlmoHybridConfig)."""
    return [FULL if i % 4 == 3 or (count < 4 and i == count - 1) else LINEAR for i in range(count)]


LARA_PERIOD = [LINEAR, SLIDING, LINEAR, FULL, SLIDING]
linear_rest = every_nth(4, "full_attention_interval", rest=LINEAR)
bamba_types = at_indices("attn_layer_indices", FULL, LINEAR)


def recurrent_gemma_types(cfg: EffectiveConfig, count: int) -> list[str]:
    """``block_types`` repeated: two recurrent blocks, then one of attention."""
    names = {"recurrent": LINEAR, "attention": SLIDING}
    blocks = cfg.get("block_types")
    if not isinstance(blocks, list) or not blocks or not set(map(str, blocks)) <= set(names):
        raise cfg.error("block_types", "is not a list of recurrent and attention")
    return [names[blocks[i % len(blocks)]] for i in range(count)]


def rg_lru(cfg: EffectiveConfig) -> State:
    """All inputs of the convolution but the newest, and one sum a channel; RecurrentGemma."""
    width = cfg.optional("lru_width") or cfg.required("hidden_size")
    return State(width * (cfg.required("conv1d_width") - 1), width)


RULES: dict[str, Rule] = {
    "bailing_hybrid": by_type(
        every_nth(6, "layer_group_size", rest=LINEAR),
        full_attention=latent,
        linear_attention=bailing_delta,
    ),
    "bamba": by_type(bamba_types, full_attention=full, linear_attention=bamba_mamba2),
    "falcon_h1": by_type(every(HYBRID), hybrid=hybrid(full, bamba_mamba2)),
    "falcon_mamba": by_type(every(LINEAR), linear_attention=mamba1),
    "granitemoehybrid": by_type(
        named(lambda cfg, count: [LINEAR] * count),
        full_attention=full,
        linear_attention=bamba_mamba2,
    ),
    "jamba": by_type(jamba_types, full_attention=full, linear_attention=mamba1),
    "kimi_linear": by_type(named(kimi_types), full_attention=latent, linear_attention=kimi_delta),
    "lara_mini": by_type(
        named(lambda cfg, count: [LARA_PERIOD[i % 5] for i in range(count)]),
        full_attention=full,
        sliding_attention=window,
        linear_attention=gated_delta,
    ),
    "lfm2": by_type(named(conv_unless_listed), full_attention=full, conv=short_conv),
    "lfm2_moe": by_type(named(conv_unless_listed), full_attention=full, conv=short_conv),
    "lfm3": by_type(
        named(
            lambda cfg, count: [
                FULL if i % 4 == 2 else SLIDING if i % 4 == 0 and i else CONV for i in range(count)
            ]
        ),
        full_attention=full,
        sliding_attention=window,
        conv=short_conv,
    ),
    "mamba": by_type(every(LINEAR), linear_attention=mamba1),
    "mamba2": by_type(every(LINEAR), linear_attention=mamba2),
    "minimax": by_type(
        where(lambda i: i % 2 == 0, rest=LINEAR), full_attention=full, linear_attention=lightning
    ),
    "nemotron_h": by_type(
        nemotron_types,
        full_attention=full,
        linear_attention=nemotron_mamba2,
        moe=no_cache,
        mlp=no_cache,
    ),
    "olmo_hybrid": by_type(named(olmo_types), full_attention=full, linear_attention=olmo_delta),
    "qwen3_5_moe_text": by_type(linear_rest, full_attention=full, linear_attention=gated_delta),
    "qwen3_5_text": by_type(linear_rest, full_attention=full, linear_attention=gated_delta),
    "qwen3_next": by_type(linear_rest, full_attention=full, linear_attention=gated_delta),
    "recurrent_gemma": by_type(
        named(recurrent_gemma_types), sliding_attention=window, linear_attention=rg_lru
    ),
    "xlstm": by_type(every(LINEAR), linear_attention=xlstm),
    "zamba": by_type(
        named(zamba_types), hybrid=hybrid(zamba_attention, mamba1), linear_attention=mamba1
    ),
    "zamba2": by_type(
        named(zamba2_types),
        hybrid=hybrid(zamba_attention, zamba_mamba2),
        linear_attention=zamba_mamba2,
    ),
}
