"""The architectures that vLLM 0.33.0 can run, from its own registry: the record ``architectures``.

In: vLLM and transformers. Out: the content of ``engines/vllm/architectures.json``.
"""

from __future__ import annotations

from typing import Any

WHAT = (
    "The architectures that vLLM can run, from its registry: own with a class of its own, until "
    "which version, plugins at which address. Of transformers' classes through_transformers lists "
    "those that write text and that vLLM takes in place of one of its own "
    "(model_executor/models/registry.py:1308). Names with one of the endings stand for each other."
)
WRITERS = tuple(
    f"MODEL_FOR_{kind}_MAPPING_NAMES"
    for kind in ("CAUSAL_LM", "SEQ_TO_SEQ_CAUSAL_LM", "IMAGE_TEXT_TO_TEXT", "SPEECH_SEQ_2_SEQ")
)


def measured() -> dict[str, Any]:
    """The record's content."""
    import vllm.config  # noqa: F401  first: the modules below import it, and it them
    from vllm.config.model import iter_architecture_defaults
    from vllm.model_executor.models import registry

    own = sorted(registry.ModelRegistry.get_supported_archs())
    others = sorted(set(_writers()) - set(own))
    return {
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
