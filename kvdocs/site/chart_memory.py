"""Where the memory goes: a flat band of weights, a wedge of cache, and the ceiling that it hits.

What for: the capacity model as one chart. In: exact byte counts of one model on one card. Out: a
``<figure>`` as a string. Every number in it is an argument or comes from the arguments by integer
arithmetic; pixels alone are floating point.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from kvdocs.site.svg import (
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
    texts,
    width_of,
)
from kvdocs.site.wedge import Wedge
from kvdocs.units import BINARY, binary

GIB = BINARY["GiB"]

_INK = {
    "weights": "kv-fig-weights-ink kv-fig-bold",
    "cache": "kv-fig-cache-ink kv-fig-bold",
    "ceiling": "kv-fig-ceiling-ink kv-fig-bold",
}


@dataclass(frozen=True)
class _Plot:
    """The plot's edges in user units, and what its right and upper edge stand for."""

    wide: bool
    left: float
    right: float
    top: float
    base: float
    size: float
    users: Fraction
    memory: Fraction

    @property
    def lead(self) -> float:
        """From one line of text to the next."""
        return self.size * 1.3

    @property
    def drop(self) -> float:
        """How far drop lines reach below the axis: past the numbers of the ticks."""
        return self.size + 12

    def x(self, users: Fraction | int) -> float:
        return self.left + float(users / self.users) * (self.right - self.left)

    def y(self, count: Fraction | int) -> float:
        return self.base - float(count / self.memory) * (self.base - self.top)

    def at(self, y: float) -> Fraction:
        """Return the bytes that lie at height ``y``."""
        return Fraction((self.base - y) / (self.base - self.top)) * self.memory


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
    memory = max(f.total(users), Fraction(f.memory_bytes))
    p = _Plot(
        wide,
        left=44 if wide else 30,
        right=(WIDE if wide else NARROW) - 4,
        top=30,
        base=370 if wide else 330,
        size=LARGE if wide else TEXT,
        users=users,
        memory=memory * Fraction(103, 100),
    )
    named, bottom = _marks(f, p)
    parts = [
        _bands(f, p),
        _axes(f, p),
        _roof(f, p),
        _even(f, p),
        _full(f, p),
        _flat_labels(f, p),
        _wedge_label(f, p),
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


def _bands(f: Wedge, p: _Plot) -> str:
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


def _axes(f: Wedge, p: _Plot) -> str:
    grey = "kv-fig-muted"
    parts = [text(p.left - 8, p.top - 14, "GiB", grey, size=p.size, anchor="end")]
    for tick in steps(max(int(p.memory / GIB), 1), 6 if p.wide else 5):
        y = p.y(tick * GIB)
        parts.append(line(p.left - 4, y, p.left, y, "kv-fig-axis"))
        label = (p.left - 8, y + p.size * 0.36, f"{tick:,}")
        parts.append(text(*label, grey, size=p.size, anchor="end"))
    drops = (p.x(f.full_at), p.x(f.even_at))
    for tick in steps(int(p.users), 8 if p.wide else 4):
        x, half = p.x(tick), width_of(f"{tick:,}", p.size) / 2
        parts.append(line(x, p.base, x, p.base + 4, "kv-fig-axis"))
        if all(abs(x - drop) > half + 4 for drop in drops):
            label = (x, p.base + p.size + 6, f"{tick:,}")
            parts.append(text(*label, grey, size=p.size, anchor="middle"))
    edge = [(p.left, p.top - 8), (p.left, p.base), (p.right, p.base)]
    return group("kv-fig-axes", *parts, polyline(edge, "kv-fig-axis"))


def _roof(f: Wedge, p: _Plot) -> str:
    """The ceiling, its name above its free end, and a word for the part of the wedge above it."""
    y, full = p.y(f.memory_bytes), p.x(f.full_at)
    room = full - p.left - 8
    ample = room > (p.right - p.left) * 0.4
    one = f"{f.memory_name}: {binary(f.memory_bytes, 4)}"
    words = [one]
    if width_of(one, p.size, bold=True) > (room if ample else (p.right - full) * 0.6):
        words = [f.memory_name, binary(f.memory_bytes, 4)]
    named = [(word, _INK["ceiling"]) for word in words]
    first = y - 9 - (len(words) - 1) * p.lead
    roof = line(p.left, y, p.right, y, "kv-fig-ceiling")
    if ample:
        label = texts(p.left + 8, first, named, size=p.size, leading=p.lead)
        return group("kv-fig-roof", roof, label, _wait(f, p, first, words))
    x = p.x(f.even_at) - 12 if f.even_at > f.full_at else p.right - 6
    label = texts(x, first, named, size=p.size, leading=p.lead, anchor="end")
    return group("kv-fig-roof", roof, label)


def _wait(f: Wedge, p: _Plot, first: float, words: list[str]) -> str:
    """Say of the wedge above the ceiling, where there is room, that it waits."""
    y = p.y(f.memory_bytes)
    rise = min((y - p.y(f.total(p.users))) * 0.62, 46.0)
    end = p.x((p.at(y - rise) - f.flat_bytes) / f.bytes_per_conversation) - 10
    start = end - width_of("these wait", p.size, bold=True)
    taken = p.left + 16 + max(width_of(word, p.size, bold=True) for word in words)
    if start <= taken and y - rise >= first - p.lead:
        return ""
    return text(end, y - rise, "these wait", _INK["ceiling"], size=p.size, anchor="end")


def _full(f: Wedge, p: _Plot) -> str:
    """The point where wedge and ceiling meet, and the line from it to the number below."""
    x, y = p.x(f.full_at), p.y(f.memory_bytes)
    return line(x, y, x, p.base + p.drop, "kv-fig-drop") + circle(x, y, 4.5, "kv-fig-hit")


def _even(f: Wedge, p: _Plot) -> str:
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


def _flat_labels(f: Wedge, p: _Plot) -> str:
    """Name the flat bands: inside them where they are high enough, else above, with a lead."""
    size = binary(f.weights_bytes)
    weights = (f"weights: {size}", _INK["weights"])
    about = ("one copy for everybody", "")
    other = (f"other memory: {binary(f.other_bytes)}", "kv-fig-muted")
    top, low = p.y(f.flat_bytes), p.y(f.other_bytes)
    if low - top < p.lead * 4.2:
        weights = (f"weights: {size}, one copy", _INK["weights"])
        return _labels_above(f, p, weights, other if f.other_bytes else None)
    x = _clear(f, p, max(width_of(one[0], p.size, bold=True) for one in (weights, about, other)))
    parts = [texts(x, top + p.lead * 1.15, [weights, about], size=p.size, leading=p.lead)]
    if f.other_bytes:
        parts.append(line(x + 3, low - 5, x + 3, (low + p.base) / 2, "kv-fig-lead"))
        parts.append(text(x, low - 9, *other, size=p.size))
    return "".join(parts)


def _labels_above(
    f: Wedge, p: _Plot, weights: tuple[str, str], other: tuple[str, str] | None
) -> str:
    """Name thin bands from inside the wedge, where it has grown high enough to hold the names."""
    top, low = p.y(f.flat_bytes), p.y(f.other_bytes)
    high = Fraction(round(p.lead * 2.9)) * p.memory / Fraction(round(p.base - p.top))
    x = max(p.x(high / f.bytes_per_conversation), p.x(f.even_at)) + 12
    rows = [(x + 10, top - 10, weights, (top + low) / 2)]
    if other:
        rows.append((x, top - 10 - p.lead, other, (low + p.base) / 2))
    parts = []
    for left, y, words, target in rows:
        parts.append(polyline([(left + 9, y - 4), (left, y - 4), (left, target)], "kv-fig-lead"))
        parts.append(text(left + 12, y, *words, size=p.size))
    return "".join(parts)


def _clear(f: Wedge, p: _Plot, width: float) -> float:
    """Return where a label of ``width`` can begin without lying on a drop line."""
    lines = sorted((p.x(f.full_at), p.x(f.even_at)))
    for start, end in zip((p.left, *lines), (*lines, p.right), strict=True):
        if end - start >= width + 14:
            return start + 8
    return p.left + 8


def _wedge_label(f: Wedge, p: _Plot) -> str:
    """Name the wedge inside it, clear of the drop lines; below a thin wedge, with a lead."""
    each = f"{binary(f.bytes_per_conversation)} " + ("per conversation" if p.wide else "each")
    words = [("cache", _INK["cache"]), (each, "")]
    width = width_of(each, p.size)
    flat, roof, drops = p.y(f.flat_bytes), p.y(f.memory_bytes), (p.x(f.even_at), p.x(f.full_at))
    need = p.lead * 2.3
    for right in (p.right - 8, drops[0] - 12, drops[1] - 10):
        start = right - width
        grown = (start - p.left) / max(drops[1] - p.left, 1.0) * (flat - roof)
        high = min(grown, flat - roof)
        if high >= need and not any(start - 6 < x < right + 6 for x in drops):
            y = flat - (high - need) / 2 - p.lead * 1.7
            return texts(right, y, words, size=p.size, leading=p.lead, anchor="end")
    right = drops[0] - 12 if f.even_at > f.full_at else p.right - 8
    return line(right - 3, flat + 10, right - 3, (flat + roof) / 2, "kv-fig-lead") + texts(
        right, flat + p.lead * 1.3, words, size=p.size, leading=p.lead, anchor="end"
    )


def _marks(f: Wedge, p: _Plot) -> tuple[str, float]:
    """Name both drop lines below the axis, on two rows where one is too short.

    Returns the drawing and the base line of the row after it.
    """
    fit, more = (
        ("conversations fit", "more cache than weights") if p.wide else ("fit", "cache > weights")
    )
    words = (
        (p.x(f.full_at), f"{f.users_max:,} {fit}", _INK["ceiling"]),
        (p.x(f.even_at), f"{f.outweighs_from:,}: {more}", _INK["cache"]),
    )
    spans = []
    for x, content, _ in words:
        half = width_of(content, p.size, bold=True) / 2
        middle = min(max(x, half), p.right - half)
        spans.append((middle - half, middle + half))
    clash = spans[0][0] < spans[1][1] + 8 and spans[1][0] < spans[0][1] + 8
    parts, y = [], p.base + p.drop + p.size + 2
    for row, ((start, end), (_, content, cls)) in enumerate(zip(spans, words, strict=True)):
        level = y + (p.lead if clash and row else 0)
        parts.append(text((start + end) / 2, level, content, cls, size=p.size, anchor="middle"))
    return "".join(parts), y + p.lead * (2.5 if clash else 1.5)
