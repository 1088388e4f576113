"""Who shares which keys and values: attention heads as small squares, drawn one by one.

What for: the section on two models of the same size. Every panel shows one model's query heads over
the K/V pairs they share, at one scale, so the eye compares what a token leaves in the cache.
In: head counts of real models. Out: a ``<figure>`` as a string.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from kvdocs.site.charts.svg import (
    LARGE,
    NARROW,
    TEXT,
    WIDE,
    Drawing,
    figure,
    group,
    line,
    num,
    path,
    rect,
    text,
    texts,
    wrap,
)

_SQUARE = 0.68
"""Side of a head, as a share of the distance between heads."""
_MOST_ROWS = 4
_FOOT = "÷ : against a K/V pair for every query head"


@dataclass(frozen=True)
class Heads:
    """One model's heads in one layer: ``query_heads`` share ``kv_heads`` pairs of K and V.

    Raises ValueError where the counts are not positive or do not divide, and where ``scheme`` is
    not what the counts say: MHA one pair per head, MQA one pair in all, GQA between.
    """

    scheme: str
    model: str
    query_heads: int
    kv_heads: int

    def __post_init__(self) -> None:
        if self.kv_heads < 1 or self.query_heads < 1 or self.query_heads % self.kv_heads:
            raise ValueError(
                f"{self.model}: {self.query_heads} query heads cannot share "
                f"{self.kv_heads} K/V pairs evenly"
            )
        if self.scheme not in self._schemes():
            raise ValueError(
                f"{self.model}: {self.query_heads} query heads over {self.kv_heads} K/V pairs "
                f"are {' or '.join(self._schemes())}, not {self.scheme}"
            )

    def _schemes(self) -> tuple[str, ...]:
        if self.kv_heads == self.query_heads:
            return ("MHA", "MQA") if self.kv_heads == 1 else ("MHA",)
        return ("MQA",) if self.kv_heads == 1 else ("GQA",)

    @property
    def share(self) -> int:
        """Query heads for each pair of K and V."""
        return self.query_heads // self.kv_heads


@dataclass(frozen=True)
class _Plan:
    """How one panel's groups are laid out: ``rows`` of heads, ``columns`` wide, in ``lines``.

    ``pitch`` is the distance from one head to the next.
    """

    pitch: float
    rows: int
    columns: int
    per_line: int = 1
    lines: int = 1

    @property
    def group_width(self) -> float:
        return self.columns * self.pitch

    @property
    def gap(self) -> float:
        """The space between two groups; none where every head has its own pair."""
        return 0.0 if self.columns == 1 else self.pitch * 0.4

    @property
    def fan(self) -> float:
        """The height in which the lines run together: more for more of them."""
        return self.pitch * 2 + self.columns * self.pitch * 0.07

    @property
    def line_height(self) -> float:
        return self.rows * self.pitch + self.fan + 2 * _pair_side(self.pitch)

    @property
    def line_step(self) -> float:
        return self.line_height + self.pitch

    def width(self, groups: int) -> float:
        """Return the width of ``groups`` groups beside each other."""
        return groups * self.group_width + (groups - 1) * self.gap


def shared_heads(schemes: Sequence[Heads], name: str = "shared-heads") -> str:
    """Return the figure that shows how many query heads share each pair of K and V.

    ``schemes``: the panels from top to bottom. Raises ValueError where there is none, or where
    ``name`` is no usable id.
    """
    if not schemes:
        raise ValueError("no heads to draw")
    told = "; ".join(
        f"{one.model} ({one.scheme}): {_count(one.query_heads, 'query head')}, "
        f"{_count(one.kv_heads, 'K/V pair')}, {one.share} to 1"
        for one in schemes
    )
    desc = (
        "Small squares are the query heads of one layer; lines lead from each to the pair of key "
        f"and value it reads. Only the pairs are kept in the cache. {told}."
    )
    return figure(
        name, "Query heads and the K/V pairs they share", desc, _wide(schemes), _narrow(schemes)
    )


def _wide(schemes: Sequence[Heads]) -> Drawing:
    left, pitch, y = 216.0, 14.0, 48.0
    parts = [_key(0, 18, LARGE, pitch)]
    for index, one in enumerate(schemes):
        plan = _plan(one, WIDE - left, pitch)
        if index:
            parts.append(line(0, y - 22, WIDE, y - 22, "kv-fig-rule"))
        head, *rest = _words(one)
        rows = [(row, head[1]) for row in wrap(head[0], left - 2, LARGE, bold=True)] + rest
        parts.append(texts(0, y + 12, rows, size=LARGE, leading=20))
        parts.append(_heads(one, plan, left, y))
        y += max(plan.lines * plan.line_step, len(rows) * 20) + 36
    parts.append(text(left, y - 22, _FOOT, "kv-fig-muted", size=LARGE))
    return Drawing(WIDE, y - 14, "".join(parts))


def _narrow(schemes: Sequence[Heads]) -> Drawing:
    y, pitch = 66.0, 11.2
    parts = [_key(0, 16, TEXT, pitch, stacked=True)]
    for index, one in enumerate(schemes):
        plan = _plan(one, NARROW, pitch)
        if index:
            parts.append(line(0, y - 20, NARROW, y - 20, "kv-fig-rule"))
        head, counts, ratio = _words(one)
        parts.append(texts(0, y + 4, [head], size=13.5))
        parts.append(texts(0, y + 22, [counts], size=TEXT))
        parts.append(texts(NARROW, y + 22, [ratio], size=TEXT, anchor="end"))
        parts.append(_heads(one, plan, 0, y + 34))
        y += 34 + plan.lines * plan.line_step + 30
    parts.append(text(0, y - 14, _FOOT, "kv-fig-muted", size=TEXT))
    return Drawing(NARROW, y - 6, "".join(parts))


def _words(one: Heads) -> list[tuple[str, str]]:
    return [
        (f"{one.scheme}: {one.model}", "kv-fig-bold"),
        (f"{_count(one.query_heads, 'query head')}, {_count(one.kv_heads, 'K/V pair')}", ""),
        (_ratio(one), "kv-fig-cache-ink kv-fig-bold"),
    ]


def _ratio(one: Heads) -> str:
    return "1 : 1, cache in full" if one.share == 1 else f"{one.share} : 1, cache ÷ {one.share}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _plan(one: Heads, width: float, pitch: float) -> _Plan:
    """Choose as few rows as let all groups stand side by side, else break them into lines."""
    for rows in range(1, _MOST_ROWS + 1):
        plan = _Plan(pitch, rows, ceil(one.share / rows), one.kv_heads)
        if plan.width(one.kv_heads) <= width:
            return plan
    for rows in range(1, one.share + 1):
        plan = _Plan(pitch, rows, ceil(one.share / rows))
        fit = int((width + plan.gap) // (plan.group_width + plan.gap))
        if fit:
            lines = ceil(one.kv_heads / fit)
            return _Plan(pitch, rows, plan.columns, ceil(one.kv_heads / lines), lines)
    raise ValueError(f"{one.model}: no room for {one.query_heads} heads in {width} units")


def _heads(one: Heads, plan: _Plan, left: float, top: float) -> str:
    groups = []
    for index in range(one.kv_heads):
        row, place = divmod(index, plan.per_line)
        x = left + place * (plan.group_width + plan.gap)
        groups.append(_group(one.share, plan, x, top + row * plan.line_step))
    return "".join(groups)


def _group(share: int, plan: _Plan, left: float, top: float) -> str:
    """One pair of K and V and all query heads that read it."""
    pitch, side = plan.pitch, plan.pitch * _SQUARE
    inset, middle = (pitch - side) / 2, left + plan.group_width / 2
    low, pair_top = top + plan.rows * pitch, top + plan.rows * pitch + plan.fan
    strands = [
        _strand(left + (column + 0.5) * pitch, top + pitch / 2, low, middle, pair_top)
        for column in range(plan.columns)
    ]
    squares = []
    for head in range(share):
        row, column = divmod(head, plan.columns)
        x, y = left + column * pitch + inset, top + row * pitch + inset
        squares.append(rect(x, y, side, side, "kv-fig-query", radius=1.2))
    return group(
        "kv-fig-group",
        path("".join(strands), "kv-fig-strand"),
        *squares,
        _pair(middle, pair_top, pitch),
    )


def _strand(x: float, top: float, low: float, middle: float, end: float) -> str:
    """A line down one column of heads and on to the pair below the group's middle."""
    fan = end - low
    return (
        f"M{num(x)} {num(top)}V{num(low)}C{num(x)} {num(low + fan * 0.7)} "
        f"{num(middle)} {num(low + fan * 0.25)} {num(middle)} {num(end)}"
    )


def _pair_side(pitch: float) -> float:
    return pitch * 0.76


def _pair(middle: float, top: float, pitch: float) -> str:
    """A key above a value."""
    side = _pair_side(pitch)
    return rect(middle - side / 2, top, side, side, "kv-fig-key") + rect(
        middle - side / 2, top + side, side, side, "kv-fig-value"
    )


def _key(x: float, y: float, size: float, pitch: float, *, stacked: bool = False) -> str:
    """What the squares are: said once, above the panels."""
    side, indent = pitch * _SQUARE, pitch + 6
    second = (x, y + 23) if stacked else (x + 262, y)
    up = size * 0.36
    return group(
        "kv-fig-marks",
        rect(x + (pitch - side) / 2, y - up - side / 2, side, side, "kv-fig-sample", radius=1.2),
        text(x + indent, y, "query head: computed, not kept", size=size),
        _pair(second[0] + pitch / 2, second[1] - up - _pair_side(pitch), pitch),
        text(
            second[0] + indent, second[1], "K/V pair: kept in the cache for every token", size=size
        ),
    )
