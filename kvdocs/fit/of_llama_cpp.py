"""llama.cpp in ``kvdocs fit``: its options and figures for JSON, its notes."""

from __future__ import annotations

from dataclasses import asdict

from kvdocs.engines.deployment import Deployment
from kvdocs.engines.llama_cpp.context import MOST_SEQUENCES
from kvdocs.engines.llama_cpp.hold import Contexts

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import Any


def options(on: Deployment) -> dict[str, Any]:
    """The engine's own options, for JSON."""
    return {"kv_unified": on.flags.kv_unified, "ubatch_size": on.flags.ubatch_size}


def figures(found: Contexts) -> dict[str, Any]:
    """The context and its buffers, for JSON."""
    return {
        "n_ctx": found.context.n_ctx,
        "cache_bytes": found.bytes,
        "buffers": [asdict(buffer) for buffer in found.buffers],
    }


def notes(on: Deployment, users: int | None, best: Contexts) -> list[str]:
    """What to know beside the answer."""
    said = []
    if on.available is None and (on.weights is None or on.weights_source != "stated"):
        said.append("weights are not those of a GGUF file: state its size with --weights")
    if users is None and best.sequences == MOST_SEQUENCES:
        said.append(f"llama.cpp serves at most {MOST_SEQUENCES} sequences at once")
    return said
