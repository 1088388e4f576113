"""How llama.cpp holds a layout, against what llama.cpp itself logged for real contexts."""

import re

import pytest

from kvdocs.engines.llama_cpp.context import TYPES, Context, buffers
from kvdocs.evidence.known import recorded
from kvdocs.facts.snapshot import load
from kvdocs.formula import CacheLayout
from kvdocs.formula.config import EffectiveConfig
from kvdocs.formula.layers import FullAttention

SIZE = re.compile(
    r"size = +(?P<total>[\d.]+) MiB \( *(?P<cells>\d+) cells, +(?P<layers>\d+) layers, "
    r"+(?P<seqs>\d+)/(?P<streams>\d+) seqs\), "
    r"K \((?P<type_k>\w+)\): +(?P<k>[\d.]+) MiB, V \((?P<type_v>\w+)\): +(?P<v>[\d.]+) MiB"
)
STATE = re.compile(
    r"size = +(?P<total>[\d.]+) MiB \( *(?P<cells>\d+) cells, .*"
    r"R \(f32\): +(?P<r>[\d.]+) MiB, S \(f32\): +(?P<s>[\d.]+) MiB"
)
CASES = recorded("llama_cpp")["cases"]


def _name(case: dict) -> str:
    said = {key: value for key, value in case["context"].items() if value not in (False, 512)}
    return " ".join([case["model"] or "head_dim 80", *map(str, said.values())])


def _layout(model_id: str) -> tuple[CacheLayout, EffectiveConfig]:
    if not model_id:
        layout = CacheLayout((FullAttention(2, 80, 80),) * 2)
        return layout, EffectiveConfig.of({"model_type": "llama"}, "head_dim 80")
    model = load(model_id)
    return model.layout, EffectiveConfig.of(model.config, model.id)


def _mib(count: int) -> str:
    """As C's printf rounds it: 5.625 to 5.62."""
    return f"{count / 2**20:.2f}"


@pytest.mark.parametrize("case", CASES, ids=_name)
def test_every_buffer_is_what_llama_cpp_logged(case):
    context = Context(**case["context"])
    layout, config = _layout(case["model"])
    if not case["made"]:
        with pytest.raises(ValueError, match=r"llama\.cpp|do not divide"):
            buffers(layout, config, context)
        return
    expected = buffers(layout, config, context)
    logged = [found.groupdict() for line in case["log"] if (found := SIZE.search(line))]
    assert logged == [
        {
            "total": _mib(buffer.bytes),
            "cells": str(buffer.cells),
            "layers": str(buffer.layers),
            "seqs": str(context.sequences),
            "streams": str(buffer.streams),
            "type_k": context.type_k,
            "k": _mib(buffer.k_bytes),
            "type_v": context.type_v,
            "v": _mib(buffer.v_bytes),
        }
        for buffer in expected
        if buffer.kind != "state"
    ]
    states = [found.groupdict() for line in case["log"] if (found := STATE.search(line))]
    assert states == [
        {
            "total": _mib(buffer.bytes),
            "cells": str(buffer.cells),
            "r": _mib(buffer.k_bytes),
            "s": _mib(buffer.v_bytes),
        }
        for buffer in expected
        if buffer.kind == "state"
    ]


def test_three_models_were_run_in_every_type_and_in_two_at_once():
    full = ("Qwen/Qwen2.5-0.5B-Instruct", "Qwen/Qwen2.5-7B-Instruct")
    for model in (*full, "meta-llama/Llama-3.1-8B-Instruct"):
        seen = {
            (case["context"]["type_k"], case["context"]["type_v"])
            for case in CASES
            if case["model"] == model and case["made"]
        }
        assert seen == {(name, name) for name in TYPES} | {("q8_0", "q4_0")}


@pytest.mark.parametrize(
    ("model", "mib"),
    # MiB that llama-cpp-python 0.3.36 logged for 4,096 cells: f16, q8_0, q4_0, q8_0 with q4_0
    [
        ("Qwen/Qwen2.5-0.5B-Instruct", ("48.00", "25.50", "13.50", "19.50")),
        ("Qwen/Qwen2.5-7B-Instruct", ("224.00", "119.00", "63.00", "91.00")),
        ("meta-llama/Llama-3.1-8B-Instruct", ("512.00", "272.00", "144.00", "208.00")),
    ],
)
def test_an_earlier_run_of_another_build_gave_the_same(model, mib):
    layout, config = _layout(model)
    pairs = ("f16", "f16"), ("q8_0", "q8_0"), ("q4_0", "q4_0"), ("q8_0", "q4_0")
    for (type_k, type_v), expected in zip(pairs, mib, strict=True):
        context = Context(4096, type_k=type_k, type_v=type_v)
        assert _mib(sum(made.bytes for made in buffers(layout, config, context))) == expected


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"n_ctx": 0}, "n_ctx is 0"),
        ({"n_ctx": True}, "n_ctx is True"),
        ({"n_ctx": 4096.0}, "n_ctx is 4096.0"),
        ({"n_ctx": 4096, "sequences": 257}, "sequences is 257"),
        ({"n_ctx": 4096, "ubatch": -1}, "ubatch is -1"),
        ({"n_ctx": 4096, "type_k": "fp8"}, "type_k is 'fp8'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, says):
    with pytest.raises(ValueError, match=says):
        Context(**settings)


def test_windows_of_a_family_nobody_looked_up_are_refused():
    layout, _ = _layout("openai/gpt-oss-20b")
    newcomer = EffectiveConfig.of({"model_type": "newcomer"}, "config.json")
    with pytest.raises(ValueError, match="windows of newcomer"):
        buffers(layout, newcomer, Context(4096))
