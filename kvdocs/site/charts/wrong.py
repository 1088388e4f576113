"""How far a formula is off, model by model: a line from the shortest text to the longest.

What for: the page on architectures. In: for every model the ratio of what the formula gives to
what is right, at some lengths. Out: a ``<figure>`` as a string. The axis is logarithmic, so that
twice too much is as far from right at every place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from kvdocs.site.charts.svg import (
    LARGE,
    NARROW,
    TEXT,
    WIDE,
    Drawing,
    circle,
    figure,
    group,
    line,
    text,
    width_of,
)

TICKS = (1, 2, 5, 10, 20, 50, 100)
RADII = (2.6, 4.0, 5.4)
"""Of the dots, from the shortest text to the longest."""


@dataclass(frozen=True)
class Error:
    """One model; ``ratios`` are (tokens, formula ÷ truth), the longest text last.

    Raises ValueError where there is no ratio, too many, or one is not positive.
    """

    name: str
    ratios: tuple[tuple[int, Fraction], ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.ratios) <= len(RADII) or any(r <= 0 for _, r in self.ratios):
            raise ValueError(f"{self.name}: wants 1 to {len(RADII)} positive ratios")


@dataclass(frozen=True)
class _Plot:
    """Edges in user units; ``below`` puts names above their lines instead of beside them."""

    width: float
    left: float
    right: float
    row: float
    size: float
    most: int
    below: float

    def x(self, ratio: Fraction) -> float:
        share = math.log(max(float(ratio), 1.0)) / math.log(self.most)
        return self.left + share * (self.right - self.left)


def wrong(errors: Sequence[Error], lengths: Sequence[int], name: str = "wrong") -> str:
    """Return the chart; the models stand in the order given.

    Raises ValueError where there is nothing to draw or a ratio is below 1, which the axis lacks.
    """
    if not errors or min(ratio for one in errors for _, ratio in one.ratios) < 1:
        raise ValueError("the chart wants at least one model and no ratio below 1")
    highest = max(ratio for one in errors for _, ratio in one.ratios)
    most = next(tick for tick in TICKS if tick >= highest or tick == TICKS[-1])
    told = "; ".join(f"{one.name} {_told(one)}" for one in errors)
    desc = f"What the simple formula gives, divided by what the model needs. {told}."
    longest = max(width_of(one.name, LARGE) for one in errors)
    wide = _Plot(WIDE, longest + 28, WIDE - 20, 22, LARGE, most, 0)
    narrow = _Plot(NARROW, 8, NARROW - 18, 36, TEXT, most, 16)
    return figure(
        name,
        "How far the simple formula is off",
        desc,
        _drawing(errors, lengths, wide),
        _drawing(errors, lengths, narrow),
    )


def _told(one: Error) -> str:
    return ", ".join(f"{float(ratio):.2f} at {tokens:,} tokens" for tokens, ratio in one.ratios)


def _drawing(errors: Sequence[Error], lengths: Sequence[int], p: _Plot) -> Drawing:
    top = p.size * 4.2
    base = top + p.row * len(errors) + 4
    rows = [_row(one, lengths, p, top + p.row * (index + 0.5)) for index, one in enumerate(errors)]
    body = _legend(lengths, p) + _axis(p, top, base) + "".join(rows)
    return Drawing(p.width, base + p.size * 3.4, body)


def _legend(lengths: Sequence[int], p: _Plot) -> str:
    parts, x = [], p.left
    for radius, tokens in zip(RADII, lengths, strict=False):
        parts.append(circle(x + 6, p.size * 0.65, radius, "kv-fig-error-dot"))
        parts.append(text(x + 16, p.size, f"{tokens:,} tokens", "kv-fig-muted", size=p.size))
        x += p.size * 8.2
    return group("kv-fig-names", *parts)


def _axis(p: _Plot, top: float, base: float) -> str:
    parts = []
    for tick in (tick for tick in TICKS if tick <= p.most):
        x = p.x(Fraction(tick))
        parts.append(line(x, top, x, base, "kv-fig-axis" if tick == 1 else "kv-fig-rule"))
        label = "right" if tick == 1 else f"{tick}×"
        anchor = "start" if tick == 1 and p.below else "middle"
        for y in (top - 8, base + p.size + 4):
            parts.append(text(x, y, label, "kv-fig-muted", size=p.size, anchor=anchor))
    words = "what the formula gives ÷ what the model needs"
    parts.append(text(p.left, base + p.size * 2.6, words, "kv-fig-muted", size=p.size))
    return group("kv-fig-axes", *parts)


def _row(one: Error, lengths: Sequence[int], p: _Plot, middle: float) -> str:
    y = middle + p.below / 2
    xs = [p.x(ratio) for _, ratio in one.ratios]
    if p.below:
        name = text(p.left, y - 9, one.name, size=p.size)
    else:
        name = text(p.left - 14, y + p.size * 0.36, one.name, size=p.size, anchor="end")
    dots = [
        circle(x, y, RADII[list(lengths).index(tokens)], "kv-fig-error-dot")
        for x, (tokens, _) in zip(xs, one.ratios, strict=True)
    ]
    return group("kv-fig-error", name, line(xs[0], y, xs[-1], y, "kv-fig-error-line"), *dots)
