"""The simple formula, 2 × layers × KV heads × head_dim × bytes, applied to any config.

In: a published config. Out: the layout it would have if every layer kept K and V of every token.
For comparison only: ``layout_of`` says what the layers really keep.
"""

from __future__ import annotations

from collections.abc import Mapping

from kvdocs.formula.config import EffectiveConfig
from kvdocs.formula.layers import FullAttention
from kvdocs.formula.layout import CacheLayout


def five_factors(config: Mapping[str, object], source: str = "config.json") -> CacheLayout:
    """The layout by the simple formula, read with care: class defaults behind published fields.

    Raises:
        ConfigError: one of the factors can be neither read nor derived.

    >>> window = {"model_type": "mistral", "sliding_window": 4096, "num_hidden_layers": 32,
    ...           "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 4096}
    >>> five_factors(window).bytes(8192) // 2**20
    1024
    """
    cfg = EffectiveConfig.of(config, source)
    heads = cfg.required("num_attention_heads")
    kv_heads = cfg.optional("num_key_value_heads") or heads
    head_dim = cfg.optional("head_dim") or cfg.required("hidden_size") // heads
    return CacheLayout((FullAttention(kv_heads, head_dim, head_dim),) * cfg.layers())
