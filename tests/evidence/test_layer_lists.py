"""Which layer is of which type, for every model_type with a rule, against transformers' own list.

``DynamicCache(config=…)`` makes one cache layer for each layer of the model: its class and window
are what the rule's pattern must give, for other layer counts, periods and windows as well.
"""

import copy

import pytest

from kvdocs.evidence.transformers.caches import SAME_CLASS
from kvdocs.evidence.transformers.targets import changes
from kvdocs.formula import layout_of
from kvdocs.formula.architectures import model_types
from kvdocs.formula.class_defaults import class_entry
from tests.installed import missing_architecture, older_classes

CLASSES = {
    "DynamicLayer": {"full", "latent", "cross", "full + prompt"},
    "DynamicIndexedLayer": {
        *("latent + index", "latent"),
        *("full + index", "full + index + positions"),
    },
    "DynamicSlidingWindowLayer": {"window", "chunk", "latent window"},
    "LinearAttentionLayer": {"state"},
    "LinearAttentionAndFullAttentionLayer": {"full + state"},
    "LinearAttentionAndSlidingWindowAttentionLayer": {"window + state"},
    "MiniMaxM3VLSparseCacheLayer": {"full + index"},
    "DeepseekV4HCACache": {"window + compressed"},
    "DeepseekV4CSACache": {"window + compressed"},
    "UnlimitedOcrDynamicReferenceSlidingWindowLayer": {"prompt and window"},
    "DummyLayer": {"shared", "none"},
}
LOOPED = {"dory", "inkling2_loop_text"}  # caches of later loops are added while the model runs
NEEDED = {
    "qwen4_exp_text": {
        "indexer_n_heads": 4,
        "indexer_kv_heads": 1,
        "indexer_head_dim": 256,
        "indexer_budget": 2048,
        "indexer_compress_ratio": 4,
    }
}
WITHOUT_LIST = {"blt", "reformer", "rwkv", "xlnet", "xlstm"}  # no list of layers, or two of them
# Fields to change, where the class has them.
CHANGES = [
    {},
    {"num_hidden_layers": 13},
    {"num_hidden_layers": 2},
    {"num_hidden_layers": 12, "sliding_window_pattern": 3},
    {"sliding_window": 77},
    {"sliding_window": None},
    {"use_sliding_window": True, "max_window_layers": 3, "sliding_window": 50},
    {"full_attention_interval": 3},
    {"global_attn_every_n_layers": 2},
    {"attn_layer_period": 5, "attn_layer_offset": 1},
    {"layer_group_size": 4},
    {"num_kv_shared_layers": 4},
    {"attention_chunk_size": None},
    {"no_rope_layer_interval": 3},
    {"attn_layer_indices": [1, 3]},
    {"full_attn_idxs": [0, 2]},
    {"first_k_dense_replace": 3},
    {"layer_types": "reversed"},
    {"indexer_types": "reversed"},
    {"index_topk_freq": 4},
    {"compress_ratios": "all"},
]


def changed(model_type):
    """The changes that a class has all fields for, under its own names."""
    entry = class_entry(model_type)
    names = {standard: own for own, standard in entry.get("names", {}).items()}
    defaults = entry.get("defaults", {})
    for change in CHANGES:
        count = change.get("num_hidden_layers", 99)
        if count <= (defaults.get("num_kv_shared_layers") or 0) or (
            change and defaults.get("num_decoder_layers")
        ):
            continue  # fewer layers than share; or another field counts the decoder's
        if all(name in defaults for name in change):
            yield {names.get(k, k): v for k, v in change.items()}


def bring_own_layers():
    """Importing these classes makes their own cache layers known to DynamicCache."""
    from transformers import (
        DeepseekV4ForCausalLM,
        MiniMaxM3VLForCausalLM,
        UnlimitedOcrForConditionalGeneration,
    )

    assert DeepseekV4ForCausalLM
    assert MiniMaxM3VLForCausalLM
    assert UnlimitedOcrForConditionalGeneration


def compare(model_type, change) -> bool:
    """Hold one change against transformers' list; False where its class refuses the change."""
    from transformers import CONFIG_MAPPING, DynamicCache

    needed = changes()[model_type].set if model_type in changes() else {}
    base = {k: v for k, v in needed.items() if "." not in k} | NEEDED.get(model_type, {})
    names = class_entry(model_type).get("names", {})
    same = {names.get(name, name) for name in change}  # the field, under whichever name
    others = {k: v for k, v in base.items() if names.get(k, k) not in same}
    fields = others | change
    if list(change.values()) in (["reversed"], ["all"]):
        name = next(iter(change))
        standing = getattr(CONFIG_MAPPING[model_type](**base), name)
        fields = others | {name: list(reversed(standing))}
    try:
        config = CONFIG_MAPPING[model_type](**copy.deepcopy(fields))
        built = DynamicCache(config=config).layers
    except Exception:  # whatever a config class objects to
        return False
    layers = layout_of({"model_type": model_type} | fields).layers
    if model_type not in LOOPED:
        assert len(layers) == len(built), change
    for layer, own in zip(layers, built, strict=False):
        parts = [part for part in layer.parts if part.kind != "cross"] or list(layer.parts)
        assert " + ".join(p.kind for p in parts) in CLASSES[type(own).__name__], change
        window = getattr(layer, "generated", layer.window)
        assert window == getattr(own, "sliding_window", None), change
    return True


@pytest.mark.parametrize(
    "model_type", sorted(set(model_types()) - WITHOUT_LIST - SAME_CLASS.keys())
)
def test_layers_and_windows_are_those_of_transformers_own_list(model_type):
    if reason := older_classes() or missing_architecture(model_type):
        pytest.skip(reason)
    bring_own_layers()
    compared = [change for change in changed(model_type) if compare(model_type, change)]
    assert compared
