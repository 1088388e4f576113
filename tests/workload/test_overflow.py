"""The convolution against exact fractions, a closed form, and sums drawn by hand."""

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvdocs.workload.overflow import largest, overflow

TINY = Fraction(1, 10**12)


def exact(weights, pool, sequences):
    """The probability by the definition, in fractions."""
    total = sum(weights.values())
    sums = {0: Fraction(1)}
    for _ in range(sequences):
        after = {}
        for held, share in sums.items():
            for blocks, weight in weights.items():
                after[held + blocks] = after.get(held + blocks, 0) + share * Fraction(weight, total)
        sums = after
    return sum(share for held, share in sums.items() if held > pool)


WEIGHTS = st.dictionaries(st.integers(1, 40), st.integers(0, 1000), min_size=1, max_size=6).filter(
    lambda one: sum(one.values()) > 0
)


@settings(deadline=None, max_examples=80)
@given(weights=WEIGHTS, pool=st.integers(1, 120), sequences=st.integers(0, 7))
def test_overflow_is_exact_and_errs_upwards(weights, pool, sequences):
    wanted = exact(weights, pool, sequences)
    assert 0 <= overflow(weights, pool, sequences) - wanted < TINY


def test_two_sizes_are_a_binomial():
    """40 sequences of 10 or 11 blocks: the sum is 400 and a binomial."""
    for more in (5, 10, 20, 30):
        above = sum(Fraction(comb(40, k) * 3**k, 4**40) for k in range(more + 1, 41))
        assert abs(overflow({10: 1, 11: 3}, 400 + more, 40) - above) < TINY


@settings(deadline=None, max_examples=60)
@given(weights=WEIGHTS, pool=st.integers(1, 200), percent=st.integers(1, 60))
def test_the_largest_number_fits_and_one_more_does_not(weights, pool, percent):
    risk = Fraction(percent, 100)
    found = largest(weights, pool, risk)
    assert found.overflow <= risk
    assert abs(found.overflow - overflow(weights, pool, found.sequences)) < TINY
    assert overflow(weights, pool, found.sequences + 1) > risk


def test_equal_sequences_are_a_division():
    for pool, blocks in ((100, 10), (99, 10), (7192, 188), (3, 7), (5, 5)):
        assert largest({blocks: 9}, pool, Fraction(1, 100)).sequences == pool // blocks


def test_a_large_pool_is_no_trouble():
    """A thousand sequences of 1 to 199 blocks: mean 100, variance 3,300. Far off the normal's tail
    the answer is what the normal says, to one in a thousand."""
    weights = dict.fromkeys(range(1, 200), 1)
    found = largest(weights, 100_000, Fraction(1, 100)).sequences
    assert found * 100 + 2.3263 * (3300 * found) ** 0.5 == pytest.approx(100_000, rel=2e-3)


@pytest.mark.parametrize("risk", [Fraction(0), Fraction(1), Fraction(1, 10**7), Fraction(-1)])
def test_a_risk_that_is_none_is_refused(risk):
    with pytest.raises(ValueError, match=r"0\.0001%"):
        largest({1: 1}, 10, risk)


@pytest.mark.parametrize("weights", [{}, {0: 1, 3: 1}])
def test_a_sequence_that_holds_nothing_is_refused(weights):
    with pytest.raises(ValueError, match="at least one block"):
        largest(weights, 10, Fraction(1, 100))
