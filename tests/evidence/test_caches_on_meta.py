"""Every published model that the formula has a rule for, full size, against transformers.

No weights and no memory: the meta device. Equality is exact and per layer.
"""

import pytest

from kvdocs.evidence import known
from kvdocs.evidence.transformers import records
from kvdocs.evidence.transformers.measure import Measurement, measure
from kvdocs.formula.architectures import table_with
from tests.evidence.exact import assert_exact
from tests.installed import missing_architecture, no_meta, other_cache

MODELS = {model.id: model for model in records.models_with_a_rule()}


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


@pytest.mark.parametrize("model_id", MODELS)
def test_cache_is_what_the_formula_says_in_every_layer(model_id):
    model = MODELS[model_id]
    layers = model.layout.layers
    recorded = next(m for m in known.caches()["models"] if m["id"] == model_id)
    for tokens, row in zip(records.lengths(model), recorded["lengths"], strict=True):
        found = measured(model, tokens)
        assert_exact(found)
        # After a decoded token the memory behind each layer is the formula's figure itself.
        stored = [layer.stored for layer in found.steps[-1].layers]
        assert stored == [layer.bytes(tokens, element_bytes=2) for layer in layers]
        assert row == {"tokens": tokens, "held": sum(stored), "formula": sum(stored), "equal": True}


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
