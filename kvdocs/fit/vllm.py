"""vLLM in ``kvdocs fit``: its options, its figures for JSON, its lines for people."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from fractions import Fraction

from kvdocs.engines.vllm.architectures import through_transformers
from kvdocs.engines.vllm.dtypes import IN_32_BITS
from kvdocs.engines.vllm.layers import sparse
from kvdocs.engines.vllm.pool import Plan
from kvdocs.engines.vllm.question import VllmQuestion
from kvdocs.engines.weights import SHORT, names_dtype
from kvdocs.facts.models import Model
from kvdocs.formula.constant import CrossAttention
from kvdocs.formula.kv_dtype import named_kv_dtype
from kvdocs.formula.layers import plural
from kvdocs.units import exact, span

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import Any


def question(args: argparse.Namespace, model: Model) -> VllmQuestion:
    """The engine's own options. Where nobody asked for a cache dtype, vLLM takes what the
    checkpoint says (layers/attention/attention.py:287, utils/torch_utils.py:498).

    Raises:
        ConfigError: the config names a dtype unknown here.
        ValueError: an option has no usable value.
    """
    asked, named_by = args.kv_dtype.lower(), None
    dtype = SHORT.get(asked, asked)
    if asked == "auto":
        dtype, named_by = named_kv_dtype(model.config, model.id) or ("auto", None)
    return VllmQuestion(
        model,
        kv_dtype=dtype,
        kv_dtype_from=named_by,
        tp=args.tp or 1,
        pp=args.pp or 1,
        utilization=None if args.utilization is None else _share(args.utilization),
        max_num_batched_tokens=args.max_num_batched_tokens,
    )


def options(asked: VllmQuestion) -> dict[str, Any]:
    """The engine's own options, for JSON."""
    return {
        "kv_dtype_kept": asked.kept,
        "tp": asked.tp,
        "pp": asked.pp,
        "max_num_batched_tokens": asked.batched_tokens,
    }


def figures(found: Plan) -> dict[str, Any]:
    """What vLLM's planner gives with the length as its limit, for JSON."""
    return {
        "blocks": found.blocks,
        "block_bytes": found.block_bytes,
        "pool_tokens": found.pool_tokens,
        "max_concurrency": found.max_concurrency,
        "sequence_blocks": found.writing_blocks,
        "batch_blocks": found.request_blocks - found.writing_blocks,
    }


def lines(asked: VllmQuestion, tokens: int, sure: Plan, best: Plan) -> list[str]:
    """What vLLM makes of the memory, for people."""
    concurrency = f"{sure.max_concurrency:.2f}x"
    if sure != best:
        concurrency += f" to {best.max_concurrency:.2f}x"
    logged = "as vLLM logs it"
    held = [f"a sequence holds {plural(sure.writing_blocks, 'block')} while it writes its answer"]
    if in_flight := sure.request_blocks - sure.writing_blocks:
        logged += ", with a batch in flight for each"
        held.append(
            f"a batch in flight takes up to {plural(in_flight, 'block')} more, once for all"
        )
    return [
        f"blocks of {exact(sure.block_bytes)}: {span(sure.blocks, best.blocks)}",
        f"pool: {span(sure.pool_tokens, best.pool_tokens)} tokens as vLLM logs them",
        f"maximum concurrency for {plural(tokens, 'token')} per request: {concurrency}, {logged}",
        *held,
        f"up to {plural(asked.batched_tokens, 'token')} in one step ({_batched(asked)})",
    ]


def notes(asked: VllmQuestion, best: Plan) -> list[str]:
    """What to know beside the answer."""
    said = [*_of_the_card(asked)]
    if asked.ranks > 1 and asked.available is None:
        said.append("weights are taken as divided evenly; ranks hold copies of small tensors too")
    if through_transformers(asked.model.config):
        said.append("vLLM has no class of its own for it and takes that of transformers")
    parts = [part for part, _ in asked.model.layout.groups()]
    if any(isinstance(part, CrossAttention) and not part.encoder_tokens for part in parts):
        said.append(
            "how long an encoder's output is is not known, so each sequence is taken to keep "
            f"{asked.batched_tokens:,} tokens of it, as many as one step may have"
        )
    if asked.available is None and asked.weights is None and not names_dtype(asked.model):
        said.append(
            "its config names no dtype, so weights count as published; where they have 32 bits, "
            "vLLM loads them in 16: state --weights"
        )
    return said


def _of_the_card(asked: VllmQuestion) -> Iterator[str]:
    """How the format of the cache depends on the card."""
    if sparse(asked.model.layout) and asked.card is None:
        yield (
            "sparse latents are taken as on Hopper, 9.x; on 10.x FP8 has no scales beside it, on "
            "12.x auto is FP8 too, and other cards have no kernel: state the card with --gpu"
        )
    elif asked.kept == IN_32_BITS.name:
        yield "the card has no bfloat16 and vLLM refuses float16 for the model: it takes float32"
    elif asked.kept != asked.kv_dtype:
        yield f"on this card vLLM keeps {asked.kv_dtype} as {asked.kept} for this model"


def _batched(asked: VllmQuestion) -> str:
    """Where the most tokens of a step come from."""
    if asked.max_num_batched_tokens is not None:
        return "stated"
    return f"vLLM's --max-num-batched-tokens for {'this' if asked.gpu else 'a small'} card"


def _share(text: str) -> Fraction:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"--utilization {text!r} is not a share such as 0.92") from None
