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
from kvdocs.formula.kv_dtype import named_kv_dtype
from kvdocs.formula.layers import plural
from kvdocs.literal import Literal
from kvdocs.serving.capacity import MIB, Answer, Question, Term, fit, total
from kvdocs.serving.remedies import SHORT, Remedy, remedies, weights_in
from kvdocs.units import BYTE_UNITS, exact, ratio

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import Any

GIB = 2**30
LARGEST_SIZE = 2**50  # bytes
TOKENS = 4096  # what is asked where neither tokens nor users are given


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
        "kv_dtype_from": request.kv_dtype_from,
        "tokens": answer.tokens,
        "users": request.users,
        "tp": request.tp,
        "pp": request.pp,
        "max_num_batched_tokens": request.batched_tokens,
        "longest_text": request.model.longest_text,
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
    named = f" ({request.kv_dtype_from})" if request.kv_dtype_from else ""
    lines = [
        f"{request.model.id} on {where}, vLLM 0.33.0, cache in {request.kv_dtype}{named}"
        + (f", each of {ranks} ranks" if ranks > 1 else ""),
        "",
        *(_term(term) for term in answer.terms),
        _left(answer),
        "",
        *_pool(answer),
        "",
        _verdict(answer, found),
        *(f"  {remedy.text}  ({remedy.flag})" for remedy in found),
        *(f"note: {note}" for note in notes(answer)),
    ]
    return "\n".join(lines)


def notes(answer: Answer) -> list[str]:
    """What the reader should know beside the answer."""
    request, said = answer.request, []
    limit = request.model.longest_text
    if limit is None:
        said.append("how many tokens it was made for is not known, so memory is the only limit")
    elif answer.tokens > limit:
        said.append(f"the model was made for {limit:,} tokens")
    elif request.tokens is None and answer.tokens == limit:
        said.append(f"the model was made for {limit:,} tokens, so no longer text was tried")
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


def size(text: str) -> int:
    """An amount of memory with its unit, in bytes.

    Raises:
        ValueError: no number, no unit, less than nothing or more than 1,024 TiB.

    >>> size("24564MiB"), size("10 GiB"), size("15.2 GB")
    (25757220864, 10737418240, 15200000000)
    """
    literal = Literal.parse(text.strip())
    if literal.unit not in BYTE_UNITS or literal.number < 0:
        units = "MiB, GiB, MB, GB or bytes"
        raise ValueError(f"{text!r} is no size: write a number and {units}, such as 24564MiB")
    found = int(literal.number * literal.scale)
    if found > LARGEST_SIZE:
        raise ValueError(f"{text!r} is more than 1,024 TiB, which no machine has")
    return found


def size_of(flag: str, text: str) -> int:
    """``size`` of what was given with ``flag``, which errors name.

    Raises:
        ValueError: as for ``size``.
    """
    try:
        return size(text)
    except ValueError as error:
        raise ValueError(f"{flag}: {error}") from None


def _request(args: argparse.Namespace, model: Model) -> Question:
    vram, available, overhead, weights = (
        None if text is None else size_of(name, text)
        for name, text in (
            ("--vram", args.vram),
            ("--available", args.available),
            ("--overhead", args.overhead),
            ("--weights", args.weights),
        )
    )
    if available is not None:
        _only_available(args)
    if args.gpu is None and vram is None and available is None:
        raise ValueError("state the card with --gpu, its memory with --vram, or --available")
    gpu = gpu_named(args.gpu) if args.gpu is not None else None
    source = "stated"
    if args.weights_dtype is not None:
        weights, source = weights_in(model, args.weights_dtype)
    elif weights is None and model.weights:
        weights, source = model.weights.bytes, model.weights.kind
    memory = gpu.memory_mib * MIB if gpu else vram if vram is not None else available or 0
    dtype, named_by = _kv_dtype(args.kv_dtype.lower(), model)
    return Question(
        model=model,
        memory=memory,
        gpu=gpu,
        tokens=TOKENS if args.tokens is None and args.users is None else args.tokens,
        users=args.users,
        kv_dtype=dtype,
        kv_dtype_from=named_by,
        weights=weights,
        weights_source=source,
        tp=args.tp,
        pp=args.pp,
        utilization=None if args.utilization is None else _share(args.utilization),
        overhead=overhead,
        available=available,
        max_num_batched_tokens=args.max_num_batched_tokens,
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


def _kv_dtype(asked: str, model: Model) -> tuple[str, str | None]:
    """The cache dtype, and the config's field that names it where nobody asked for one: vLLM then
    takes what the checkpoint says (layers/attention/attention.py:287, utils/torch_utils.py:498).

    Raises:
        ConfigError: the config names a dtype unknown here.
    """
    if asked != "auto":
        return SHORT.get(asked, asked), None
    return named_kv_dtype(model.config, model.id) or ("auto", None)


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
        f"  maximum concurrency for {plural(max(1, answer.tokens), 'token')} per request: "
        + (
            f"{sure.max_concurrency:.2f}x"
            if sure == best
            else f"{sure.max_concurrency:.2f}x to {best.max_concurrency:.2f}x"
        ),
        f"  up to {plural(answer.request.batched_tokens, 'token')} in one step "
        f"({_batched(answer.request)})",
    ]


def _batched(request: Question) -> str:
    """Where the most tokens of a step come from."""
    if request.max_num_batched_tokens is not None:
        return "stated"
    flag = "--max-num-batched-tokens"
    return f"vLLM's {flag} for {'this' if request.gpu else 'a small'} card"


def _verdict(answer: Answer, found: list[Remedy]) -> str:
    request = answer.request
    count = _span(answer.sure.sequences, answer.best.sequences)
    if request.users is None:
        sequences = "sequence" if count == "1" else "sequences"
        verb = "fits" if count == "1" else "fit"
        text = f"{count} {sequences} of {plural(answer.tokens, 'token')} {verb} at once."
    elif request.tokens is None and not answer.tokens:
        text = f"Not one token for {_each(request.users)}."
    elif request.tokens is None:
        each = " each" if request.users > 1 else ""
        users, tokens = plural(request.users, "user"), plural(answer.tokens, "token")
        text = f"{users} can have {tokens}{each}."
    else:
        users, tokens = plural(request.users, "user"), plural(answer.tokens, "token")
        text = f"{users} of {tokens}: {count} {'fits' if count == '1' else 'fit'}."
    if answer.fits:
        return text
    if answer.may_fit:
        state, end = "Not sure to fit.", "sure"
    else:
        state, end = "It does not fit.", "fit"
    what = f"What would make it {end}:" if found else f"No single change here would make it {end}."
    return f"{text} {state} {what}"


def _each(users: int) -> str:
    return f"each of {users:,} users" if users > 1 else "the one user"


def _span(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower().replace("nvidia", "").replace("geforce", ""))


def _share(text: str) -> Fraction:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"--utilization {text!r} is not a share such as 0.92") from None
