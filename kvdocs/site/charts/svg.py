"""The drawing kit of the figures: small functions that return pieces of SVG as text.

What for: ``charts`` and its neighbours draw with these and with nothing else, so that every figure
has real text, a title and a description for assistive technology, unique ids, and no colour of its
own (colours are the classes ``kv-fig-…`` of ``docs/assets/css/figures.css``).
In: numbers and strings. Out: strings of SVG, and numbers for the layout (ticks, text widths).
Lengths are SVG user units; a figure's view box is as wide as the screen it is drawn for, so one
unit is about one CSS pixel. Standard library only, no state, no randomness.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

NARROW = 360
"""Width of the variant for phones."""
WIDE = 720
"""Width of the variant for everything else."""
TEXT = 12.5
"""Size of words in a narrow figure."""
LARGE = 14.0
"""Size of words in a wide figure."""

_NAME = re.compile(r"[a-z][a-z0-9-]*")
_ADVANCES = {"mwMW%@—": 0.95, " .,:;'ijlI|!": 0.33, "()[]/tfr-": 0.42, "1": 0.5, "023456789": 0.65}
_CAPITAL, _OTHER, _BOLD = 0.74, 0.605, 1.045

Point = tuple[float, float]


def num(value: float) -> str:
    """Return ``value`` with two decimals at most: ``1.50`` is ``1.5``, ``-0.0`` is ``0``."""
    short = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if short == "-0" else short


def tag(name: str, cls: str = "", content: str = "", **attributes: float | str) -> str:
    """Return one element. ``_`` in attribute names is ``-``; values are escaped, content not."""
    parts = [name]
    if cls:
        parts.append(f'class="{escape(cls)}"')
    for key, value in attributes.items():
        written = value if isinstance(value, str) else num(value)
        parts.append(f'{key.replace("_", "-")}="{escape(written)}"')
    head = " ".join(parts)
    return f"<{head}>{content}</{name}>" if content else f"<{head}/>"


def text(
    x: float,
    y: float,
    content: str,
    cls: str = "",
    *,
    size: float = TEXT,
    anchor: str = "start",
) -> str:
    """Return a line of text whose baseline is at ``y``; ``anchor`` is start, middle or end."""
    classes = f"kv-fig-text {cls}".strip()
    place: dict[str, float | str] = {"x": x, "y": y, "font_size": size}
    if anchor != "start":
        place["text_anchor"] = anchor
    return tag("text", classes, escape(content), **place)


def texts(
    x: float,
    y: float,
    lines: Iterable[tuple[str, str]],
    *,
    size: float = TEXT,
    leading: float = 16.0,
    anchor: str = "start",
) -> str:
    """Return lines of text below each other, each a pair (content, classes), the first at ``y``."""
    return "".join(
        text(x, y + row * leading, content, cls, size=size, anchor=anchor)
        for row, (content, cls) in enumerate(lines)
    )


def tick_beside(x: float, y: float, words: str, size: float) -> str:
    """Return the words of a tick at ``y``, left of an axis at ``x``."""
    return text(x - 8, y + size * 0.36, words, "kv-fig-muted", size=size, anchor="end")


def tick_below(x: float, base: float, words: str, size: float) -> str:
    """Return the words of a tick at ``x``, below an axis at ``base``."""
    return text(x, base + size + 6, words, "kv-fig-muted", size=size, anchor="middle")


def line(x1: float, y1: float, x2: float, y2: float, cls: str) -> str:
    """Return a straight line."""
    return tag("line", cls, x1=x1, y1=y1, x2=x2, y2=y2)


def rect(x: float, y: float, width: float, height: float, cls: str, *, radius: float = 0.0) -> str:
    """Return a rectangle with its upper left corner at (x, y)."""
    box = {"x": x, "y": y, "width": width, "height": height} | ({"rx": radius} if radius else {})
    return tag("rect", cls, "", **box)


def circle(x: float, y: float, radius: float, cls: str) -> str:
    """Return a circle around (x, y)."""
    return tag("circle", cls, cx=x, cy=y, r=radius)


def path(data: str, cls: str) -> str:
    """Return a path from its finished ``d`` data."""
    return tag("path", cls, d=data)


def polygon(points: Sequence[Point], cls: str) -> str:
    """Return a closed shape through ``points``."""
    return tag("polygon", cls, points=_joined(points))


def polyline(points: Sequence[Point], cls: str) -> str:
    """Return an open line through ``points``."""
    return tag("polyline", cls, points=_joined(points))


def arrow(x1: float, y: float, x2: float, cls: str, *, head: float = 4.0) -> str:
    """Return a level arrow from x1 to x2 whose head, two strokes, is at x2."""
    back = x2 - head if x2 > x1 else x2 + head
    tip = [(back, y - head * 0.75), (x2, y), (back, y + head * 0.75)]
    return line(x1, y, x2, y, cls) + polyline(tip, cls)


def group(cls: str, *parts: str) -> str:
    """Return the parts in one group."""
    return tag("g", cls, "".join(parts))


@dataclass(frozen=True)
class Drawing:
    """One finished variant of a figure, in user units."""

    width: float
    height: float
    body: str


def figure(name: str, title: str, desc: str, wide: Drawing, narrow: Drawing) -> str:
    """Return ``<figure>`` with both variants; the style sheet shows the one that has the room.

    ``name`` is the stem of every id in the figure and must be unique on the page.
    Raises ValueError where ``name`` is not lower case letters, digits and hyphens.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"a figure's name is lower case letters, digits and hyphens: {name!r}")
    both = _svg(f"{name}-wide", "kv-fig kv-fig-wide", title, desc, wide) + _svg(
        f"{name}-narrow", "kv-fig kv-fig-narrow", title, desc, narrow
    )
    return f'<figure class="kv-figure" id="{name}" data-search-exclude="">{both}</figure>'


def _svg(stem: str, cls: str, title: str, desc: str, drawing: Drawing) -> str:
    told = tag("title", "", escape(title), id=f"{stem}-title")
    told += tag("desc", "", escape(desc), id=f"{stem}-desc")
    box = f"0 0 {num(drawing.width)} {num(drawing.height)}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{cls}" viewBox="{box}" role="img" '
        f'aria-labelledby="{stem}-title {stem}-desc">{told}{drawing.body}</svg>'
    )


def _joined(points: Sequence[Point]) -> str:
    return " ".join(f"{num(x)},{num(y)}" for x, y in points)


def width_of(content: str, size: float = TEXT, *, bold: bool = False) -> float:
    """Return a width in user units that ``content`` will hardly exceed in a sans-serif type."""
    units = 0.0
    for letter in content:
        usual = _CAPITAL if letter.isupper() else _OTHER
        units += next((wide for some, wide in _ADVANCES.items() if letter in some), usual)
    return units * size * (_BOLD if bold else 1.0)


def steps(top: int, most: int) -> list[int]:
    """Return round whole ticks (1, 2 or 5 times a power of ten) from 0 to at most ``top``.

    Raises ValueError where ``top`` or ``most`` is below 1.
    """
    if top < 1 or most < 1:
        raise ValueError(f"no ticks between 0 and {top}, {most} of them")
    scale = 1
    while True:
        for factor in (1, 2, 5):
            if top // (factor * scale) <= most:
                return list(range(0, top + 1, factor * scale))
        scale *= 10


def doublings(top: int, most: int) -> list[int]:
    """Return ticks a power of two apart from 0 to at most ``top``, for counts of tokens.

    Raises ValueError where ``top`` or ``most`` is below 1.
    """
    if top < 1 or most < 1:
        raise ValueError(f"no ticks between 0 and {top}, {most} of them")
    step = 1
    while top // step > most:
        step *= 2
    return list(range(0, top + 1, step))


def wrap(content: str, width: float, size: float = TEXT, *, bold: bool = False) -> list[str]:
    """Return ``content`` broken at spaces into lines that stay within ``width`` user units.

    A single word that is wider stays whole.
    """
    lines: list[str] = []
    for word in content.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width_of(longer, size, bold=bold) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines
