"""Ratios and counts in words: ``twice as much``, ``a third of``, ``three thousand``.

In: the text of a link, in digits or in words. Out: ``Written``: its exact value, and other values
written alike. Words have no decimals to round to, so they are exact: where the value is not, an
expression says ``floor(…)`` for "more than three times" and ``ceil(…)`` for "nearly twice".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from kvdocs.literal import Literal

_UP_TO_NINE = "zero one two three four five six seven eight nine"
_UP_TO_19 = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_BY_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ONES = f"{_UP_TO_NINE} {_UP_TO_19}".split()
_LARGE = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_PARTS = {"half": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7}
_PARTS |= {"eighth": 8, "ninth": 9, "tenth": 10, "hundredth": 100, "thousandth": 1000}
_SMALL = {word: value for value, word in enumerate(_ONES)}
_SMALL |= {word: 10 * value for value, word in enumerate(_BY_TENS.split(), 2)}

_ONCE = {"twice": Fraction(2), "thrice": Fraction(3), "half": Fraction(1, 2)}

_COUNT = rf"(?:(?:an?|{'|'.join([*_SMALL, *_LARGE])})(?:[-  ](?:and[ ])?(?=\w))?){{1,8}}?"
_FRACTION = rf"(?:an?|{'|'.join(_ONES[1:])})[- ](?:(?:{'|'.join(_PARTS)})s?|halves)"
_MULTIPLE = rf"{'|'.join(_ONCE)}|{_COUNT}[ ]times"
_RATIO = re.compile(rf"{_MULTIPLE}|{_FRACTION}", re.IGNORECASE)
_RATIO_OR_COUNT = re.compile(rf"{_MULTIPLE}|{_FRACTION}|{_COUNT}", re.IGNORECASE)
_COMPARED = re.compile(
    rf"(?P<said>{_MULTIPLE}|{_FRACTION}|[\d,.]+(?:%|[ ]times))(?P<after>[ ](?:as|of|the)\b.*)",
    re.IGNORECASE,
)
# What a page must not say without a link: a ratio that compares.
COMPARISON = re.compile(
    rf"\b(?:(?:{_MULTIPLE})[ ]as[ ]\w+|{_FRACTION}[ ](?:of|as)\b)", re.IGNORECASE
)


@dataclass(frozen=True)
class Written:
    """A number as a page writes it, in digits or in words, with the comparison that may follow.

    ``unit`` is empty in words; ``number`` is what is written before the unit.
    """

    text: str
    number: Fraction
    unit: str
    _literal: Literal | None
    _words: str
    _after: str

    @classmethod
    def read(cls, text: str) -> Written:
        """Read ``56 KiB``, ``8 times as much``, ``twice as much`` or ``thirty-six``.

        Raises:
            ValueError: the text is no number.

        >>> [str(Written.read(text).number) for text in ("twice as much", "A third of")]
        ['2', '1/3']
        >>> str(Written.read("a hundred and thirty-six thousand").number)
        '136000'
        """
        said, after = _parts(text)
        if _RATIO_OR_COUNT.fullmatch(said):
            return cls(text, _value(said.lower()), "", None, said, after)
        literal = Literal.parse(said)
        return cls(text, literal.number, literal.unit, literal, "", after)

    def rewrite(self, value: int | Fraction) -> str:
        """``value`` written alike; where words would change, they become digits.

        >>> [Written.read("twice as much").rewrite(value) for value in (2, 3, Fraction(1, 2))]
        ['twice as much', '3 times as much', '50% as much']
        >>> Written.read("three thousand").rewrite(3500), Written.read("7 GiB").rewrite(2**30)
        ('3,500', '1 GiB')
        """
        if self._literal:
            return self._literal.rewrite(value) + self._after
        if value == self.number:
            return self.text
        if not _RATIO.fullmatch(self._words):
            return Literal.parse("0,000").rewrite(value) + self._after
        if value < 1:
            return Literal.parse("0%").rewrite(value) + self._after
        return Literal.parse("0.00").rewrite(value).rstrip("0").rstrip(".") + " times" + self._after


def _parts(text: str) -> tuple[str, str]:
    """``twice as much`` and the like in two: the number, and the comparison after it."""
    found = _COMPARED.fullmatch(text)
    return (found["said"], found["after"]) if found else (text, "")


def _value(words: str) -> Fraction:
    if words in _ONCE:
        return _ONCE[words]
    if not _RATIO.fullmatch(words) or words.endswith(" times"):
        return Fraction(_count(words.removesuffix(" times")))
    many, part = re.split(r"[- ]", words)
    part = "half" if part == "halves" else part.removesuffix("s")
    return Fraction(_count(many), _PARTS[part])


def _count(words: str) -> int:
    """``a hundred and thirty thousand``: each large number multiplies what stands before it."""
    total = part = 0
    for word in re.split(r"[-  ]+", words):
        if word in _SMALL:
            part += _SMALL[word]
        elif word in ("a", "an"):
            part += 1
        elif word == "hundred":
            part = (part or 1) * 100
        elif word in _LARGE:
            total, part = total + (part or 1) * _LARGE[word], 0
    return total + part
