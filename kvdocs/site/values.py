"""What an expression works with: values, the names that stand for them, and the trace it leaves.

In: nothing; these are the types that ``expressions.py`` shares with the modules it asks:
``model_values.py``, ``fact_values.py`` and ``answers.py``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from kvdocs.facts.claims import Claim
from kvdocs.facts.gpus import Gpu
from kvdocs.facts.models import Model
from kvdocs.literal import Literal

Number = int | Fraction
SNIPPETS = Path(__file__).parents[2] / "snippets"


@dataclass(frozen=True)
class Answer:
    """An exact value, the lines that lead to it, and where its inputs come from."""

    value: Number | str
    how: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scope:
    """What the names in expressions stand for.

    ``snippets`` is the folder whose files' constants may be named; ``example`` gives a figure of
    the page on workloads by its dotted key.
    """

    models: Mapping[str, Model]
    claims: Mapping[str, Claim] = field(default_factory=dict)
    gpus: Mapping[str, Gpu] = field(default_factory=dict)
    records: Mapping[str, Any] = field(default_factory=dict)
    snippets: Path = SNIPPETS
    example: Callable[[str], Answer] | None = None


@dataclass
class Trace:
    """How one evaluation got to its value, line by line, and from which sources."""

    how: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)

    def add(self, answer: Answer) -> Number | str:
        """Take over the way of an answer; returns its value."""
        self.how += answer.how
        self.sources += answer.sources
        return answer.value


@dataclass(frozen=True)
class Call:
    """A call as an expression writes it; ``of`` works one of its arguments out."""

    text: str
    args: tuple[ast.expr, ...]
    named: Mapping[str, ast.expr]
    of: Callable[[ast.expr], Any]

    def only(self, count: int, wants: str, *names: str) -> None:
        """Refuse another number of arguments, and named ones but ``names``.

        Raises:
            ValueError: the call has them.
        """
        if unknown := set(self.named) - set(names):
            raise ValueError(f"{self.text!r}: unknown argument {min(unknown)!r}")
        if len(self.args) != count:
            raise ValueError(f"{self.text!r} wants {wants}")

    def number(self, node: ast.expr) -> Number:
        """An argument that is a number.

        Raises:
            ValueError: it is something else.
        """
        value = self.of(node)
        if not isinstance(value, int | Fraction):
            raise ValueError(f"{ast.unparse(node)!r} is not a number")
        return value

    def tokens(self, node: ast.expr) -> int:
        """An argument that is a whole number of tokens.

        Raises:
            ValueError: it is something else.
        """
        value = self.number(node)
        if value != int(value):
            raise ValueError(f"{ast.unparse(node)!r} is no whole number of tokens")
        return int(value)


def as_number(value: object) -> Number | str:
    """A fact as a value: exact, in bytes where its text has a unit of memory, else as text.

    >>> as_number("6.6 GB"), as_number(0.5), as_number(True), as_number("vLLM 0.33.0")
    (6600000000, Fraction(1, 2), 'on', 'vLLM 0.33.0')
    """
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int | float):
        return Fraction(repr(value)) if isinstance(value, float) else value
    try:
        literal = Literal.parse(str(value))
    except ValueError:
        return str(value)
    found = literal.number * literal.scale
    return int(found) if found.denominator == 1 else found


def show(value: Number | str) -> str:
    """A value as a line of the trace shows it, with four decimals at most."""
    if isinstance(value, str):
        return value
    if isinstance(value, int) or value.denominator == 1:
        return f"{int(value):,}"
    return Literal.parse("0.0000").rewrite(value).rstrip("0").rstrip(".")
