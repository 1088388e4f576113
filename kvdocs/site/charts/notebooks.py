"""The notebook idea as a picture: a desk, one shared book, one growing notebook per reader.

What for: the section "The idea". The desk's width is GPU memory; the book on it is the weights; the
notebooks are the caches, as wide as their readers have read far; the reader who finds no room waits
beside a free chair. In: nothing but the figure's name. Out: a ``<figure>`` as a string.
The things themselves are in ``room``; here they are placed and named, once wide and once narrow.
"""

from __future__ import annotations

from kvdocs.site.charts.room import (
    Desk,
    chair,
    gaze,
    notebook,
    refused,
    seated,
    standing,
    table,
    weights,
)
from kvdocs.site.charts.svg import (
    LARGE,
    NARROW,
    TEXT,
    WIDE,
    Drawing,
    arrow,
    figure,
    group,
    line,
    rect,
    text,
    texts,
    width_of,
)

TITLE = "The desk and the notebooks"
DESC = (
    "A desk of finite width stands for GPU memory. On its left lies one thick open book, the "
    "weights: one copy that everybody reads from. Beside it lie four open notebooks, one per "
    "reader, each with its reader seated behind it. A notebook holds two notes for every word "
    "read, a key K and a value V, and grows to the right with every word; the four have grown to "
    "different widths. The desk is full. A fifth reader stands and waits: one more notebook would "
    "hang over the end of the desk, although a chair is free. Desk space is the limit, not chairs."
)


def notebooks(name: str = "notebooks") -> str:
    """Return the figure of the idea: the desk is memory, notebooks are caches, the last one waits.

    Raises ValueError where ``name`` is no usable id.
    """
    return figure(name, TITLE, DESC, _wide(), _narrow())


def _wide() -> Drawing:
    desk = Desk(
        left=12,
        right=532,
        front=210,
        depth=60,
        height=98,
        book=132,
        page=22,
        words=3,
        gap=12.5,
        head=12.5,
        size=LARGE,
    )
    start = next(desk.notebooks())[0]
    parts = [
        line(0, desk.floor, WIDE, desk.floor, "kv-fig-floor"),
        _scene(desk),
        _on_front(desk, start, 44),
        _pair_key(desk, start + 198, desk.front + 30),
        text(start + 198, desk.front + 72, "two notes for every word", size=desk.size - 0.5),
        _measure(desk),
        standing(623, desk.floor, 188),
        chair(688, desk.floor, 46, 108),
        texts(634, 76, _WAITS, size=desk.size, anchor="middle", leading=18),
        texts(WIDE - 4, desk.floor + 21, _CHAIR, size=desk.size - 0.5, anchor="end", leading=17),
    ]
    return Drawing(WIDE, desk.floor + 44, "".join(parts))


def _narrow() -> Drawing:
    desk = Desk(
        left=2,
        right=318,
        front=150,
        depth=48,
        height=124,
        book=82,
        page=13,
        words=2,
        gap=8,
        head=9.5,
        size=TEXT,
    )
    start = next(desk.notebooks())[0]
    low = desk.floor + 176
    parts = [
        _scene(desk),
        _on_front(desk, start, 36),
        _pair_key(desk, start, desk.front + 70),
        text(start, desk.front + 110, "two notes for every word", size=desk.size),
        _measure(desk),
        line(0, low, NARROW, low, "kv-fig-floor"),
        standing(252, low, 138),
        chair(320, low, 38, 84),
        texts(206, low - 92, _WAITS, size=desk.size, anchor="end"),
        texts(206, low - 34, _CHAIR, size=desk.size - 0.5, anchor="end"),
    ]
    return Drawing(NARROW, low + 4, "".join(parts))


_WAITS = (
    ("no desk space left:", "kv-fig-ceiling-ink kv-fig-bold"),
    ("waits", "kv-fig-ceiling-ink kv-fig-bold"),
)
_CHAIR = (("a chair is free:", "kv-fig-muted"), ("chairs are not the limit", "kv-fig-muted"))


def _scene(desk: Desk) -> str:
    """Everything on and behind the desk, from the back to the front."""
    *kept, last = desk.notebooks()
    seats = [desk.at(start + pages * desk.page / 2, desk.depth)[0] for start, pages in kept]
    return "".join(
        [
            *(gaze(desk, x) for x in seats),
            *(seated(desk, x) for x in seats),
            table(desk),
            refused(desk, *last),
            weights(desk),
            *(notebook(desk, start, pages) for start, pages in kept),
        ]
    )


def _on_front(desk: Desk, start: float, drop: float) -> str:
    """What the things on the desk are, on the front of the desk right under them."""
    arrows = [
        arrow(x, desk.front + drop * 0.36, x + pages * desk.page, "kv-fig-grow")
        for x, pages in [*desk.notebooks()][:-1]
    ]
    y, lead = desk.front + drop, desk.size * 1.3
    book = (("weights:", "kv-fig-weights-ink kv-fig-bold"), ("one copy for", ""), ("everybody", ""))
    notes = (
        ("one notebook per reader", "kv-fig-cache-ink kv-fig-bold"),
        ("grows with every word read", ""),
    )
    return (
        texts(desk.first, y, book, size=desk.size, leading=lead)
        + "".join(arrows)
        + texts(start, y, notes, size=desk.size, leading=lead)
    )


def _pair_key(desk: Desk, x: float, y: float) -> str:
    """K and V, large, and what they are."""
    high, gap, parts = desk.size * 1.75, 8.0, []
    names = (("K: key", "kv-fig-key", "kv-fig-on-key"), ("V: value", "kv-fig-value", ""))
    for name, shape, ink in names:
        wide = width_of(name, desk.size, bold=True) + 18
        parts.append(rect(x, y, wide, high, shape, radius=2))
        middle = (x + wide / 2, y + high / 2 + desk.size * 0.36)
        bold = f"{ink} kv-fig-bold".strip()
        parts.append(text(*middle, name, bold, size=desk.size, anchor="middle"))
        x += wide + gap
    return group("kv-fig-marks", *parts)


def _measure(desk: Desk) -> str:
    """The width of the desk, from end to end."""
    label, y, middle = "the desk: GPU memory", desk.floor + 20, (desk.left + desk.right) / 2
    free = width_of(label, desk.size, bold=True) / 2 + 8
    return group(
        "kv-fig-measure",
        arrow(middle - free, y, desk.left, "kv-fig-axis"),
        arrow(middle + free, y, desk.right, "kv-fig-axis"),
        text(middle, y + desk.size * 0.36, label, "kv-fig-bold", size=desk.size, anchor="middle"),
    )
