"""The same sequence in each engine, in 16 bits: bytes, how they come about, and the source.

In: a model and a number of tokens. Out: ``Held``, which tables show and stated numbers explain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kvdocs.engines.llama_cpp import context as llama_cpp
from kvdocs.engines.llama_cpp.question import LlamaCppQuestion
from kvdocs.engines.question import Question
from kvdocs.engines.transformers import cache as transformers
from kvdocs.engines.transformers.question import TransformersQuestion
from kvdocs.engines.vllm import pool as vllm
from kvdocs.engines.vllm.question import VllmQuestion
from kvdocs.engines.vllm.states import rank_state
from kvdocs.facts.models import Model
from kvdocs.formula import CacheLayout
from kvdocs.formula.config import EffectiveConfig

TRANSFORMERS = "transformers " + ".".join(map(str, transformers.RELEASE))
VLLM = "vLLM 0.33.0"


@dataclass(frozen=True)
class Held:
    """``how`` is the way to the bytes in words; ``source`` the engine and its version."""

    bytes: int
    how: tuple[str, ...]
    source: str


def transformers_shown(model: Model, tokens: int) -> Held:
    """What the tensors of transformers' own cache show after a prompt."""
    found = transformers.held(_cached(model), tokens, tokens).shown
    how = f"{model.name}, tensors after a prompt of {tokens:,} tokens: {found:,} bytes"
    return Held(found, (how,), TRANSFORMERS)


def transformers_stored(model: Model, tokens: int) -> Held:
    """The memory behind them: sliding layers still store the whole prompt."""
    found = transformers.held(_cached(model), tokens, tokens).stored
    how = f"{model.name}, memory after a prompt of {tokens:,} tokens: {found:,} bytes"
    return Held(found, (how,), TRANSFORMERS)


def transformers_growth(model: Model, tokens: int) -> Held:
    """What the cache takes beside that while one more token joins, where that is known exactly.

    Raises:
        ValueError: only a bound is known, because a layer does not grow by concatenation.
    """
    one = TransformersQuestion(model).one(tokens)
    if not one.exact:
        raise ValueError(f"how the cache of {model.name} grows is not known exactly")
    how = f"{model.name}, a prompt of {tokens:,} tokens and one more: {one.growth:,} bytes"
    return Held(one.growth, (how,), TRANSFORMERS)


def transformers_expanded(model: Model, tokens: int) -> Held:
    """What older releases show of a latent cache; the source names the release that ended it."""
    found = transformers.expanded(model.layout, model.config, model.id)
    if found is None:
        raise ValueError(f"{model.name} has no latent that transformers ever expanded")
    layout, release = found
    how = (
        f"{model.name}, {tokens:,} tokens with K and V of every head:",
        *layout.derivation(tokens),
    )
    return Held(layout.bytes(tokens), how, f"transformers before {release}")


def vllm_request(model: Model, tokens: int) -> Held:
    """The most blocks that vLLM lets one request hold, on one GPU with its default flags.

    Raises:
        ValueError: how vLLM holds the layout is not known here.
    """
    state = rank_state(model.config, 1, model.id)
    pool = vllm.Pool.of(model.layout, vllm.Options(tokens, state=state))
    blocks, [size] = pool.request_blocks(tokens), pool.block_bytes
    how = f"{model.name}, a request of {tokens:,} tokens: {blocks:,} blocks × {size:,} bytes"
    return Held(blocks * size, (f"{how} = {blocks * size:,} bytes",), VLLM)


def llama_cpp_context(model: Model, tokens: int) -> Held:
    """What llama.cpp allocates for a context of ``tokens`` tokens and one sequence, in f16.

    Raises:
        ValueError: how llama.cpp holds the layout is not known here.
    """
    config = EffectiveConfig.of(model.config, model.id)
    made = llama_cpp.buffers(model.layout, config, llama_cpp.Context(tokens))
    lines = [_buffer(buffer) for buffer in made]
    total = sum(buffer.bytes for buffer in made)
    if len(made) > 1:
        lines.append(f"{' + '.join(f'{buffer.bytes:,}' for buffer in made)} = {total:,} bytes")
    return Held(total, (f"{model.name}, n_ctx {tokens:,}:", *lines), llama_cpp.VERSION)


# By the names that readers know: what ``kvdocs fit`` asks each engine.
QUESTIONS: dict[str, type[Question]] = {
    "vLLM": VllmQuestion,
    "transformers": TransformersQuestion,
    "llama.cpp": LlamaCppQuestion,
}

# By the names that stated numbers call them by.
ENGINES: dict[str, Callable[[Model, int], Held]] = {
    function.__name__: function
    for function in (
        transformers_shown,
        transformers_stored,
        transformers_growth,
        transformers_expanded,
        vllm_request,
        llama_cpp_context,
    )
}


def _cached(model: Model) -> CacheLayout:
    return transformers.as_cached(model.layout, model.config, model.id)


def _buffer(buffer: llama_cpp.Buffer) -> str:
    if buffer.kind == "state":
        return f"{buffer.layers:,} states of one sequence in f32: {buffer.bytes:,} bytes"
    return (
        f"{buffer.layers:,} layers × {buffer.cells:,} cells ({buffer.kind}): {buffer.bytes:,} bytes"
    )
