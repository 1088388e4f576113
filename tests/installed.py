"""What the installed transformers can do; every answer is a reason to skip a check, or None.

The suite is written for the releases the project supports, 4.57 to the newest. Nothing is
skipped on the newest.
"""

from kvdocs.evidence.caches import SAME_CLASS


def version() -> tuple[int, ...]:
    """The installed transformers as numbers, ``(5, 24, 0)``; without it the check is skipped."""
    import pytest

    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    pytest.importorskip("torch", reason="torch is not installed")
    return tuple(int(part) for part in transformers.__version__.split(".")[:3] if part.isdigit())


def missing_architecture(model_type: str) -> str | None:
    """Why no model of a type can be built."""
    installed = version()
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    if SAME_CLASS.get(model_type, model_type) in CONFIG_MAPPING:
        return None
    return f"transformers {_text(installed)} has no architecture for {model_type}"


def no_meta(config: dict | None = None) -> str | None:
    """Why a model of this config cannot run on the meta device."""
    if version() < (5, 0):
        return f"transformers {_text(version())} cannot run on the meta device"
    scaling = (config or {}).get("rope_scaling") or {}
    if version() < (5, 24) and "longrope" in scaling.values():
        return f"transformers {_text(version())} reads a value for longrope; meta has none"
    return None


def no_latent() -> str | None:
    """Why a latent cache holds more than the latent."""
    if version() >= (5, 15):
        return None
    return f"transformers {_text(version())} caches DeepSeek's K and V expanded; 5.15 ended that"


def _text(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers))
