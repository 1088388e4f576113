"""The same sequence in each engine, in 16 bits: bytes, how they come about, and the source.

In: a model and a number of tokens. Out: ``Held``, which tables show and stated numbers explain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kvdocs.engines.llama_cpp import hold as llama_cpp
from kvdocs.engines.llama_cpp.context import Buffer
from kvdocs.engines.transformers import hold as transformers
from kvdocs.engines.vllm import hold as vllm
from kvdocs.facts.models import Model

# Engines by the names that readers know -> as --engine names them.
NAMES = {"vLLM": "vllm", "transformers": "transformers", "llama.cpp": "llama.cpp"}


@dataclass(frozen=True)
class Held:
    """``how`` is the way to the bytes in words; ``source`` the engine and its version."""

    bytes: int
    how: tuple[str, ...]
    source: str


def transformers_shown(model: Model, tokens: int) -> Held:
    """What the tensors of transformers' own cache show after a prompt, in 16 bits."""
    found = _cache(model).after_prompt(tokens).shown
    how = f"{model.name}, tensors after a prompt of {tokens:,} tokens: {found:,} bytes"
    return Held(found, (how,), transformers.TITLE)


def transformers_stored(model: Model, tokens: int) -> Held:
    """The memory behind them: sliding layers still store the whole prompt."""
    found = _cache(model).sequence_bytes(tokens)
    how = f"{model.name}, memory after a prompt of {tokens:,} tokens: {found:,} bytes"
    return Held(found, (how,), transformers.TITLE)


def transformers_growth(model: Model, tokens: int) -> Held:
    """What the cache takes beside that while one more token joins, where that is known exactly.

    Raises:
        ValueError: only a bound is known, because a layer does not grow by concatenation.
    """
    one = _cache(model).one(tokens)
    if not one.exact:
        raise ValueError(f"how the cache of {model.name} grows is not known exactly")
    how = f"{model.name}, a prompt of {tokens:,} tokens and one more: {one.growth:,} bytes"
    return Held(one.growth, (how,), transformers.TITLE)


def transformers_expanded(model: Model, tokens: int) -> Held:
    """What older releases show of a latent cache; the source names the release that ended it.

    Raises:
        ValueError: no release ever expanded its cache.
    """
    older = _cache(model).older
    if older is None:
        raise ValueError(f"{model.name} has no latent that transformers ever expanded")
    layout, release = older
    how = (
        f"{model.name}, {tokens:,} tokens with K and V of every head:",
        *layout.derivation(tokens),
    )
    return Held(layout.bytes(tokens), how, f"transformers before {release}")


def vllm_request(model: Model, tokens: int) -> Held:
    """The most blocks that vLLM lets one request hold, on one GPU with its default flags.

    Raises:
        Refused: vLLM refuses the model, or how it holds the layout is not known here.
        ValueError: fewer than one token.
    """
    if tokens < 1:
        raise ValueError(f"a request has 1 token or more, not {tokens}")
    pool = vllm.hold(model, vllm.Flags())
    blocks, [size] = pool.request_blocks(tokens), pool.block_bytes
    how = f"{model.name}, a request of {tokens:,} tokens: {blocks:,} blocks × {size:,} bytes"
    return Held(blocks * size, (f"{how} = {blocks * size:,} bytes",), vllm.TITLE)


def llama_cpp_context(model: Model, tokens: int) -> Held:
    """What llama.cpp allocates for a context of ``tokens`` tokens and one sequence, in f16.

    Raises:
        Refused: how llama.cpp holds the layout is not known here.
    """
    cells = llama_cpp.hold(model, llama_cpp.Flags())
    made = cells.buffers(cells.context(1, tokens))
    lines = [_buffer(buffer) for buffer in made]
    total = sum(buffer.bytes for buffer in made)
    if len(made) > 1:
        lines.append(f"{' + '.join(f'{buffer.bytes:,}' for buffer in made)} = {total:,} bytes")
    return Held(total, (f"{model.name}, n_ctx {tokens:,}:", *lines), llama_cpp.TITLE)


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


def _cache(model: Model) -> transformers.GrowingCache:
    """The cache in 16 bits, whatever dtype the weights are published in."""
    return transformers.hold(model, transformers.Flags(kv_dtype="bfloat16"))


def _buffer(buffer: Buffer) -> str:
    if buffer.kind == "state":
        return f"{buffer.layers:,} states of one sequence in f32: {buffer.bytes:,} bytes"
    return (
        f"{buffer.layers:,} layers × {buffer.cells:,} cells ({buffer.kind}): {buffer.bytes:,} bytes"
    )
