"""llama.cpp in ``kvdocs fit``: its options, its figures for JSON, its lines for people."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from kvdocs.engines.llama_cpp.context import MOST_SEQUENCES, Buffer, Context
from kvdocs.engines.llama_cpp.question import Contexts, LlamaCppQuestion
from kvdocs.facts.models import Model
from kvdocs.formula.layers import plural
from kvdocs.units import binary, exact

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import Any

KEEP = {"every": "every token", "window": "a window", "index": "index keys"}


def question(args: argparse.Namespace, model: Model) -> LlamaCppQuestion:
    """The engine's own options. The cache has 16 bits unless llama.cpp is told otherwise, whatever
    the file has."""
    asked = args.kv_dtype.lower().replace(" ", "")
    own: dict[str, Any] = {} if args.ubatch_size is None else {"ubatch": args.ubatch_size}
    if asked != "auto":
        own["kv_dtype"] = asked
    return LlamaCppQuestion(model, unified=bool(args.kv_unified), **own)


def options(asked: LlamaCppQuestion) -> dict[str, Any]:
    """The engine's own options, for JSON."""
    return {"kv_unified": asked.unified, "ubatch_size": asked.ubatch}


def figures(found: Contexts) -> dict[str, Any]:
    """The context and its buffers, for JSON."""
    return {
        "n_ctx": found.context.n_ctx,
        "cache_bytes": found.bytes,
        "buffers": [asdict(buffer) for buffer in found.buffers],
    }


def lines(asked: LlamaCppQuestion, tokens: int, sure: Contexts, best: Contexts) -> list[str]:
    """The context for those who surely fit, or were asked for, for people."""
    context = sure.context
    shared = " -kvu" if context.unified else ""
    return [
        f"-c {context.n_ctx} -np {context.sequences}{shared} takes {exact(sure.bytes)}:",
        *(_buffer(buffer, context) for buffer in sure.buffers),
    ]


def notes(asked: LlamaCppQuestion, best: Contexts) -> list[str]:
    """What to know beside the answer."""
    said = []
    if asked.available is None and (asked.weights is None or asked.weights_source != "stated"):
        said.append("weights are not those of a GGUF file: state its size with --weights")
    if asked.users is None and best.sequences == MOST_SEQUENCES:
        said.append(f"llama.cpp serves at most {MOST_SEQUENCES} sequences at once")
    return said


def _buffer(buffer: Buffer, context: Context) -> str:
    layers = plural(buffer.layers, "layer")
    if buffer.kind == "state":
        return f"  states of {layers}, {plural(buffer.cells, 'sequence')}: {binary(buffer.bytes)}"
    keep = "keeps" if buffer.layers == 1 else "keep"
    sets = f" × {buffer.streams:,} sets" if buffer.streams > 1 else ""
    parts = f"K in {context.type_k} {binary(buffer.k_bytes)}"
    if buffer.v_bytes:
        parts += f", V in {context.type_v} {binary(buffer.v_bytes)}"
    return f"  {layers} {keep} {KEEP[buffer.kind]}, {buffer.cells:,} cells{sets}: {parts}"
