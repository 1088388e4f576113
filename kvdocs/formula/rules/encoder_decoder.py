"""Decoders that read an encoder: K and V of their own tokens, and of the encoder's output.

In: an effective config. Out: layers with two parts. Sources are the decoder attention classes of
transformers 5.24.0. Where the config says how long the encoder's output is, the layer knows it.
"""

from __future__ import annotations

from kvdocs.formula.config import EffectiveConfig
from kvdocs.formula.constant import CrossAttention
from kvdocs.formula.layers import FullAttention, Layer
from kvdocs.formula.rules.attention import every_head
from kvdocs.formula.rules.keeps import full, hidden_per_head, window
from kvdocs.formula.rules.types import Keeps, Rule, by_type, every, every_nth
from kvdocs.formula.several import Several


def with_cross(cfg: EffectiveConfig, own: FullAttention, length: int | None = None) -> Layer:
    """``own``, and the encoder's K and V with the same heads, unless the decoder stands alone."""
    whole = cfg.defaults.get("is_encoder_decoder")  # the class has an encoder of its own
    if whole and not cfg.flag("is_encoder_decoder"):
        return own
    return Several((own, CrossAttention(own.kv_heads, own.k_dim, own.v_dim, length)))


def bart(cfg: EffectiveConfig) -> list[Layer]:
    """``decoder_layers`` and ``decoder_attention_heads``; BartDecoderLayer and its many copies."""
    return _decoder(cfg, "decoder_layers", "decoder_attention_heads")


def prophetnet(cfg: EffectiveConfig) -> list[Layer]:
    """As ``bart`` under other names; ProphetNetDecoderLayer."""
    return _decoder(cfg, "num_decoder_layers", "num_decoder_attention_heads")


def whisper(cfg: EffectiveConfig) -> list[Layer]:
    """As ``bart``; the encoder always gives ``max_source_positions`` tokens (30 s of sound)."""
    length = cfg.required("max_source_positions")
    return _decoder(cfg, "decoder_layers", "decoder_attention_heads", length)


def moonshine(cfg: EffectiveConfig) -> list[Layer]:
    """Grouped heads under decoder names; MoonshineDecoderLayer."""
    heads = cfg.required("decoder_num_attention_heads")
    kv_heads = cfg.optional("decoder_num_key_value_heads")
    if kv_heads is None:
        names = "decoder_num_attention_heads", "num_attention_heads", "decoder_num_key_value_heads"
        cfg.before_it_derives(*names)
        kv_heads = heads
    dim = hidden_per_head(cfg, heads)
    layer = with_cross(cfg, FullAttention(kv_heads, dim, dim))
    return [layer] * cfg.count("decoder_num_hidden_layers")


def t5(cfg: EffectiveConfig) -> list[Layer]:
    """``d_kv`` wide heads; ``num_decoder_layers``, else as many as the encoder; T5Attention."""
    counted = "num_decoder_layers"
    if cfg.get(counted) is None:
        cfg.before_it_derives("num_layers", "num_hidden_layers", counted)
        counted = "num_hidden_layers"
    heads, dim = cfg.required("num_attention_heads"), cfg.required("d_kv")
    return [with_cross(cfg, FullAttention(heads, dim, dim))] * cfg.count(counted)


def dia(cfg: EffectiveConfig) -> Layer:
    """Cross-attention with heads of its own; DiaDecoderLayer."""
    dim = cfg.required("cross_head_dim")
    cross = CrossAttention(cfg.required("cross_num_key_value_heads"), dim, dim)
    return Several((full(cfg), cross))


def crossed(keeps: Keeps) -> Keeps:
    """``keeps``, and the encoder's K and V with the same heads."""

    def layer(cfg: EffectiveConfig) -> Layer:
        own = keeps(cfg)
        assert isinstance(own, FullAttention)
        return with_cross(cfg, own)

    return layer


def mllama_types(cfg: EffectiveConfig) -> list[str]:
    """Layers in ``cross_attention_layers`` read the image and keep nothing of the text."""
    listed = cfg.wholes("cross_attention_layers")
    if listed is None:
        listed = [3, 8, 13, 18, 23, 28, 33, 38]
    return ["cross" if i in set(listed) else "full_attention" for i in range(cfg.layers())]


def image(cfg: EffectiveConfig) -> Layer:
    """K and V of the image's tokens, grouped as the text's; MllamaTextCrossAttention."""
    own = full(cfg)
    return CrossAttention(own.kv_heads, own.k_dim, own.v_dim)


def _decoder(
    cfg: EffectiveConfig, layers: str, heads: str, encoder_tokens: int | None = None
) -> list[Layer]:
    kv_heads = cfg.required(heads)
    dim = hidden_per_head(cfg, kv_heads)
    layer = with_cross(cfg, FullAttention(kv_heads, dim, dim), encoder_tokens)
    return [layer] * cfg.count(layers)


_BART = """
    bart bigbird_pegasus blenderbot blenderbot-small fsmt led m2m_100 marian mbart mvp nllb-moe
    pegasus pegasus_x plbart pp_formulanet_text seamless_m4t seamless_m4t_v2 speech_to_text
    speecht5 trocr
"""
_T5 = "longt5 mt5 pix2struct_text_model pop2piano switch_transformers t5 udop umt5"
_OWN_HEADS = "musicgen_decoder musicgen_melody_decoder"
RULES: dict[str, Rule] = {
    **dict.fromkeys(_BART.split(), bart),
    **dict.fromkeys(_T5.split(), t5),
    **dict.fromkeys(
        _OWN_HEADS.split(),
        by_type(every("full_attention"), full_attention=crossed(every_head)),
    ),
    "canary_decoder": by_type(every("full_attention"), full_attention=crossed(full)),
    "cohere_asr": by_type(every("full_attention"), full_attention=crossed(full)),
    "dia_decoder": by_type(every("full_attention"), full_attention=dia),
    "mllama_text_model": by_type(mllama_types, full_attention=full, cross=image),
    "moonshine": moonshine,
    "moonshine_streaming": by_type(every("full_attention"), full_attention=crossed(full)),
    "prophetnet": prophetnet,
    "t5_gemma_module": by_type(
        every_nth(2), full_attention=crossed(full), sliding_attention=crossed(window)
    ),
    "t5gemma2_decoder": by_type(
        every_nth(6, "sliding_window_pattern"),
        full_attention=crossed(full),
        sliding_attention=crossed(window),
    ),
    "whisper": whisper,
}
