"""A number as prose states it: text to an exact value, and a value back to text written alike.

In: a literal such as ``56 KiB`` as a reader sees it. Out: its value, unit and written precision.
"""

from __future__ import annotations

import re
from fractions import Fraction

from kvdocs.startup import dataclass
from kvdocs.units import BINARY, BYTE_UNITS, DECIMAL, ratio

# What a number may count when it is not memory. "%" shows a ratio; the rest is plain.
_NOUNS = "bit token conversation user request sequence layer head block element model page time"
COUNT_UNITS = frozenset(["%", "×", *_NOUNS.split(), *(noun + "s" for noun in _NOUNS.split())])

_LITERAL = re.compile(
    r"(?P<number>-?\d{1,3}(?:,\d{3})+(?:\.\d+)?|-?\d+(?:\.\d+)?)(?P<space>[  ]?)(?P<unit>\D*)\Z",
    re.ASCII,
)


@dataclass(frozen=True)
class Literal:
    """A number as written in prose: its exact value, its unit and how precisely it is written.

    ``scale`` is what one unit is worth: bytes for memory, 1/100 for ``%``, else 1.

    >>> Literal.parse("10.9 GiB").decimals
    1
    """

    text: str
    number: Fraction
    decimals: int
    unit: str
    space: str
    grouped: bool

    @classmethod
    def parse(cls, text: str) -> Literal:
        """Read ``56 KiB``, ``12,288 bytes``, ``65``, ``7×`` or ``3.5%``.

        Raises:
            ValueError: the text is not one number followed by at most one known unit.
        """
        match = _LITERAL.match(text)
        if not match:
            raise ValueError(f"{text!r} is not a number with a unit, such as '56 KiB' or '65'")
        number, unit = match["number"], match["unit"]
        if unit and unit not in BYTE_UNITS and unit not in COUNT_UNITS:
            known = ", ".join([*BINARY, *DECIMAL, "bytes"])
            raise ValueError(f"{text!r}: unknown unit {unit!r}; memory is written in {known}")
        plain = number.replace(",", "")
        decimals = len(plain.partition(".")[2])
        return cls(text, Fraction(plain), decimals, unit, match["space"], "," in number)

    @property
    def scale(self) -> Fraction:
        """What one unit is worth, in bytes for memory units."""
        return Fraction(1, 100) if self.unit == "%" else Fraction(BYTE_UNITS.get(self.unit, 1))

    def rewrite(self, value: int | Fraction) -> str:
        """``value`` (bytes or a plain number) written the way this literal is written.

        >>> Literal.parse("55 KiB").rewrite(57_344)
        '56 KiB'
        >>> Literal.parse("85 conversations").rewrite(20)
        '20 conversations'
        """
        number = Fraction(value) / self.scale
        digits = ratio(number.numerator, number.denominator, self.decimals)
        if not self.grouped and abs(self.number) >= 1000:
            digits = digits.replace(",", "")
        return digits + self.space + self.unit


LARGEST_SIZE = 2**50  # bytes


def size(text: str) -> int:
    """An amount of memory with its unit, in bytes.

    Raises:
        ValueError: no number, no unit, less than nothing or more than 1,024 TiB.

    >>> size("24564MiB"), size("10 GiB"), size("15.2 GB")
    (25757220864, 10737418240, 15200000000)
    """
    literal = Literal.parse(text.strip())
    if literal.unit not in BYTE_UNITS or literal.number < 0:
        units = "MiB, GiB, MB, GB or bytes"
        raise ValueError(f"{text!r} is no size: write a number and {units}, such as 24564MiB")
    found = int(literal.number * literal.scale)
    if found > LARGEST_SIZE:
        raise ValueError(f"{text!r} is more than 1,024 TiB, which no machine has")
    return found


def size_of(flag: str, text: str) -> int:
    """``size`` of what was given with ``flag``, which errors name.

    Raises:
        ValueError: as for ``size``.
    """
    try:
        return size(text)
    except ValueError as error:
        raise ValueError(f"{flag}: {error}") from None
