"""The answers of the four questions as values: what prints is in the JSON, the JSON has a schema.

Asked of every model of the snapshot, with options in turn, and of every public report.
"""

import json
import re
from contextlib import suppress
from functools import cache
from itertools import cycle
from pathlib import Path

import jsonschema
import pytest

from kvdocs import cost, explain, fit, units, workload
from kvdocs.explain.table import table as explain_table
from kvdocs.facts.reports import load_reports
from kvdocs.facts.snapshot import load, load_all
from kvdocs.fit.table import table as fit_table
from kvdocs.workload.table import table as workload_table

SCHEMAS = Path("docs/assets/schema")
MODELS = [model.id for model in load_all()]
LOG = ['{"prompt_tokens": 700, "completion_tokens": 90}'] * 30 + [
    '{"prompt_tokens": 3000, "completion_tokens": 900}',
    "a line without a request",
]

COSTS = [
    {},
    {"tokens": 127, "engine": "vllm"},
    {"tokens": 200_000_000},
    {"tokens": 1, "engine": "transformers"},
    {"tokens": 5000, "kv_dtype": "float32", "engine": "llama.cpp"},
    {"tokens": 5000, "kv_dtype": "fp8"},
]
FITS = [
    {"gpu": "4090"},
    {"gpu": "h100", "tp": 2, "tokens": 3000, "users": 900},
    {"available": "9GiB", "users": 3},
    {"vram": "24GiB", "engine": "transformers", "overhead": "1GiB", "users": 7},
    {"available": "9GiB", "engine": "llama.cpp", "users": 4, "tokens": 2000, "kv_unified": True},
    {"gpu": "l4", "engine": "llama.cpp", "overhead": "1GiB", "kv_dtype": "q8_0,q4_0"},
    {"available": "1KiB", "users": 2},
]
WORKLOADS = [
    {"available": "3GiB"},
    {"gpu": "l4", "tp": 2, "kv_dtype": "fp8", "weights": "30GiB"},
    {"gpu": "4090", "max_model_len": 2000},
    {"available": "40MiB", "risk": 0.05, "max_num_batched_tokens": 512},
]


def answers(ask, options, first=0, models=MODELS):
    """``(what was asked, answer)`` for the models, with the options in turn; refusals aside."""
    for model, more in zip(models, cycle(options[first:] + options[:first]), strict=False):
        encoder = (
            {"encoder_tokens": 300} if ask is cost and load(model).layout.needs_encoder else {}
        )
        with suppress(ValueError):  # what is refused has no JSON
            yield (model, more), ask(model, **more, **encoder)


@pytest.fixture(scope="module")
def found():
    """All answers, by command: what was asked, the table, the JSON as another program reads it."""
    reports = load_reports().values()
    asked = {
        "cost": [one for first in range(len(COSTS)) for one in answers(cost, COSTS, first)],
        "fit": [one for first in (0, 3) for one in answers(fit, FITS, first)],
        "workload": [
            ("lengths", workload(LOG)),
            ("tokens", workload(LOG, pool_tokens=50_000)),
            *answers(
                lambda model, **more: workload(LOG, model=model, **more),
                WORKLOADS,
                models=MODELS[::5],
            ),
        ],
        "explain": [(report.key, explained(report)) for report in reports if report.text],
    }
    return {
        command: [(what, str(one), json.loads(json.dumps(one.as_json()))) for what, one in all_]
        for command, all_ in asked.items()
    }


def explained(report):
    return explain(report.text, model=report.snapshot or None, tp=report.tp)


@pytest.mark.parametrize(("command", "least"), [("cost", 350), ("fit", 100), ("workload", 10)])
def test_most_questions_have_an_answer(found, command, least):
    assert len(found[command]) > least


@pytest.mark.parametrize("command", ["cost", "fit", "workload", "explain"])
def test_every_answer_has_the_published_shape(found, command):
    schema = json.loads((SCHEMAS / f"{command}.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    check = jsonschema.Draft202012Validator(schema)
    for asked, _, read in found[command]:
        assert [error.message for error in check.iter_errors(read)] == [], asked
    keys = {key for _, _, read in found[command] for key in read}
    assert keys == set(schema["properties"])  # and nothing is published that no answer has


TABLES = {
    "cost": cost.table,
    "fit": fit_table,
    "workload": workload_table,
    "explain": explain_table,
}


@pytest.mark.parametrize("command", TABLES)
def test_the_json_alone_gives_the_table_with_every_remark(found, command):
    for asked, text, read in found[command]:
        assert text == TABLES[command](read), asked


NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
CONSTANTS = {"1", "0.0001"}  # one context at least; a share that is below 0.0001%


@pytest.mark.parametrize("command", TABLES)
def test_every_number_of_the_table_is_a_number_of_the_json(found, command):
    """Found without the code that writes the table: each number in it is one of the JSON's, in
    some unit and to some precision, or part of a text there, or counts the entries of a list."""
    for asked, text, read in found[command]:
        known = CONSTANTS.union(*map(written, leaves(read)))
        shown = {number.rstrip(",") for number in NUMBER.findall(text)}
        assert shown <= known, asked


def leaves(value):
    """Every number and text of an answer, names of keys and lengths of lists among them."""
    if isinstance(value, dict):
        yield from value
        if {"tp", "pp"} <= value.keys():
            yield value["tp"] * value["pp"]
        if "k_bytes" in value:
            yield value["k_bytes"] + value["v_bytes"]
    if isinstance(value, dict | list):
        yield len(value)
        for one in value.values() if isinstance(value, dict) else value:
            yield from leaves(one)
    elif value is not None and not isinstance(value, bool):
        yield value


@cache
def written(value):
    """Every way to write a number; the numbers in a text."""
    if isinstance(value, str):
        return {number.rstrip(",") for number in NUMBER.findall(value)}
    value = abs(value)
    places = (0, 1, 2, 3, 4, 5)
    forms = [str(value), f"{value:.2f}"]
    forms += [f"{value * times:,.{n}f}" for n in places for times in (1, 100)]
    if isinstance(value, int):
        forms += [units.binary(value), units.gib(value, value)]
    return {number for form in forms for number in NUMBER.findall(form)}


def test_a_number_or_a_remark_that_the_json_lacks_is_noticed(found):
    """The two tests above fail where a key is taken away, and where the table says more."""
    text, whole = next(one[1:] for one in found["cost"] if one[2]["crossover"] == 65)
    assert text == cost.table(whole)
    for key in ("derivation", "crossover", "weights_kind", "known_by_means", "next_token_bytes"):
        less = {name: value for name, value in whole.items() if name != key}
        with pytest.raises(KeyError):
            cost.table(less)
    less = {name: value for name, value in whole.items() if name != "crossover"}
    left = CONSTANTS.union(*map(written, leaves(less)))
    assert set(NUMBER.findall(text)) - left == {f"{whole['crossover']:,}"}
