"""Models whose layers are states, or states and attention: which layer is which.

In: an effective config. Out: one name a layer, and the rule of each model_type. What such a layer
keeps is in ``states.py``. A pattern's source is the config class of transformers 5.24.0.
"""

from __future__ import annotations

from kvdocs.formula.config import EffectiveConfig
from kvdocs.formula.rules.keeps import full, latent, window
from kvdocs.formula.rules.states import (
    bailing_delta,
    bamba_mamba2,
    gated_delta,
    hybrid,
    kimi_delta,
    lightning,
    mamba1,
    mamba2,
    nemotron_mamba2,
    no_cache,
    olmo_delta,
    rg_lru,
    short_conv,
    xlstm,
    zamba_attention,
    zamba_mamba2,
)
from kvdocs.formula.rules.types import (
    CONV,
    FULL,
    HYBRID,
    LINEAR,
    SLIDING,
    Rule,
    Types,
    by_type,
    current,
    every,
    every_nth,
    named,
    where,
)


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
