"""Byte counts to text, with the unit and the precision always explicit; division rounded up.

In: an exact integer number of bytes. Out: text in a named unit, rounded half up, never through a
float. ``kvdocs.literal`` is the way back.

Two families exist and are never mixed: KiB, MiB, GiB, TiB are powers of 1,024 (binary);
kB, MB, GB, TB are powers of 1,000 (decimal).
"""

from __future__ import annotations

BINARY = {"KiB": 1024, "MiB": 1024**2, "GiB": 1024**3, "TiB": 1024**4}
DECIMAL = {"kB": 1000, "MB": 1000**2, "GB": 1000**3, "TB": 1000**4}
BYTES = {"byte": 1, "bytes": 1, "B": 1}
BYTE_UNITS: dict[str, int] = {**BYTES, **BINARY, **DECIMAL}


def in_unit(count: int, unit: str, decimals: int = 0) -> str:
    """``count`` bytes in ``unit``, e.g. ``in_unit(57344, "KiB")``.

    Raises:
        KeyError: the unit is not a memory unit.

    >>> in_unit(57_344, "KiB"), in_unit(11_744_051_200, "GB", 2)
    ('56 KiB', '11.74 GB')
    """
    return f"{ratio(count, BYTE_UNITS[unit], decimals)} {unit}"


def binary(count: int, digits: int = 3) -> str:
    """``count`` bytes in the binary unit that suits its size, to about ``digits`` digits.

    >>> binary(57_344), binary(234_881_024), binary(11_744_051_200), binary(-70_272)
    ('56 KiB', '224 MiB', '10.9 GiB', '-68.6 KiB')
    """
    return _fitting(count, BINARY, digits)


def decimal(count: int, digits: int = 3) -> str:
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


def row(name: str, count: int) -> str:
    """A line of a table: ``count`` bytes under ``name``, in a unit that suits and exactly.

    >>> row("cache", 57_344)
    '  cache           56 KiB              57,344 bytes'
    """
    return f"  {name:<12}{binary(count):>10}  {exact(count):>24}"


def ratio(numerator: int, denominator: int, decimals: int) -> str:
    """A quotient as decimal text with ``decimals`` places, halves rounded away from zero.

    >>> ratio(5, 2, 0), ratio(-1, 8, 2), ratio(12_345_678, 10, 1)
    ('3', '-0.13', '1,234,567.8')
    """
    shifted = (2 * abs(numerator) * 10**decimals + denominator) // (2 * denominator)
    sign = "-" if numerator < 0 and shifted else ""
    digits = f"{shifted:0{decimals + 1}d}"
    whole, part = digits[: len(digits) - decimals], digits[len(digits) - decimals :]
    return f"{sign}{int(whole):,}" + (f".{part}" if part else "")


def span(low: int, high: int) -> str:
    """A count, or the two ends of a range.

    >>> span(18, 18), span(18, 1032)
    ('18', '18 to 1,032')
    """
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def gib(one: int, other: int) -> str:
    """One number of bytes in GiB, or the two ends of a range, the smaller one first.

    >>> gib(2**30, 2**30), gib(3 * 2**29, 2**30)
    ('1.00 GiB', '1.00 to 1.50 GiB')
    """
    low, high = (ratio(count, BINARY["GiB"], 2) for count in sorted((one, other)))
    return f"{low} GiB" if low == high else f"{low} to {high} GiB"


def ceil_div(a: int, b: int) -> int:
    """The quotient rounded up.

    >>> ceil_div(33, 16)
    3
    """
    return -(-a // b)


def _fitting(count: int, family: dict[str, int], digits: int) -> str:
    unit = max((u for u in family if abs(count) >= family[u]), key=family.__getitem__, default="")
    if not unit:
        return exact(count)
    decimals = max(0, digits - len(str(abs(count) // family[unit])))
    number = ratio(count, family[unit], decimals)
    return f"{number.rstrip('0').rstrip('.') if decimals else number} {unit}"
