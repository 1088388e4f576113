"""One phrase that an engine prints, as data: how it reads, and what each number in it means.

In: a template such as ``Available KV cache memory: {memory} GiB``. Out: a ``Phrase`` that finds the
numbers in a line and can show the phrase again from those numbers alone, so that nothing else of
a log is ever echoed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from fractions import Fraction
from functools import cached_property

from kvdocs.logs.number import Number
from kvdocs.startup import dataclass
from kvdocs.units import BYTE_UNITS

RANK = "per rank"
ALL = "in all"
SCOPES = (RANK, ALL, "one request", "one sequence", "one token", "one block")

SCALE = {**BYTE_UNITS, "thousand tokens": 1000}

WORDS = ("k_type", "v_type", "kv_dtype")  # dtypes: the places of a text that are no numbers

# Texts: ``re`` compiles one at its first use, and most logs need few of them.
PLACE = r"\{(\w+)\}"  # in a template
_COUNTS = r"\{\d+(?:,\d*)?\}|<\w+>"  # of a regular expression: how often, and names
_NUMBER = r"-?(?:\d{1,3}(?:,\d{3}){1,6}|\d{1,20})(?:\.\d{1,9})?(?:[eE][+-]?\d{1,2})?(?![\d.]*\d)"
_WORD = r"(?:f32|f16|bf16|i?q\d_(?:\d|nl)|FP8|NVFP4)"  # the only words that are ever shown


@dataclass(frozen=True)
class Quantity:
    """What a number counts. ``unit`` is a memory unit or a word; ``scope`` says of how much.

    ``decimals`` is set where the precision is not the one that is written: an engine that rounds
    and then drops zeros, a person who rounds to whole bytes.
    """

    unit: str
    scope: str = ""
    decimals: int | None = None


@dataclass(frozen=True)
class Printed:
    """A number as printed: its text, its unit, and the interval of values that print like it."""

    text: str
    quantity: Quantity

    @property
    def value(self) -> Fraction:
        """In bytes for memory, in ones for thousands, else as it stands."""
        return self._number * SCALE.get(self.quantity.unit, 1)

    @property
    def low(self) -> Fraction:
        """The least value that prints like it."""
        return self.value - self._half

    @property
    def high(self) -> Fraction:
        """The greatest value that prints like it."""
        return self.value + self._half

    @property
    def _number(self) -> Fraction:
        return Fraction(self.text.replace(",", ""))

    @property
    def _half(self) -> Fraction:
        """Half of the last digit's worth; whole counts are exact."""
        unit = SCALE.get(self.quantity.unit, 1)
        decimals = self.quantity.decimals
        if decimals is None:
            decimals = len(self.text.partition(".")[2])
            if decimals == 0 and unit == 1:
                return Fraction(0)
        return Fraction(unit, 2 * 10**decimals)


@dataclass(frozen=True, kw_only=True)
class Phrase:
    """A phrase of an engine.

    ``text`` is the template. ``{name}`` stands for one of ``numbers``, by its key, or for one of
    ``WORDS``. ``also`` holds regular expressions of other wordings with the same names. ``hint`` is
    a piece of text that every line with the phrase contains, or several with a bar between; long
    ones are found fastest.
    ``wording`` says whose it is and where it was read. ``highest``: only the highest reading
    matters, as for a usage that is logged again and again.
    """

    key: str
    engine: str
    wording: str
    hint: str
    text: str
    means: str
    numbers: Mapping[Number, Quantity] = field(default_factory=dict)
    change: str = ""
    also: tuple[str, ...] = ()
    highest: bool = False

    @cached_property
    def patterns(self) -> tuple[re.Pattern[str], ...]:
        """The template and the other wordings as regular expressions, all of them linear."""
        return tuple(re.compile(text) for text in (self._template(), *map(self._named, self.also)))

    @cached_property
    def reads_digits(self) -> bool:
        """Whether a digit stands for itself somewhere in it, as in the name of a dtype."""
        words = set(WORDS).intersection(re.findall(PLACE, self.text))
        also = (re.sub(_COUNTS, "", one) for one in self.also)
        texts = (re.sub(PLACE, "", self.text), self.hint, *also)
        return bool(words) or any(char.isdigit() for text in texts for char in text)

    def show(self, values: Mapping[str, str]) -> str:
        """The phrase with these values; a value the line did not have becomes an ellipsis."""
        return re.sub(PLACE, lambda match: values.get(match[1], "…"), self.text)

    def _template(self) -> str:
        parts = re.split(PLACE, self.text)
        fixed = [r"\s{1,12}".join(map(re.escape, part.split(" "))) for part in parts[::2]]
        named = [rf"\s{{0,12}}{self._group(name)}" for name in parts[1::2]]
        return "".join(text + group for text, group in zip(fixed, [*named, ""], strict=True))

    def _named(self, pattern: str) -> str:
        """``<name>`` in a regular expression becomes the group of that name."""
        return re.sub(r"<(\w+)>", lambda match: self._group(match[1]), pattern)

    def _group(self, name: str) -> str:
        return rf"(?P<{name}>{_WORD if name in WORDS else _NUMBER})"
