"""llama.cpp in ``kvdocs fit``: its options, its figures for JSON, its lines for people."""

from __future__ import annotations

from dataclasses import asdict

from kvdocs.engines.deployment import Deployment
from kvdocs.engines.llama_cpp.context import MOST_SEQUENCES, Buffer, Context
from kvdocs.engines.llama_cpp.hold import Contexts, Flags
from kvdocs.formula.layers import plural
from kvdocs.units import binary, exact

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import Any

KEEP = {"every": "every token", "window": "a window", "index": "index keys"}


def flags(kv_dtype: str, *, kv_unified: bool = False, ubatch_size: int = 512) -> Flags:
    """llama.cpp's flags, by the names that the command has for them."""
    asked = kv_dtype.lower().replace(" ", "")
    return Flags("f16" if asked == "auto" else asked, kv_unified, ubatch_size)


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


def lines(on: Deployment, tokens: int, sure: Contexts, best: Contexts) -> list[str]:
    """The context for those who surely fit, or were asked for, for people."""
    context = sure.context
    shared = " -kvu" if context.unified else ""
    return [
        f"-c {context.n_ctx} -np {context.sequences}{shared} takes {exact(sure.bytes)}:",
        *(_buffer(buffer, context) for buffer in sure.buffers),
    ]


def notes(on: Deployment, users: int | None, best: Contexts) -> list[str]:
    """What to know beside the answer."""
    said = []
    if on.available is None and (on.weights is None or on.weights_source != "stated"):
        said.append("weights are not those of a GGUF file: state its size with --weights")
    if users is None and best.sequences == MOST_SEQUENCES:
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
