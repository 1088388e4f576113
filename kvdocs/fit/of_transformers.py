"""transformers in ``kvdocs fit``: its options and figures for JSON, its notes."""

from __future__ import annotations

from kvdocs.engines.deployment import Deployment
from kvdocs.engines.transformers.hold import Batch

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import Any


def options(on: Deployment) -> dict[str, Any]:
    """There are none of its own."""
    return {}


def figures(found: Batch) -> dict[str, Any]:
    """What one sequence takes, for JSON."""
    return {
        "sequence_bytes": found.held,
        "growth_bytes": found.growth,
        "growth_exact": found.exact,
    }


def notes(on: Deployment, users: int | None, best: Batch) -> list[str]:
    """What to know beside the answer."""
    said = []
    if on.pool.kv_dtype == "auto":
        said.append(
            "its config names no dtype, so 16 bits are taken; where the weights have 32, say "
            "--kv-dtype float32"
        )
    if max(users or 1, best.sequences) > 1:
        said.append("in a batch every sequence is padded to the longest, so all count as that long")
    return said
