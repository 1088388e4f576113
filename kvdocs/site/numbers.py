"""Stated numbers: every quantity in a page is a link that says how it must come out.

In: Markdown pages with links such as ``[56 KiB](kv: "qwen2_5_7b.slope()")``. Out: each number with
its value and what is wrong with it; the same code checks, fixes, lists and renders them.

The scheme of the link is the kind of number: ``kv`` computed, ``cited`` a key of claims.toml,
``measured`` a key of a record, ``judgement`` and ``illustration`` the number and the reason for it
in words, ``arithmetic`` a sum of illustrations on its own line, and ``withdrawn`` a wrong number
that one page quotes to correct it. A computed number names what it comes from: a model, a card, an
answer, a claim, a record or a snippet. ``{.quiet}`` after a link leaves the number unmarked.
A number that stands in prose without such a link is an error too.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kvdocs.formula.layers import plural
from kvdocs.site import fences
from kvdocs.site import scope as names
from kvdocs.site.dimension import check_unit
from kvdocs.site.expressions import evaluate, names_something
from kvdocs.site.fact_values import cited, measured
from kvdocs.site.lint import bare
from kvdocs.site.pages import code, pages, place_of, read
from kvdocs.site.values import Answer, Scope
from kvdocs.site.words import Written

KINDS = {
    "kv": "Computed",
    "cited": "Cited",
    "measured": "Measured",
    "judgement": "Judgement",
    "illustration": "Illustration",
    "arithmetic": "Arithmetic",
    "withdrawn": "Withdrawn",
}
_FROM = {"kv": evaluate, "arithmetic": evaluate, "cited": cited, "measured": measured}
REASONED = ("judgement", "illustration", "withdrawn")  # they say why instead of how
CORRECTIONS = "corrections.md"  # the only page that may quote a withdrawn number
REASON_LENGTH = 12  # characters; "because" is no reason

_SCHEMES = "|".join(KINDS)
_LINK = re.compile(
    rf'\[(?P<text>[^\[\]]+)\]\((?P<kind>{_SCHEMES}):\s+"(?P<expression>[^"]*)"\)'
    r"(?:(?P<quiet>\{\.quiet\})|(?!\{))"
)
_ALMOST = re.compile(rf"\]\((?:{_SCHEMES}):")
_FORM = 'is not of the form [number](scheme: "expression"), with {.quiet} after it or nothing'


@dataclass(frozen=True)
class Stated:
    """A number as a page states it, and where: ``start`` is the position of its link."""

    path: Path
    text: str
    kind: str
    expression: str
    quiet: bool = False
    start: int = 0
    line: int = 0
    column: int = 0


@dataclass(frozen=True)
class Problem:
    """Something wrong in a page; its text names file, line and column."""

    path: Path
    line: int
    column: int
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.what}"


@dataclass(frozen=True)
class Checked:
    """A stated number with its answer, what it should read, and what is wrong with it."""

    stated: Stated
    answer: Answer | None
    correct: str
    problem: str | None


def find(path: Path, text: str | None = None) -> list[Stated]:
    """The stated numbers of a page, in order. Code in the page states nothing."""
    text = read(path) if text is None else text
    return [
        Stated(
            path,
            match["text"],
            match["kind"],
            match["expression"],
            bool(match["quiet"]),
            match.start(),
            *place_of(text, match.start()),
        )
        for match in _LINK.finditer(_without_code(text))
    ]


def check(stated: Stated, scope: Scope) -> Checked:
    """Hold one stated number against its expression."""
    try:
        answer, correct = _answer(stated, scope)
    except ValueError as error:
        return Checked(stated, None, stated.text, f'"{stated.text}": {error}')
    problem = None
    if correct != stated.text:
        problem = f'says "{stated.text}", but {stated.expression} gives "{correct}"'
    return Checked(stated, answer, correct, problem)


def check_page(path: Path, scope: Scope) -> list[Problem]:
    """Everything wrong in a page: numbers, bare numbers, executed blocks."""
    text = read(path)
    stated = find(path, text)
    results = [check(one, scope) for one in stated]
    found = [(r.stated.start, r.problem) for r in results if r.problem]
    found += [*_not_chosen(stated), *lint(text), *fences.problems(text)]
    return [Problem(path, *place_of(text, position), what) for position, what in sorted(found)]


def lint(text: str) -> list[tuple[int, str]]:
    """Numbers that no link stands behind, and links that are almost stated numbers."""
    stated = _LINK.sub(lambda m: " " * len(m[0]), _without_code(text))
    left = _LINK.sub(lambda m: " " * len(m[0]), text)
    found = [(match.start(), _FORM) for match in _ALMOST.finditer(stated)]
    return found + [(position, _bare(text, position)) for position in bare(left)]


def fix(path: Path, scope: Scope) -> list[Checked]:
    """Rewrite every wrong number of a page in place; returns those rewritten."""
    text = read(path)
    wrong = [r for stated in find(path, text) if (r := check(stated, scope)).problem and r.answer]
    for result in reversed(wrong):
        start = result.stated.start + 1
        text = text[:start] + result.correct + text[start + len(result.stated.text) :]
    if wrong:
        path.write_text(text, encoding="utf-8", newline="")
    return wrong


def run(args: argparse.Namespace) -> int:
    """``kvdocs numbers check|fix [PATHS]``: 0 all right, 1 something is wrong."""
    found, scope = pages([Path(path) for path in args.paths]), names.scope()
    if args.action == "fix":
        for result in (r for path in found for r in fix(path, scope)):
            stated = result.stated
            place = f"{stated.path}:{stated.line}:{stated.column}"
            print(f"{place}: {stated.text} -> {result.correct}")
    problems = [problem for path in found for problem in check_page(path, scope)]
    for problem in problems:
        print(problem, file=sys.stderr)
    total = sum(len(find(path)) for path in found)
    said = [plural(total, "number"), plural(len(found), "page"), plural(len(problems), "problem")]
    print("{} in {}, {}".format(*said))
    return 1 if problems else 0


def check_all(paths: Iterable[Path], scope: Scope) -> list[Checked]:
    """Every stated number of the pages, checked."""
    return [check(stated, scope) for path in paths for stated in find(path)]


def _answer(stated: Stated, scope: Scope) -> tuple[Answer, str]:
    """The answer and the text the number should have, at the precision it is written with."""
    if stated.kind == "withdrawn" and stated.path.name != CORRECTIONS:
        raise ValueError(f"a withdrawn number stands on {CORRECTIONS} and nowhere else")
    if stated.kind in REASONED:
        value, _, reason = stated.expression.partition(": ")
        if len(reason.strip()) < REASON_LENGTH:
            form = f'"{stated.text}: reason"'
            raise ValueError(f"a number of kind {stated.kind} gives its reason in words: {form}")
        return Answer(value, (reason,)), value
    answer = _FROM[stated.kind](stated.expression, scope)
    if isinstance(answer.value, str):
        return answer, answer.value
    if stated.kind in ("kv", "arithmetic"):
        _check_names(stated)
        check_unit(stated.text, stated.expression)
    correct = Written.read(stated.text).rewrite(answer.value)
    if answer.value and not Written.read(correct).number:
        raise ValueError(f"too coarse: {stated.expression} is not 0; write more digits")
    return answer, correct


def _check_names(stated: Stated) -> None:
    named = names_something(stated.expression)
    if stated.kind == "kv" and not named:
        raise ValueError(
            f"{stated.expression} names nothing: a page's number comes from a model, a card, an "
            "answer, a claim, a record or a snippet; a sum of illustrations is of kind arithmetic"
        )
    if stated.kind == "arithmetic" and named:
        raise ValueError(f"{stated.expression} names what it comes from, so its kind is kv")


def _not_chosen(stated: list[Stated]) -> Iterator[tuple[int, str]]:
    """Arithmetic with a number that no illustration on its line has chosen; 1 and 2 are free."""
    for one in (s for s in stated if s.kind == "arithmetic"):
        near = (s for s in stated if s.line == one.line and s.kind == "illustration")
        chosen = {"1", "2", *(re.sub(r"[^\d.]", "", s.text) for s in near)}
        used = re.findall(r"\d[\d.]*", one.expression)
        if strange := [number for number in used if number not in chosen]:
            what = f"{strange[0]} is no illustration on this line"
            yield one.start, f'"{one.text}": {what}, so it comes from somewhere: name that'


def _bare(text: str, position: int) -> str:
    excerpt = text[position : position + 24].split("\n")[0].strip()
    what = f'the number "{excerpt}…" stands alone; state it as a link, such as '
    return what + '[56 KiB](kv: "qwen2_5_7b.slope()")'


def _without_code(text: str) -> str:
    for start, snippet in code(text):
        blank = re.sub(r"[^\n]", " ", snippet)
        text = text[:start] + blank + text[start + len(snippet) :]
    return text
