"""Published models that the formula has a rule for, full size, against transformers.

No weights and no memory: the meta device. Equality is exact and per layer. ``make test`` runs one
model of each kind of layout and a drawn sample; the others are marked nightly. What was measured of
each stands in ``records/caches.json``, and the formula is held against all of that everywhere.
"""

import zlib

import pytest

from kvdocs.evidence import known
from kvdocs.evidence.transformers import snapshot_caches as records
from kvdocs.evidence.transformers.measure import Measurement, measure
from kvdocs.formula.architectures import table_with
from tests.evidence.exact import assert_exact
from tests.installed import missing_architecture, no_meta, other_cache

MODELS = {model.id: model for model in records.models_with_a_rule()}


def kind(model) -> frozenset[str]:
    """What a model's layers keep, each thing once."""
    return frozenset(layer.kind for layer in model.layout.layers)


def every_day() -> set[str]:
    """The model with the fewest layers of each kind of layout, and one in ten, drawn by name."""
    one_each = {}
    for model in sorted(MODELS.values(), key=lambda model: len(model.layout.layers)):
        one_each.setdefault(kind(model), model.id)
    return {*one_each.values(), *(i for i in MODELS if zlib.crc32(i.encode()) % 10 == 0)}


EVERY_DAY = every_day()


def measured(model, tokens: int) -> Measurement:
    model_type = model.config["model_type"]
    for reason in (
        missing_architecture(model_type),
        no_meta(model.config),
        other_cache(model_type),
    ):
        if reason:
            pytest.skip(reason)
    return measure(model.config, model.id, tokens, "meta")


@pytest.mark.parametrize(
    "model_id",
    [pytest.param(i, marks=[] if i in EVERY_DAY else pytest.mark.nightly) for i in MODELS],
)
def test_cache_is_what_the_formula_says_in_every_layer(model_id):
    model = MODELS[model_id]
    for tokens in records.lengths(model):
        found = measured(model, tokens)
        assert_exact(found)
        # After a decoded token the memory behind each layer is the formula's figure itself.
        stored = [layer.stored for layer in found.steps[-1].layers]
        assert stored == [layer.bytes(tokens, element_bytes=2) for layer in model.layout.layers]


def test_the_record_has_every_model_at_its_lengths_and_what_the_formula_says():
    recorded = {entry["id"]: entry["lengths"] for entry in known.caches()["models"]}
    assert recorded.keys() == MODELS.keys()
    for model_id, model in MODELS.items():
        sums = {t: model.layout.bytes(t) for t in records.lengths(model)}
        rows = [{"tokens": t, "held": n, "formula": n, "equal": True} for t, n in sums.items()]
        assert recorded[model_id] == rows, model_id


def test_each_kind_of_layout_is_measured_every_day():
    assert {kind(MODELS[i]) for i in EVERY_DAY} == set(map(kind, MODELS.values()))
    assert len(EVERY_DAY) < len(MODELS) / 2


def test_the_last_length_passes_every_window():
    for model in MODELS.values():
        windows = [layer.window for layer in model.layout.layers if layer.window is not None]
        assert records.lengths(model)[-1] > max(windows, default=0), model.id


def test_a_wrong_number_of_layers_is_named(monkeypatch):
    table = table_with("qwen2")
    right = table["qwen2"]
    monkeypatch.setitem(table, "qwen2", lambda cfg: right(cfg)[:-1])
    with pytest.raises(ValueError, match="Instruct: the cache has 24 layers, the formula 23"):
        measured(MODELS["Qwen/Qwen2.5-0.5B-Instruct"], 64)
