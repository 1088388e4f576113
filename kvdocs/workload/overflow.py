"""How many sequences fit, so that together they outgrow the pool at most so often.

In: how many blocks one sequence holds, as weights, and the blocks of the pool. Out: the largest
number of independent sequences whose sum exceeds the pool with at most the stated probability.

The sum of N independent sequences has the N-fold convolution of one's distribution. It is computed
in whole numbers, with a probability of 1 written as 10**15, and every rounding goes down. So the
probability of fitting comes out a little low, never high, and the answer errs to the safe side: by
less than 10**-8 for a thousand sequences in ten thousand blocks. What lies beyond the pool never
comes back (blocks are not negative), so it need not be kept.

Two rows of numbers are convolved by one multiplication: each is written as one long decimal number
with a fixed width per entry, and the digits of the product are the answer. Python's ``decimal``
multiplies such numbers exactly and in a time that hardly more than doubles with their length.
"""

from __future__ import annotations

import decimal
from collections.abc import Mapping
from fractions import Fraction

from kvdocs.startup import dataclass

DIGITS = 15
ONE = 10**DIGITS
WIDTH = 2 * DIGITS + 1  # digits of a sum of products of two rows, each of sum ONE at most

_EXACT = decimal.Context(
    prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[decimal.Inexact]
)


@dataclass(frozen=True)
class _Row:
    """Probabilities of ``first``, ``first`` + 1 … blocks, in units of 1 / ONE."""

    first: int
    values: list[int]


_NONE = _Row(0, [ONE])  # no sequence holds no block


@dataclass(frozen=True)
class Fit:
    """``sequences`` fit; their sum exceeds the pool with probability ``overflow`` at most."""

    sequences: int
    overflow: Fraction


def largest(weights: Mapping[int, int], pool: int, risk: Fraction) -> Fit:
    """The most sequences whose blocks together exceed ``pool`` with probability ``risk`` at most.

    ``weights`` says how often one sequence holds that many blocks.

    Raises:
        ValueError: no weights, a sequence that holds no block, or a risk not between 0.0001% and 1.

    >>> largest({10: 1}, pool=100, risk=Fraction(1, 100)).sequences
    10
    >>> largest({10: 99, 1000: 1}, pool=100, risk=Fraction(5, 100)).sequences
    5
    """
    if not Fraction(1, 10**6) <= risk < 1:
        raise ValueError("a risk is at least 0.0001% and below 100%")
    powers = [_row(weights, pool)]
    while powers[-1].values and _overflow(powers[-1]) <= risk:
        powers.append(_convolve(powers[-1], powers[-1], pool))
    count, sum_of_count = 0, _NONE
    for power in reversed(range(len(powers) - 1)):
        tried = _convolve(sum_of_count, powers[power], pool)
        if _overflow(tried) <= risk:
            count, sum_of_count = count + 2**power, tried
    return Fit(count, _overflow(sum_of_count))


def overflow(weights: Mapping[int, int], pool: int, sequences: int) -> Fraction:
    """The probability that ``sequences`` sequences exceed ``pool`` blocks, rounded up.

    Raises:
        ValueError: no weights, or a sequence that holds no block.
    """
    row, found = _row(weights, pool), _NONE
    for bit in f"{sequences:b}":
        found = _convolve(found, found, pool)
        if bit == "1":
            found = _convolve(found, row, pool)
    return _overflow(found)


def _row(weights: Mapping[int, int], pool: int) -> _Row:
    if not weights or min(weights) < 1:
        raise ValueError("every sequence holds at least one block")
    total = sum(weights.values())
    ends = range(min(weights), min(max(weights), pool) + 1)
    return _Row(ends.start, [weights.get(blocks, 0) * ONE // total for blocks in ends])


def _overflow(row: _Row) -> Fraction:
    return 1 - Fraction(sum(row.values), ONE)


def _convolve(one: _Row, other: _Row, pool: int) -> _Row:
    """The distribution of the sum of two, up to ``pool``, rounded down."""
    first = one.first + other.first
    length = len(one.values) + len(other.values) - 1
    kept = min(length, pool + 1 - first)
    if not one.values or not other.values or kept < 1:
        return _Row(first, [])
    digits = f"{_EXACT.multiply(_packed(one), _packed(other)):f}".zfill(length * WIDTH)
    ends = range(len(digits), len(digits) - kept * WIDTH, -WIDTH)
    return _trimmed(first, [int(digits[end - WIDTH : end - DIGITS]) for end in ends])


def _trimmed(first: int, values: list[int]) -> _Row:
    """The row without the zeros at its ends."""
    low, high = 0, len(values)
    while low < high and values[low] == 0:
        low += 1
    while high > low and values[high - 1] == 0:
        high -= 1
    return _Row(first + low, values[low:high])


def _packed(row: _Row) -> decimal.Decimal:
    return _EXACT.create_decimal("".join(f"{value:0{WIDTH}d}" for value in reversed(row.values)))
