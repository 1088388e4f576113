"""Charts of curves: axes, the curves, and their names.

In: curves with a name, a note and points, and axes that say where a point stands. Out: a
``<figure>``: names beside the ends of the curves where there is room, letters and a list below
where there is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from kvdocs.site.charts.svg import (
    LARGE,
    NARROW,
    TEXT,
    WIDE,
    Drawing,
    Point,
    circle,
    figure,
    group,
    line,
    polyline,
    text,
    texts,
    tick_below,
    tick_beside,
    wrap,
)

MOST = 6
"""Curves that can be told apart: each has its own dashes, weight and letter."""

Pair = tuple[int, int]
Ticks = Sequence[tuple[int, str]]


@dataclass(frozen=True)
class Named:
    """One curve: its name, a note, and its points (tokens, what the chart counts)."""

    name: str
    note: str
    points: tuple[Pair, ...]

    @property
    def bends(self) -> list[Pair]:
        """The points that the chart marks."""
        return []


One = TypeVar("One", bound=Named)


@dataclass(frozen=True)
class Axes:
    """What the axes say.

    ``share`` gives how far a point is along the plot and up it, from 0 to 1. Ticks are a value and
    its words; phones get ``few`` in place of ``many``. ``indent`` is the room left of the plot, in
    sizes of its words.
    """

    share: Callable[[Pair], tuple[float, float]]
    levels: Ticks
    many: Ticks
    few: Ticks
    up: str
    along: str
    indent: float


@dataclass(frozen=True)
class Plot:
    """Edges of the plot in user units, and the size of its words."""

    axes: Axes
    right: float
    base: float
    size: float
    top: float = 34

    @property
    def left(self) -> float:
        """The edge on the left."""
        return self.size * self.axes.indent

    def at(self, point: Pair) -> Point:
        """Where a point lies."""
        along, up = self.axes.share(point)
        x = self.left + along * (self.right - self.left)
        return x, self.base - up * (self.base - self.top)


def highest_first(curves: Sequence[One]) -> list[One]:
    """The curves from the highest end to the lowest.

    Raises ValueError where there is none or more than ``MOST``.
    """
    if not 1 <= len(curves) <= MOST:
        raise ValueError(f"{len(curves)} curves; the chart holds 1 to {MOST}")
    return sorted(curves, key=lambda one: -one.points[-1][1])


def chart(name: str, title: str, desc: str, curves: Sequence[Named], axes: Axes) -> str:
    """The figure of ``curves``, from the highest end to the lowest.

    Raises ValueError where ``name`` is no usable id.
    """
    return figure(name, title, desc, _wide(curves, axes), _narrow(curves, axes))


def _wide(curves: Sequence[Named], axes: Axes) -> Drawing:
    room, lead = 214.0, LARGE * 1.25
    names = [label(one.name, one.note, room, LARGE) for one in curves]
    heights = [len(words) * lead + 8 for words in names]
    p = Plot(axes, WIDE - room - 26, max(330, 12 + sum(heights)), LARGE)
    body = _frame(p, axes.many) + _curves(p, curves) + beside(p, curves, names, heights)
    return Drawing(WIDE, p.base + 50, body)


def _narrow(curves: Sequence[Named], axes: Axes) -> Drawing:
    p = Plot(axes, NARROW - 26, 270, TEXT)
    names, bottom = listed(p, curves, p.base + 66)
    body = _frame(p, axes.few) + _curves(p, curves) + letters(p, curves) + names
    return Drawing(NARROW, bottom, body)


def _frame(p: Plot, lengths: Ticks) -> str:
    """Grid and axes."""
    parts, corner = [], (lengths[0][0], p.axes.levels[0][0])
    for level, words in p.axes.levels:
        y = p.at((corner[0], level))[1]
        parts.append(line(p.left, y, p.right, y, "kv-fig-rule"))
        parts.append(tick_beside(p.left, y, words, p.size))
    for tokens, words in lengths:
        x = p.at((tokens, corner[1]))[0]
        parts.append(line(x, p.base, x, p.base + 4, "kv-fig-axis"))
        parts.append(tick_below(x, p.base, words, p.size))
    parts.append(line(p.left, p.base, p.right, p.base, "kv-fig-axis"))
    below = p.base + p.size * 2.3 + 8
    parts.append(text(p.left, below, p.axes.along, "kv-fig-muted", size=p.size))
    parts.append(text(p.left, p.top - 14, p.axes.up, "kv-fig-muted", size=p.size))
    return group("kv-fig-axes", *parts)


def _curves(p: Plot, curves: Sequence[Named]) -> str:
    parts = []
    for index, one in enumerate(curves):
        parts.append(polyline([p.at(point) for point in one.points], classes("curve", index)))
    for index, one in enumerate(curves):
        parts += [circle(*p.at(bend), 4, classes("bend", index)) for bend in one.bends]
    return group("kv-fig-curves", *parts)


def label(name: str, note: str, width: float, size: float) -> list[tuple[str, str]]:
    """A name and a note, broken into lines of at most ``width``."""
    bold = [(row, "kv-fig-bold") for row in wrap(name, width, size, bold=True)]
    return bold + [(row, "kv-fig-muted") for row in wrap(note, width, size)]


def classes(part: str, index: int) -> str:
    """The classes of one part of one curve: what it is, and which curve's colour it takes."""
    return f"kv-fig-{part} kv-fig-curve-{index + 1}"


def beside(
    p: Plot,
    curves: Sequence[Named],
    names: Sequence[list[tuple[str, str]]],
    heights: Sequence[float],
) -> str:
    """Names beside the ends of the curves, tied to them by thin lines."""
    ends = [p.at(one.points[-1]) for one in curves]
    centres = _spread([y for _, y in ends], heights, p.top - 20, p.base + 2)
    parts = []
    for index, (words, (x, y), centre) in enumerate(zip(names, ends, centres, strict=True)):
        tie = [(x + 3, y), (p.right + 14, centre), (p.right + 20, centre)]
        first = centre - (len(words) - 1) * p.size * 0.625 + p.size * 0.36
        parts.append(polyline(tie, "kv-fig-lead"))
        parts.append(circle(x, y, 3, classes("end", index)))
        parts.append(texts(p.right + 26, first, words, size=p.size, leading=p.size * 1.25))
    return group("kv-fig-names", *parts)


def letters(p: Plot, curves: Sequence[Named]) -> str:
    """A letter beside the end of each curve, for the list below the plot."""
    ends = [p.at(one.points[-1]) for one in curves]
    centres = _spread([y for _, y in ends], [16.0] * len(curves), p.top - 12, p.base + 4)
    return group(
        "kv-fig-names",
        *(
            circle(x, y, 3, classes("end", index))
            + line(x + 3, y, p.right + 8, centre, "kv-fig-lead")
            + text(p.right + 12, centre + 4.5, "ABCDEF"[index], "kv-fig-bold", size=p.size)
            for index, ((x, y), centre) in enumerate(zip(ends, centres, strict=True))
        ),
    )


def listed(p: Plot, curves: Sequence[Named], y: float) -> tuple[str, float]:
    """The curves' letters, samples and names below each other; return them and where they end."""
    parts, indent = [], 62.0
    for index, one in enumerate(curves):
        words = label(one.name, one.note, NARROW - indent, p.size)
        parts.append(text(0, y, "ABCDEF"[index], "kv-fig-bold", size=p.size))
        parts.append(line(18, y - 4, 52, y - 4, classes("curve", index)))
        parts.append(texts(indent, y, words, size=p.size))
        y += len(words) * 16 + 8
    return group("kv-fig-names", *parts), y - 14


def _spread(
    wanted: Sequence[float], heights: Sequence[float], top: float, low: float
) -> list[float]:
    """Return centres near ``wanted`` (falling down the page) whose boxes do not overlap."""
    centres = list(wanted)
    for _ in range(2):
        edge = top
        for i, half in enumerate(height / 2 for height in heights):
            centres[i] = max(centres[i], edge + half)
            edge = centres[i] + half
        edge = low
        for i in range(len(centres) - 1, -1, -1):
            centres[i] = min(centres[i], edge - heights[i] / 2)
            edge = centres[i] - heights[i] / 2
    return centres
