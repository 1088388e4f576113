"""The options of ``kvdocs fit``: arguments in, the question of an engine out.

An option that only another engine has is refused with the reason, never ignored.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import replace
from importlib import import_module

from kvdocs.engines.question import MIB, Question
from kvdocs.engines.weights import weights_in
from kvdocs.facts.claims import Gpu, load_gpus
from kvdocs.facts.models import Model
from kvdocs.literal import size_of

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
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


def question(args: argparse.Namespace, model: Model) -> Question:
    """What is asked.

    Raises:
        ValueError: an option contradicts another, the engine or the model.
    """
    vram, available, overhead, weights = (
        None if text is None else size_of(name, text)
        for name, text in (
            ("--vram", args.vram),
            ("--available", args.available),
            ("--overhead", args.overhead),
            ("--weights", args.weights),
        )
    )
    _only_this_engine(args)
    if available is not None:
        _only_available(args)
    if args.gpu is None and vram is None and available is None:
        raise ValueError("state the card with --gpu, its memory with --vram, or --available")
    gpu = gpu_named(args.gpu) if args.gpu is not None else None
    ask: Question = of_engine(args.engine).question(args, model)
    source = "stated"
    if args.weights_dtype is not None:
        weights, source = weights_in(model, args.weights_dtype, ask.weight_bits)
    return replace(
        ask,
        memory=gpu.memory_mib * MIB if gpu else vram if vram is not None else available or 0,
        gpu=gpu,
        tokens=TOKENS if args.tokens is None and args.users is None else args.tokens,
        users=args.users,
        weights=weights,
        weights_source=source,
        overhead=overhead,
        available=available,
    )


def of_engine(name: str) -> Any:
    """The module with an engine's own part of the command: ``question``, ``options`` and
    ``figures`` for JSON, ``lines`` and ``notes`` for people."""
    return import_module(f"kvdocs.fit.{name.replace('.', '_')}")


def gpu_named(name: str) -> Gpu:
    """The card of that name or key, or the only one whose name has these letters in it.

    Raises:
        ValueError: no card, or several.

    >>> gpu_named("RTX 4090").key, gpu_named("h100").key
    ('rtx_4090', 'h100_80gb')
    """
    cards = load_gpus()
    wanted = _letters(name)
    names = {key: {_letters(key), _letters(card.name)} for key, card in cards.items()}
    exactly = [key for key, known in names.items() if wanted and wanted in known]
    partly = [key for key, known in names.items() if wanted and any(wanted in n for n in known)]
    found = exactly or partly
    if found == ["a100_80gb"] and "80" not in wanted:
        raise ValueError(
            f"--gpu {name!r}: the A100 was sold with 40 GB and with 80 GB. Say a100_80gb, or state "
            "the memory of the smaller one with --vram"
        )
    if len(found) == 1:
        return cards[found[0]]
    state = f"fits several cards: {', '.join(found)}" if found else "is not in the table of cards"
    known = ", ".join(f"{card.key} ({card.memory_mib:,} MiB)" for card in cards.values())
    raise ValueError(f"--gpu {name!r} {state}. Known are {known}; or state the memory with --vram")


def _only_this_engine(args: argparse.Namespace) -> None:
    for name, (engine, why) in OWN.items():
        if getattr(args, name) is not None and args.engine != engine:
            raise ValueError(
                f"--{name.replace('_', '-')} is an option of --engine {engine} only: {why}. "
                "Leave it out"
            )


def _only_available(args: argparse.Namespace) -> None:
    """--available is what is left of the card, so nothing else about the sum can be stated."""
    names = ("vram", "overhead", "weights", "weights_dtype", "utilization")
    for name in names:
        if getattr(args, name) is not None:
            raise ValueError(
                f"--{name.replace('_', '-')} has no effect beside --available, which is what is "
                "left after it. Leave one of the two out"
            )


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower().replace("nvidia", "").replace("geforce", ""))
