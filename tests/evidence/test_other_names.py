"""A field under each of the names its class reads gives the layout that the class itself gives.

The class is made from the same raw keys, and its whole config, as it stands then, is what the
answer must be of. Names are taken from the classes' code: their ``attribute_map``, and every key
that they take from their keyword arguments.
"""

import ast
import inspect
import json
import textwrap

import pytest

from kvdocs.evidence.transformers.caches import SAME_CLASS
from kvdocs.evidence.transformers.targets import changes
from kvdocs.formula import ConfigError, layout_of
from kvdocs.formula.architectures import model_types
from tests.evidence.test_layer_lists import NEEDED
from tests.installed import missing_architecture, older_classes

ATTENTION = [
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "hidden_size",
]


def names(config_class):
    """Every name under which the class may read a number of its own."""
    found = {*ATTENTION, *config_class.attribute_map, *config_class.attribute_map.values()}
    for one in config_class.__mro__:
        if one.__module__.startswith("transformers.models.") and "__post_init__" in vars(one):
            code = ast.parse(textwrap.dedent(inspect.getsource(one.__post_init__)))
            texts = [x.value for x in ast.walk(code) if isinstance(x, ast.Constant)]
            found |= {x for x in texts if isinstance(x, str) and x.isidentifier()}
    return sorted(found - {"model_type", "dtype", "torch_dtype"})


def saved(config_class, fields):
    """What a class makes of fields, None where it refuses them."""
    try:
        return json.loads(json.dumps(config_class(**fields).to_dict(), default=str))
    except Exception:  # whatever a config class objects to
        return None


@pytest.mark.parametrize("model_type", model_types())
def test_a_field_under_another_name_gives_what_the_class_gives(model_type):
    if model_type in SAME_CLASS:
        pytest.skip("published with DeepSeek-V3's class under another name")
    if reason := older_classes() or missing_architecture(model_type):
        pytest.skip(reason)
    from transformers import CONFIG_MAPPING

    config_class = CONFIG_MAPPING[model_type]
    needed = changes()[model_type].set if model_type in changes() else {}
    base = {k: v for k, v in needed.items() if "." not in k} | NEEDED.get(model_type, {})
    standing = vars(config_class(**base))
    compared = 0
    for name in names(config_class):
        now = standing.get(config_class.attribute_map.get(name, name))
        values = [2 * now, 3 * now] if type(now) is int and now > 0 else [96]
        for fields in (base | {name: value} for value in values):
            whole = saved(config_class, fields)
            try:
                found = layout_of({"model_type": model_type} | fields)
            except ConfigError:
                continue  # no answer is no wrong answer
            if whole is not None:
                assert found == layout_of(whole), fields
                compared += 1
    assert compared


def test_every_name_is_read_of_which_models_are_published():
    # hidden_size 1,024 under Bloom's and Falcon's older name, as BloomConfig makes it of n_embed
    config = {"n_embed": 1024, "n_layer": 24, "num_attention_heads": 16}
    assert layout_of({"model_type": "bloom"} | config).bytes(4096) == 402_653_184
    falcon = {"model_type": "falcon", "n_embed": 1024, "num_attention_heads": 16}
    assert layout_of(falcon).head_dim == 64
    # bigscience/bloom: head_dim 128, as its technical report has it
    bloom = {"model_type": "bloom", "n_embed": 14336, "n_layer": 70, "num_attention_heads": 112}
    assert layout_of(bloom).head_dim == 128


@pytest.mark.parametrize(
    ("config", "both"),
    [
        ({"model_type": "gpt2", "n_layer": 30, "num_hidden_layers": 40}, ("n_layer", "40")),
        ({"model_type": "bloom", "n_embed": 64, "hidden_size": 128}, ("n_embed", "128")),
        ({"model_type": "longcat_flash", "num_layers": 4, "num_hidden_layers": 4}, ("num_layers",)),
    ],
)
def test_two_names_that_contradict_are_refused(config, both):
    with pytest.raises(ConfigError) as error:
        layout_of(config)
    for part in both:
        assert part in str(error.value)


def test_two_names_that_agree_are_one_field():
    config = {"model_type": "gpt2", "n_layer": 30, "num_hidden_layers": 30}
    assert len(layout_of(config).layers) == 30
    config |= {"num_attention_heads": 8, "n_head": None}
    assert layout_of(config).kv_heads == 8


def test_a_name_that_comes_too_late_to_be_derived_from_is_refused():
    with pytest.raises(ConfigError, match="num_hidden_layers stands where T5Config derives"):
        layout_of({"model_type": "t5", "num_hidden_layers": 24})
    t5 = layout_of({"model_type": "t5", "num_hidden_layers": 24, "num_decoder_layers": 3})
    assert len(t5.layers) == 3
