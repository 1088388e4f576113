"""How many sequences fit on a GPU, term by term, in any engine.

In: a ``Question``: a model in an engine on a card, how long and how many the sequences are. Out: an
``Answer``, and what would make it fit.

What is left for the cache is the memory that a program sees, less the weights, less what else the
engine needs. Some of these terms are only known as a range, so there are two answers: the sure
one, with every range at its worse end, and the best one. ``available`` or ``overhead`` takes the
place of a range; with the former the answer is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kvdocs.engines.deployment import Deployment
from kvdocs.engines.face import LONGEST
from kvdocs.engines.remedies import Remedy, remedies
from kvdocs.engines.terms import Term, total, total_at_best
from kvdocs.formula.layers import plural

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from kvdocs.engines.protocol import Capacity


@dataclass(frozen=True)
class Question:
    """What is asked: ``tokens`` is the length of each sequence, None to ask for the longest;
    ``users`` the sequences at once, None to ask how many.

    Raises:
        ValueError: a count below one.
    """

    on: Deployment
    tokens: int | None = None
    users: int | None = None

    def __post_init__(self) -> None:
        for name in ("tokens", "users"):
            count = getattr(self, name)
            if count is not None and count < 1:
                raise ValueError(f"--{name} is {count}; it must be 1 or more")

    @property
    def limit(self) -> int:
        """The most tokens a sequence may have: as many as the model is made for."""
        return self.on.model.longest_text or LONGEST


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
    def available(self) -> int:
        """Bytes left for the cache, with every range at its worse end; of one rank."""
        return total(self.terms)

    @property
    def available_at_best(self) -> int:
        """Bytes left for the cache, with every range at its better end; of one rank."""
        return total_at_best(self.terms)

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
    pool, users = question.on.pool, question.users
    terms = question.on.terms()
    sure, best = (max(0, left) for left in (total(terms), total_at_best(terms)))
    tokens = question.tokens
    if tokens is None:
        tokens = pool.longest(sure, users or 1, question.limit)
    length = max(1, tokens)
    capacities = [pool.capacity(length, available, users) for available in (sure, best)]
    growth = pool.growth(length, users, *capacities)
    return Answer(question, terms + growth, tokens, *capacities)


@dataclass(frozen=True)
class Helps:
    """One change that makes it fit, as a flag and in words, and the answer it gives."""

    flag: str
    text: str
    answer: Answer


def what_helps(answer: Answer) -> list[Helps]:
    """The changes that make it fit, each one alone: fewer tokens first, then ``remedies``."""
    if answer.fits:
        return []
    question, tokens = answer.question, answer.question.tokens
    found = [*_fewer_tokens(answer)]
    for kind in remedies(question.on, tokens or question.limit, answer.users):
        found += _first_that_fits(question, kind)
    return found


def _fewer_tokens(answer: Answer) -> Iterator[Helps]:
    question = answer.question
    if question.tokens is None:
        return
    shorter = fit(replace(question, tokens=None))
    if shorter.fits:
        tokens = min(shorter.tokens, question.tokens)
        each = f" for each of {answer.users:,}" if answer.users > 1 else ""
        text = f"at most {plural(tokens, 'token')}{each}"
        yield Helps(f"--tokens {tokens}", text, fit(replace(question, tokens=tokens)))


def _first_that_fits(question: Question, kind: Iterator[Remedy]) -> list[Helps]:
    for remedy in kind:
        try:
            answer = fit(replace(question, on=remedy.deployment))
        except ValueError:
            continue
        if answer.fits:
            return [Helps(remedy.flag, remedy.text, answer)]
    return []
