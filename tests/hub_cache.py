"""The snapshot laid out as a Hugging Face Hub cache, so that Hub ids load without a network.

In: a folder and Hub ids. Out: the environment in which ``from_pretrained(id)`` finds them there.
"""

import json
import os
from pathlib import Path

from kvdocs.facts import snapshot

REVISION = "0" * 40  # the snapshot does not record every commit; the cache needs one


def offline_environment(folder: Path, *model_ids: str) -> dict[str, str]:
    """This process's environment, with ``model_ids`` (default: all) cached, no Hub and no GPU."""
    for model_id in model_ids or snapshot.ids():
        model = snapshot.load(model_id)
        assert model is not None, f"{model_id} is not in the snapshot"
        (model_folder(folder, model_id) / "config.json").write_text(json.dumps(dict(model.config)))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return kept | {"HF_HOME": str(folder), "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}


def model_folder(folder: Path, model_id: str) -> Path:
    """The folder whose files the Hub's client returns for ``model_id``."""
    repository = folder / "hub" / f"models--{model_id.replace('/', '--')}"
    files = repository / "snapshots" / REVISION
    files.mkdir(parents=True, exist_ok=True)
    (repository / "refs").mkdir(exist_ok=True)
    (repository / "refs" / "main").write_text(REVISION)
    return files
