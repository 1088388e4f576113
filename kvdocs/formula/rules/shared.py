"""Gemma 3n and 4: layers that read the cache of an earlier layer, and wider full layers.

In: an effective config. Out: layers. Sources are ``kv_sharing_modes`` and ``__post_init__`` of the
config classes of transformers 5.24.0.
"""

from __future__ import annotations

from kvdocs.formula.config import EffectiveConfig
from kvdocs.formula.constant import Shared
from kvdocs.formula.layers import FullAttention, Layer
from kvdocs.formula.rules.attention import last_full
from kvdocs.formula.rules.keeps import check_divides, full, window
from kvdocs.formula.rules.types import Rule, by_type, every_nth


def sharing(rule: Rule) -> Rule:
    """As ``rule``, but the last ``num_kv_shared_layers`` layers keep nothing of their own."""

    def shared(cfg: EffectiveConfig) -> list[Layer]:
        layers = rule(cfg)
        count = cfg.whole("num_kv_shared_layers", 0)
        if count >= len(layers):
            problem = f"is {count}, so none of the {len(layers)} layers keeps a cache"
            raise cfg.error("num_kv_shared_layers", problem)
        return layers[: len(layers) - count] + [Shared()] * count

    return shared


def wide_full(cfg: EffectiveConfig) -> FullAttention:
    """A full layer: ``global_head_dim`` wide, with KV heads of its own if K serves as V.

    A published ``per_layer_config`` says the same layer by layer, and then it alone counts.
    """
    if cfg.get("per_layer_config") is not None:
        return full(cfg)
    layer = full(cfg)
    dim = cfg.optional("global_head_dim") or 512
    # A class without attention_k_eq_v (Diffusion Gemma) always counts the global KV heads.
    own_heads = cfg.flag("attention_k_eq_v") if "attention_k_eq_v" in cfg.defaults else True
    kv_heads = cfg.optional("num_global_key_value_heads") if own_heads else None
    if kv_heads:
        check_divides(
            cfg, "num_global_key_value_heads", kv_heads, cfg.required("num_attention_heads")
        )
    return FullAttention(kv_heads or layer.kv_heads, dim, dim)


def gemma4_types(cfg: EffectiveConfig) -> list[str]:
    """Every sixth and the last are full, the others slide."""
    if cfg.one_of("use_bidirectional_attention", "all", "vision") == "all":
        raise cfg.error("use_bidirectional_attention", "is 'all': an encoder keeps no cache")
    return last_full(every_nth(6))(cfg)


gemma4 = sharing(by_type(gemma4_types, full_attention=wide_full, sliding_attention=window))

RULES: dict[str, Rule] = {
    "diffusion_gemma_text": gemma4,
    "gemma3n_text": sharing(by_type(every_nth(5), full_attention=full, sliding_attention=window)),
    "gemma4_text": gemma4,
    "gemma4_unified_text": gemma4,
}
