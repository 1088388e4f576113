"""transformers in ``kvdocs fit``: its options, its figures for JSON, its lines for people."""

from __future__ import annotations

from kvdocs.engines.deployment import Deployment
from kvdocs.engines.transformers.hold import Batch, Flags
from kvdocs.formula.layers import plural
from kvdocs.units import exact

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import Any


def flags(kv_dtype: str) -> Flags:
    """transformers' flags."""
    return Flags(kv_dtype=kv_dtype.lower())


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


def lines(on: Deployment, tokens: int, sure: Batch, best: Batch) -> list[str]:
    """What one sequence takes, for people."""
    most = "" if sure.exact else "at most "
    return [
        f"a sequence after a prompt of {plural(tokens, 'token')}: {exact(sure.held)}",
        f"while one more token joins: {most}{exact(sure.growth)} more, for each sequence",
    ]


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
