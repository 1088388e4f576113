"""Every field that a rule reads, damaged: refused by its name, or another answer.

Which fields a rule reads is recorded while it answers, so none is forgotten and none is damaged
in vain. Where a damaged config is answered from a field that was not read before, that field is
damaged next, and so on: this reaches every branch of every rule that one wrong field opens.
"""

import copy
import re
from contextlib import contextmanager
from functools import cache
from importlib import import_module

import pytest

from kvdocs.facts.snapshot import load_all
from kvdocs.formula import CacheLayout, ConfigError, layout_of
from kvdocs.formula.architectures import MODULES, WRAPPERS, model_types, rule_for
from kvdocs.formula.config import EffectiveConfig
from kvdocs.formula.fields import FIELDS

FILE = "some/config.json"

WRONG = ["x", [], [[]], {}, 1.5, True, False, -1, 0, 10**30, 1e300, float("nan"), float("inf")]
SIZES = (1, 2, 3, 4, 8, 64)
# A field is a size, a whole number of 1 or more, unless it is named here.
OTHER_TYPES = {
    "flag": """
        add_cross_attention attention_k_eq_v is_decoder is_encoder_decoder multi_query
        multi_query_attention new_decoder_architecture no_op replace_with_linear
        use_bidirectional_attention use_mems_eval use_sliding_window
    """,
    "list": """
        attn_layer_indices attn_layers block_configs block_types compress_ratios
        cross_attention_layers full_attn_idxs full_attn_layers hybrid_override_pattern
        index_topk_pattern indexer_types kda_layers kv_source_layers layer_types local_layer_ids
        no_rope_layers ple_layer_ids sparse_attention_freq
    """,
    "object": """
        attention attn_config compress_rates decoder_config encoder_config linear_attn_config
        loop_config per_layer_config sparse_attention_config
    """,
    "factor": "expand mamba_expand qk_dim_factor v_dim_factor",
    "count": """
        L_cycles attn_layer_offset first_k_dense_replace index_skip_topk_offset loop_layer_index_end
        loop_layer_index_start max_window_layers mem_len n_input_layers n_output_layers
        num_kv_shared_layers num_nextn_predict_layers qk_rope_head_dim
    """,
    "attention": "attn_type",
    "auto": "mamba_d_head",
    "mode": "recurrent_kv_cache_mode",
}
TYPE = {name: kind for kind, names in OTHER_TYPES.items() for name in names.split()}
# Values of each type, on which an answer may depend.
OWN = {
    "size": SIZES,
    "flag": (True, False),
    "list": ([],),
    "object": ({},),
    "factor": (*SIZES, 1.5),
    "count": (*SIZES, 0),
    "attention": ("multihead_attention",),
    "auto": (*SIZES, "auto"),
    "mode": ("per_loop", "last_loop"),
}
# Where it is null, a class derives it or has a constant, and that may be what stood there. (For
# Gemma 4 "vision" is another mask, not another cache.)
DERIVED = """
    full_attention_interval global_attn_every_n_layers global_head_dim head_dim layer_group_size
    layer_types mamba_d_head no_rope_layer_interval no_rope_layers num_key_value_heads num_kv_heads
    recurrent_kv_cache_mode sliding_window_pattern use_bidirectional_attention
"""
# Read, though in some models no value of it alone moves the answer.
IN_VAIN = {
    "index_skip_topk_offset": "every layer has an index where index_topk_freq is 1",
    "num_attention_heads": "KV heads and head_dim are published, and 1 divides any number of heads",
    "num_nextn_predict_layers": "counts only where layer_types lists the draft layers too",
    "sliding_window": "no layer lies past max_window_layers",
}

# Configs that answer where the bare model_type does not, or that open a branch by two fields.
BY_HAND = [
    *(
        {"model_type": name, "is_decoder": True}
        for name in (
            *("bert", "bert-generation", "big_bird", "camembert", "data2vec-text", "electra"),
            *("ernie", "megatron-bert", "reformer", "rembert", "roberta", "roberta-prelayernorm"),
            *("roc_bert", "roformer", "xlm-roberta", "xlm-roberta-xl", "xmod"),
        )
    ),
    *(
        {"model_type": name, "decoder": {"model_type": "bert", "is_decoder": True}}
        for name in ("encoder-decoder", "speech-encoder-decoder", "vision-encoder-decoder")
    ),
    {
        **{"model_type": "chatglm", "num_layers": 28, "num_attention_heads": 32},
        **{"hidden_size": 4096, "kv_channels": 128},
        **{"multi_query_attention": True, "multi_query_group_num": 2},
    },
    {"model_type": "cohere2_moe", "first_k_dense_replace": 2},
    {"model_type": "gemma4_unified_assistant", "text_config": {"num_kv_shared_layers": 3}},
    {"model_type": "kimi_k2", "num_hidden_layers": 3, "kv_lora_rank": 512, "qk_rope_head_dim": 64},
    {
        **{"model_type": "nemotron-nas", "num_hidden_layers": 2},
        **{"num_attention_heads": 8, "hidden_size": 64},
        "block_configs": [
            {"attention": {"n_heads_in_group": 4}},
            {"attention": {"n_heads_in_group": 8, "window_length": 16}},
        ],
    },
    {"model_type": "qwen4_exp", "text_config": {"indexer_kv_heads": 1, "indexer_head_dim": 256}},
    {"model_type": "qwen4_exp_text", "indexer_kv_heads": 1, "indexer_head_dim": 256},
]


@contextmanager
def reads():
    """What is read meanwhile: each field, its value, and its class's default."""
    found, get = {}, EffectiveConfig.get

    def recorded(self, name):
        found[self.prefix + name] = (get(self, name), self.defaults.get(name, NO_DEFAULT))
        return found[self.prefix + name][0]

    EffectiveConfig.get = recorded
    try:
        yield found
    finally:
        EffectiveConfig.get = get


NO_DEFAULT = object()


def answer(config):
    """What the formula says to a config, a layout or an error of any kind, and what it read."""
    with reads() as found:
        try:
            return layout_of(config, FILE), found
        except Exception as error:
            return error, found


def put(config, field, value=NO_DEFAULT):
    """A copy of a config with a value in a field, or without the field; missing parts are made."""
    config = part = copy.deepcopy(config)
    *outer, name = (int(x) if x.isdigit() else x for x in re.findall(r"[^.\[\]]+", field))
    for key in outer:
        if isinstance(part, dict) and not isinstance(part.get(key), dict | list):
            part[key] = {}
        part = part[key]
    if value is NO_DEFAULT:
        part.pop(name, None)
    else:
        part[name] = value
    return config


def own(name):
    """Values of a field's own type."""
    return OWN[TYPE.get(name, "size")]


def right(name, value):
    """Whether a class could mean such a value."""
    return any(type(value) is type(one) and value == one for one in own(name))


def fault(field, value, before, after):
    """What is wrong with the answer to one damaged field, given that before; None if nothing is."""
    (whole, standing), (outcome, read) = before, after
    name = field.rpartition(".")[2]
    wrong = value is not None and not right(name, value)
    if isinstance(outcome, ConfigError):
        if not str(outcome).startswith(f"{FILE}: {outcome.field or '?'} ") or "\n" in str(outcome):
            return f"refused without place or field: {outcome}"
        return f"refused for {outcome.field}" if wrong and outcome.field != field else None
    if isinstance(outcome, Exception):
        return repr(outcome)
    if wrong:
        return "answered"
    if outcome != whole or read.keys() != standing.keys() or value is not None:
        return None
    unset = not standing[field][0] or name in DERIVED.split()
    return None if unset else "null changes nothing"


def default_fault(field, config, default):
    """What is wrong with the answer where a field is left out: it must be that to its default."""
    left_out, _ = answer(put(config, field))
    published, _ = answer(put(config, field, None if default is NO_DEFAULT else default))
    if isinstance(published, Exception):
        same = isinstance(left_out, ConfigError) and left_out.field == published.field
        return None if same or "stands where" in str(published) else f"default: {published!r}"
    return None if left_out == published else "left out, it is not the default"


def faults(base):
    """What is wrong with the answers to a config, one field after another damaged; and which."""
    found, damages, queue = [], set(), [base]
    while queue:
        config = queue.pop()
        before = whole, standing = answer(config)
        for field in sorted(standing.keys() - damages):
            damages.add(field)
            name, counts = field.rpartition(".")[2], False
            said = [default_fault(field, config, standing[field][1])]
            for value in [None, *WRONG, *own(name)]:
                damaged = put(config, field, value)
                after = outcome, read = answer(damaged)
                if isinstance(outcome, CacheLayout) and read.keys() - damages - standing.keys():
                    queue.append(damaged)
                if problem := fault(field, value, before, after):
                    said.append(f"{value!r}: {problem}")
                if right(name, value) and (outcome != whole or read.keys() != standing.keys()):
                    counts = True
            if not counts and len(own(name)) > 1 and name not in IN_VAIN:
                said.append("no value of it changes anything")
            found += [f"{base['model_type']}: {field}: {x}" for x in said if x]
    if not damages or isinstance(answer(base)[0], Exception):
        found.append(f"{base['model_type']}: no answer to damage")
    return found, damages


def bare(model_type):
    """The smallest config of a model_type; its text decoder's part is there, and empty."""
    config = {"model_type": model_type}
    return put(config, EffectiveConfig.of(config, FILE).prefix + "nothing")


def published(model):
    """A published config, the fields of its text decoder under standard names."""
    cfg = EffectiveConfig.of(model.config, FILE)
    text = {"model_type": cfg.model_type} | cfg.published
    return put(model.config, cfg.prefix[:-1], text) if cfg.prefix else text


@cache
def all_faults():
    """The faults by the module of rules that reads a config, and every field that was damaged."""
    found, damaged = {module: [] for module in MODULES}, set()
    stated = {config["model_type"] for config in BY_HAND}
    alone = [bare(name) for name in (*model_types(), *WRAPPERS) if name not in stated]
    for base in (*alone, *BY_HAND, *map(published, load_all())):
        rule = rule_for(EffectiveConfig.of(base, FILE).model_type)
        if rule is None:
            continue  # a published model that no rule covers
        module = next(name for name in MODULES if rule in rules_of(name).values())
        lines, fields = faults(base)
        found[module] += lines
        damaged |= {field.rpartition(".")[2] for field in fields}
    return found, damaged


def rules_of(module):
    return import_module(f"kvdocs.formula.rules.{module}").RULES


@pytest.mark.parametrize("module", MODULES)
def test_each_is_refused_by_its_name_or_changes_the_answer(module):
    found, _ = all_faults()
    assert not found[module], "\n".join(found[module])


def test_every_field_that_rules_read_was_damaged():
    _, damaged = all_faults()
    assert not set(FIELDS) - damaged


def lenient_size(self, name):
    value = self.get(name)
    return value if isinstance(value, int) else None


MISTAKES = {
    "a size that may be anything": ("optional", lenient_size, "num_hidden_layers: True: answered"),
    "a flag of anything": (
        "flag",
        lambda self, name: bool(self.get(name)),
        "use_sliding_window: 'x': answered",
    ),
    "a count of anything": (
        "whole",
        lambda self, name, absent=None: self.get(name),
        "max_window_layers: -1: answered",
    ),
    "another name": (
        "error",
        lambda self, name, *said: ConfigError(self.source, "dtype", "is wrong"),
        "head_dim: 'x': refused for dtype",
    ),
    "no name": (
        "error",
        lambda self, name, *said: ConfigError(self.source, "", "is wrong"),
        "head_dim: 'x': refused without place or field",
    ),
    "another file": (
        "error",
        lambda self, name, *said: ConfigError("config.json", name, "is wrong"),
        "head_dim: 'x': refused without place or field",
    ),
    "null as the default": (
        "get",
        lambda self, name: self.defaults.get(name) if name in self.defaults else None,
        "num_hidden_layers: no value of it changes anything",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_check_that_is_dropped_is_noticed(mistake, monkeypatch):
    method, wrong, said = MISTAKES[mistake]
    monkeypatch.setattr(EffectiveConfig, method, wrong)
    found, _ = faults(bare("qwen3") | {"use_sliding_window": True, "max_window_layers": 3})
    assert f"qwen3: {said}" in "\n".join(found)
