"""What would make it fit, in order of what it costs in quality and money.

In: an ``Answer`` that does not fit. Out: changes that do fit, each tried through the same sum:
fewer tokens, an FP8 cache, smaller weights, another card, more ranks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kvdocs.facts.claims import load_gpus
from kvdocs.facts.models import Model
from kvdocs.formula.layers import plural
from kvdocs.serving.capacity import MIB, Answer, Question, fit
from kvdocs.units import binary

WEIGHT_BITS = {"bfloat16": 16, "float16": 16, "fp8": 8, "int8": 8, "int4": 4}
SHORT = {"bf16": "bfloat16", "fp16": "float16"}
RANKS = (2, 4, 8)


@dataclass(frozen=True)
class Remedy:
    """One change, as a flag and in words, and the answer it gives."""

    flag: str
    text: str
    answer: Answer


def remedies(answer: Answer) -> list[Remedy]:
    """The changes that make the request fit; each one alone."""
    if answer.fits:
        return []
    return [*_fewer_tokens(answer), *_changed(answer.request)]


def weights_in(model: Model, dtype: str) -> tuple[int, str]:
    """Bytes of the model's weights in another number format, and where that comes from.

    A quantised checkpoint keeps scales, and some tensors in 16 bits, so it is a little larger.

    Raises:
        ValueError: the size in 16 bits is not known, or the format is not.
    """
    name = SHORT.get(dtype, dtype)
    if name not in WEIGHT_BITS:
        known = ", ".join([*WEIGHT_BITS, *SHORT])
        raise ValueError(f"unknown format of weights {dtype!r}; choose one of {known}")
    if model.weights is None:
        raise ValueError(f"the size of {model.id}'s weights is not known: state --weights")
    config = {**model.config, **(model.config.get("text_config") or {})}
    published = config.get("torch_dtype") or config.get("dtype")
    if config.get("quantization_config") or published not in ("bfloat16", "float16"):
        raise ValueError(
            f"{model.id} is not published in 16 bits, so its size in {name} does not follow from "
            "it: state --weights"
        )
    size = -(-model.weights.bytes * WEIGHT_BITS[name] // 16)
    return size, f"{WEIGHT_BITS[name]} bits for each of the 16 published, scales left out"


def _fewer_tokens(answer: Answer) -> Iterator[Remedy]:
    request = answer.request
    if request.tokens is None:
        return
    shorter = fit(replace(request, tokens=None))
    if shorter.fits:
        tokens = min(shorter.tokens, request.tokens)
        each = f" for each of {answer.users:,}" if answer.users > 1 else ""
        text = f"at most {plural(tokens, 'token')}{each}"
        yield Remedy(f"--tokens {tokens}", text, fit(replace(request, tokens=tokens)))


def _changed(request: Question) -> Iterator[Remedy]:
    """Every other change, tried with everything else left alone."""
    tries = [_fp8_cache(request)]
    if request.available is None:  # where that is stated, what else changes is not known
        tries += [_smaller_weights(request), _another_card(request), _more_ranks(request)]
    for attempts in tries:
        for flag, text, changed in attempts:
            try:
                answer = fit(changed)
            except ValueError:
                continue
            if answer.fits:
                yield Remedy(flag, text, answer)
                break


def _fp8_cache(request: Question) -> Iterator[tuple[str, str, Question]]:
    if request.kv_dtype in ("auto", "bfloat16", "float16"):
        text = "a cache in FP8, half the size"
        if request.gpu is None:
            text += ", on a card of compute capability 8.0 or more"
        yield "--kv-dtype fp8", text, replace(request, kv_dtype="fp8")


def _smaller_weights(request: Question) -> Iterator[tuple[str, str, Question]]:
    for dtype in ("fp8", "int4"):
        try:
            size, source = weights_in(request.model, dtype)
        except ValueError:
            return
        if request.weights is not None and size < request.weights:
            text = f"weights of {WEIGHT_BITS[dtype]} bits, about {binary(size)}"
            changed = replace(request, weights=size, weights_source=source)
            yield f"--weights-dtype {dtype}", text, changed


def _another_card(request: Question) -> Iterator[tuple[str, str, Question]]:
    cards = sorted(load_gpus().values(), key=lambda card: card.memory_mib)
    for card in cards:
        if card.memory_mib * MIB > request.memory:
            text = f"another card: {card.name}, {card.memory_mib:,} MiB"
            changed = replace(request, gpu=card, memory=card.memory_mib * MIB)
            yield f"--gpu {card.key}", text, changed


def _more_ranks(request: Question) -> Iterator[tuple[str, str, Question]]:
    for ranks in RANKS:
        if ranks > request.tp:
            text = f"{ranks} such cards, one rank each"
            yield f"--tp {ranks}", text, replace(request, tp=ranks)
