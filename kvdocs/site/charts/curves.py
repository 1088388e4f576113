"""Curves with their names beside them: what the charts of curves have in common.

In: a plot that places points, and curves with a name, a note and points. Out: pieces of SVG: names
beside the ends of the curves where there is room, letters and a list below where there is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kvdocs.site.charts.svg import NARROW, Point, circle, group, line, polyline, text, texts, wrap


class Named(Protocol):
    """One curve: its name, a note, and its points in the chart's own units."""

    @property
    def name(self) -> str: ...
    @property
    def note(self) -> str: ...
    @property
    def points(self) -> tuple[tuple[int, int], ...]: ...


class Plot(Protocol):
    """Edges of the plot in user units, the size of its words, and where a point lies."""

    @property
    def right(self) -> float: ...
    @property
    def top(self) -> float: ...
    @property
    def base(self) -> float: ...
    @property
    def size(self) -> float: ...
    def at(self, point: tuple[int, int]) -> Point: ...


def label(one: Named, width: float, size: float) -> list[tuple[str, str]]:
    """A curve's name and note, broken into lines of at most ``width``."""
    bold = [(row, "kv-fig-bold") for row in wrap(one.name, width, size, bold=True)]
    return bold + [(row, "kv-fig-muted") for row in wrap(one.note, width, size)]


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
        words = label(one, NARROW - indent, p.size)
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
