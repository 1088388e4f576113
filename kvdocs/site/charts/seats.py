"""How many sequences fit on one card, against their length.

What for: the page about capacity. In: curves as exact points (tokens, sequences). Out: a
``<figure>`` as a string. Both axes double at every step, so half the seats for twice the tokens is
a straight line down, and a curve that bends away from it keeps less than every token.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kvdocs.site.charts.curves import Axes, Named, Pair, Ticks, chart, highest_first


@dataclass(frozen=True)
class Seats(Named):
    """One model and cache on the card: ``points`` are (tokens, sequences), tokens rising.

    Raises ValueError where there are fewer than two points, where tokens do not rise, or where
    fewer than one sequence is drawn: such a length has no place on the chart.
    """

    def __post_init__(self) -> None:
        lengths = [tokens for tokens, _ in self.points]
        if len(lengths) < 2 or lengths != sorted(set(lengths)) or lengths[0] < 1:
            raise ValueError(f"{self.name}: tokens must rise over two points or more")
        if min(count for _, count in self.points) < 1:
            raise ValueError(f"{self.name}: draw only lengths of which one sequence fits")


def seats(lines: Sequence[Seats], card: str, name: str = "seats") -> str:
    """Return the chart of sequences at once against tokens in each.

    Curves are named from the highest end to the lowest. Raises ValueError where there is no
    curve or more than the chart holds, or where ``name`` is no usable id.
    """
    curves = highest_first(lines)
    told = "; ".join(
        f"{one.name}, {one.note}: {one.points[0][1]:,} sequences of {one.points[0][0]:,} tokens, "
        f"{one.points[-1][1]:,} of {one.points[-1][0]:,}"
        for one in curves
    )
    desc = f"Sequences at once on {card} against the tokens in each, both axes doubling. {told}."
    title = f"How many sequences fit on {card}"
    return chart(name, title, desc, curves, _axes(curves))


def _axes(curves: Sequence[Seats]) -> Axes:
    lengths = [tokens for one in curves for tokens, _ in one.points]
    first, last = math.floor(math.log2(min(lengths))), math.ceil(math.log2(max(lengths)))
    counts = [count for one in curves for _, count in one.points]
    most = max(math.ceil(math.log2(max(counts))), 1)

    def share(point: Pair) -> tuple[float, float]:
        return (math.log2(point[0]) - first) / (last - first), math.log2(point[1]) / most

    levels = [(2**power, f"{2**power:,}") for power in range(0, most + 1, 2)]
    many, few = (_lengths(range(first, last + 1, step)) for step in (1, 2))
    return Axes(share, levels, many, few, "sequences at once", "tokens in each, Ki = 1,024", 3.4)


def _lengths(powers: range) -> Ticks:
    return [
        (2**power, f"{2 ** (power - 10)} Ki" if power >= 10 else f"{2**power}") for power in powers
    ]
