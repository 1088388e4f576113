"""Layers that keep a latent for all heads instead of K and V, some with index keys beside it.

In: an effective config. Out: layers. KV heads and ``head_dim`` that are published beside a latent
play no part. Sources are the attention classes of transformers 5.24.0.
"""

from __future__ import annotations

from kvdocs.formula.config import EffectiveConfig
from kvdocs.formula.layers import Layer
from kvdocs.formula.rules.keeps import latent
from kvdocs.formula.rules.types import INDEXED, Rule, all_full, by_type, named
from kvdocs.formula.several import IndexKeys, Several


def latent_and_index(cfg: EffectiveConfig) -> Layer:
    """A latent, and beside it the index key by which sparse attention chooses tokens."""
    return Several((latent(cfg), IndexKeys(cfg.required("index_head_dim"))))


def doubled(cfg: EffectiveConfig) -> list[Layer]:
    """Two attention layers in each of ``num_layers`` blocks; LongcatFlashConfig.

    A published ``num_hidden_layers`` counts the layers, and sets ``num_layers`` to half of it.
    """
    blocks = cfg.count("num_layers")
    if (layers := cfg.optional("num_hidden_layers")) is not None:
        if "num_layers" in cfg.published and layers != 2 * blocks:
            problem = f"is {layers}, not twice the num_layers of {blocks}"
            raise cfg.error("num_hidden_layers", problem, "Keep the one that is meant")
        blocks = cfg.count("num_hidden_layers") // 2
    return [latent(cfg)] * (2 * blocks)


def indexed(cfg: EffectiveConfig) -> list[str]:
    """Every layer has an index, unless ``layer_types`` says otherwise."""
    return named(lambda _, count: [INDEXED] * count)(cfg)


def some_indexed(cfg: EffectiveConfig) -> list[Layer]:
    """Layers whose ``indexer_types`` is ``shared`` read the index of an earlier layer."""
    names = indexed(cfg)
    if wrong := [name for name in names if name != INDEXED]:
        raise cfg.error("layer_types", f"names {wrong[0]!r}", "Known is indexed_attention")
    with_index, without = latent_and_index(cfg), latent(cfg)
    return [with_index if own else without for own in index_of_its_own(cfg, len(names))]


def index_of_its_own(cfg: EffectiveConfig, count: int) -> list[bool]:
    """Per layer whether it keeps index keys: ``indexer_types``, or the pattern or period of it."""
    types, pattern = cfg.get("indexer_types"), cfg.get("index_topk_pattern")
    if types is None and pattern is not None:
        known = {"F": "full", "S": "shared"}
        if isinstance(pattern, (str, list)):
            pattern = [known.get(str(x), x) for x in pattern]
        return _fulls(cfg, "index_topk_pattern", pattern, count)
    if types is not None:
        return _fulls(cfg, "indexer_types", types, count)
    if cfg.model_type.startswith("hy_v4"):
        return [i == 0 or (i - 1) % 4 == 0 for i in range(count)]
    period = cfg.optional("index_topk_freq") or 1
    offset = cfg.whole("index_skip_topk_offset", 2)
    return [max(i - offset + 1, 0) % period == 0 for i in range(count)]


def _fulls(cfg: EffectiveConfig, name: str, types: object, count: int) -> list[bool]:
    if (
        not isinstance(types, list)
        or len(types) != count
        or not set(map(str, types))
        <= {
            "full",
            "shared",
        }
    ):
        raise cfg.error(name, f"does not say full or shared for each of {count} layers")
    return [kind == "full" for kind in types]


RULES: dict[str, Rule] = {
    **dict.fromkeys(
        [
            "axk1",
            "deepseek_v2",
            "deepseek_v3",
            "glm4_moe_lite",
            "kimi_k2",
            "minicpm3",
            "mistral4",
            "sarvam_mla",
            "youtu",
        ],
        by_type(all_full, full_attention=latent),
    ),
    "axk2": by_type(indexed, indexed_attention=latent_and_index),
    "deepseek_v32": by_type(indexed, indexed_attention=latent_and_index),
    "glm_moe_dsa": some_indexed,
    "hy_v4": some_indexed,
    "hy_v4_vl_text": some_indexed,
    "longcat_flash": doubled,
}
