"""Byte counts and text, held against values worked out by hand and the SI and IEC definitions."""

from fractions import Fraction

import pytest

from kvdocs.literal import Literal
from kvdocs.units import binary, decimal, exact, in_unit, ratio


@pytest.mark.parametrize(
    ("text", "number", "unit", "decimals", "scale"),
    [
        ("56 KiB", 56, "KiB", 0, 1024),
        ("15.23 GB", Fraction(1523, 100), "GB", 2, 10**9),
        ("12,288 bytes", 12288, "bytes", 0, 1),
        ("7×", 7, "×", 0, 1),
        ("3.5%", Fraction(7, 2), "%", 1, Fraction(1, 100)),
        ("65 conversations", 65, "conversations", 0, 1),
        ("1,000.5 times", Fraction(2001, 2), "times", 1, 1),
        ("65", 65, "", 0, 1),
    ],
)
def test_literals_are_read_with_unit_and_precision(text, number, unit, decimals, scale):
    literal = Literal.parse(text)
    assert (literal.number, literal.unit, literal.decimals) == (number, unit, decimals)
    assert literal.scale == scale


@pytest.mark.parametrize(
    "text", ["", "many", "56 KB", "56 kib", "1 2", "56 KiB now", "1,2 MB", "–"]
)
def test_what_is_no_literal_is_refused_by_its_own_text(text):
    with pytest.raises(ValueError, match=r"is not a number|unknown unit"):
        Literal.parse(text)


@pytest.mark.parametrize(
    ("as_written", "value", "rewritten"),
    [
        ("1 KiB", 57_344, "56 KiB"),
        ("11.0 GB", 11_744_051_200, "11.7 GB"),
        ("10.00 GiB", 11_744_051_200, "10.94 GiB"),
        ("1 byte", 57_344, "57,344 byte"),
        ("4000", 4096, "4096"),
        ("4,000", 4096, "4,096"),
        ("9", 1000, "1,000"),
        ("0.50", Fraction(1, 2), "0.50"),
        ("0%", Fraction(1, 8), "13%"),
    ],
)
def test_a_literal_is_rewritten_the_way_it_was_written(as_written, value, rewritten):
    assert Literal.parse(as_written).rewrite(value) == rewritten


@pytest.mark.parametrize(
    ("numerator", "denominator", "decimals", "rounded"),
    [(5, 2, 0, "3"), (-5, 2, 0, "-3"), (1, 8, 2, "0.13"), (2, 3, 3, "0.667"), (-1, 9, 0, "0")],
)
def test_halves_round_away_from_zero(numerator, denominator, decimals, rounded):
    assert ratio(numerator, denominator, decimals) == rounded


def test_families_do_not_mix():
    assert binary(2**40) == "1 TiB"
    assert decimal(10**12) == "1 TB"
    assert binary(1023) == "1,023 bytes"
    assert in_unit(1_500_000, "MB", 1) == "1.5 MB"
    assert exact(0) == "0 bytes"


def test_large_counts_keep_every_digit():
    assert in_unit(2**70 + 1, "byte") == "1,180,591,620,717,411,303,425 byte"
