"""Models whose code is on the Hub only, where the config says all that the cache depends on.

In: an effective config without class defaults. Out: layers. Nothing here is held against a real
cache, because code from the Hub is never run; sources are the code that serves these models.
"""

from __future__ import annotations

from kvdocs.formula.config import EffectiveConfig
from kvdocs.formula.constant import NoCache
from kvdocs.formula.layers import FullAttention, Layer, SlidingWindow
from kvdocs.formula.rules.keeps import check_divides, heads_and_dim, hidden_per_head
from kvdocs.formula.rules.types import Rule


def chatglm(cfg: EffectiveConfig) -> list[Layer]:
    """``kv_channels`` wide heads, ``multi_query_group_num`` of them with ``multi_query_attention``.

    ChatGLM2, ChatGLM3 and GLM-4 9B as THUDM published them; modeling_chatglm.py, SelfAttention.
    """
    heads = cfg.required("num_attention_heads")
    kv_heads = heads
    if cfg.flag("multi_query_attention"):
        kv_heads = cfg.required("multi_query_group_num")
        check_divides(cfg, "multi_query_group_num", kv_heads, heads)
    dim = cfg.optional("kv_channels") or hidden_per_head(cfg, heads)
    return [FullAttention(kv_heads, dim, dim)] * cfg.count("num_layers")


def nemotron_nas(cfg: EffectiveConfig) -> list[Layer]:
    """One entry of ``block_configs`` a layer: how many heads share K and V, or no attention.

    Llama-Nemotron 49B to 253B, DeciLM; nemotron_nas.py of vLLM 0.33.0.
    """
    blocks = cfg.get("block_configs")
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise cfg.error("block_configs", "is not a list of objects, one per layer")
    if len(blocks) != cfg.layers():
        raise cfg.error("block_configs", f"has {len(blocks)} entries for {cfg.layers()} layers")
    _, dim = heads_and_dim(cfg)
    return [_block(cfg, index, block, dim) for index, block in enumerate(blocks)]


def _block(cfg: EffectiveConfig, index: int, block: dict[str, object], dim: int) -> Layer:
    place = f"block_configs[{index}].attention"
    attention = cfg.entry(block.get("attention"), place)
    if attention.flag("no_op") or attention.flag("replace_with_linear"):
        return NoCache()
    heads, group = cfg.required("num_attention_heads"), attention.required("n_heads_in_group")
    if heads % group:
        raise attention.error(
            "n_heads_in_group", f"is {group}, which does not divide {heads} heads"
        )
    window = attention.optional("window_length")
    if window is None:
        return FullAttention(heads // group, dim, dim)
    return SlidingWindow(heads // group, dim, dim, window)


RULES: dict[str, Rule] = {"chatglm": chatglm, "nemotron-nas": nemotron_nas}
