"""Configs damaged at random: an answer above zero or an error that names a field, nothing else.

KVDOCS_FUZZ=10000 sets how many examples are tried (200 where it is not set; nightly runs more).
"""

import copy
import os

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvdocs.facts.snapshot import load_all
from kvdocs.formula import ConfigError, layout_of
from kvdocs.formula.architectures import WRAPPERS, model_types
from kvdocs.formula.class_defaults import class_entry
from kvdocs.formula.fields import FIELDS

EXAMPLES = int(os.environ.get("KVDOCS_FUZZ", "200"))
PUBLISHED = [dict(model.config) for model in load_all()]
# Every class's defaults as if published, so that a field is there to be damaged.
STANDING = [
    {"model_type": name} | class_entry(name).get("defaults", {})
    for name in (*model_types(), *WRAPPERS)
]
# Parts that rules read in a way of their own.
IN_PARTS = [
    {"model_type": "blt"}
    | {
        f"{one}_config": class_entry(f"blt_local_{one}")["defaults"]
        for one in ("encoder", "decoder")
    },
    {"model_type": "unlimited_ocr", "sliding_window": 128}
    | {"language_config": class_entry("unlimited_ocr_text")["defaults"]},
]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.integers(-3, 300),
    st.floats(),
    st.text(max_size=6),
    st.sampled_from(["auto", "full_attention", "sliding_attention", "mamba", "M*-E"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=3)
    ),
    max_leaves=8,
)


@st.composite
def damaged(draw):
    config = copy.deepcopy(draw(st.sampled_from(PUBLISHED + STANDING + IN_PARTS)))
    for _ in range(draw(st.integers(1, 4))):
        parts = [config, *(x for x in config.values() if isinstance(x, dict))]
        part = draw(st.sampled_from(parts))
        known = [name for name in part if name != "model_type"]
        name = draw(st.sampled_from(known + list(FIELDS) if known else list(FIELDS)))
        damage = draw(st.sampled_from(["remove", "null", "retype", "scale", "text"]))
        if damage == "remove":
            part.pop(name, None)
        elif damage == "null":
            part[name] = None
        elif damage == "retype":
            part[name] = draw(VALUES)
        elif damage == "scale":
            part[name] = scaled(part.get(name), draw(st.sampled_from([-1, 0, 2, 3, 7, 1000])))
        else:
            part[name] = str(part.get(name))
    return config


def scaled(value, factor):
    if isinstance(value, bool) or not isinstance(value, (int, float, list, str)):
        return value
    return value * min(factor, 7) if isinstance(value, (list, str)) else value * factor


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="KVDOCS_FUZZ" not in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(damaged())
def test_a_damaged_config_gives_an_answer_above_zero_or_names_a_field(config):
    answer = layout_or_error(config)
    if isinstance(answer, ConfigError):
        assert answer.field
        assert "\n" not in str(answer)
        return
    assert answer.bytes(4096, encoder_tokens=100) > 0
    assert answer.constant_bytes(encoder_tokens=0) >= 0
    assert answer.slope_past_windows() >= 0
    assert len(answer.derivation(4096, encoder_tokens=100)) >= 1


def layout_or_error(config):
    try:
        return layout_of(config, "config.json")
    except ConfigError as error:
        return error
