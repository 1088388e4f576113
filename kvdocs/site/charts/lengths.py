"""The lengths of the requests of a log, as bars, with the lengths that plans are made from.

What for: the page on workloads. In: bins of a histogram as exact counts, and marks. Out: a
``<figure>`` as a string. Every bar is two to a doubling of the length, so the axis is logarithmic
and a long tail is visible; the height is linear.
"""

from __future__ import annotations

from dataclasses import dataclass

from kvdocs.site.charts.svg import (
    LARGE,
    NARROW,
    TEXT,
    WIDE,
    Drawing,
    figure,
    group,
    line,
    rect,
    steps,
    text,
    tick_below,
    tick_beside,
    width_of,
)
from kvdocs.units import ceil_div
from kvdocs.workload.lengths import next_edge

TOP, HEIGHT = 14.0, 230.0


@dataclass(frozen=True)
class Lengths:
    """Requests by length: ``bins`` are (from, up to and including, requests), without gaps.

    ``marks`` are (name, tokens), at most four. Raises ValueError where the bins have gaps or no
    request, or where a mark is outside 1 to a thousand times the longest.
    """

    bins: tuple[tuple[int, int, int], ...]
    marks: tuple[tuple[str, int], ...]

    def __post_init__(self) -> None:
        ends = zip(self.bins, self.bins[1:], strict=False)
        if any(high + 1 != low for (_, high, _), (low, _, _) in ends) or not self.requests:
            raise ValueError(f"bins with gaps or without a request: {self.bins}")
        longest = self.bins[-1][1]
        if len(self.marks) > 4 or any(not 1 <= at <= 1000 * longest for _, at in self.marks):
            raise ValueError(f"marks that cannot be drawn beside {longest:,}: {self.marks}")

    @property
    def requests(self) -> int:
        """All requests."""
        return sum(count for _, _, count in self.bins)

    @property
    def edges(self) -> list[int]:
        """The beginnings of all bins, as far as the last mark, and the end of the last one."""
        found = [low for low, _, _ in self.bins] + [self.bins[-1][1] + 1]
        while found[-1] <= max((at for _, at in self.marks), default=0):
            found.append(next_edge(found[-1]))
        return found


@dataclass(frozen=True)
class _Plot:
    edges: list[int]
    left: float
    right: float
    top: float
    size: float
    most: int

    @property
    def base(self) -> float:
        return self.top + HEIGHT

    def x(self, tokens: int) -> float:
        """Where a length stands: bins are equally wide, and even inside."""
        place = max(i for i, edge in enumerate(self.edges) if edge <= max(tokens, self.edges[0]))
        place = min(place, len(self.edges) - 2)
        low, high = self.edges[place], self.edges[place + 1]
        share = (tokens - low) / (high - low)
        return self.left + (place + share) * (self.right - self.left) / (len(self.edges) - 1)

    def y(self, count: int) -> float:
        return self.base - count / self.most * HEIGHT


def lengths(found: Lengths, name: str = "lengths") -> str:
    """Return the bars of a log's lengths.

    Raises ValueError where ``name`` is no usable id (``Lengths`` itself checks the numbers).
    """
    peak = max(found.bins, key=lambda one: one[2])
    marks = "; ".join(f"{label} {at:,} tokens" for label, at in found.marks)
    desc = (
        f"Bars: {found.requests:,} requests by their tokens, prompt and answer, from "
        f"{found.bins[0][0]:,} to {found.bins[-1][1]:,}; the axis of tokens is logarithmic. Most "
        f"requests, {peak[2]:,}, have {peak[0]:,} to {peak[1]:,} tokens. Marked: {marks}."
    )
    wide, narrow = _draw(found, WIDE, LARGE, 8), _draw(found, NARROW, TEXT, 4)
    return figure(name, "How long the requests of a log are", desc, wide, narrow)


def _draw(found: Lengths, width: float, size: float, ticks: int) -> Drawing:
    most = max(count for _, _, count in found.bins)
    levels = steps(most, 5)
    left = width_of(f"{levels[-1]:,}", size) + 12
    top = TOP + (len(found.marks) + 1) * size * 1.35
    p = _Plot(found.edges, left, width - 8, top, size, most)
    body = _axes(p, levels, ticks) + _bars(p, found) + _marks(p, found)
    return Drawing(width, p.base + size * 2.3 + 14, body)


def _axes(p: _Plot, levels: list[int], most: int) -> str:
    grey = "kv-fig-muted"
    parts = [text(0, p.top - 10, "requests", grey, size=p.size)]
    for level in levels:
        y = p.y(level)
        parts.append(line(p.left, y, p.right, y, "kv-fig-rule" if level else "kv-fig-axis"))
        parts.append(tick_beside(p.left, y, f"{level:,}", p.size))
    doublings = [edge for edge in p.edges if edge & (edge - 1) == 0]
    every = ceil_div(len(doublings), most)
    for edge in doublings[::every]:
        x, half = p.x(edge), width_of(f"{edge:,}", p.size) / 2
        parts.append(line(x, p.base, x, p.base + 4, "kv-fig-axis"))
        if x + half <= p.right + 7:
            parts.append(tick_below(x, p.base, f"{edge:,}", p.size))
    place = (p.left, p.base + p.size * 2.3 + 8, "tokens of a request, prompt and answer")
    parts.append(text(*place, grey, size=p.size))
    return group("kv-fig-axes", *parts)


def _bars(p: _Plot, found: Lengths) -> str:
    parts = []
    for low, high, count in found.bins:
        x, end, y = p.x(low), p.x(high + 1), p.y(count)
        parts.append(rect(x + 1, y, end - x - 2, p.base - y, "kv-fig-bar"))
    return group("kv-fig-bars", *parts)


def _marks(p: _Plot, found: Lengths) -> str:
    """A line for each mark, its name to the left of its head; the longest stands highest, so that
    no name lies on a line."""
    parts = []
    for row, (label, at) in enumerate(sorted(found.marks, key=lambda one: -one[1])):
        x, y = p.x(at), TOP + row * p.size * 1.35
        words = f"{label}: {at:,}"
        parts.append(line(x, y - p.size * 0.7, x, p.base, "kv-fig-mark"))
        if x - width_of(words, p.size, bold=True) - 8 >= 0:
            parts.append(text(x - 6, y, words, "kv-fig-bold", size=p.size, anchor="end"))
        else:
            parts.append(text(x + 6, y, words, "kv-fig-bold", size=p.size))
    return group("kv-fig-marks", *parts)
