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
from dataclasses import replace
from functools import cached_property
from importlib import import_module

from kvdocs.engines.deployment import Deployment
from kvdocs.engines.face import LONGEST
from kvdocs.engines.remedies import Remedy, remedies
from kvdocs.engines.terms import Term, total, total_at_best
from kvdocs.fit.table import table
from kvdocs.formula.layers import plural
from kvdocs.startup import dataclass

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import Any

    from kvdocs.engines.protocol import Capacity


# What an engine makes of the memory at the better end of the ranges; all else is the same there.
AT_BOTH_ENDS = ("blocks", "pool_tokens", "max_concurrency", "n_ctx", "cache_bytes")


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

    @cached_property
    def helps(self) -> list[Helps]:
        """The changes that make it fit, each one alone; none where it fits."""
        return what_helps(self)

    @property
    def notes(self) -> list[str]:
        """What the reader should know beside the answer."""
        question, said = self.question, []
        limit = question.on.model.longest_text
        if limit is None and question.tokens is None and self.tokens == LONGEST:
            said.append(f"the cache stops growing, so {self.tokens:,} tokens stand for any number")
        elif limit is None:
            said.append("how many tokens it was made for is not known, so memory is the only limit")
        elif self.tokens > limit:
            said.append(f"the model was made for {limit:,} tokens")
        elif question.tokens is None and self.tokens == limit:
            said.append(f"the model was made for {limit:,} tokens, so no longer text was tried")
        return [
            *said,
            *of_engine(question.on.engine.KEY).notes(question.on, question.users, self.best),
        ]

    def as_json(self) -> dict[str, Any]:
        """The answer under its documented keys; sizes in bytes, on each rank if there are several.

        ``available_bytes`` is the sum of ``terms``, each times its sign. ``best`` has the same
        figures with every range at its better end. Each engine adds keys of its own.
        """
        on, asked = self.question.on, self.question
        engine = of_engine(on.engine.KEY)
        best = engine.figures(self.best)
        return {
            "model": on.model.id,
            "engine": on.engine.TITLE,
            "gpu": on.gpu.name if on.gpu else None,
            "kv_dtype": on.pool.kv_dtype,
            "kv_dtype_from": on.pool.named_by,
            "kept_as": on.pool.kept_as,
            "tokens": self.tokens,
            "tokens_asked": asked.tokens,
            "users": asked.users,
            **engine.options(on),
            "longest_text": on.model.longest_text,
            "fits": self.fits,
            "may_fit": self.may_fit,
            "sequences": self.sure.sequences if self.tokens else 0,
            "available_bytes": self.available,
            "terms": [term.as_json() for term in self.terms],
            **engine.figures(self.sure),
            "best": {
                "available_bytes": self.available_at_best,
                "sequences": self.best.sequences if self.tokens else 0,
                **{key: value for key, value in best.items() if key in AT_BOTH_ENDS},
            },
            "remedies": [{"flag": one.flag, "text": one.text} for one in self.helps],
            "notes": self.notes,
        }

    def __str__(self) -> str:
        return table(self.as_json())


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


def of_engine(name: str) -> Any:
    """The module with an engine's own part of the command: ``options`` and ``figures``
    for JSON, ``notes``."""
    return import_module(f"kvdocs.fit.of_{name.replace('.', '_')}")
