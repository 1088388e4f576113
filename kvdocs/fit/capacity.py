"""How many sequences fit on a GPU, term by term, in any engine.

In: a ``Question`` of an engine: the model, the memory, the flags. Out: an ``Answer``.

What is left for the cache is the memory that a program sees, less the weights, less what else the
engine needs. Some of these terms are only known as a range, so there are two answers: the sure
one, with every range at its worse end, and the best one. ``available`` or ``overhead`` takes the
place of a range; with the former the answer is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

from kvdocs.engines.question import Capacity, Question, Term


@dataclass(frozen=True)
class Answer:
    """What fits. ``sure`` and ``best`` are the engine's capacity at the two ends of the ranges.

    ``tokens`` is the length asked for, or the longest for the users asked for. ``fits`` is True
    where they fit even in the sure case, ``may_fit`` where they do in the best one.
    """

    question: Question
    terms: tuple[Term, ...]
    tokens: int
    sure: Capacity
    best: Capacity

    @property
    def users(self) -> int:
        """Sequences asked for; one at least."""
        return self.question.users or 1

    @property
    def fits(self) -> bool:
        """Whether what is asked for fits in every case."""
        return self.tokens > 0 and self.sure.sequences >= self.users

    @property
    def may_fit(self) -> bool:
        """Whether it fits with every range at its better end."""
        return self.tokens > 0 and self.best.sequences >= self.users


def fit(question: Question) -> Answer:
    """The answer to ``question``.

    Raises:
        ValueError: the question contradicts itself, the model or the hardware; the message says
            which flag.
    """
    question.check()
    terms = question.budget()
    available = [max(0, left) for left in (total(terms), total_at_best(terms))]
    tokens = question.longest(available[0]) if question.tokens is None else question.tokens
    sure, best = (question.capacity(max(1, tokens), left) for left in available)
    return Answer(question, terms + question.growth(max(1, tokens), sure, best), tokens, sure, best)


def total(terms: tuple[Term, ...]) -> int:
    """Bytes left for the cache, with every range at its worse end; of one rank."""
    return sum(term.sign * term.bytes for term in terms)


def total_at_best(terms: tuple[Term, ...]) -> int:
    """Bytes left for the cache, with every range at its better end; of one rank."""
    return sum(term.sign * term.best for term in terms)
