"""The record of a run on a GPU: made of figures that were measured there, and of nothing else."""

from __future__ import annotations

import datetime
import json
import platform
import subprocess
from pathlib import Path
from typing import Any

import torch

from kvdocs.evidence.known import FOLDER
from kvdocs.evidence.transformers.caches import versions

GPU_FILE = Path(FOLDER) / "gpu.json"
EXPERIMENTS = ("caches", "peak", "fp8")


def write(figures: dict[str, list[dict[str, Any]]], path: Path = GPU_FILE) -> None:
    """Write the record, once every experiment has figures.

    Raises:
        ValueError: an experiment has none, so the run was no whole run.
    """
    if missing := [name for name in EXPERIMENTS if not figures.get(name)]:
        raise ValueError(f"no figures of {', '.join(missing)}: run all of tests/gpu")
    content = machine() | {name: figures[name] for name in EXPERIMENTS}
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def machine() -> dict[str, Any]:
    """Date, versions and device of this run; the GPU's entries are null where there is none."""
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return {
        "date": datetime.date.today().isoformat(),
        **versions(),
        "python": platform.python_version(),
        "gpu": gpu,
        "cuda": torch.version.cuda,
        "driver": driver() if gpu else None,
        "command": "make test-gpu",
    }


def driver() -> str | None:
    """The NVIDIA driver's version, as nvidia-smi reports it."""
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.splitlines()[0].strip()
