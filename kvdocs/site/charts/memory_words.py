"""The words of the memory chart, each placed where it has room.

What for: ``memory.py`` draws the shapes, this names them, for any model on any card: bands may
be thin, the wedge flat, and the two marks close together. In: the numbers and the plot's scale.
Out: pieces of SVG.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from kvdocs.site.charts.svg import group, line, polyline, text, texts, width_of
from kvdocs.site.charts.wedge import Wedge
from kvdocs.units import binary

_INK = {
    "weights": "kv-fig-weights-ink kv-fig-bold",
    "cache": "kv-fig-cache-ink kv-fig-bold",
    "ceiling": "kv-fig-ceiling-ink kv-fig-bold",
}


@dataclass(frozen=True)
class Plot:
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
        """Return where a number of conversations stands."""
        return self.left + float(users / self.users) * (self.right - self.left)

    def y(self, count: Fraction | int) -> float:
        """Return how high a number of bytes reaches."""
        return self.base - float(count / self.memory) * (self.base - self.top)

    def at(self, y: float) -> Fraction:
        """Return the bytes that lie at height ``y``."""
        return Fraction((self.base - y) / (self.base - self.top)) * self.memory


def ceiling(f: Wedge, p: Plot) -> str:
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
    drawn = line(p.left, y, p.right, y, "kv-fig-ceiling")
    if ample:
        label = texts(p.left + 8, first, named, size=p.size, leading=p.lead)
        return group("kv-fig-roof", drawn, label, _wait(f, p, first, words))
    x = p.x(f.even_at) - 12
    if f.even_at <= f.full_at or x < p.left + max(width_of(one, p.size) for one in words) + 20:
        x = p.right - 6
    label = texts(x, first, named, size=p.size, leading=p.lead, anchor="end")
    return group("kv-fig-roof", drawn, label, _wait(f, p, first, []))


def _wait(f: Wedge, p: Plot, first: float, words: list[str]) -> str:
    """Say of the wedge above the ceiling, where there is room, that it waits."""
    y = p.y(f.memory_bytes)
    rise = min((y - p.y(f.total(p.users))) * 0.62, 46.0)
    end = p.x((p.at(y - rise) - f.flat_bytes) / f.bytes_per_conversation) - 10
    start = end - width_of("these wait", p.size, bold=True)
    taken = p.left + 16 + max((width_of(word, p.size, bold=True) for word in words), default=0)
    if start <= p.left + 4 or (start <= taken and y - rise >= first - p.lead):
        return ""
    return text(end, y - rise, "these wait", _INK["ceiling"], size=p.size, anchor="end")


def flat_labels(f: Wedge, p: Plot) -> str:
    """Name the flat bands: inside them where they are high enough, else above, with a lead."""
    size = binary(f.weights_bytes)
    weights = (f"weights: {size}", _INK["weights"])
    about = ("one copy for everybody", "")
    other = (f"other memory: {binary(f.other_bytes)}", "kv-fig-muted")
    top, low = p.y(f.flat_bytes), p.y(f.other_bytes)
    if _thin(f, p):
        return _labels_above(f, p, weights, other if f.other_bytes else None)
    x = _clear(f, p, max(width_of(one[0], p.size, bold=True) for one in (weights, about, other)))
    parts = [texts(x, top + p.lead * 1.15, [weights, about], size=p.size, leading=p.lead)]
    if p.base - low > p.lead * 1.5:
        parts.append(text(x, low + p.lead, *other, size=p.size))
    elif f.other_bytes:
        parts.append(line(x + 3, low - 5, x + 3, (low + p.base) / 2, "kv-fig-lead"))
        parts.append(text(x, low - 9, *other, size=p.size))
    return "".join(parts)


def _thin(f: Wedge, p: Plot) -> bool:
    """Whether the band of weights is too thin for words."""
    return p.y(f.other_bytes) - p.y(f.flat_bytes) < p.lead * 4.2


def _labels_above(
    f: Wedge, p: Plot, weights: tuple[str, str], other: tuple[str, str] | None
) -> str:
    """Name thin bands from inside the wedge, where it has grown high enough to hold the names."""
    top, low = p.y(f.flat_bytes), p.y(f.other_bytes)
    high = Fraction(round(p.lead * 2.9)) * p.memory / Fraction(round(p.base - p.top))
    x = max(p.x(high / f.bytes_per_conversation), p.x(f.even_at)) + 12
    end = p.x(f.full_at) if x < p.x(f.full_at) else p.right
    width = max(width_of(one[0], p.size, bold=True) for one in (weights, other or weights))
    x = min(x, p.right - width - 26)
    more = ", one copy"
    if x + 26 + width + width_of(more, p.size, bold=True) < end:
        weights = (weights[0] + more, weights[1])
    rows = [(x + 10, top - 10, weights, (top + low) / 2)]
    if other:
        rows.append((x, top - 10 - p.lead, other, (low + p.base) / 2))
    parts = []
    for left, y, words, target in rows:
        parts.append(polyline([(left + 9, y - 4), (left, y - 4), (left, target)], "kv-fig-lead"))
        parts.append(text(left + 12, y, *words, size=p.size))
    return "".join(parts)


def _clear(f: Wedge, p: Plot, width: float) -> float:
    """Return where a label of ``width`` can begin without lying on a drop line."""
    lines = sorted((p.x(f.full_at), p.x(f.even_at)))
    for start, end in zip((p.left, *lines), (*lines, p.right), strict=True):
        if end - start >= width + 14:
            return start + 8
    return p.left + 8


def wedge_label(f: Wedge, p: Plot) -> str:
    """Name the wedge inside it, clear of the drop lines; below a thin wedge, with a lead."""
    each = f"{binary(f.bytes_per_conversation)} " + ("per conversation" if p.wide else "each")
    words = [("cache", _INK["cache"]), (each, "")]
    width = width_of(each, p.size)
    flat, drops = p.y(f.flat_bytes), (p.x(f.even_at), p.x(f.full_at))
    free = flat - p.y(f.memory_bytes)
    need, low = p.lead * 2.3, p.lead * 2.2 if _thin(f, p) else 0.0
    for right in (p.right - 8, drops[0] - 10, drops[1] - 10):
        start = right - width
        grown = (start - p.left) / max(drops[1] - p.left, 1.0) * free
        high = min(grown, free) - low
        if high >= need and not any(start - 5 < x < right + 5 for x in drops):
            y = flat - low - (high - need) / 2 - p.lead * 1.7
            return texts(right, y, words, size=p.size, leading=p.lead, anchor="end")
    right = drops[0] - 12 if f.even_at > f.full_at else p.right - 8
    right = max(right, p.left + width + 8)
    y = flat + p.lead * (1.15 if p.wide else 3.35)
    lead = line(right - 3, y - p.size, right - 3, flat - free / 2, "kv-fig-lead")
    return lead + texts(right, y, words, size=p.size, leading=p.lead, anchor="end")


def marks(f: Wedge, p: Plot) -> tuple[str, float]:
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
        middle = min(max(x, half), p.right + 3 - half)
        spans.append((middle - half, middle + half))
    clash = spans[0][0] < spans[1][1] + 4 and spans[1][0] < spans[0][1] + 4
    parts, y = [], p.base + p.drop + p.size + 2
    for row, ((start, end), (_, content, cls)) in enumerate(zip(spans, words, strict=True)):
        level = y + (p.lead if clash and row else 0)
        parts.append(text((start + end) / 2, level, content, cls, size=p.size, anchor="middle"))
    return "".join(parts), y + p.lead * (2.5 if clash else 1.5)
