"""Byte counts to text and back, with the unit and the precision always explicit.

In: an exact integer number of bytes, or a literal such as ``56 KiB`` as a reader sees it.
Out: text in a named unit, or the literal's value, unit and written precision.

Two families exist and are never mixed: KiB, MiB, GiB, TiB are powers of 1,024 (binary);
kB, MB, GB, TB are powers of 1,000 (decimal).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

BINARY = {"KiB": 1024, "MiB": 1024**2, "GiB": 1024**3, "TiB": 1024**4}
DECIMAL = {"kB": 1000, "MB": 1000**2, "GB": 1000**3, "TB": 1000**4}
BYTES = {"byte": 1, "bytes": 1, "B": 1}
BYTE_UNITS: dict[str, int] = {**BYTES, **BINARY, **DECIMAL}

# What a number may count when it is not memory. "%" shows a ratio; the rest is plain.
COUNT_UNITS = frozenset(
    "% × bit bits token tokens conversation conversations user users request requests sequence "
    "sequences layer layers head heads block blocks element elements model models page pages "
    "time times".split()
)

_LITERAL = re.compile(
    r"(?P<number>-?\d{1,3}(?:,\d{3})+(?:\.\d+)?|-?\d+(?:\.\d+)?)(?P<space>[  ]?)(?P<unit>\D*)\Z"
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
        number = round_half_up(Fraction(value) / self.scale, self.decimals)
        digits = _digits(number, self.decimals)
        if not self.grouped and abs(self.number) >= 1000:
            digits = digits.replace(",", "")
        return digits + self.space + self.unit


def round_half_up(value: Fraction, decimals: int) -> Fraction:
    """``value`` rounded to ``decimals`` places, halves away from zero, exactly.

    >>> round_half_up(Fraction(5, 2), 0)
    Fraction(3, 1)
    """
    shift = 10**decimals
    whole = (abs(value) * shift * 2 + 1) // 2
    return Fraction(whole if value >= 0 else -whole, shift)


def in_unit(count: int | Fraction, unit: str, decimals: int = 0) -> str:
    """``count`` bytes in ``unit``, e.g. ``in_unit(57344, "KiB")``.

    Raises:
        KeyError: the unit is not a memory unit.

    >>> in_unit(57_344, "KiB"), in_unit(11_744_051_200, "GB", 2)
    ('56 KiB', '11.74 GB')
    """
    number = round_half_up(Fraction(count) / BYTE_UNITS[unit], decimals)
    return f"{_digits(number, decimals)} {unit}"


def binary(count: int | Fraction, digits: int = 3) -> str:
    """``count`` bytes in the binary unit that suits its size, to about ``digits`` digits.

    >>> binary(57_344), binary(234_881_024), binary(11_744_051_200), binary(70_272)
    ('56 KiB', '224 MiB', '10.9 GiB', '68.6 KiB')
    """
    return _fitting(count, BINARY, digits)


def decimal(count: int | Fraction, digits: int = 3) -> str:
    """``count`` bytes in the decimal unit that suits its size, to about ``digits`` digits.

    >>> decimal(15_231_233_024)
    '15.2 GB'
    """
    return _fitting(count, DECIMAL, digits)


def exact(count: int) -> str:
    """``count`` bytes with every digit.

    >>> exact(57_344), exact(1)
    ('57,344 bytes', '1 byte')
    """
    return f"{count:,} byte" + ("" if count == 1 else "s")


def _fitting(count: int | Fraction, family: dict[str, int], digits: int) -> str:
    unit = max((u for u in family if count >= family[u]), key=family.__getitem__, default="")
    if not unit:
        return exact(int(count))
    value = Fraction(count) / family[unit]
    decimals = max(0, digits - len(str(int(value))))
    text = in_unit(count, unit, decimals)
    number, _, unit = text.partition(" ")
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number} {unit}"


def _digits(number: Fraction, decimals: int) -> str:
    # Exact: scale to an integer, then place the point; floats never enter.
    digits = f"{abs(int(number * 10**decimals)):0{decimals + 1}d}"
    whole, part = (digits[:-decimals], digits[-decimals:]) if decimals else (digits, "")
    sign = "-" if number < 0 else ""
    return f"{sign}{int(whole):,}" + (f".{part}" if part else "")
