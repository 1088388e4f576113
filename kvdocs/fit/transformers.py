"""transformers in ``kvdocs fit``: its options, its figures for JSON, its lines for people."""

from __future__ import annotations

import argparse

from kvdocs.engines.transformers.cache import cache_dtype
from kvdocs.engines.transformers.question import Batch, TransformersQuestion
from kvdocs.engines.weights import published_dtype
from kvdocs.facts.models import Model
from kvdocs.formula.layers import plural
from kvdocs.units import exact

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import Any


def question(args: argparse.Namespace, model: Model) -> TransformersQuestion:
    """The engine's own options. The cache has the model's dtype, which is the config's unless
    transformers is told another (modeling_utils.py:4041 of transformers 5.24.0).

    Raises:
        ValueError: transformers does not cache in this dtype.
    """
    asked, named_by = args.kv_dtype.lower(), None
    if asked == "auto":
        asked, named_by = published_dtype(model) or ("auto", None)
    if asked == "auto":
        return TransformersQuestion(model)
    try:
        return TransformersQuestion(model, kv_dtype=cache_dtype(asked), kv_dtype_from=named_by)
    except ValueError as error:
        where = f"{model.id}: {named_by}" if named_by else "--kv-dtype"
        raise ValueError(f"{where}: {error}" + (" with --kv-dtype" if named_by else "")) from None


def options(asked: TransformersQuestion) -> dict[str, Any]:
    """There are none of its own."""
    return {}


def figures(found: Batch) -> dict[str, Any]:
    """What one sequence takes, for JSON."""
    return {
        "sequence_bytes": found.held,
        "growth_bytes": found.growth,
        "growth_exact": found.exact,
    }


def lines(asked: TransformersQuestion, tokens: int, sure: Batch, best: Batch) -> list[str]:
    """What one sequence takes, for people."""
    most = "" if sure.exact else "at most "
    return [
        f"a sequence after a prompt of {plural(tokens, 'token')}: {exact(sure.held)}",
        f"while one more token joins: {most}{exact(sure.growth)} more, for each sequence",
    ]


def notes(asked: TransformersQuestion, best: Batch) -> list[str]:
    """What to know beside the answer."""
    said = []
    if asked.kv_dtype == "auto":
        said.append(
            "its config names no dtype, so 16 bits are taken; where the weights have 32, say "
            "--kv-dtype float32"
        )
    if max(asked.users or 1, best.sequences) > 1:
        said.append("in a batch every sequence is padded to the longest, so all count as that long")
    return said
