"""Stated numbers: every quantity in a page is a link that says how it must come out.

In: Markdown pages with links such as ``[56 KiB](kv: "qwen2_5_7b.slope()")``. Out: each number with
its value and what is wrong with it; the same code checks, fixes, lists and renders them.

The scheme of the link is the kind of number: ``kv`` computed, ``cited`` a key of claims.toml,
``measured`` a key of a record, ``judgement`` and ``illustration`` the number and the reason for it
in words, and ``withdrawn`` a wrong number that one page quotes to correct it.
A number that stands in prose without such a link is an error too.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kvdocs.formula.layers import plural
from kvdocs.literal import Literal
from kvdocs.site import fences
from kvdocs.site.dimension import check_unit
from kvdocs.site.expressions import Answer, Scope, cited, evaluate, measured
from kvdocs.site.lint import bare
from kvdocs.site.pages import code, line_of, pages, read

KINDS = {
    "kv": "Computed",
    "cited": "Cited",
    "measured": "Measured",
    "judgement": "Judgement",
    "illustration": "Illustration",
    "withdrawn": "Withdrawn",
}
REASONED = ("judgement", "illustration", "withdrawn")  # they say why instead of how
CORRECTIONS = "corrections.md"  # the only page that may quote a withdrawn number
REASON_LENGTH = 12  # characters; "because" is no reason

_SCHEMES = "|".join(KINDS)
_LINK = re.compile(rf'\[(?P<text>[^\[\]]+)\]\((?P<kind>{_SCHEMES}):\s+"(?P<expression>[^"]*)"\)')
_ALMOST = re.compile(rf"\]\((?:{_SCHEMES}):")


@dataclass(frozen=True)
class Stated:
    """A number as a page states it, and where."""

    path: Path
    line: int
    start: int
    end: int
    text: str
    kind: str
    expression: str


@dataclass(frozen=True)
class Problem:
    """Something wrong in a page; its text names file and line."""

    path: Path
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}"


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
    visible = _without_code(text)
    return [
        Stated(
            path,
            line_of(text, match.start()),
            match.start(),
            match.end(),
            match["text"],
            match["kind"],
            match["expression"],
        )
        for match in _LINK.finditer(visible)
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
    results = [check(stated, scope) for stated in find(path, text)]
    found = [Problem(path, r.stated.line, r.problem) for r in results if r.problem]
    found += lint(path, text)
    found += [Problem(path, line, what) for line, what in fences.problems(text)]
    return sorted(found, key=lambda problem: problem.line)


def lint(path: Path, text: str) -> list[Problem]:
    """Numbers that no link stands behind, and links that are almost stated numbers."""
    visible = _without_code(text)
    stated = _LINK.sub(lambda m: " " * len(m[0]), visible)
    found = [
        Problem(path, line_of(text, m.start()), 'is not of the form [number](scheme: "expression")')
        for m in _ALMOST.finditer(stated)
    ]
    left = _LINK.sub(lambda m: " " * len(m[0]), text)
    return found + [_bare(path, text, position) for position in bare(left)]


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
    from kvdocs.site.scope import scope

    found, names = pages([Path(path) for path in args.paths]), scope()
    if args.action == "fix":
        for result in (r for path in found for r in fix(path, names)):
            stated = result.stated
            print(f"{stated.path}:{stated.line}: {stated.text} -> {result.correct}")
    problems = [problem for path in found for problem in check_page(path, names)]
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
    source = {"kv": evaluate, "cited": cited, "measured": measured}[stated.kind]
    answer = source(stated.expression, scope)
    if isinstance(answer.value, str):
        return answer, answer.value
    if stated.kind == "kv":
        check_unit(stated.text, stated.expression)
    correct = Literal.parse(stated.text).rewrite(answer.value)
    if answer.value and not Literal.parse(correct).number:
        raise ValueError(f"too coarse: {stated.expression} is not 0; write more digits")
    return answer, correct


def _bare(path: Path, text: str, position: int) -> Problem:
    excerpt = text[position : position + 24].split("\n")[0].strip()
    what = f'the number "{excerpt}…" stands alone; state it as a link, such as '
    return Problem(path, line_of(text, position), what + '[56 KiB](kv: "qwen2_5_7b.slope()")')


def _without_code(text: str) -> str:
    for start, snippet in code(text):
        blank = re.sub(r"[^\n]", " ", snippet)
        text = text[:start] + blank + text[start + len(snippet) :]
    return text
