"""What would make it fit, in order of what it costs in quality and money.

In: an ``Answer`` that does not fit. Out: changes that do fit, each tried through the same sum:
fewer tokens, a smaller cache, smaller weights, another card, more cards. Which of these there are
is the engine's: its ``Question`` says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kvdocs.engines.question import MIB, Change, Question
from kvdocs.engines.weights import weights_in
from kvdocs.facts.claims import load_gpus
from kvdocs.fit.capacity import Answer, fit
from kvdocs.formula.layers import plural
from kvdocs.units import binary


@dataclass(frozen=True)
class Remedy:
    """One change, as a flag and in words, and the answer it gives."""

    flag: str
    text: str
    answer: Answer


def remedies(answer: Answer) -> list[Remedy]:
    """The changes that make it fit; each one alone."""
    if answer.fits:
        return []
    return [*_fewer_tokens(answer), *_changed(answer.question)]


def _fewer_tokens(answer: Answer) -> Iterator[Remedy]:
    question = answer.question
    if question.tokens is None:
        return
    shorter = fit(replace(question, tokens=None))
    if shorter.fits:
        tokens = min(shorter.tokens, question.tokens)
        each = f" for each of {answer.users:,}" if answer.users > 1 else ""
        text = f"at most {plural(tokens, 'token')}{each}"
        yield Remedy(f"--tokens {tokens}", text, fit(replace(question, tokens=tokens)))


def _changed(question: Question) -> Iterator[Remedy]:
    """Every other change, tried with everything else left alone."""
    tries = [question.smaller_caches()]
    if question.available is None:  # where that is stated, what else changes is not known
        tries += [_smaller_weights(question), _another_card(question), question.more_cards()]
    for changes in tries:
        for change in changes:
            try:
                answer = fit(change.question)
            except ValueError:
                continue
            if answer.fits:
                yield Remedy(change.flag, change.text, answer)
                break


def _smaller_weights(question: Question) -> Iterator[Change]:
    for dtype in question.smaller_weights:
        try:
            size, source = weights_in(question.model, dtype, question.weight_bits)
        except ValueError:
            return
        held = question.held_weights()
        if held is not None and size < held[0]:
            bits = float(question.weight_bits[dtype])
            text = f"weights of {bits:g} bits, about {binary(size)}"
            changed = replace(question, weights=size, weights_source=source)
            yield Change(f"--weights-dtype {dtype}", text, changed)


def _another_card(question: Question) -> Iterator[Change]:
    cards = sorted(load_gpus().values(), key=lambda card: card.memory_mib)
    for card in cards:
        if card.memory_mib * MIB > question.memory:
            text = f"another card: {card.name}, {card.memory_mib:,} MiB"
            changed = replace(question, gpu=card, memory=card.memory_mib * MIB)
            yield Change(f"--gpu {card.key}", text, changed)
