"""What the installed transformers can do; every answer is a reason to skip a check, or None.

The suite is written for the releases the project supports, 4.57 to the newest. Nothing is
skipped on the newest.
"""

from kvdocs.engines.transformers.cache import EXPANDED_BEFORE
from kvdocs.evidence.transformers.caches import SAME_CLASS
from kvdocs.formula.class_defaults import release


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


def older_classes() -> str | None:
    """Why config classes and their own lists of layers are not those that ``defaults.json`` has."""
    if version() >= tuple(int(part) for part in release().split(".")):
        return None
    return f"the config classes of transformers {_text(version())} are older than {release()}'s"


def no_meta(config: dict | None = None) -> str | None:
    """Why a model of this config cannot run on the meta device."""
    if version() < (5, 0):
        return f"transformers {_text(version())} cannot run on the meta device"
    scaling = (config or {}).get("rope_scaling") or {}
    if version() < (5, 24) and "longrope" in scaling.values():
        return f"transformers {_text(version())} reads a value for longrope; meta has none"
    return None


# The first release whose cache is the formula's, layer by layer, where that is not 4.57. Found by
# running tests/evidence/test_caches_on_cpu.py on 4.57.6, 5.0.0, 5.4.0, 5.8.1, 5.12.1, 5.14.1 and
# 5.16.0 to 5.24.0, one patch release of each.
HAS_LAYERS_SINCE = {
    "falcon_h1": (5, 14),
    "gemma3n_text": (5, 8),
    "lfm2": (5, 8),
    "mamba": (5, 14),
    "mamba2": (5, 14),
    "nemotron_h": (5, 16),
    "qwen3_next": (5, 14),
}
SAME_SINCE = {"deepseek_v4": (5, 24)}


def no_index() -> str | None:
    """Why no cache layer with index keys can be made."""
    if version() >= (5, 12):
        return None
    return f"transformers {_text(version())} has no DynamicIndexedLayer"


def other_cache(model_type: str) -> str | None:
    """Why the cache of a type, in this release, cannot be what the formula says."""
    since = EXPANDED_BEFORE.get(model_type, ())
    if since and version() < since:
        return f"transformers {_text(version())} expands the latent of {model_type} in its cache"
    return own_class(model_type)


def own_class(model_type: str) -> str | None:
    """Why the cache of a type, in this release, cannot be taken apart as the newest one's."""
    have = f"transformers {_text(version())}"
    if version() < HAS_LAYERS_SINCE.get(model_type, ()):
        return f"{have} caches {model_type} in a class of its own, not layer by layer"
    if version() < SAME_SINCE.get(model_type, ()):
        return f"{have} keeps other buffers for {model_type}"
    return None


def _text(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers))
