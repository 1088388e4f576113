"""One family each: what no other model does.

In: an effective config. Out: layers. Sources are the modelling and cache classes of transformers
5.24.0, named at each function.
"""

from __future__ import annotations

from kvdocs.formula.config import EffectiveConfig
from kvdocs.formula.constant import Prompt, State
from kvdocs.formula.layers import FullAttention, Layer, SlidingWindow
from kvdocs.formula.rules.attention import every_head
from kvdocs.formula.rules.keeps import full, heads_and_dim, window
from kvdocs.formula.rules.types import (
    FULL,
    HYBRID,
    HYBRID_SLIDING,
    LINEAR,
    Rule,
    by_type,
    every,
    every_nth,
    first_of_n,
    named,
    where,
)
from kvdocs.formula.several import Several

# Layers that run several times in one pass, with a cache for each time.


def hrm(cfg: EffectiveConfig) -> list[Layer]:
    """A stack run ``H_cycles × (L_cycles + 1)`` times; HrmTextConfig.

    A config that names ``num_layers_per_stack`` has the runs in ``num_hidden_layers`` already.
    """
    heads, dim = cfg.required("num_attention_heads"), cfg.required("head_dim")
    runs = cfg.required("H_cycles") * (cfg.whole("L_cycles") + 1)
    count = cfg.layers() * (1 if cfg.optional("num_layers_per_stack") else runs)
    cfg.at_most([""] * min(count, 10**6), "num_hidden_layers")
    return [FullAttention(heads, dim, dim)] * count


def dory(cfg: EffectiveConfig) -> list[Layer]:
    """The layers between input and output layers run ``n_recurrent_loops`` times; DoryModel.

    Published ``layer_types`` name attention and MLP apart: then two names, and two in each count of
    layers, are one layer.
    """
    types = cfg.get("layer_types")
    if isinstance(types, list) and "mlp" in types:
        counts = "num_hidden_layers", "n_input_layers", "n_output_layers", "n_recurrent_layers"
        halved = {name: cfg.whole(name) // 2 for name in counts if cfg.get(name) is not None}
        cfg = cfg.of_layer(0, halved | {"layer_types": types[::2]})
    layers = by_type(every_nth(4), full_attention=full, sliding_attention=window)(cfg)
    first = cfg.whole("n_input_layers")
    number = cfg.optional("n_recurrent_layers")
    if number is None:
        number = max(0, len(layers) - first - cfg.whole("n_output_layers"))
    if cfg.one_of("recurrent_kv_cache_mode", "per_loop", "last_loop") == "last_loop":
        return layers
    return layers + layers[first : first + number] * _repeats(cfg, "n_recurrent_loops")


def inkling_loop(cfg: EffectiveConfig) -> list[Layer]:
    """Layers of the loop keep a cache for each of ``loop_num_passes``; Inkling2LoopModel."""
    layers, own = inkling(cfg), cfg.part("loop_config")
    start = own.optional("core_start") or cfg.whole("loop_layer_index_start")
    end = own.optional("core_end") or cfg.whole("loop_layer_index_end")
    source = own if own.get("num_passes") is not None else cfg
    name = "num_passes" if source is own else "loop_num_passes"
    return layers + layers[start:end] * _repeats(source, name)


def _repeats(cfg: EffectiveConfig, name: str) -> int:
    times = cfg.required(name)
    if times > 100:
        raise cfg.error(name, f"is {times:,}; no model runs its layers more than 100 times")
    return times - 1


# Attention with convolutions of its own.


def inkling_full(cfg: EffectiveConfig) -> Layer:
    """K, V, and four convolutions in float32; InklingShortConvolution."""
    attention = full(cfg)
    return Several((attention, _inkling_conv(cfg, attention)))


def inkling_window(cfg: EffectiveConfig) -> Layer:
    """As ``inkling_full`` with the heads of sliding layers."""
    kv_heads, dim = cfg.required("swa_num_key_value_heads"), cfg.required("swa_head_dim")
    attention = SlidingWindow(kv_heads, dim, dim, cfg.required("sliding_window_size"))
    return Several((attention, _inkling_conv(cfg, attention)))


def _inkling_conv(cfg: EffectiveConfig, attention: FullAttention) -> State:
    channels = 2 * attention.kv_heads * attention.k_dim + 2 * cfg.required("hidden_size")
    return State(0, channels * cfg.required("conv_kernel_size"))


def inkling_types(cfg: EffectiveConfig, count: int) -> list[str]:
    """Every sixth layer keeps all tokens, unless ``local_layer_ids`` lists those that slide."""
    local = cfg.wholes("local_layer_ids")
    slides = [(i + 1) % 6 != 0 if local is None else i in local for i in range(count)]
    return [HYBRID_SLIDING if slide else HYBRID for slide in slides]


inkling = by_type(named(inkling_types), hybrid=inkling_full, hybrid_sliding=inkling_window)


def zaya(cfg: EffectiveConfig) -> Layer:
    """K, V, the convolution over Q and K, and half a value of the last token; ZayaCCA."""
    attention = full(cfg)
    return Several((attention, _zaya_state(cfg, attention)))


def zaya_window(cfg: EffectiveConfig) -> Layer:
    """As ``zaya``, with a window."""
    attention = window(cfg)
    return Several((attention, _zaya_state(cfg, attention)))


def _zaya_state(cfg: EffectiveConfig, attention: FullAttention) -> State:
    heads = cfg.required("num_attention_heads") + attention.kv_heads
    kernel = cfg.required("cca_time0") + cfg.required("cca_time1") - 2
    values = attention.kv_heads * attention.v_dim // 2
    return State(heads * attention.k_dim * kernel + values, 0)


# Others.


def mimo_full(cfg: EffectiveConfig) -> Layer:
    """K wider than V; MiMoV2FlashAttention."""
    heads, k_dim = heads_and_dim(cfg)
    return FullAttention(heads, k_dim, cfg.required("v_head_dim"))


def mimo_window(cfg: EffectiveConfig) -> Layer:
    """Sliding layers have twice the KV heads, in code; MiMoV2FlashAttention."""
    heads, k_dim = heads_and_dim(cfg)
    length = cfg.optional("sliding_window_size")
    length = cfg.required("sliding_window") if length is None else length + 1
    return SlidingWindow(2 * heads, k_dim, cfg.required("v_head_dim"), length)


def half_window(cfg: EffectiveConfig) -> Layer:
    """``local_attention`` counts both sides of a token; ModernBertDecoderConfig."""
    layer = every_head(cfg)
    length = cfg.required("local_attention") // 2
    if length < 1:
        raise cfg.error("local_attention", "is 1; half of it is no window")
    return SlidingWindow(layer.kv_heads, layer.k_dim, layer.v_dim, length)


def jetmoe(cfg: EffectiveConfig) -> Layer:
    """``kv_channels`` wide KV heads; JetMoeAttention."""
    heads, dim = cfg.required("num_key_value_heads"), cfg.required("kv_channels")
    return FullAttention(heads, dim, dim)


def dbrx(cfg: EffectiveConfig) -> Layer:
    """KV heads in ``attn_config``; DbrxAttention."""
    heads = cfg.part("attn_config").optional("kv_n_heads") or 1
    layer = every_head(cfg)
    return FullAttention(heads, layer.k_dim, layer.v_dim)


def rwkv(cfg: EffectiveConfig) -> State:
    """Two last inputs and three float32 sums a channel; RwkvModel."""
    hidden = cfg.required("hidden_size")
    return State(2 * hidden, 3 * (cfg.optional("attention_hidden_size") or hidden))


def cpmant(cfg: EffectiveConfig) -> Layer:
    """Every sequence begins with ``prompt_length`` learned tokens; CpmAntModel."""
    heads, dim = cfg.required("num_attention_heads"), cfg.required("dim_head")
    own = FullAttention(heads, dim, dim)
    return Several((own, Prompt(heads, dim, dim, cfg.required("prompt_length"))))


def blt(cfg: EffectiveConfig) -> list[Layer]:
    """All bytes in the encoder and the decoder of bytes, though they read a window; BltModel.

    The layers between, over patches of bytes, keep nothing: they run anew at every step.
    """
    layers: list[Layer] = []
    for name in ("encoder", "decoder"):
        part = cfg.part(f"{name}_config", f"blt_local_{name}")
        layers += [full(part)] * part.layers()
    return layers


def step3p7_types(cfg: EffectiveConfig) -> list[str]:
    """Published lists also name the draft layers, which come last; Step3p7TextConfig."""
    count, types = cfg.layers(), cfg.get("layer_types")
    drafts = cfg.whole("num_nextn_predict_layers", 0)
    if isinstance(types, list) and drafts and len(types) == count + drafts:
        cfg = cfg.of_layer(0, {"layer_types": types[:count]})
    return named(lambda _, count: [FULL] * count)(cfg)


RULES: dict[str, Rule] = {
    "blt": blt,
    "cpmant": by_type(every(FULL), full_attention=cpmant),
    "dbrx": by_type(every(FULL), full_attention=dbrx),
    "dory": dory,
    "hrm_text": hrm,
    "inkling2_loop_text": inkling_loop,
    "inkling2_text": inkling,
    "inkling_text": inkling,
    "jetmoe": by_type(every(FULL), full_attention=jetmoe),
    "mimo_v2_flash": by_type(
        where(lambda i: i == 0 or (i + 1) % 6 == 0),
        full_attention=mimo_full,
        sliding_attention=mimo_window,
    ),
    "modernbert-decoder": by_type(
        first_of_n(3, "global_attn_every_n_layers"),
        full_attention=every_head,
        sliding_attention=half_window,
    ),
    "rwkv": by_type(every(LINEAR), linear_attention=rwkv),
    "step3p5": by_type(step3p7_types, full_attention=full, sliding_attention=window),
    "zaya": by_type(
        named(lambda cfg, count: [HYBRID] * count), hybrid=zaya, hybrid_sliding=zaya_window
    ),
}
