"""From an effective config to the layout: one short function per family, and the table to it.

In: a published config. Out: its ``CacheLayout``, or a ``ConfigError`` naming the model_type or the
field. To add a family, write a function from ``EffectiveConfig`` to layers, put its model_types in
``FAMILIES``, run ``kvdocs defaults update`` and add a model to ``tests/formula``.

Each function's source is the modelling code of the class in transformers 5.24.0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kvdocs.formula.config import FIELDS, ConfigError, EffectiveConfig
from kvdocs.formula.layers import FullAttention, Latent, Layer, SlidingWindow
from kvdocs.formula.layout import CacheLayout

Rule = Callable[[EffectiveConfig], list[Layer]]


def layout_of(config: Mapping[str, object], source: str = "config.json") -> CacheLayout:
    """The cache layout of a published config; ``source`` names it in errors.

    Raises:
        ConfigError: no rule for the model_type, or a field without a usable value.

    >>> config = {"model_type": "qwen2", "num_hidden_layers": 28, "num_attention_heads": 28,
    ...           "num_key_value_heads": 4, "hidden_size": 3584}
    >>> layout_of(config).slope()
    57344
    """
    effective = EffectiveConfig.of(config, source)
    rule = FAMILIES.get(effective.model_type)
    if rule is None:
        raise _refusal(effective)
    return CacheLayout(tuple(rule(effective)))


def multi_head(cfg: EffectiveConfig) -> list[Layer]:
    """Every attention head has its own K and V (GPT-2)."""
    heads = cfg.required("num_attention_heads")
    head_dim = _hidden_per_head(cfg, heads)
    return [FullAttention(heads, head_dim, head_dim)] * cfg.layers()


def grouped(cfg: EffectiveConfig) -> list[Layer]:
    """Every layer keeps every token; groups of heads share K and V."""
    if cfg.get("sliding_window") is not None:
        remedy = "Such a layer keeps every token; a window here means another model_type"
        raise cfg.error("sliding_window", f"is set, but {cfg.model_type} has no windows", remedy)
    return _uniform(cfg, None)


def one_window(cfg: EffectiveConfig) -> list[Layer]:
    """All layers slide where a window is set, none where it is not (Mistral, Phi-3)."""
    return _uniform(cfg, cfg.optional("sliding_window"))


def switched_window(cfg: EffectiveConfig) -> list[Layer]:
    """As ``one_window``, but the window counts only with ``use_sliding_window`` (Qwen3-MoE)."""
    return _uniform(cfg, _switched(cfg))


def late_windows(cfg: EffectiveConfig) -> list[Layer]:
    """With ``use_sliding_window``, layers from ``max_window_layers`` on slide (Qwen2, Qwen3)."""
    window = _switched(cfg)
    if window is None:
        return _by_type(cfg, window, lambda i: False)
    first = cfg.get("max_window_layers")
    if isinstance(first, bool) or not isinstance(first, int):
        raise cfg.error("max_window_layers", "is not a whole number")
    return _by_type(cfg, window, lambda i: i >= first)


def rope_free_windows(cfg: EffectiveConfig) -> list[Layer]:
    """With ``use_sliding_window``, the layers without rotary positions slide (SmolLM3)."""
    window = _switched(cfg)
    if window is None:
        return _by_type(cfg, window, lambda i: False)
    rope = cfg.get("no_rope_layers")
    if rope is None:
        interval = cfg.required("no_rope_layer_interval")
        return _by_type(cfg, window, lambda i: (i + 1) % interval == 0)
    if not isinstance(rope, list) or len(rope) < cfg.layers():
        raise cfg.error("no_rope_layers", "is not a list with one entry per layer")
    return _by_type(cfg, window, lambda i: not rope[i])


def every_nth_full(n: int) -> Rule:
    """Layers slide, except every ``n``-th (Gemma 2 and gpt-oss: 2, Olmo 3: 4)."""

    def rule(cfg: EffectiveConfig) -> list[Layer]:
        return _by_type(cfg, cfg.optional("sliding_window"), lambda i: (i + 1) % n != 0)

    return rule


def gemma3(cfg: EffectiveConfig) -> list[Layer]:
    """Layers slide, except every sixth, or every ``sliding_window_pattern``-th."""
    if cfg.flag("use_bidirectional_attention"):
        raise cfg.error("use_bidirectional_attention", "is true: an encoder keeps no cache")
    return every_nth_full(cfg.optional("sliding_window_pattern") or 6)(cfg)


def falcon(cfg: EffectiveConfig) -> list[Layer]:
    """``multi_query`` means one KV head, whatever head count is published beside it."""
    heads = cfg.required("num_attention_heads")
    head_dim = _hidden_per_head(cfg, heads)
    if cfg.flag("new_decoder_architecture"):
        kv_heads = cfg.optional("num_kv_heads") or heads
        _check_divides(cfg, "num_kv_heads", kv_heads, heads)
    else:
        kv_heads = 1 if cfg.flag("multi_query") else heads
    return [FullAttention(kv_heads, head_dim, head_dim)] * cfg.layers()


def latent(cfg: EffectiveConfig) -> list[Layer]:
    """One latent and one rotary key a token; published KV head counts play no part (DeepSeek)."""
    layer = Latent(cfg.required("kv_lora_rank"), cfg.required("qk_rope_head_dim"))
    return [layer] * cfg.layers()


FAMILIES: dict[str, Rule] = {
    "deepseek_v2": latent,
    "deepseek_v3": latent,
    "falcon": falcon,
    "gemma2": every_nth_full(2),
    "gemma3_text": gemma3,
    "gpt2": multi_head,
    "gpt_oss": every_nth_full(2),
    "kimi_k2": latent,
    "llama": grouped,
    "minimax_m2": grouped,
    "mistral": one_window,
    "mixtral": one_window,
    "olmo2": grouped,
    "olmo3": every_nth_full(4),
    "phi3": one_window,
    "qwen2": late_windows,
    "qwen3": late_windows,
    "qwen3_moe": switched_window,
    "smollm3": rope_free_windows,
}
# Configs whose language model is in text_config.
WRAPPERS = ("gemma3", "kimi_k25")


def _attention(cfg: EffectiveConfig, window: int | None = None) -> FullAttention:
    heads = cfg.required("num_attention_heads")
    kv_heads = cfg.optional("num_key_value_heads") or heads
    _check_divides(cfg, "num_key_value_heads", kv_heads, heads)
    head_dim = cfg.optional("head_dim") or _hidden_per_head(cfg, heads)
    if window is None:
        return FullAttention(kv_heads, head_dim, head_dim)
    return SlidingWindow(kv_heads, head_dim, head_dim, window)


def _switched(cfg: EffectiveConfig) -> int | None:
    return cfg.optional("sliding_window") if cfg.flag("use_sliding_window") else None


def _uniform(cfg: EffectiveConfig, window: int | None) -> list[Layer]:
    """Every layer the same; published ``layer_types`` may only repeat what the class does."""
    kind = "full_attention" if window is None else "sliding_attention"
    types = cfg.get("layer_types")
    if types is not None and types != [kind] * cfg.layers():
        problem = f"differs from what {cfg.model_type} does: {kind} in every layer"
        raise cfg.error("layer_types", problem)
    return [_attention(cfg, window)] * cfg.layers()


def _by_type(
    cfg: EffectiveConfig, window: int | None, slides: Callable[[int], bool]
) -> list[Layer]:
    """Layers from the published ``layer_types``, else from the class's own pattern."""
    count = cfg.layers()
    types = cfg.get("layer_types")
    if types is None:
        types = ["sliding_attention" if slides(i) else "full_attention" for i in range(count)]
    if not isinstance(types, list) or len(types) != count:
        raise cfg.error("layer_types", f"is not a list of {count} names, one per layer")
    layers: dict[str, Layer] = {"full_attention": _attention(cfg)}
    if window is not None:
        layers["sliding_attention"] = _attention(cfg, window)
    unknown = [i for i, name in enumerate(types) if not isinstance(name, str) or name not in layers]
    if unknown:
        raise _unknown_type(cfg, unknown[0], types[unknown[0]])
    return [layers[name] for name in types]


def _unknown_type(cfg: EffectiveConfig, index: int, name: object) -> ConfigError:
    if name == "sliding_attention":
        return cfg.error("sliding_window", f"is not in force, but layer {index} slides")
    remedy = "Known are full_attention and sliding_attention"
    return cfg.error("layer_types", f"names {name!r} for layer {index}", remedy)


def _hidden_per_head(cfg: EffectiveConfig, heads: int) -> int:
    hidden = cfg.required("hidden_size")
    if hidden % heads:
        problem = f"is {hidden}, not divisible by the {heads} attention heads"
        raise cfg.error("hidden_size", problem, "Publish head_dim, or correct the head count")
    return hidden // heads


def _check_divides(cfg: EffectiveConfig, name: str, kv_heads: int, heads: int) -> None:
    if heads % kv_heads:
        problem = f"is {kv_heads}, which does not divide the {heads} attention heads"
        raise cfg.error(name, problem, "Each KV head must serve the same number of heads")


def _refusal(cfg: EffectiveConfig) -> ConfigError:
    nested = cfg.published.get("text_config")
    inner = nested if isinstance(nested, dict) else {}
    found = [name for name in FIELDS if (cfg.published | inner).get(name) is not None]
    problem = (
        f"is {cfg.model_type!r}, and no rule here says what its layers keep. Fields found: "
        f"{', '.join(found) or 'none that a rule reads'}"
    )
    remedy = f"Known are {', '.join(sorted([*FAMILIES, *WRAPPERS]))}"
    return ConfigError(cfg.source, cfg.prefix + "model_type", problem, remedy)
