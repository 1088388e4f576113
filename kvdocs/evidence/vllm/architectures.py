"""The architectures that vLLM 0.33.0 can run, from its own registry.

``python -m kvdocs.evidence.vllm.architectures`` writes ``serving/vllm/architectures.json`` in the
environment of ``make test-engines``. Of transformers' classes it lists those that write text and
that vLLM takes in place of one of its own (model_executor/models/registry.py:1308).
"""

from __future__ import annotations

import json
from pathlib import Path

from kvdocs.engines.vllm.architectures import FILE

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import Any

WRITERS = tuple(
    f"MODEL_FOR_{kind}_MAPPING_NAMES"
    for kind in ("CAUSAL_LM", "SEQ_TO_SEQ_CAUSAL_LM", "IMAGE_TEXT_TO_TEXT", "SPEECH_SEQ_2_SEQ")
)


def made() -> dict[str, Any]:
    """The file's content."""
    from importlib.metadata import version

    import vllm.config  # noqa: F401  first: the modules below import it, and it them
    from vllm.config.model import iter_architecture_defaults
    from vllm.model_executor.models import registry

    own = sorted(registry.ModelRegistry.get_supported_archs())
    others = sorted(set(_writers()) - set(own))
    return {
        "vllm": version("vllm"),
        "transformers": version("transformers"),
        "endings": [ending for ending, _ in iter_architecture_defaults()],
        "own": own,
        "through_transformers": [name for name in others if _compatible(name)],
        "until": dict(sorted(registry._PREVIOUSLY_SUPPORTED_MODELS.items())),
        "plugins": dict(sorted(registry._OOT_SUPPORTED_MODELS.items())),
    }


def _writers() -> list[str]:
    from transformers.models.auto import modeling_auto

    tables = (getattr(modeling_auto, name) for name in WRITERS)
    found = (names for table in tables for names in table.values())
    return [one for names in found for one in ((names,) if isinstance(names, str) else names)]


def _compatible(name: str) -> bool:
    import transformers

    try:
        found = getattr(transformers, name)
    except (AttributeError, ImportError):  # its module wants a package that is not installed
        return False
    return bool(found.is_backend_compatible() or found._can_set_attn_implementation())


def text(content: dict[str, Any]) -> str:
    """The file as written."""
    return json.dumps(content, indent=1) + "\n"


if __name__ == "__main__":
    Path(FILE).write_text(text(made()), encoding="utf-8")
    print(FILE)
