"""How caches grow with the conversation: straight, bent at a window, or hardly at all.

What for: the section where the simple formula ends. In: curves as exact points (tokens, bytes).
Out: a ``<figure>`` as a string. Both axes are linear, so that a straight line is a constant price
per token and a bend is a window that is full; choose the range of tokens so that bends are visible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from kvdocs.site.charts.curves import beside, classes, label, letters, listed
from kvdocs.site.charts.svg import (
    LARGE,
    NARROW,
    TEXT,
    WIDE,
    Drawing,
    Point,
    circle,
    doublings,
    figure,
    group,
    line,
    num,
    polyline,
    text,
)
from kvdocs.units import BINARY, binary, ceil_div

MOST = 6
"""Curves that can be told apart: each has its own dashes, weight and letter."""


@dataclass(frozen=True)
class Curve:
    """One cache: ``points`` are (tokens, bytes) with tokens rising, ``note`` says how it grows.

    A bend must be a point. Raises ValueError where there are fewer than two points, where tokens do
    not rise, or where a size is negative or falls.
    """

    name: str
    note: str
    points: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        pairs = list(zip(self.points, self.points[1:], strict=False))
        if not pairs:
            raise ValueError(f"{self.name}: a curve needs two points or more")
        if self.points[0][0] < 0 or self.points[0][1] < 0:
            raise ValueError(f"{self.name}: negative tokens or bytes in {self.points[0]}")
        for (t1, b1), (t2, b2) in pairs:
            if t2 <= t1 or b2 < b1:
                raise ValueError(f"{self.name}: not growing from {(t1, b1)} to {(t2, b2)}")

    @property
    def bends(self) -> list[tuple[int, int]]:
        """The points at which the price of a token changes."""
        found = []
        for (t1, b1), (t2, b2), (t3, b3) in zip(
            self.points, self.points[1:], self.points[2:], strict=False
        ):
            if (b2 - b1) * (t3 - t2) != (b3 - b2) * (t2 - t1):
                found.append((t2, b2))
        return found


@dataclass(frozen=True)
class _Plot:
    """Edges of the plot in user units, and what its right and upper edge stand for."""

    left: float
    right: float
    top: float
    base: float
    size: float
    tokens: int
    count: int

    def at(self, point: tuple[int, int]) -> Point:
        x = self.left + float(Fraction(point[0], self.tokens)) * (self.right - self.left)
        y = self.base - float(Fraction(point[1], self.count)) * (self.base - self.top)
        return x, y


def growth(lines: Sequence[Curve], name: str = "growth") -> str:
    """Return the chart of cache bytes against tokens in one conversation.

    Curves are named from the highest end to the lowest, whatever their order. Raises ValueError
    where there is no curve or more than ``MOST``, where every size is 0, or where ``name`` is no
    usable id.
    """
    if not 1 <= len(lines) <= MOST:
        raise ValueError(f"{len(lines)} curves; the chart holds 1 to {MOST}")
    curves = sorted(lines, key=lambda one: -one.points[-1][1])
    if curves[0].points[-1][1] == 0:
        raise ValueError("no curve has a size above 0")
    told = "; ".join(
        f"{one.name}, {one.note}: {binary(one.points[-1][1])} at {one.points[-1][0]:,} tokens"
        for one in curves
    )
    desc = f"Cache of one conversation against its length in tokens, both axes linear. {told}."
    return figure(
        name, "How caches grow with the conversation", desc, _wide(curves), _narrow(curves)
    )


def _plot(curves: Sequence[Curve], right: float, base: float, size: float) -> _Plot:
    tokens = max(one.points[-1][0] for one in curves)
    count = max(one.points[-1][1] for one in curves)
    return _Plot(size * 4.4, right, 34, base, size, tokens, ceil_div(count * 104, 100))


def _wide(curves: Sequence[Curve]) -> Drawing:
    room, lead = 214.0, LARGE * 1.25
    names = [label(one, room, LARGE) for one in curves]
    heights = [len(words) * lead + 8 for words in names]
    p = _plot(curves, WIDE - room - 26, max(330, 12 + sum(heights)), LARGE)
    body = _frame(p, 5) + _curves(p, curves) + beside(p, curves, names, heights)
    return Drawing(WIDE, p.base + 50, body)


def _narrow(curves: Sequence[Curve]) -> Drawing:
    p = _plot(curves, NARROW - 26, 270, TEXT)
    names, bottom = listed(p, curves, p.base + 66)
    return Drawing(NARROW, bottom, _frame(p, 3) + _curves(p, curves) + letters(p, curves) + names)


def _frame(p: _Plot, most: int) -> str:
    """Grid and axes; ticks a power of two apart, the unit on the highest."""
    parts = []
    sign = next((one for one in ("GiB", "MiB", "KiB") if p.count >= BINARY[one]), "bytes")
    small, unit = (1, 1) if sign == "bytes" else (BINARY[sign] // 1024, BINARY[sign])
    ticks = doublings(max(p.count // small, 1), 5)
    for tick in ticks:
        y = p.at((0, tick * small))[1]
        label = num(tick * small / unit) + (f" {sign}" if tick == ticks[-1] else "")
        parts.append(line(p.left, y, p.right, y, "kv-fig-rule"))
        place = (p.left - 8, y + p.size * 0.36, label)
        parts.append(text(*place, "kv-fig-muted", size=p.size, anchor="end"))
    for tick in doublings(p.tokens, most):
        x = p.at((tick, 0))[0]
        parts.append(line(x, p.base, x, p.base + 4, "kv-fig-axis"))
        place = (x, p.base + p.size + 6, f"{tick:,}")
        parts.append(text(*place, "kv-fig-muted", size=p.size, anchor="middle"))
    parts.append(line(p.left, p.base, p.right, p.base, "kv-fig-axis"))
    place = (p.left, p.base + p.size * 2.3 + 8, "its length in tokens")
    parts.append(text(*place, "kv-fig-muted", size=p.size))
    parts.append(text(p.left, p.top - 14, "cache of one conversation", "kv-fig-muted", size=p.size))
    return group("kv-fig-axes", *parts)


def _curves(p: _Plot, curves: Sequence[Curve]) -> str:
    parts = []
    for index, one in enumerate(curves):
        parts.append(polyline([p.at(point) for point in one.points], classes("curve", index)))
    for index, one in enumerate(curves):
        parts += [circle(*p.at(bend), 4, classes("bend", index)) for bend in one.bends]
    return group("kv-fig-curves", *parts)
