"""``kvdocs fit``: how many sequences fit on a GPU, as a table for people or as JSON.

In: a model, a GPU or an amount of memory, and any of tokens and users. Out: how many sequences of
that length, the longest context of that many users, or whether they fit and what would help.
Exit status 0 where it fits, 1 where it does not.
"""

from __future__ import annotations

import argparse
import json
import re
from fractions import Fraction

from kvdocs.facts.claims import Gpu, load_gpus
from kvdocs.facts.hub import find
from kvdocs.facts.models import Model
from kvdocs.literal import Literal
from kvdocs.serving.capacity import Answer, Request, Term, fit, total
from kvdocs.serving.remedies import MIB, Remedy, remedies, weights_in
from kvdocs.units import BYTE_UNITS, exact, ratio

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import Any

GIB = 2**30
TOKENS = 4096  # what is asked where neither tokens nor users are given
DTYPES = {"bf16": "bfloat16", "fp16": "float16"}


def run(args: argparse.Namespace) -> int:
    """Answer ``kvdocs fit``; raises what ``find``, the formula and ``fit`` raise."""
    request = _request(args, find(args.model))
    answer = fit(request)
    found = remedies(answer)
    print(json.dumps(as_json(answer, found), indent=2) if args.json else table(answer, found))
    return 0 if answer.fits else 1


def as_json(answer: Answer, found: list[Remedy]) -> dict[str, Any]:
    """The answer under its documented keys; sizes in bytes, on each rank.

    ``available_bytes`` is the sum of ``terms``, each times its sign. ``blocks``, ``pool_tokens``
    and ``max_concurrency`` are what vLLM's planner gives for it with ``tokens`` as the limit.
    ``best`` has the same figures with every range at its better end.
    """
    request, plan = answer.request, answer.sure
    return {
        "model": request.model.id,
        "engine": "vLLM 0.33.0",
        "gpu": request.gpu.name if request.gpu else None,
        "kv_dtype": request.kv_dtype,
        "tokens": answer.tokens,
        "users": request.users,
        "tp": request.tp,
        "pp": request.pp,
        "fits": answer.fits,
        "may_fit": answer.may_fit,
        "sequences": plan.sequences if answer.tokens else 0,
        "available_bytes": total(answer.terms),
        "terms": [
            {
                "name": term.name,
                "sign": term.sign,
                "bytes": term.bytes,
                "best_bytes": term.best,
                "source": term.source,
            }
            for term in answer.terms
        ],
        "blocks": plan.blocks,
        "block_bytes": plan.block_bytes,
        "pool_tokens": plan.pool_tokens,
        "max_concurrency": plan.max_concurrency,
        "best": {
            "available_bytes": sum(term.sign * term.best for term in answer.terms),
            "sequences": answer.best.sequences if answer.tokens else 0,
            "blocks": answer.best.blocks,
            "pool_tokens": answer.best.pool_tokens,
            "max_concurrency": answer.best.max_concurrency,
        },
        "remedies": [{"flag": remedy.flag, "text": remedy.text} for remedy in found],
        "notes": notes(answer),
    }


def table(answer: Answer, found: list[Remedy]) -> str:
    """The answer for people, with every term of the sum."""
    request = answer.request
    card = request.gpu.name if request.gpu else "a card of that memory"
    ranks = request.tp * request.pp
    where = card if request.available is None else "the memory stated"
    lines = [
        f"{request.model.id} on {where}, vLLM 0.33.0, cache in {request.kv_dtype}"
        + (f", each of {ranks} ranks" if ranks > 1 else ""),
        "",
        *(_term(term) for term in answer.terms),
        _left(answer),
        "",
        *_pool(answer),
        "",
        _verdict(answer),
        *(f"  {remedy.text}  ({remedy.flag})" for remedy in found),
        *(f"note: {note}" for note in notes(answer)),
    ]
    return "\n".join(lines)


def notes(answer: Answer) -> list[str]:
    """What the reader should know beside the answer."""
    request, said = answer.request, []
    config = {**request.model.config, **(request.model.config.get("text_config") or {})}
    heads, limit = config.get("num_attention_heads"), config.get("max_position_embeddings")
    if isinstance(heads, int) and heads % request.tp:
        said.append(
            f"vLLM itself refuses {request.tp} ranks here: {heads} attention heads do not divide"
        )
    if isinstance(limit, int) and answer.tokens > limit:
        said.append(f"the model was made for {limit:,} tokens")
    if request.tp * request.pp > 1 and request.available is None:
        said.append("weights are taken as divided evenly; ranks hold copies of small tensors too")
    return said


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
    if len(found) == 1:
        return cards[found[0]]
    state = f"fits several cards: {', '.join(found)}" if found else "is not in the table of cards"
    known = ", ".join(f"{card.key} ({card.memory_mib:,} MiB)" for card in cards.values())
    raise ValueError(f"--gpu {name!r} {state}. Known are {known}; or state the memory with --vram")


def size(text: str) -> int:
    """An amount of memory with its unit, in bytes.

    Raises:
        ValueError: no number, no unit, or less than nothing.

    >>> size("24564MiB"), size("10 GiB"), size("15.2 GB")
    (25757220864, 10737418240, 15200000000)
    """
    literal = Literal.parse(text.strip())
    if literal.unit not in BYTE_UNITS or literal.number < 0:
        units = "MiB, GiB, MB, GB or bytes"
        raise ValueError(f"{text!r} is no size: write a number and {units}, such as 24564MiB")
    return int(literal.number * literal.scale)


def _request(args: argparse.Namespace, model: Model) -> Request:
    vram, available, overhead, weights = (
        None if text is None else _flag(name, text)
        for name, text in (
            ("--vram", args.vram),
            ("--available", args.available),
            ("--overhead", args.overhead),
            ("--weights", args.weights),
        )
    )
    if args.gpu is None and vram is None and available is None:
        raise ValueError("state the card with --gpu, its memory with --vram, or --available")
    gpu = gpu_named(args.gpu) if args.gpu else None
    source = "stated"
    if args.weights_dtype:
        weights, source = weights_in(model, args.weights_dtype)
    elif weights is None and model.weights:
        weights, source = model.weights.bytes, model.weights.kind
    memory = gpu.memory_mib * MIB if gpu else vram if vram is not None else available
    assert memory is not None
    return Request(
        model=model,
        memory=memory,
        gpu=gpu,
        tokens=TOKENS if args.tokens is None and args.users is None else args.tokens,
        users=args.users,
        kv_dtype=DTYPES.get(args.kv_dtype, args.kv_dtype),
        weights=weights,
        weights_source=source,
        tp=args.tp,
        pp=args.pp,
        utilization=_share(args.utilization),
        overhead=overhead,
        available=available,
        max_num_batched_tokens=args.max_num_batched_tokens,
    )


def _flag(name: str, text: str) -> int:
    try:
        return size(text)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _term(term: Term) -> str:
    sign = "-" if term.sign < 0 else " "
    return f"{sign} {_amount(term.best, term.bytes):>22}  {term.name} ({term.source})"


def _left(answer: Answer) -> str:
    sure = total(answer.terms)
    best = sum(term.sign * term.best for term in answer.terms)
    return f"= {_amount(sure, best):>22}  left for the cache on each rank ({exact(sure)} for sure)"


def _amount(one: int, other: int) -> str:
    """One amount, or the two ends of a range."""
    low, high = (ratio(count, GIB, 2) for count in sorted((one, other)))
    return f"{low} GiB" if low == high else f"{low} to {high} GiB"


def _pool(answer: Answer) -> list[str]:
    sure, best = answer.sure, answer.best
    return [
        f"  blocks of {exact(sure.block_bytes)}: {_span(sure.blocks, best.blocks)}",
        f"  pool: {_span(sure.pool_tokens, best.pool_tokens)} tokens as vLLM logs them",
        f"  maximum concurrency for {max(1, answer.tokens):,} tokens per request: "
        + (
            f"{sure.max_concurrency:.2f}x"
            if sure == best
            else f"{sure.max_concurrency:.2f}x to {best.max_concurrency:.2f}x"
        ),
    ]


def _verdict(answer: Answer) -> str:
    request = answer.request
    count = _span(answer.sure.sequences, answer.best.sequences)
    if request.users is None:
        text = f"{count} sequences of {answer.tokens:,} tokens fit at once."
    elif request.tokens is None and not answer.tokens:
        text = f"Not one token for each of {request.users:,} users."
    elif request.tokens is None:
        text = f"{request.users:,} users can have {answer.tokens:,} tokens each."
    else:
        text = f"{request.users:,} users of {answer.tokens:,} tokens: {count} fit."
    if answer.fits:
        return text
    if answer.may_fit:
        return f"{text} Not sure to fit. What would make it sure:"
    return f"{text} It does not fit. What would make it fit:"


def _span(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower().replace("nvidia", "").replace("geforce", ""))


def _share(text: str) -> Fraction:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"--utilization {text!r} is not a share such as 0.92") from None
