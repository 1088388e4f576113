"""What a layer with attention keeps: K and V of all tokens, of a window, of a chunk; a latent.

In: an effective config. Out: a layer. Sources are the attention classes of transformers 5.24.0.
"""

from __future__ import annotations

from kvdocs.formula.config import EffectiveConfig
from kvdocs.formula.layers import Chunk, FullAttention, Latent, SlidingWindow
from kvdocs.formula.rules.types import window_in_force


def full(cfg: EffectiveConfig) -> FullAttention:
    """K and V of every token; groups of heads share K and V."""
    kv_heads, head_dim = heads_and_dim(cfg)
    return FullAttention(kv_heads, head_dim, head_dim)


def window(cfg: EffectiveConfig) -> SlidingWindow:
    """K and V of the last ``sliding_window`` tokens."""
    length = window_in_force(cfg)
    if length is None:
        raise cfg.error("sliding_window", "is not in force, but layers slide")
    kv_heads, head_dim = heads_and_dim(cfg)
    return SlidingWindow(kv_heads, head_dim, head_dim, length)


def chunk(cfg: EffectiveConfig) -> Chunk:
    """K and V of one chunk of ``attention_chunk_size`` tokens."""
    kv_heads, head_dim = heads_and_dim(cfg)
    return Chunk(kv_heads, head_dim, head_dim, cfg.required("attention_chunk_size"))


def latent(cfg: EffectiveConfig) -> Latent:
    """One latent and one rotary key a token; published KV heads and head_dim play no part."""
    return Latent(cfg.required("kv_lora_rank"), cfg.whole("qk_rope_head_dim"))


def rounded(cfg: EffectiveConfig) -> FullAttention:
    """As ``full``; hidden size ÷ heads is rounded down, as the class's own defaults need it."""
    heads = cfg.required("num_attention_heads")
    kv_heads = cfg.optional("num_key_value_heads") or heads
    check_divides(cfg, "num_key_value_heads", kv_heads, heads)
    dim = cfg.optional("head_dim") or max(1, cfg.required("hidden_size") // heads)
    return FullAttention(kv_heads, dim, dim)


def rounded_window(cfg: EffectiveConfig) -> SlidingWindow:
    """A window of what ``rounded`` keeps."""
    layer = rounded(cfg)
    return SlidingWindow(layer.kv_heads, layer.k_dim, layer.v_dim, cfg.required("sliding_window"))


def heads_and_dim(cfg: EffectiveConfig) -> tuple[int, int]:
    """KV heads (all heads where none are given) and ``head_dim`` (else hidden size per head)."""
    heads = cfg.required("num_attention_heads")
    kv_heads = cfg.optional("num_key_value_heads") or heads
    check_divides(cfg, "num_key_value_heads", kv_heads, heads)
    return kv_heads, cfg.optional("head_dim") or hidden_per_head(cfg, heads)


def hidden_per_head(cfg: EffectiveConfig, heads: int) -> int:
    """``hidden_size`` shared out among the attention heads."""
    hidden = cfg.required("hidden_size")
    if hidden % heads:
        problem = f"is {hidden}, not divisible by the {heads} attention heads"
        raise cfg.error("hidden_size", problem, "Publish head_dim, or correct the head count")
    return hidden // heads


def check_divides(cfg: EffectiveConfig, name: str, kv_heads: int, heads: int) -> None:
    """Refuse KV heads that cannot each serve the same number of attention heads."""
    if heads % kv_heads:
        problem = f"is {kv_heads}, which does not divide the {heads} attention heads"
        raise cfg.error(name, problem, "Each KV head must serve the same number of heads")
