"""Where the memory goes: a flat band of weights, a wedge of cache, and the ceiling that it hits.

What for: the capacity model as one chart. In: exact byte counts of one model on one card. Out: a
``<figure>`` as a string. Every number in it is an argument or comes from the arguments by integer
arithmetic; pixels alone are floating point.
"""

from __future__ import annotations

from fractions import Fraction

from kvdocs.site.charts.memory_words import Plot, ceiling, flat_labels, marks, wedge_label
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
    polygon,
    polyline,
    rect,
    steps,
    text,
    tick_below,
    tick_beside,
    width_of,
)
from kvdocs.site.charts.wedge import Wedge
from kvdocs.units import BINARY, binary


def memory_wedge(figures: Wedge, name: str = "memory-wedge") -> str:
    """Return the chart of memory against concurrent conversations.

    Raises ValueError where ``name`` is no usable id (``Wedge`` itself checks the numbers).
    """
    title = f"Where the memory goes: {figures.model}"
    wide, narrow = _draw(figures, wide=True), _draw(figures, wide=False)
    return figure(name, title, _told(figures), wide, narrow)


def _told(f: Wedge) -> str:
    """The chart in words."""
    beyond = "." if f.even_at <= f.full_at else ", more than the card can hold."
    return (
        f"Memory against concurrent conversations of {f.tokens:,} tokens. The weights of "
        f"{f.model}, {binary(f.weights_bytes)}, and {binary(f.other_bytes)} of other memory are a "
        f"flat band. On it lies a wedge of cache, {binary(f.bytes_per_conversation)} for each "
        f"conversation. It meets the ceiling, {f.memory_name} with {binary(f.memory_bytes, 4)}, "
        f"after {f.users_max:,} whole conversations. From {f.outweighs_from:,} conversations on "
        f"the cache is larger than the weights{beyond}"
    )


def _draw(f: Wedge, *, wide: bool) -> Drawing:
    users = max(f.full_at, f.even_at, Fraction(1)) * Fraction(116, 100)
    memory = max(f.total(users), Fraction(f.memory_bytes)) * Fraction(103, 100)
    size = LARGE if wide else TEXT
    sign, ticks = _levels(memory, wide=wide)
    p = Plot(
        wide,
        left=max(width_of(mark, size) for mark in (sign, f"{ticks[-1]:,}")) + 11,
        right=(WIDE if wide else NARROW) - 4,
        top=30,
        base=370 if wide else 330,
        size=size,
        users=users,
        memory=memory,
    )
    named, bottom = marks(f, p)
    parts = [
        _bands(f, p),
        _axes(f, p),
        ceiling(f, p),
        _even(f, p),
        _full(f, p),
        flat_labels(f, p),
        wedge_label(f, p),
        named,
        text(
            p.left,
            bottom,
            f"concurrent conversations of {f.tokens:,} tokens",
            "kv-fig-muted",
            size=p.size,
        ),
    ]
    return Drawing(WIDE if wide else NARROW, bottom + 6, "".join(parts))


def _bands(f: Wedge, p: Plot) -> str:
    flat, end = p.y(f.flat_bytes), p.y(f.total(p.users))
    other, roof, full = p.y(f.other_bytes), p.y(f.memory_bytes), p.x(f.full_at)
    return group(
        "kv-fig-bands",
        rect(p.left, other, p.right - p.left, p.base - other, "kv-fig-other"),
        rect(p.left, flat, p.right - p.left, other - flat, "kv-fig-weights"),
        polygon([(p.left, flat), (full, roof), (p.right, roof), (p.right, flat)], "kv-fig-cache"),
        polygon([(full, roof), (p.right, end), (p.right, roof)], "kv-fig-beyond"),
        line(p.left, flat, p.right, flat, "kv-fig-weights-line"),
        polyline([(p.left, flat), (full, roof)], "kv-fig-cache-line"),
        polyline([(full, roof), (p.right, end)], "kv-fig-beyond-line"),
    )


def _levels(memory: Fraction, *, wide: bool) -> tuple[str, list[int]]:
    """The unit of the memory axis and its ticks."""
    sign = "GiB" if memory >= 4 * BINARY["GiB"] else "MiB"
    return sign, steps(max(int(memory / BINARY[sign]), 1), 6 if wide else 5)


def _axes(f: Wedge, p: Plot) -> str:
    grey = "kv-fig-muted"
    sign, ticks = _levels(p.memory, wide=p.wide)
    parts = [text(p.left - 8, p.top - 14, sign, grey, size=p.size, anchor="end")]
    for tick in ticks:
        y = p.y(tick * BINARY[sign])
        parts.append(line(p.left - 4, y, p.left, y, "kv-fig-axis"))
        parts.append(tick_beside(p.left, y, f"{tick:,}", p.size))
    drops = (p.x(f.full_at), p.x(f.even_at))
    for tick in steps(int(p.users), 8 if p.wide else 4):
        x, half = p.x(tick), width_of(f"{tick:,}", p.size) / 2
        parts.append(line(x, p.base, x, p.base + 4, "kv-fig-axis"))
        if x + half <= p.right + 3 and all(abs(x - drop) > half + 4 for drop in drops):
            parts.append(tick_below(x, p.base, f"{tick:,}", p.size))
    edge = [(p.left, p.top - 8), (p.left, p.base), (p.right, p.base)]
    return group("kv-fig-axes", *parts, polyline(edge, "kv-fig-axis"))


def _full(f: Wedge, p: Plot) -> str:
    """The point where wedge and ceiling meet, and the line from it to the number below."""
    x, y = p.x(f.full_at), p.y(f.memory_bytes)
    return line(x, y, x, p.base + p.drop, "kv-fig-drop") + circle(x, y, 4.5, "kv-fig-hit")


def _even(f: Wedge, p: Plot) -> str:
    """Where the cache has grown as large as the weights: two equal measures on one line."""
    x = p.x(f.even_at)
    ends = (p.y(f.other_bytes), p.y(f.flat_bytes), p.y(f.flat_bytes + f.weights_bytes))
    parts = [line(x, ends[0], x, p.base + p.drop, "kv-fig-even-drop")]
    for low, high, cls in ((*ends[:2], "kv-fig-even-weights"), (*ends[1:], "kv-fig-even-cache")):
        parts.append(line(x, low - 3, x, high + 3, cls))
        parts += [line(x - 5, end, x + 5, end, cls) for end in (low - 3, high + 3)]
        middle = (low + high) / 2
        if low - high > 26:
            parts += [line(x - 4, middle + d, x + 4, middle + d - 3, cls) for d in (-0.5, 3.5)]
    return group("kv-fig-even", *parts)
