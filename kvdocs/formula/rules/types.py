"""Which layer is of which type: published ``layer_types``, else the pattern of the class.

In: an effective config. Out: one name a layer, such as ``full_attention``. The names are those of
transformers 5.24.0, older ones are translated; a pattern's source is ``__post_init__`` of the
config class, and tests hold each against the layer list of ``DynamicCache(config=…)``.
"""

from __future__ import annotations

from collections.abc import Callable

from kvdocs.formula.config import EffectiveConfig
from kvdocs.formula.errors import ConfigError
from kvdocs.formula.layers import Layer

Types = Callable[[EffectiveConfig], list[str]]
Keeps = Callable[[EffectiveConfig], Layer]
Rule = Callable[[EffectiveConfig], list[Layer]]

FULL, SLIDING, CHUNKED = "full_attention", "sliding_attention", "chunked_attention"
INDEXED, LINEAR, CONV, HYBRID = "indexed_attention", "linear_attention", "conv", "hybrid"
HYBRID_SLIDING = "hybrid_sliding"
OLDER_NAMES: dict[str, str] = {  # remap_legacy_layer_types of transformers 5.24.0
    "attention": FULL,
    "mamba": LINEAR,
    "deepseek_sparse_attention": INDEXED,
    "qwen_sparse_attention": INDEXED,
}


def by_type(types: Types, **keeps: Keeps) -> Rule:
    """A rule that asks ``types`` for a name per layer, and ``keeps[name]`` what it keeps."""

    def rule(cfg: EffectiveConfig) -> list[Layer]:
        names, own = types(cfg), cfg.per_layer()
        made: dict[object, Layer] = {}
        layers = []
        for index, name in enumerate(names):
            key = (name, repr(own[index])) if index in own else name
            if key not in made:
                if name not in keeps:
                    raise _unknown(cfg, index, name, " and ".join(keeps))
                made[key] = keeps[name](cfg.of_layer(index, own[index]) if index in own else cfg)
            layers.append(made[key])
        return layers

    return rule


def current(name: str) -> str:
    """A layer type under its name of today.

    >>> current("mamba"), current("full_attention")
    ('linear_attention', 'full_attention')
    """
    return OLDER_NAMES.get(name, name)


def every(name: str) -> Types:
    """All layers alike, whatever is published."""
    return lambda cfg: [name] * cfg.layers()


def named(pattern: Callable[[EffectiveConfig, int], list[str]]) -> Types:
    """Published ``layer_types``, else ``pattern`` for that many layers."""

    def types(cfg: EffectiveConfig) -> list[str]:
        count = cfg.layers()
        found = cfg.get("layer_types")
        if found is None:
            return pattern(cfg, count)
        if not isinstance(found, list) or len(found) != count:
            raise cfg.error("layer_types", f"is not a list of {count} names, one per layer")
        if wrong := [i for i, name in enumerate(found) if not isinstance(name, str)]:
            index = wrong[0]
            raise cfg.error("layer_types", f"names {found[index]!r} for layer {index}")
        return [current(name) for name in found]

    return types


def where(full: Callable[[int], bool], rest: str = SLIDING, then: str = FULL) -> Types:
    """``then`` for layers with ``full(index)``, ``rest`` for the others, unless published."""
    return named(lambda cfg, count: [then if full(i) else rest for i in range(count)])


def every_nth(n: int, field: str = "", rest: str = SLIDING, then: str = FULL) -> Types:
    """Every ``n``-th layer is ``then``, the others ``rest``; ``field`` overrules ``n``."""

    def pattern(cfg: EffectiveConfig, count: int) -> list[str]:
        period = (cfg.optional(field) if field else None) or n
        return [rest if (i + 1) % period else then for i in range(count)]

    return named(pattern)


def first_of_n(n: int, field: str = "") -> Types:
    """The first of every ``n`` layers is full, the others slide; ``field`` overrules ``n``."""

    def pattern(cfg: EffectiveConfig, count: int) -> list[str]:
        period = (cfg.optional(field) if field else None) or n
        return [SLIDING if i % period else FULL for i in range(count)]

    return named(pattern)


def all_alike(cfg: EffectiveConfig) -> list[str]:
    """All layers slide where a window is set, none where it is not (Mistral, Phi-3).

    Published ``layer_types`` may only repeat what the class does.
    """
    kind = FULL if window_in_force(cfg) is None else SLIDING
    return _only(cfg, kind)


def all_full(cfg: EffectiveConfig) -> list[str]:
    """Every layer keeps every token; a published window is refused."""
    if cfg.get("sliding_window") is not None:
        remedy = "Such a layer keeps every token; a window here means another model_type"
        raise cfg.error("sliding_window", f"is set, but {cfg.model_type} has no windows", remedy)
    return _only(cfg, FULL)


def late_windows(cfg: EffectiveConfig, count: int) -> list[str]:
    """With a window in force, layers from ``max_window_layers`` on slide (Qwen2, Qwen3)."""
    if window_in_force(cfg) is None:
        return [FULL] * count
    first = cfg.whole("max_window_layers")
    return [SLIDING if i >= first else FULL for i in range(count)]


def no_rope_slides(cfg: EffectiveConfig, count: int) -> list[str]:
    """With a window in force, the layers without rotary positions slide (SmolLM3)."""
    if window_in_force(cfg) is None:
        return [FULL] * count
    return [FULL if rope else SLIDING for rope in rope_layers(cfg, count)]


def rope_chunks(cfg: EffectiveConfig, count: int) -> list[str]:
    """With ``attention_chunk_size``, the layers with rotary positions are chunked (Llama 4)."""
    if cfg.optional("attention_chunk_size") is None:
        return [FULL] * count
    return [CHUNKED if rope else FULL for rope in rope_layers(cfg, count)]


def rope_layers(cfg: EffectiveConfig, count: int) -> list[bool]:
    """Per layer whether it has rotary positions: ``no_rope_layers``, 1 where it has them."""
    found = cfg.get("no_rope_layers")
    if found is None or found == []:
        interval = cfg.optional("no_rope_layer_interval") or 4
        return [bool((i + 1) % interval) for i in range(count)]
    if not isinstance(found, list) or len(found) < count:
        raise cfg.error("no_rope_layers", "is not a list with one entry per layer")
    return [bool(rope) for rope in found[:count]]


def window_in_force(cfg: EffectiveConfig) -> int | None:
    """``sliding_window``, unless the class has a switch for it that is off."""
    if "use_sliding_window" in cfg.defaults and not cfg.flag("use_sliding_window"):
        return None
    return cfg.optional("sliding_window")


def _unknown(cfg: EffectiveConfig, index: int, name: str, known: str) -> ConfigError:
    published = cfg.get("layer_types")
    shown = published[index] if isinstance(published, list) and index < len(published) else name
    return cfg.error("layer_types", f"names {shown!r} for layer {index}", f"Known are {known}")


def _only(cfg: EffectiveConfig, kind: str) -> list[str]:
    types, count = cfg.get("layer_types"), cfg.layers()
    if types is not None and types != [kind] * count:
        problem = f"differs from what {cfg.model_type} does: {kind} in every layer"
        raise cfg.error("layer_types", problem)
    return [kind] * count
