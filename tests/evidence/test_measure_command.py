"""``kvdocs measure``: the table, the JSON keys, the exit status and the reasons."""

import json
import os
import sys
from types import SimpleNamespace

import pytest

from kvdocs.cli import main
from kvdocs.evidence.transformers import caches, measure
from kvdocs.formula.layers import FullAttention
from kvdocs.formula.rules import attention
from tests.evidence.tiny import FAMILIES
from tests.installed import no_meta

KEYS = [
    "model",
    "model_type",
    "torch",
    "transformers",
    "device",
    "dtype",
    "tokens",
    "held_bytes",
    "formula_bytes",
    "unfreed_bytes",
    "equal",
    "differences",
    "layers",
    "steps",
    "parameter_bytes",
    "weights_bytes",
    "weights_kind",
]


@pytest.fixture
def tiny(tmp_path):
    """A config.json of a small model whose layers slide, except every second."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps(FAMILIES["gemma2, alternating"][0]))
    return str(path)


def test_json_has_the_documented_keys_and_equal_bytes(tiny, capsys):
    assert main(["measure", tiny, "--device", "cpu", "--tokens", "20", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == KEYS
    token = 2 * 2 * 16 * 2  # K and V, 2 KV heads, head_dim 16, 2 bytes
    assert found["held_bytes"] == found["formula_bytes"] == 2 * (8 + 20) * token
    assert found["equal"] is True
    assert found["differences"] == []
    assert found["layers"] == {"window": 2, "full": 2}
    assert found["steps"] == [
        {
            "tokens": 19,
            "shown_bytes": 2 * (7 + 19) * token,
            "stored_bytes": 2 * (19 + 19) * token,
            "formula_bytes": 2 * (8 + 19) * token,
        },
        {
            "tokens": 20,
            "shown_bytes": 2 * (7 + 20) * token,
            "stored_bytes": 2 * (8 + 20) * token,
            "formula_bytes": 2 * (8 + 20) * token,
        },
    ]
    assert (found["weights_bytes"], found["weights_kind"]) == (None, None)


def test_the_table_shows_both_sides_and_the_weights(capsys):
    if reason := no_meta():
        pytest.skip(reason)
    assert main(["measure", "Qwen/Qwen2.5-7B-Instruct", "--tokens", "4096"]) == 0
    out = capsys.readouterr().out
    assert "Qwen/Qwen2.5-7B-Instruct (qwen2): 28 full layers" in out
    assert "cache    234,881,024 bytes (224 MiB)" in out
    assert "formula  234,881,024 bytes: equal in every layer" in out
    assert "weights  15,231,233,024 bytes: parameters × 2 bytes, equal to the published" in out


def test_a_model_with_a_vision_tower_counts_its_parameters_too(capsys):
    if reason := no_meta():
        pytest.skip(reason)
    assert main(["measure", "google/gemma-3-4b-it", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["layers"] == {"window": 29, "full": 5}
    assert found["parameter_bytes"] == found["weights_bytes"] == 8_600_158_944


def test_a_difference_is_status_1_and_names_the_layers(tiny, capsys, monkeypatch):
    without_windows = [FullAttention(kv_heads=2, k_dim=16, v_dim=16)] * 4
    monkeypatch.setitem(attention.RULES, "gemma2", lambda cfg: without_windows)
    assert main(["measure", tiny, "--device", "cpu", "--tokens", "20"]) == 1
    out = capsys.readouterr().out
    assert "NOT EQUAL" in out
    assert f"{tiny}: layer 0 (full) after 20 tokens" in out
    assert "layer 1 " not in out


@pytest.mark.parametrize("tokens", [2, 4, 64, 67, 128, 129, 300])
def test_layers_that_compress_are_equal_at_every_length(tokens, tmp_path, capsys):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(FAMILIES["deepseek_v4, compressed"][0]))
    command = ["measure", str(path), "--device", "cpu", "--tokens", str(tokens), "--json"]
    assert main(command) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["layers"] == {"window": 1, "window + compressed": 3}
    assert found["held_bytes"] == found["formula_bytes"] + found["unfreed_bytes"]
    assert bool(found["unfreed_bytes"]) == (tokens % 4 == 0)  # an entry was just completed


def test_a_decoder_whose_encoder_has_no_fixed_length_is_refused(tmp_path, capsys):
    (tmp_path / "config.json").write_text('{"model_type": "t5"}')
    assert main(["measure", str(tmp_path)]) == 2
    assert "the encoder's output, whose length the config does not fix" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["no-such-folder/config.json"], "No such file"),
        (["Qwen/Qwen2.5-7B-Instruct", "--tokens", "1"], "needs 2 tokens or more"),
        (["no/such-model"], "not in the snapshot"),
        (["deepseek-ai/DeepSeek-V3", "--device", "cpu"], "its weights take 1.22 TiB and cpu has"),
    ],
)
def test_bad_input_is_status_2_with_one_paragraph(arguments, reason, capsys):
    assert main(["measure", *arguments]) == 2
    err = capsys.readouterr().err
    assert reason in err
    assert len(err.strip().splitlines()) == 1


def test_cuda_without_a_gpu_is_status_2(tiny, capsys, monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert main(["measure", tiny, "--device", "cuda"]) == 2
    assert "no CUDA device here. Use --device meta or --device cpu." in capsys.readouterr().err


@pytest.mark.parametrize("package", ["torch", "transformers"])
def test_a_missing_package_is_status_2_and_says_what_to_install(package, tiny, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    assert main(["measure", tiny]) == 2
    err = capsys.readouterr().err
    assert package in err
    assert "pip install torch transformers" in err


def test_a_config_that_transformers_refuses_is_named(tmp_path, capsys):
    config = FAMILIES["llama, grouped"][0] | {"hidden_act": "no such activation"}
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    assert main(["measure", str(path), "--device", "cpu"]) == 2
    err = capsys.readouterr().err
    assert f"{path}: transformers" in err
    assert "cannot build this model" in err


def test_code_named_in_a_config_is_never_run(tmp_path):
    marker = tmp_path / "ran"
    (tmp_path / "modeling.py").write_text(f"open({str(marker)!r}, 'w')")
    config = FAMILIES["llama, grouped"][0] | {
        "auto_map": {"AutoConfig": "modeling.C", "AutoModelForCausalLM": "modeling.M"}
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert main(["measure", os.fspath(tmp_path), "--device", "cpu"]) == 0
    assert not marker.exists()


def test_a_pair_that_cannot_run_a_device_says_so():
    class Refuses:
        device = "meta"
        config = SimpleNamespace(is_encoder_decoder=False)

        def __call__(self, **_):
            raise RuntimeError("unsupported scalarType\nand a long trace")

    with pytest.raises(caches.MeasureError, match="cannot run it on meta: unsupported scalarType"):
        list(caches.cache_after_each_step(Refuses(), "a/model", 2, 1))


@pytest.mark.parametrize(("device", "dtype"), [("tpu", "bfloat16"), ("meta", "fp8_e4m3")])
def test_an_unknown_device_or_dtype_is_refused(device, dtype):
    with pytest.raises(caches.MeasureError, match="choose one of"):
        measure.measure(FAMILIES["llama, grouped"][0], "llama", 4, device, dtype)


def test_tensors_outside_the_layers_are_not_overlooked():
    import torch

    cache = SimpleNamespace(layers=[], linear_cache=[torch.zeros(2, 2)])
    with pytest.raises(caches.MeasureError, match="a/model: its cache keeps tensors outside"):
        caches.held(cache, "a/model")


def test_counters_are_not_part_of_a_cache():
    import torch

    layer = SimpleNamespace(keys=torch.zeros(3), state=[{"a": torch.zeros(2)}], n=torch.tensor(1))
    assert caches.held(SimpleNamespace(layers=[layer]), "a/model") == [(20, 20)]
