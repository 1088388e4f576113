"""What the record of the snapshot's caches says, and what follows from it."""

import json
import subprocess
import sys

import pytest

from kvdocs.evidence import known
from kvdocs.evidence.transformers.snapshot_caches import models_with_a_rule


@pytest.fixture
def record(tmp_path):
    """A record of three models, one of which the formula got wrong at one length."""

    def entry(model_id: str, model_type: str, *equal: bool) -> dict:
        lengths = [{"tokens": 64, "held": 1, "formula": 1, "equal": value} for value in equal]
        return {"id": model_id, "model_types": [model_type], "lengths": lengths}

    models = [
        entry("a/exact", "llama", True, True),
        entry("a/exact-too", "qwen2", True, True),
        entry("a/wrong-when-long", "qwen2", True, False),
    ]
    path = tmp_path / "caches.json"
    path.write_text(json.dumps({"models": models}))
    return path


@pytest.mark.parametrize(
    ("model_type", "model_id", "expected"),
    [
        ("llama", "a/exact", "measured"),
        ("llama", "some/finetune", "measured"),  # by its type, all of which are exact
        ("qwen2", "a/exact-too", "measured"),
        ("qwen2", "a/wrong-when-long", "unverified"),
        ("qwen2", "some/finetune", "unverified"),  # one of its type is not exact
        ("mamba", "some/mamba", "measured"),  # by the sweep
        ("mamba2", "some/mamba2", "unverified"),  # where the sweep found a difference
        ("eliza", "some/eliza", "unverified"),  # nowhere
        ("mamba2", "a/exact", "unverified"),  # the same id, but not what was measured
    ],
)
def test_known_by_is_measured_only_where_the_record_is_exact(
    record, tmp_path, model_type, model_id, expected
):
    sweep = tmp_path / "sweep.json"
    statuses = [("mamba", "exact"), ("mamba2", "exact"), ("mamba2", "differs")]
    entries = [{"model_type": name, "status": status} for name, status in statuses]
    sweep.write_text(json.dumps({"architectures": entries}))
    assert known.known_by(model_type, model_id, record, sweep) == expected


def test_every_snapshot_model_with_a_rule_is_in_the_record_and_exact():
    recorded = known.caches()["models"]
    assert [m["id"] for m in recorded] == [m.id for m in models_with_a_rule()]
    assert len(recorded) == 67
    for model in models_with_a_rule():
        assert known.known_by(model.config["model_type"], model.id) == "measured", model.id


def test_the_record_says_when_and_with_what_it_was_made():
    record = known.caches()
    assert {"what", "date", "torch", "transformers", "python", "system"} <= set(record)
    assert (record["device"], record["dtype"]) == ("meta", "bfloat16")
    by_id = {entry["id"]: entry for entry in record["models"]}
    assert by_id["moonshotai/Kimi-K2-Instruct"]["built_as"] == "deepseek_v3"
    qwen = {row["tokens"]: row for row in by_id["Qwen/Qwen2.5-7B-Instruct"]["lengths"]}
    assert qwen[4096] == {
        "tokens": 4096,
        "held": 234_881_024,
        "formula": 234_881_024,
        "equal": True,
    }


def test_reading_takes_the_standard_library_only():
    code = (
        "import sys; from kvdocs.evidence.known import known_by; known_by('qwen2', 'x');"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "kvdocs" in loaded
    assert not {"torch", "transformers", "numpy", "huggingface_hub"} & set(loaded)
