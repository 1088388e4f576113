"""How many sequences fit on one card, against their length.

What for: the page about capacity. In: curves as exact points (tokens, sequences). Out: a
``<figure>`` as a string. Both axes double at every step, so half the seats for twice the tokens is
a straight line down, and a curve that bends away from it keeps less than every token.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kvdocs.site.charts.curves import beside, classes, label, letters, listed
from kvdocs.site.charts.svg import (
    LARGE,
    NARROW,
    TEXT,
    WIDE,
    Drawing,
    Point,
    figure,
    group,
    line,
    polyline,
    text,
)

MOST = 6
"""Curves that can be told apart: each has its own dashes, weight and letter."""


@dataclass(frozen=True)
class Seats:
    """One model and cache on the card: ``points`` are (tokens, sequences), tokens rising.

    Raises ValueError where there are fewer than two points, where tokens do not rise, or where
    fewer than one sequence is drawn: such a length has no place on the chart.
    """

    name: str
    note: str
    points: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        lengths = [tokens for tokens, _ in self.points]
        if len(lengths) < 2 or lengths != sorted(set(lengths)) or lengths[0] < 1:
            raise ValueError(f"{self.name}: tokens must rise over two points or more")
        if min(count for _, count in self.points) < 1:
            raise ValueError(f"{self.name}: draw only lengths of which one sequence fits")


@dataclass(frozen=True)
class _Plot:
    """Edges of the plot in user units, and the powers of two at its ends."""

    left: float
    right: float
    top: float
    base: float
    size: float
    tokens: tuple[int, int]
    most: int

    def at(self, point: tuple[int, int]) -> Point:
        first, last = self.tokens
        along = (math.log2(point[0]) - first) / (last - first)
        up = math.log2(point[1]) / self.most
        return (
            self.left + along * (self.right - self.left),
            self.base - up * (self.base - self.top),
        )


def seats(lines: Sequence[Seats], card: str, name: str = "seats") -> str:
    """Return the chart of sequences at once against tokens in each.

    Curves are named from the highest end to the lowest. Raises ValueError where there is no
    curve or more than ``MOST``, or where ``name`` is no usable id.
    """
    if not 1 <= len(lines) <= MOST:
        raise ValueError(f"{len(lines)} curves; the chart holds 1 to {MOST}")
    curves = sorted(lines, key=lambda one: -one.points[-1][1])
    told = "; ".join(
        f"{one.name}, {one.note}: {one.points[0][1]:,} sequences of {one.points[0][0]:,} tokens, "
        f"{one.points[-1][1]:,} of {one.points[-1][0]:,}"
        for one in curves
    )
    desc = f"Sequences at once on {card} against the tokens in each, both axes doubling. {told}."
    title = f"How many sequences fit on {card}"
    return figure(name, title, desc, _wide(curves), _narrow(curves))


def _plot(curves: Sequence[Seats], right: float, base: float, size: float) -> _Plot:
    lengths = [tokens for one in curves for tokens, _ in one.points]
    ends = math.floor(math.log2(min(lengths))), math.ceil(math.log2(max(lengths)))
    most = math.ceil(math.log2(max(count for one in curves for _, count in one.points)))
    return _Plot(size * 3.4, right, 34, base, size, ends, max(most, 1))


def _wide(curves: Sequence[Seats]) -> Drawing:
    room, lead = 214.0, LARGE * 1.25
    names = [label(one, room, LARGE) for one in curves]
    heights = [len(words) * lead + 8 for words in names]
    p = _plot(curves, WIDE - room - 26, max(330, 12 + sum(heights)), LARGE)
    body = _frame(p, 1, 2) + _curves(p, curves) + beside(p, curves, names, heights)
    return Drawing(WIDE, p.base + 50, body)


def _narrow(curves: Sequence[Seats]) -> Drawing:
    p = _plot(curves, NARROW - 26, 270, TEXT)
    names, bottom = listed(p, curves, p.base + 66)
    return Drawing(
        NARROW, bottom, _frame(p, 2, 2) + _curves(p, curves) + letters(p, curves) + names
    )


def _frame(p: _Plot, along: int, up: int) -> str:
    """Grid and axes; ``along`` and ``up`` are the doublings from tick to tick."""
    parts = []
    for power in range(0, p.most + 1, up):
        y = p.at((2 ** p.tokens[0], 2**power))[1]
        parts.append(line(p.left, y, p.right, y, "kv-fig-rule"))
        place = (p.left - 8, y + p.size * 0.36, f"{2**power:,}")
        parts.append(text(*place, "kv-fig-muted", size=p.size, anchor="end"))
    for power in range(p.tokens[0], p.tokens[1] + 1, along):
        x = p.at((2**power, 1))[0]
        parts.append(line(x, p.base, x, p.base + 4, "kv-fig-axis"))
        place = (x, p.base + p.size + 6, _short(2**power))
        parts.append(text(*place, "kv-fig-muted", size=p.size, anchor="middle"))
    parts.append(line(p.left, p.base, p.right, p.base, "kv-fig-axis"))
    place = (p.left, p.base + p.size * 2.3 + 8, "tokens in each, Ki = 1,024")
    parts.append(text(*place, "kv-fig-muted", size=p.size))
    parts.append(text(p.left, p.top - 14, "sequences at once", "kv-fig-muted", size=p.size))
    return group("kv-fig-axes", *parts)


def _short(tokens: int) -> str:
    return f"{tokens // 1024} Ki" if tokens >= 1024 else f"{tokens}"


def _curves(p: _Plot, curves: Sequence[Seats]) -> str:
    parts = [
        polyline([p.at(point) for point in one.points], classes("curve", index))
        for index, one in enumerate(curves)
    ]
    return group("kv-fig-curves", *parts)
