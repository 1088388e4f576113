"""From an effective config to the layout: the table from model_type to rule.

In: a published config. Out: its ``CacheLayout``, or a ``ConfigError`` naming the model_type or the
field. The rules are in ``rules/``, one module per kind of cache. To add a family, add a row there,
run ``kvdocs evidence update defaults`` and hold it against the real cache; CONTRIBUTING says how.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from kvdocs.formula.config import STATED_BY_HAND, EffectiveConfig
from kvdocs.formula.errors import ConfigError
from kvdocs.formula.layout import CacheLayout

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from kvdocs.formula.rules.types import Rule


def layout_of(config: Mapping[str, object], source: str = "config.json") -> CacheLayout:
    """The cache layout of a published config; ``source`` names it in errors.

    Raises:
        ConfigError: no rule for the model_type, or a field without a usable value.

    >>> config = {"model_type": "qwen2", "num_hidden_layers": 28, "num_attention_heads": 28,
    ...           "num_key_value_heads": 4, "hidden_size": 3584}
    >>> layout_of(config).slope()
    57344
    """
    if config.get("model_type") == STATED_BY_HAND:
        from kvdocs.formula import by_hand

        return by_hand.layout(config, source)
    effective = EffectiveConfig.of(config, source)
    rule = rule_for(effective.model_type)
    if rule is None:
        raise _refusal(effective)
    layers = rule(effective)
    if all(layer.kind in ("shared", "none") for layer in layers):
        raise effective.error("layer_types", "leaves no layer that keeps a cache")
    return CacheLayout(tuple(layers))


# Modules of rules/, the most asked for first: one is imported when those before it have no row.
MODULES = (
    "attention",
    "latents",
    "hybrids",
    "shared",
    "encoder_decoder",
    "sparse",
    "families",
    "hidden",
    "remote",
)


def rule_for(model_type: str) -> Rule | None:
    """The rule of a model_type, None where there is none."""
    table = table_with(model_type)
    return table[model_type] if table else None


def table_with(model_type: str) -> dict[str, Rule] | None:
    """The table that has a row for a model_type, None where no table has one."""
    return next((table for table in map(_table, MODULES) if model_type in table), None)


def model_types() -> list[str]:
    """Every model_type with a rule, configs with a text decoder's part aside."""
    return sorted(name for module in MODULES for name in _table(module))


def _table(module: str) -> dict[str, Rule]:
    table: dict[str, Rule] = import_module(f"kvdocs.formula.rules.{module}").RULES
    return table


# Configs with a part of their own for the text decoder.
_WRAPPERS = """
    apertus1p5 aria audioflamingo3 aya_vision blip blip-2 canary cohere2_vision cohere_compass
    cosmos3_edge cosmos3_omni deepseek_ocr2 deepseek_vl deepseek_vl_hybrid dia diffusion_gemma
    dots3_note emu3 encoder-decoder ernie4_5_vl_moe exaone4_5 fast_vlm florence2 fun_asr_nano
    fuyu gemma3 gemma3n gemma4 gemma4_unified gemma4_unified_assistant glm46v glm4v glm4v_moe
    glm5_next glm_ocr glmasr glmga got_ocr2 granite4_vision granite_docling granite_speech
    granite_speech_plus hunyuan_vl hy_v4_vl hyperclovax_vision_v2 idefics2 idefics3 inkling2
    inkling2_loop inkling_mm_model instructblip instructblipvideo internvl janus kimi_k25
    kosmos-2 kosmos-2.5 lfm2_vl lfm3_vl lighton_ocr llama4 llava llava_next llava_next_video
    llava_onevision minicpm_ocr minicpmv4_6 minicpmv4_7 minimax_m3_vl mistral3 mistral_large4
    mllama molmo2 moss_transcribe_diarize muse_glimmer muse_spark musicflamingo musicgen
    musicgen_melody nemo_speechlm nemotron_h_omni omniasr ovis2 paddleocr_vl paligemma
    perception_lm pi0 pix2struct pp_chart2table pp_formulanet qianfan_ocr qwen2_5_omni
    qwen2_5_omni_thinker qwen2_5_vl qwen2_audio qwen2_vl qwen3_5 qwen3_5_moe qwen3_asr
    qwen3_omni_moe qwen3_omni_moe_thinker qwen3_vl qwen3_vl_moe qwen4_exp shieldgemma2 smolvlm
    speech-encoder-decoder step3p7 t5gemma t5gemma2 unlimited_ocr vibevoice vibevoice_asr
    video_llama_3 video_llava vipllava vision-encoder-decoder voxtral voxtral_realtime
"""
WRAPPERS = tuple(_WRAPPERS.split())
PARTS = ("blt_local_decoder", "blt_local_encoder")  # read by the rule for the whole


def _refusal(cfg: EffectiveConfig) -> ConfigError:
    from kvdocs.formula.fields import FIELDS  # a file, which no answer needs

    nested = cfg.published.get("text_config")
    inner = nested if isinstance(nested, dict) else {}
    found = [name for name in FIELDS if (cfg.published | inner).get(name) is not None]
    problem = (
        f"is {cfg.model_type[:60]!r}, and no rule here says what its layers keep. Fields found: "
        f"{', '.join(found) or 'none that a rule reads'}"
    )
    remedy = "State the layout by hand, in a TOML file: docs/compute.md says how"
    return ConfigError(cfg.source, cfg.prefix + "model_type", problem, remedy)
