"""Models that keep hidden states instead of K and V.

In: an effective config. Out: layers. Sources are the modelling classes of transformers 5.24.0,
named at each function.
"""

from __future__ import annotations

from kvdocs.formula.config import EffectiveConfig
from kvdocs.formula.hidden import Buckets, HiddenStates, HiddenWindow
from kvdocs.formula.layers import Layer
from kvdocs.formula.rules.types import Rule
from kvdocs.formula.several import Several


def xlnet(cfg: EffectiveConfig) -> list[Layer]:
    """The inputs of the last ``mem_len`` tokens, of all where that is null or 0; XLNetModel.

    Without ``use_mems_eval`` it keeps nothing.
    """
    if not cfg.flag("use_mems_eval"):
        raise cfg.error("use_mems_eval", "is not true: it keeps no cache")
    hidden = cfg.required("hidden_size")
    length = cfg.whole("mem_len", 0)
    layer = HiddenWindow(hidden, length) if length else HiddenStates(hidden)
    return [layer] * cfg.layers()


def reformer(cfg: EffectiveConfig) -> list[Layer]:
    """The inputs of all tokens, and in ``lsh`` layers their buckets; ReformerDynamicCache.

    ``local`` layers read the last chunks only, and yet keep every token.
    """
    if not cfg.flag("is_decoder"):
        raise cfg.error("is_decoder", "is not true: an encoder keeps no cache")
    names = cfg.get("attn_layers")
    if not isinstance(names, list) or not names or not set(map(str, names)) <= {"local", "lsh"}:
        raise cfg.error("attn_layers", "is not a list of local and lsh")
    local = HiddenStates(cfg.required("hidden_size"))
    layers: dict[str, Layer] = {"local": local}
    if "lsh" in names:
        heads, hashes = cfg.required("num_attention_heads"), cfg.required("num_hashes")
        buckets = Buckets(heads, hashes, cfg.required("lsh_attn_chunk_length"))
        layers["lsh"] = Several((local, buckets))
    return [layers[name] for name in cfg.at_most(names, "attn_layers")]


RULES: dict[str, Rule] = {"reformer": reformer, "xlnet": xlnet}
