"""The chart of seats: what it draws and what it refuses."""

import re

import pytest

from kvdocs.site.charts import Seats, seats

HALVING = Seats("one", "keeps all", ((512, 64), (1024, 32), (2048, 16)))
FLATTER = Seats("two", "keeps a window", ((512, 32), (1024, 24), (2048, 20)))


def _curves(html: str) -> list[list[tuple[float, float]]]:
    wide = html.partition("kv-fig-narrow")[0]
    found = re.findall(r'class="kv-fig-curve kv-fig-curve-\d" points="([^"]+)"', wide)
    return [[tuple(map(float, pair.split(","))) for pair in points.split()] for points in found]


def test_half_the_seats_for_twice_the_tokens_is_a_straight_line():
    other, line = _curves(seats([FLATTER, HALVING], "a card"))
    (x1, y1), (x2, y2), (x3, y3) = line
    assert x2 - x1 == pytest.approx(x3 - x2, abs=0.02)
    assert y2 - y1 == pytest.approx(y3 - y2, abs=0.02)
    assert y2 > y1  # down the page
    assert other[0][1] > line[0][1]  # fewer seats, so lower on the page
    assert other[-1][1] < line[-1][1]


def test_the_description_says_what_the_curves_show():
    html = seats([HALVING], "a card")
    assert "one, keeps all: 64 sequences of 512 tokens, 16 of 2,048" in html
    assert html.count("<svg") == 2


@pytest.mark.parametrize(
    "points",
    [
        ((512, 4),),
        ((1024, 4), (512, 8)),
        ((512, 4), (512, 4)),
        ((0, 4), (512, 2)),
        ((1, 1), (2, 0)),
    ],
)
def test_points_that_make_no_curve_are_refused(points):
    with pytest.raises(ValueError, match="one:"):
        Seats("one", "", points)


def test_too_many_curves_are_refused():
    with pytest.raises(ValueError, match="the chart holds 1 to 6"):
        seats([], "a card")
