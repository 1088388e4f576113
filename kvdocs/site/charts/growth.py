"""How caches grow with the conversation: straight, bent at a window, or hardly at all.

What for: the section where the simple formula ends. In: curves as exact points (tokens, bytes).
Out: a ``<figure>`` as a string. Both axes are linear, so that a straight line is a constant price
per token and a bend is a window that is full; choose the range of tokens so that bends are visible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from kvdocs.site.charts.curves import Axes, Named, Pair, Ticks, chart, highest_first
from kvdocs.site.charts.svg import doublings, num
from kvdocs.units import BINARY, binary, ceil_div


@dataclass(frozen=True)
class Curve(Named):
    """One cache: ``points`` are (tokens, bytes) with tokens rising, ``note`` says how it grows.

    A bend must be a point. Raises ValueError where there are fewer than two points, where tokens do
    not rise, or where a size is negative or falls.
    """

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


def growth(lines: Sequence[Curve], name: str = "growth") -> str:
    """Return the chart of cache bytes against tokens in one conversation.

    Curves are named from the highest end to the lowest, whatever their order. Raises ValueError
    where there is no curve or more than the chart holds, where every size is 0, or where ``name``
    is no usable id.
    """
    curves = highest_first(lines)
    if curves[0].points[-1][1] == 0:
        raise ValueError("no curve has a size above 0")
    told = "; ".join(
        f"{one.name}, {one.note}: {binary(one.points[-1][1])} at {one.points[-1][0]:,} tokens"
        for one in curves
    )
    desc = f"Cache of one conversation against its length in tokens, both axes linear. {told}."
    return chart(name, "How caches grow with the conversation", desc, curves, _axes(curves))


def _axes(curves: Sequence[Curve]) -> Axes:
    tokens = max(one.points[-1][0] for one in curves)
    count = ceil_div(max(one.points[-1][1] for one in curves) * 104, 100)

    def share(point: Pair) -> tuple[float, float]:
        return float(Fraction(point[0], tokens)), float(Fraction(point[1], count))

    many, few = ([(tick, f"{tick:,}") for tick in doublings(tokens, most)] for most in (5, 3))
    up, along = "cache of one conversation", "its length in tokens"
    return Axes(share, _levels(count), many, few, up, along, 4.4)


def _levels(count: int) -> Ticks:
    """Sizes a power of two apart, the unit on the highest."""
    sign = next((one for one in ("GiB", "MiB", "KiB") if count >= BINARY[one]), "bytes")
    small, unit = (1, 1) if sign == "bytes" else (BINARY[sign] // 1024, BINARY[sign])
    sizes = [tick * small for tick in doublings(max(count // small, 1), 5)]
    return [(size, num(size / unit) + (f" {sign}" if size == sizes[-1] else "")) for size in sizes]
