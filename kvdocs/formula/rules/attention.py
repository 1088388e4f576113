"""Attention only: every layer keeps all tokens, a window or a chunk of them.

In: an effective config. Out: layers. Sources are the config and attention classes of transformers
5.24.0; the tables at the end say which model_type does what.
"""

from __future__ import annotations

from kvdocs.formula.config import EffectiveConfig
from kvdocs.formula.errors import shown
from kvdocs.formula.layers import FullAttention, Layer, PromptAndWindow, SlidingWindow
from kvdocs.formula.rules.keeps import (
    check_divides,
    chunk,
    full,
    hidden_per_head,
    rounded,
    rounded_window,
    window,
)
from kvdocs.formula.rules.types import (
    FULL,
    SLIDING,
    Rule,
    Types,
    all_alike,
    all_full,
    by_type,
    every_nth,
    first_of_n,
    late_windows,
    named,
    no_rope_slides,
    rope_chunks,
)


def hidden_only(cfg: EffectiveConfig) -> FullAttention:
    """KV heads as ``full``, but hidden size ÷ heads wide whatever ``head_dim`` says (Cohere2)."""
    heads = cfg.required("num_attention_heads")
    kv_heads = cfg.optional("num_key_value_heads") or heads
    check_divides(cfg, "num_key_value_heads", kv_heads, heads)
    dim = hidden_per_head(cfg, heads)
    return FullAttention(kv_heads, dim, dim)


def hidden_only_window(cfg: EffectiveConfig) -> SlidingWindow:
    """A window of what ``hidden_only`` keeps."""
    layer = hidden_only(cfg)
    return SlidingWindow(layer.kv_heads, layer.k_dim, layer.v_dim, cfg.required("sliding_window"))


def prompt_and_window(cfg: EffectiveConfig) -> PromptAndWindow:
    """The prompt, and ``sliding_window`` tokens after it; Unlimited-OCR.

    UnlimitedOcrDynamicReferenceSlidingWindowLayer.
    """
    layer = hidden_only(cfg)
    return PromptAndWindow(layer.kv_heads, layer.k_dim, layer.v_dim, cfg.required("sliding_window"))


def every_head(cfg: EffectiveConfig) -> FullAttention:
    """Every attention head has its own K and V; the class knows no other (GPT-2)."""
    heads = cfg.required("num_attention_heads")
    dim = hidden_per_head(cfg, heads)
    return FullAttention(heads, dim, dim)


def falcon(cfg: EffectiveConfig) -> FullAttention:
    """``multi_query`` means one KV head, whatever head count is published beside it."""
    heads = cfg.required("num_attention_heads")
    dim = hidden_per_head(cfg, heads)
    if cfg.flag("new_decoder_architecture"):
        kv_heads = cfg.optional("num_kv_heads") or heads
        check_divides(cfg, "num_kv_heads", kv_heads, heads)
    else:
        kv_heads = 1 if cfg.flag("multi_query") else heads
    return FullAttention(kv_heads, dim, dim)


def bigcode(cfg: EffectiveConfig) -> FullAttention:
    """``multi_query`` means one KV head, else every head has its own (StarCoder 1)."""
    layer = every_head(cfg)
    return FullAttention(1 if cfg.flag("multi_query") else layer.kv_heads, layer.k_dim, layer.v_dim)


def mpt(cfg: EffectiveConfig) -> FullAttention:
    """Every head has its own K and V; MptAttention knows no other.

    MosaicML's own code groups heads by ``attn_config``, which transformers 5.24.0 refuses.
    """
    layer, own = every_head(cfg), cfg.part("attn_config")
    if own.get("attn_type") not in (None, "multihead_attention"):
        problem = f"is {shown(own.get('attn_type'))}, and the class keeps K and V of every head"
        raise own.error("attn_type", problem, STATE_IT)
    if own.get("kv_n_heads") is not None and own.required("kv_n_heads") != layer.kv_heads:
        problem = f"is {shown(own.get('kv_n_heads'))}, and the class keeps {layer.kv_heads} heads"
        raise own.error("kv_n_heads", problem, STATE_IT)
    return layer


STATE_IT = "State the layout by hand, in a TOML file: docs/compute.md says how"


def decoder_of_encoder_class(cfg: EffectiveConfig) -> Layer:
    """A BERT-like class keeps a cache only when the config makes it a decoder.

    With ``add_cross_attention`` it reads an encoder too; BertLayer.
    """
    if not cfg.flag("is_decoder"):
        raise cfg.error("is_decoder", "is not true: an encoder keeps no cache")
    own = every_head(cfg)
    if not cfg.flag("add_cross_attention"):
        return own
    from kvdocs.formula.constant import CrossAttention  # no other rule of this module needs them
    from kvdocs.formula.several import Several

    return Several((own, CrossAttention(own.kv_heads, own.k_dim, own.v_dim)))


def backward_nth(n: int) -> Types:
    """Every ``n``-th layer is full, counted from the last (Muse)."""
    return named(
        lambda cfg, count: [SLIDING if (count - 1 - i) % n else FULL for i in range(count)]
    )


def last_full(types: Types) -> Types:
    """As ``types``, but the last layer is full whatever is published (Gemma 4)."""
    return lambda cfg: [*types(cfg)[:-1], FULL]


def gemma3_types(cfg: EffectiveConfig) -> list[str]:
    """Every sixth, or every ``sliding_window_pattern``-th, is full."""
    if cfg.flag("use_bidirectional_attention"):
        raise cfg.error("use_bidirectional_attention", "is true: an encoder keeps no cache")
    return every_nth(6, "sliding_window_pattern")(cfg)


def exaone4_types(cfg: EffectiveConfig, count: int) -> list[str]:
    """Every ``sliding_window_pattern``-th is full; without a window, all are."""
    if cfg.get("sliding_window") is None:
        return [FULL] * count
    period = cfg.required("sliding_window_pattern")
    return [SLIDING if (i + 1) % period else FULL for i in range(count)]


def cohere2_moe_types(cfg: EffectiveConfig, count: int) -> list[str]:
    """The first ``first_k_dense_replace`` layers have a pattern of their own."""
    dense = min(count, cfg.whole("first_k_dense_replace", 0))
    first = cfg.required("prefix_dense_sliding_window_pattern") if dense else 1
    period = cfg.required("sliding_window_pattern")
    types = [SLIDING if (i + 1) % first else FULL for i in range(dense)]
    return types + [SLIDING if (i + 1) % period else FULL for i in range(count - dense)]


def qwen2_moe_types(cfg: EffectiveConfig, count: int) -> list[str]:
    """With ``use_sliding_window``, every other layer below ``max_window_layers`` slides."""
    if not cfg.flag("use_sliding_window"):
        return [FULL] * count
    last = cfg.whole("max_window_layers")
    return [SLIDING if i % 2 == 0 and i < last else FULL for i in range(count)]


def sliding(types: Types) -> Rule:
    """Layers that slide and layers that keep every token."""
    return by_type(types, full_attention=full, sliding_attention=window)


grouped = by_type(all_full, full_attention=full)
one_window = sliding(all_alike)
every_second_full = sliding(every_nth(2))
late = sliding(named(late_windows))

_GROUPED = """
    apertus apertus1p5_text arcee aria_text bitnet cohere cosmos3_edge_text diffllama ernie4_5
    ernie4_5_moe ernie4_5_vl_moe_text evolla exaone flex_olmo gemma glm glm4 glm4v_text
    glm_ocr_text granite granite4_vision_text granite_docling_text granitemoe granitemoeshared
    helium hunyuan_v1_dense hunyuan_v1_moe hunyuan_vl_text hy_v3 hyperclovax idefics internlm3
    iquestcoder jais2 llama minimax_m2 molmo2_text nanochat nemotron olmo olmo2 olmoe
    paddleocr_vl_text phi qwen3_vl_moe_text qwen3_vl_text sarvam_moe seed_oss solar_open
"""
_HIDDEN_ONLY = "chameleon deepseek_ocr2_text emu3_text_model stablelm"
_EVERY_HEAD = """
    biogpt bloom codegen ctrl git gpt-sw3 gpt2 gpt_neo gpt_neox gpt_neox_japanese gptj
    kosmos_2_5_text_model kosmos_2_text_model opt persimmon xglm
"""
_ONE_WINDOW = """
    doge kyutai_speech_to_text ministral3 mistral mixtral moshi phi3 phi4_multimodal phimoe
    qwen3_moe starcoder2 voxtral_realtime_text
"""
_IF_DECODER = """
    bert bert-generation big_bird blip_text_model camembert data2vec-text electra ernie
    megatron-bert rembert roberta roberta-prelayernorm roc_bert roformer xlm-roberta
    xlm-roberta-xl xmod
"""
RULES: dict[str, Rule] = {
    **dict.fromkeys(_GROUPED.split(), grouped),
    **dict.fromkeys(_HIDDEN_ONLY.split(), by_type(all_full, full_attention=hidden_only)),
    **dict.fromkeys(_EVERY_HEAD.split(), by_type(all_full, full_attention=every_head)),
    **dict.fromkeys(_ONE_WINDOW.split(), one_window),
    **dict.fromkeys(
        _IF_DECODER.split(), by_type(all_full, full_attention=decoder_of_encoder_class)
    ),
    "afmoe": sliding(every_nth(4, "global_attn_every_n_layers")),
    "beam": sliding(
        named(
            lambda cfg, count: [
                FULL if (i + 1) % 6 == 0 or i == count - 1 else SLIDING for i in range(count)
            ]
        )
    ),
    "cohere2": by_type(
        every_nth(4, "sliding_window_pattern"),
        full_attention=hidden_only,
        sliding_attention=hidden_only_window,
    ),
    "cohere_compass_text": by_type(
        named(lambda cfg, count: [FULL] * count),
        full_attention=hidden_only,
        sliding_attention=hidden_only_window,
    ),
    "cohere2_moe": sliding(named(cohere2_moe_types)),
    "cwm": sliding(first_of_n(4)),
    "dots1": sliding(named(late_windows)),
    "exaone4": sliding(named(exaone4_types)),
    "exaone_moe": sliding(named(exaone4_types)),
    "falcon": by_type(all_full, full_attention=falcon),
    "flint": sliding(
        named(
            lambda cfg, count: [
                FULL if i < 2 or i % 4 == 1 or i == count - 1 else SLIDING for i in range(count)
            ]
        )
    ),
    "gemma2": every_second_full,
    "gemma3_text": sliding(gemma3_types),
    "glm4_moe": by_type(all_full, full_attention=rounded),
    "glm4v_moe_text": by_type(all_full, full_attention=rounded),
    "gpt_bigcode": by_type(all_full, full_attention=bigcode),
    "gpt_oss": every_second_full,
    "granite_swa": sliding(first_of_n(4)),
    "granitemoe_swa": sliding(first_of_n(4)),
    "kolibri1": sliding(every_nth(5)),
    "laguna": sliding(named(lambda cfg, count: [FULL] * count)),
    "llama4_text": by_type(named(rope_chunks), full_attention=full, chunked_attention=chunk),
    "mellum": sliding(named(lambda cfg, count: [FULL] * count)),
    "ministral": sliding(
        named(lambda cfg, count: [FULL if cfg.get("sliding_window") is None else SLIDING] * count)
    ),
    "mpt": by_type(all_full, full_attention=mpt),
    "muse_glimmer_text": sliding(backward_nth(4)),
    "muse_spark_text": sliding(backward_nth(4)),
    "olmo3": sliding(every_nth(4)),
    "qwen2": late,
    "qwen2_5_omni_text": late,
    "qwen2_5_vl_text": late,
    "qwen2_moe": sliding(named(qwen2_moe_types)),
    "qwen2_vl_text": late,
    "qwen3": late,
    "qwen3_omni_moe_text": by_type(
        all_alike, full_attention=rounded, sliding_attention=rounded_window
    ),
    "smollm3": sliding(named(no_rope_slides)),
    "unlimited_ocr_text": by_type(
        named(lambda cfg, count: ["reference_sliding_attention"] * count),
        full_attention=hidden_only,
        reference_sliding_attention=prompt_and_window,
    ),
    "vaultgemma": every_second_full,
}
