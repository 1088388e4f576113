"""The answer of ``kvdocs fit`` for people: every term, what the engine makes of it, the verdict.

In: an ``Answer`` and what would make it fit. Out: text.
"""

from __future__ import annotations

from kvdocs.engines.face import LONGEST
from kvdocs.engines.terms import Term
from kvdocs.fit.answer import Answer, Helps
from kvdocs.fit.options import of_engine
from kvdocs.formula.layers import plural
from kvdocs.units import exact, gib, span


def table(answer: Answer, found: list[Helps]) -> str:
    """The answer for people, with every term of the sum."""
    on = answer.question.on
    card = on.gpu.name if on.gpu else "a card of that memory"
    where = card if on.available is None else "the memory stated"
    dtype = on.pool.kept_as
    named = f" ({on.pool.named_by})" if on.pool.named_by else ""
    ranks = f", each of {on.ranks} ranks" if on.ranks > 1 else ""
    made = of_engine(on.engine.KEY).lines(on, max(1, answer.tokens), answer.sure, answer.best)
    lines = [
        f"{on.model.id} on {where}, {on.engine.TITLE}, cache in {dtype}{named}{ranks}",
        "",
        *(_term(term) for term in answer.terms),
        _left(answer),
        "",
        *(f"  {line}" for line in made),
        "",
        _verdict(answer, found),
        *(f"  {remedy.text}  ({remedy.flag})" for remedy in found),
        *(f"note: {note}" for note in notes(answer)),
    ]
    return "\n".join(lines)


def notes(answer: Answer) -> list[str]:
    """What the reader should know beside the answer."""
    question, said = answer.question, []
    limit = question.on.model.longest_text
    if limit is None and question.tokens is None and answer.tokens == LONGEST:
        said.append(f"the cache stops growing, so {answer.tokens:,} tokens stand for any number")
    elif limit is None:
        said.append("how many tokens it was made for is not known, so memory is the only limit")
    elif answer.tokens > limit:
        said.append(f"the model was made for {limit:,} tokens")
    elif question.tokens is None and answer.tokens == limit:
        said.append(f"the model was made for {limit:,} tokens, so no longer text was tried")
    return [
        *said,
        *of_engine(question.on.engine.KEY).notes(question.on, question.users, answer.best),
    ]


def _term(term: Term) -> str:
    sign = "-" if term.sign < 0 else " "
    return f"{sign} {gib(term.best, term.bytes):>22}  {term.name} ({term.source})"


def _left(answer: Answer) -> str:
    sure, best = answer.available, answer.available_at_best
    each = " on each rank" if answer.question.on.ranks > 1 else ""
    return f"= {gib(sure, best):>22}  left for the cache{each} ({exact(sure)} for sure)"


def _verdict(answer: Answer, found: list[Helps]) -> str:
    question = answer.question
    count = span(answer.sure.sequences, answer.best.sequences)
    if question.users is None:
        sequences = "sequence" if count == "1" else "sequences"
        verb = "fits" if count == "1" else "fit"
        text = f"{count} {sequences} of {plural(answer.tokens, 'token')} {verb} at once."
    elif question.tokens is None and not answer.tokens:
        text = f"Not one token for {_each(question.users)}."
    elif question.tokens is None:
        each = " each" if question.users > 1 else ""
        users, tokens = plural(question.users, "user"), plural(answer.tokens, "token")
        text = f"{users} can have {tokens}{each}."
    else:
        users, tokens = plural(question.users, "user"), plural(answer.tokens, "token")
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
