"""Sparse attention of one family each: entries for several tokens, and keys of an index.

In: an effective config. Out: layers. Sources are the modelling and cache classes of transformers
5.24.0, named at each function.
"""

from __future__ import annotations

from kvdocs.formula.compressed import Compressed
from kvdocs.formula.config import EffectiveConfig
from kvdocs.formula.layers import Latent, Layer, SlidingWindow
from kvdocs.formula.rules.keeps import full, latent
from kvdocs.formula.rules.latents import index_of_its_own
from kvdocs.formula.rules.states import gated_delta, kimi_delta
from kvdocs.formula.rules.types import (
    FULL,
    INDEXED,
    LINEAR,
    SLIDING,
    Rule,
    by_type,
    every_nth,
    named,
)
from kvdocs.formula.several import IndexKeys, LatentWindow, Positions, Several

HCA, CSA = "heavily_compressed_attention", "compressed_sparse_attention"


# DeepSeek V4: K serves as V, a window of it, and beside it one entry for several tokens.


def v4_types(cfg: EffectiveConfig, count: int) -> list[str]:
    """``compress_ratios``: 0 slides, 4 and 128 compress; DeepseekV4Config."""
    ratios = cfg.wholes("compress_ratios")
    if ratios is None:
        rest = [CSA if i % 2 else HCA for i in range(max(count - 2, 0))]
        return ([HCA, HCA, *rest])[:count]
    kinds = {0: SLIDING, 4: CSA, 128: HCA}
    if len(ratios) < count or not set(ratios) <= set(kinds):
        raise cfg.error("compress_ratios", f"does not say 0, 4 or 128 for each of {count} layers")
    return [kinds[ratio] for ratio in ratios[:count]]


def v4_window(cfg: EffectiveConfig) -> SlidingWindow:
    """One head; a plain sliding layer keeps keys and values apart, though they are equal."""
    dim = cfg.required("head_dim")
    return SlidingWindow(1, dim, dim, cfg.required("sliding_window"))


def v4_shared_window(cfg: EffectiveConfig) -> SlidingWindow:
    """One head whose keys are also its values, kept once; DeepseekV4HCACache."""
    return SlidingWindow(1, cfg.required("head_dim"), 0, cfg.required("sliding_window"))


def v4_heavily(cfg: EffectiveConfig) -> Layer:
    """The window and, for every 128 tokens, one entry; the waiting ones with their gates."""
    dim = cfg.required("head_dim")
    return Several((v4_shared_window(cfg), Compressed(_rate(cfg, HCA, 128), dim, 2 * dim)))


def v4_sparse(cfg: EffectiveConfig) -> Layer:
    """The window and, for every 4 tokens, an entry and an index key, from overlapping windows."""
    both = cfg.required("head_dim") + cfg.required("index_head_dim")
    rate = _rate(cfg, CSA, 4)
    return Several((v4_shared_window(cfg), Compressed(rate, both, 4 * both, rate * both)))


def _rate(cfg: EffectiveConfig, kind: str, default: int) -> int:
    older = "compress_rate_hca" if kind == HCA else "compress_rate_csa"
    rate = cfg.part("compress_rates").optional(kind)
    return cfg.optional(older) or rate or default


# Sparse attention with index keys.


def minimax_sparse(cfg: EffectiveConfig) -> Layer:
    """K and V, and one index key; MiniMaxM3VLSparseCacheLayer."""
    own = cfg.part("sparse_attention_config").optional("sparse_index_dim")
    return Several((full(cfg), IndexKeys(own or cfg.required("index_head_dim"))))


def minimax_m3_types(cfg: EffectiveConfig, count: int) -> list[str]:
    """``sparse_attention_freq`` marks the sparse layers with 1; none where it is not set."""
    marks = cfg.part("sparse_attention_config").wholes("sparse_attention_freq")
    if marks is None:
        return [FULL] * count
    if len(marks) != count:
        name = "sparse_attention_config.sparse_attention_freq"
        raise cfg.error(name, f"does not mark each of {count} layers")
    return ["minimax_m3_sparse" if mark else FULL for mark in marks]


def glm5_next(cfg: EffectiveConfig) -> list[Layer]:
    """Kimi's delta rule, and every fourth layer a latent; Glm5NextTextIndexer.

    Its index keeps key, gate score and one element that marks valid tokens: 2 × 128 + 1.
    """
    types = named(lambda _, count: [LINEAR if i % 4 != 3 else INDEXED for i in range(count)])(cfg)
    own = index_of_its_own(cfg, len(types))
    delta, plain = kimi_delta(cfg), latent(cfg)
    indexed = Several((plain, IndexKeys(2 * cfg.required("index_head_dim") + 1)))
    known = {LINEAR, INDEXED, FULL}
    if unknown := [i for i, name in enumerate(types) if name not in known]:
        raise cfg.error("layer_types", f"names {types[unknown[0]]!r} for layer {unknown[0]}")
    return [
        delta if name == LINEAR else indexed if own[i] else plain for i, name in enumerate(types)
    ]


def mistral_large4(cfg: EffectiveConfig) -> list[Layer]:
    """Latents with an index; every fourth layer has no rotary key; MistralLarge4Attention."""
    count = cfg.layers()
    if cfg.wholes("kv_source_layers") not in (None, list(range(count))):
        raise cfg.error("kv_source_layers", "shares latents between layers; no rule covers that")
    rope = cfg.wholes("no_rope_layers")
    interval = cfg.optional("no_rope_layer_interval") or 4
    rope = rope or [int((i + 1) % interval != 0) for i in range(count)]
    if len(rope) != count:
        raise cfg.error("no_rope_layers", f"does not have one entry for each of {count} layers")
    rank, dim = cfg.required("kv_lora_rank"), cfg.required("qk_rope_head_dim")
    latents, index = (Latent(rank, 0), Latent(rank, dim)), IndexKeys(cfg.required("index_head_dim"))
    layers: list[Layer] = []
    for i, own in enumerate(index_of_its_own(cfg, count)):
        layer = latents[bool(rope[i])]
        layers.append(Several((layer, index)) if own else layer)
    return layers


def dots3_indexed(cfg: EffectiveConfig) -> Layer:
    """A latent, and index keys in float32; Dots3NoteIndexer."""
    return Several((latent(cfg), IndexKeys(cfg.required("index_head_dim"), float32=True)))


def dots3_window(cfg: EffectiveConfig) -> Layer:
    """A window of a wider latent; Dots3NoteTextConfig."""
    if cfg.get("per_layer_config") is None:
        rank = cfg.optional("swa_kv_lora_rank") or 1024
        nope = cfg.optional("swa_qk_nope_head_dim") or 192
        dim = cfg.optional("swa_qk_rope_head_dim") or (cfg.optional("swa_head_dim") or 256) - nope
    else:
        rank, dim = cfg.required("kv_lora_rank"), cfg.required("qk_rope_head_dim")
    length = cfg.optional("sliding_window") or 512
    return LatentWindow(rank, dim, length)


def qwen4_exp(cfg: EffectiveConfig) -> list[Layer]:
    """Gated delta, and layers with K, V and index keys; Qwen4ExpTextConfig.

    The first of them also keeps the positions of all tokens on three axes.
    """
    if cfg.wholes("ple_layer_ids"):
        raise cfg.error("ple_layer_ids", "adds states for n-grams; no rule covers them")
    types = every_nth(4, "full_attention_interval", rest=LINEAR, then=INDEXED)(cfg)
    if unknown := sorted(set(types) - {LINEAR, INDEXED, FULL}):
        raise cfg.error("layer_types", f"names {unknown[0]!r}")
    keys = IndexKeys(cfg.required("indexer_kv_heads") * cfg.required("indexer_head_dim"))
    delta, attention = gated_delta(cfg), full(cfg)
    indexed = Several((attention, keys))
    layers: list[Layer] = [delta if name == LINEAR else indexed for name in types]
    first = next((i for i, name in enumerate(types) if name != LINEAR), None)
    if first is not None:
        layers[first] = Several((attention, keys, Positions(3)))
    return layers


RULES: dict[str, Rule] = {
    "deepseek_v4": by_type(
        named(v4_types),
        sliding_attention=v4_window,
        heavily_compressed_attention=v4_heavily,
        compressed_sparse_attention=v4_sparse,
    ),
    "dots3_note_text": by_type(
        named(
            lambda cfg, count: [INDEXED if i < 2 or i % 4 == 1 else SLIDING for i in range(count)]
        ),
        full_attention=dots3_indexed,
        indexed_attention=dots3_indexed,
        sliding_attention=dots3_window,
    ),
    "glm5_next_text": glm5_next,
    "minimax_m3_vl_text": by_type(
        named(minimax_m3_types), full_attention=full, minimax_m3_sparse=minimax_sparse
    ),
    "mistral_large4_text": mistral_large4,
    "qwen4_exp_text": qwen4_exp,
}
