"""What a reader asks of ``kvdocs fit``, as options: words and sizes in, a ``Question`` out.

An option that only another engine has is refused with the reason, never ignored.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from kvdocs.engines import engine as engine_named
from kvdocs.engines.deployment import Deployment
from kvdocs.engines.terms import MIB
from kvdocs.engines.weights import weights_in
from kvdocs.facts.given import model_of
from kvdocs.facts.gpus import gpu_named
from kvdocs.facts.models import Model
from kvdocs.fit.answer import Answer, Question, fit
from kvdocs.literal import size_of
from kvdocs.options import check

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from fractions import Fraction
    from typing import Any

TOKENS = 4096  # what is asked where neither tokens nor users are given

# Options of one engine, and what to say to somebody who gives them to another.
OWN = {
    "tp": ("vllm", "how another engine splits a model over cards is not known here"),
    "pp": ("vllm", "how another engine splits a model over cards is not known here"),
    "utilization": ("vllm", "no other engine takes a share of the card"),
    "max_num_batched_tokens": (
        "vllm",
        "transformers computes a whole prompt in one step, and llama.cpp has --ubatch-size",
    ),
    "kv_unified": ("llama.cpp", "no other engine divides its cells between sequences"),
    "ubatch_size": ("llama.cpp", "vLLM has --max-num-batched-tokens, transformers no such limit"),
}
SIZES = ("vram", "available", "overhead", "weights")


def question(
    model: Model,
    *,
    engine: str = "vllm",
    gpu: str | None = None,
    tokens: int | None = None,
    users: int | None = None,
    kv_dtype: str | None = "auto",
    weights_dtype: str | None = None,
    **given: Any,
) -> Question:
    """What is asked. ``given`` are the sizes ``vram``, ``available``, ``overhead`` and ``weights``,
    in bytes or as text (``10GiB``), and the options of one engine that ``OWN`` lists.

    Raises:
        ValueError: an option contradicts another, the engine or the model.
    """
    stated = {name: value for name, value in given.items() if value is not None}
    _check(stated, engine)
    sizes = {name: _size(name, stated.pop(name, None)) for name in SIZES}
    vram, available, overhead, weights = (sizes[name] for name in SIZES)
    if available is not None:
        _only_available({**given, "weights_dtype": weights_dtype})
    if gpu is None and vram is None and available is None:
        raise ValueError("state the card with --gpu, its memory with --vram, or --available")
    card = gpu_named(gpu) if gpu is not None else None
    runs, source = engine_named(engine), "stated"
    flags = runs.flags("auto" if kv_dtype is None else kv_dtype, **stated)
    if weights_dtype is not None:
        weights, source = weights_in(model, weights_dtype, runs.WEIGHT_BITS)
    on = Deployment(
        model=model,
        engine=runs,
        flags=flags,
        gpu=card,
        memory=card.memory_mib * MIB if card else vram if vram is not None else available or 0,
        weights=weights,
        weights_source=source,
        overhead=overhead,
        available=available,
    )
    return Question(on, TOKENS if tokens is None and users is None else tokens, users)


def ask(
    model: str | os.PathLike[str] | Mapping[str, Any] | Model,
    *,
    engine: str = "vllm",
    gpu: str | None = None,
    vram: str | int | None = None,
    tokens: int | None = None,
    users: int | None = None,
    kv_dtype: str | None = "auto",
    weights: str | int | None = None,
    weights_dtype: str | None = None,
    overhead: str | int | None = None,
    available: str | int | None = None,
    tp: int | None = None,
    pp: int | None = None,
    utilization: str | float | Fraction | None = None,
    max_num_batched_tokens: int | None = None,
    kv_unified: bool | None = None,
    ubatch_size: int | None = None,
) -> Answer:
    """What fits: ``kvdocs.fit(…)`` in Python. The options are those of ``kvdocs fit``.

    ``model`` is a Hub id, a path, a config as a dict, or a ``Model``. Sizes are bytes, or text such
    as ``10GiB``.

    Raises:
        LookupFailed: there is no such model.
        ConfigError: no rule for the model, or a field without a usable value.
        ValueError: an option contradicts another, the engine or the model.

    >>> ask("Qwen/Qwen2.5-7B-Instruct", available=10 * 2**30, tokens=4096).sure.sequences
    45
    """
    options = locals()  # as the caller gave them, by name
    check(options)
    return fit(question(model_of(options.pop("model")), **options))


def _size(name: str, given: int | str | None) -> int | None:
    return size_of(f"--{name}", given) if isinstance(given, str) else given


def _check(stated: Mapping[str, Any], engine: str) -> None:
    for name in stated:
        if name not in SIZES and name not in OWN:
            raise ValueError(f"fit has no option {name!r}; it has {', '.join((*SIZES, *OWN))}")
        of, why = OWN.get(name, (engine, ""))
        if of != engine:
            raise ValueError(
                f"--{name.replace('_', '-')} is an option of --engine {of} only: {why}. "
                "Leave it out"
            )


def _only_available(given: Mapping[str, Any]) -> None:
    """--available is what is left of the card, so nothing else about the sum can be stated."""
    for name in ("vram", "overhead", "weights", "weights_dtype", "utilization"):
        if given.get(name) is not None:
            raise ValueError(
                f"--{name.replace('_', '-')} has no effect beside --available, which is what is "
                "left after it. Leave one of the two out"
            )
