"""vLLM in ``kvdocs fit``: its options and figures for JSON, its notes."""

from __future__ import annotations

from collections.abc import Iterator

from kvdocs.engines.deployment import Deployment
from kvdocs.engines.vllm.architectures import through_transformers
from kvdocs.engines.vllm.dtypes import IN_32_BITS
from kvdocs.engines.vllm.layers import sparse
from kvdocs.engines.vllm.pool import Plan, Pool
from kvdocs.engines.weights import names_dtype
from kvdocs.formula.constant import CrossAttention

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import Any


def options(on: Deployment) -> dict[str, Any]:
    """The engine's own options, for JSON."""
    resolved = pool_of(on).options
    return {
        "kv_dtype_kept": resolved.kv_cache_dtype,
        "tp": resolved.tensor_parallel_size,
        "pp": resolved.pipeline_parallel_size,
        "max_num_batched_tokens": resolved.max_num_batched_tokens,
        "max_num_batched_tokens_from": _batched(on),
    }


def pool_of(on: Deployment) -> Pool:
    """The pool, as vLLM's."""
    assert isinstance(on.pool, Pool)
    return on.pool


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


def notes(on: Deployment, users: int | None, best: Plan) -> list[str]:
    """What to know beside the answer."""
    said = [*_of_the_card(on)]
    if on.ranks > 1 and on.available is None:
        said.append("weights are taken as divided evenly; ranks hold copies of small tensors too")
    if through_transformers(on.model.config):
        said.append("vLLM has no class of its own for it and takes that of transformers")
    parts = [part for part, _ in on.model.layout.groups()]
    if any(isinstance(part, CrossAttention) and not part.encoder_tokens for part in parts):
        said.append(
            "how long an encoder's output is is not known, so each sequence is taken to keep "
            f"{pool_of(on).options.max_num_batched_tokens:,} tokens of it, as many as one step may "
            "have"
        )
    if on.available is None and on.weights is None and not names_dtype(on.model):
        said.append(
            "its config names no dtype, so weights count as published; where they have 32 bits, "
            "vLLM loads them in 16: state --weights"
        )
    return said


def _of_the_card(on: Deployment) -> Iterator[str]:
    """How the format of the cache depends on the card."""
    pool = pool_of(on)
    if sparse(on.model.layout) and on.gpu is None:
        yield (
            "sparse latents are taken as on Hopper, 9.x; on 10.x FP8 has no scales beside it, on "
            "12.x auto is FP8 too, and other cards have no kernel: state the card with --gpu"
        )
    elif pool.kept == IN_32_BITS.name:
        yield "the card has no bfloat16 and vLLM refuses float16 for the model: it takes float32"
    elif pool.kept != pool.kv_dtype:
        yield f"on this card vLLM keeps {pool.kv_dtype} as {pool.kept} for this model"


def _batched(on: Deployment) -> str:
    """Where the most tokens of a step come from."""
    if on.flags.max_num_batched_tokens is not None:
        return "stated"
    return f"vLLM's --max-num-batched-tokens for {'this' if on.gpu else 'a small'} card"
