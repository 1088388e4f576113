"""The things in the room of the notebook picture: desk, book, notebooks, readers, chair.

What for: ``notebooks.py`` arranges and labels them. In: a ``Desk``, the measures of one picture.
Out: pieces of SVG. Things on the desk have two coordinates, ``x`` along its front edge and
``depth`` into the picture, so their widths stay true to scale.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kvdocs.site.charts.svg import Point, circle, group, line, num, path, polygon, polyline, rect

PAGES = (4, 2, 5, 3)
"""Pages in each reader's notebook; the last word of the last page is not written yet."""
_SLANT = 0.34


@dataclass(frozen=True)
class Desk:
    """Where the desk stands and how large the things on it are; all in user units."""

    left: float
    right: float
    front: float
    depth: float
    height: float
    book: float
    page: float
    words: int
    gap: float
    head: float
    size: float

    def at(self, x: float, depth: float, lift: float = 0.0) -> Point:
        """Return the picture's point for a point on the desk top, or ``lift`` above it."""
        return (x + depth * _SLANT, self.front - depth - lift)

    def slab(self, x1: float, x2: float, near: float, far: float, lift: float = 0.0) -> list[Point]:
        """Return the corners of a sheet on the desk: near left, near right, far right, far left."""
        ends = ((x1, near), (x2, near), (x2, far), (x1, far))
        return [self.at(x, depth, lift) for x, depth in ends]

    @property
    def back(self) -> float:
        return self.front - self.depth

    @property
    def floor(self) -> float:
        return self.front + self.height

    @property
    def first(self) -> float:
        """Where the book begins."""
        return self.left + self.gap * 0.75

    def notebooks(self) -> Iterator[tuple[float, int]]:
        """Yield where each notebook begins and its pages; at last, the one that is refused."""
        x = self.first + self.book + self.gap
        for pages in (*PAGES, 2):
            yield x, pages
            x += pages * self.page + self.gap


def table(desk: Desk) -> str:
    """The desk itself, its right end marked: that is where memory ends."""
    near, far = desk.at(desk.right, 0), desk.at(desk.right, desk.depth)
    side = [far, near, (near[0], near[1] + desk.height), (far[0], far[1] + desk.height)]
    return group(
        "kv-fig-desk",
        polygon(side, "kv-fig-desk-side"),
        rect(desk.left, desk.front, desk.right - desk.left, desk.height, "kv-fig-desk-front"),
        polygon(desk.slab(desk.left, desk.right, 0, desk.depth), "kv-fig-desk-top"),
        polyline([far, near], "kv-fig-desk-end"),
    )


def weights(desk: Desk) -> str:
    """An open book, thick on both sides of its gutter."""
    x, half, thick = desk.first, desk.book / 2, desk.depth * 0.36
    near, far = desk.depth * 0.1, desk.depth * 0.9
    parts = [_block(desk, x, x + desk.book, near, far, thick, "kv-fig-book")]
    fold = ((near, 0.0), (near, thick), (far, thick))
    gutter = [desk.at(x + half, depth, lift) for depth, lift in fold]
    parts.append(polyline(gutter, "kv-fig-book-gutter"))
    for share in (0.2, 0.4, 0.6, 0.8):
        low, high = desk.at(x, near, thick * share), desk.at(x + desk.book, near, thick * share)
        parts.append(line(*low, *high, "kv-fig-book-line"))
    inset = desk.book * 0.06
    for begin in (x, x + half):
        for row in range(5):
            depth = near + (far - near) * (0.2 + 0.15 * row)
            a = desk.at(begin + inset, depth, thick)
            b = desk.at(begin + half - inset * (2.6 if row == 0 else 1), depth, thick)
            parts.append(line(*a, *b, "kv-fig-book-line"))
    return group("kv-fig-book", *parts)


def _block(desk: Desk, x1: float, x2: float, near: float, far: float, lift: float, cls: str) -> str:
    """A stack of paper: front edge, right edge, top."""
    top, low = desk.slab(x1, x2, near, far, lift), desk.slab(x1, x2, near, far)
    return (
        polygon([low[0], low[1], top[1], top[0]], f"{cls}-edge")
        + polygon([low[1], low[2], top[2], top[1]], f"{cls}-edge")
        + polygon(top, f"{cls}-page")
    )


def notebook(desk: Desk, x: float, pages: int) -> str:
    """Pages side by side, written from the left: K above V, one pair for every word."""
    near, far = desk.depth * 0.15, desk.depth * 0.87
    thick = 1.5 + pages * 1.2
    parts = [_block(desk, x, x + pages * desk.page, near, far, thick, "kv-fig-note")]
    for fold in range(1, pages):
        middle = x + fold * desk.page
        parts.append(
            line(*desk.at(middle, near, thick), *desk.at(middle, far, thick), "kv-fig-note-fold")
        )
    written = pages * desk.words - 1
    parts += [_word(desk, x, word, thick) for word in range(written)]
    tip = desk.at(x + (written + 0.25) * desk.page / desk.words, desk.depth * 0.36, thick)
    reach = desk.depth * 0.42
    pen = line(*tip, tip[0] + reach * 0.5, tip[1] - reach, "kv-fig-pen")
    return group("kv-fig-notebook", *parts, pen)


def _word(desk: Desk, x: float, word: int, lift: float) -> str:
    """The two notes of one word."""
    pitch = desk.page / desk.words
    a = x + (word + 0.24) * pitch
    b = a + pitch * 0.52
    key = desk.slab(a, b, desk.depth * 0.55, desk.depth * 0.78, lift)
    value = desk.slab(a, b, desk.depth * 0.24, desk.depth * 0.47, lift)
    return polygon(key, "kv-fig-key") + polygon(value, "kv-fig-value")


def refused(desk: Desk, x: float, pages: int) -> str:
    """The notebook that would hang over the end of the desk."""
    near, far = desk.depth * 0.15, desk.depth * 0.87
    return polygon(desk.slab(x, x + pages * desk.page, near, far), "kv-fig-refused")


def gaze(desk: Desk, x: float) -> str:
    """The reader's line of sight to the book they all share, over the heads of the others."""
    start = desk.at(desk.first + desk.book / 2, desk.depth * 0.9, desk.depth * 0.36 + 4)
    end = (x - desk.head * 0.75, desk.back - desk.head * 3.6)
    reach = end[0] - start[0]
    top = min(start[1], end[1]) - reach * 0.3 - 6
    curve = (start[0] + reach * 0.18, top, end[0] - reach * 0.22, top, *end)
    return path(
        f"M{_pair(*start)}C{_pair(*curve[:2])} {_pair(*curve[2:4])} {_pair(*curve[4:])}",
        "kv-fig-gaze",
    )


def seated(desk: Desk, x: float) -> str:
    """Head and shoulders behind the desk, the back of the chair behind them."""
    r, base = desk.head, desk.back
    wide, high = r * 1.7, r * 2.1
    body = (
        f"M{_pair(x - wide, base)}C{_pair(x - wide, base - high * 0.8)} "
        f"{_pair(x - r * 0.9, base - high)} {_pair(x, base - high)}"
        f"S{_pair(x + wide, base - high * 0.8)} {_pair(x + wide, base)}"
    )
    return group(
        "kv-fig-reader",
        rect(x - r * 2, base - r * 1.5, r * 4, r * 3, "kv-fig-chair", radius=r * 0.5),
        path(body, "kv-fig-person"),
        circle(x, base - high - r * 0.8, r, "kv-fig-person"),
    )


def standing(x: float, floor: float, height: float) -> str:
    """The reader who waits, drawn like the seated ones, with a closed notebook under the arm."""
    r = height * 0.068
    wide, foot, neck = r * 1.75, r * 0.95, floor - height + r * 2.55
    body = (
        f"M{_pair(x - foot, floor)}L{_pair(x - wide, neck + r * 2.1)}"
        f"C{_pair(x - wide, neck + r * 0.4)} {_pair(x - r * 0.9, neck)} {_pair(x, neck)}"
        f"S{_pair(x + wide, neck + r * 0.4)} {_pair(x + wide, neck + r * 2.1)}"
        f"L{_pair(x + foot, floor)}Z"
    )
    top = neck + r * 2.6
    held = [
        (x - r * 1.15, top),
        (x + r * 0.75, top - r * 0.3),
        (x + r * 1.05, top + r * 2.1),
        (x - r * 0.85, top + r * 2.4),
    ]
    elbow, hand = (x + r * 0.5, top + r * 2.9), (x - r * 0.5, top + r * 2.5)
    arm = [(x + wide * 0.92, neck + r * 2.6), elbow, hand]
    return group(
        "kv-fig-reader",
        path(body, "kv-fig-person"),
        circle(x, floor - height + r, r, "kv-fig-person"),
        polygon(held, "kv-fig-held"),
        polyline(arm, "kv-fig-limb"),
    )


def chair(x: float, floor: float, width: float, height: float) -> str:
    """An empty chair, seen as the chairs behind the desk are, around ``x``."""
    seat, half = floor - height * 0.46, width / 2
    legs = "".join(
        line(x + side * half * 0.82, seat, x + side * half * 0.95, floor, "kv-fig-chair-line")
        for side in (-1, 1)
    )
    posts = "".join(
        line(
            x + side * half * 0.6,
            seat - height * 0.2,
            x + side * half * 0.6,
            seat,
            "kv-fig-chair-line",
        )
        for side in (-1, 1)
    )
    return group(
        "kv-fig-empty-chair",
        legs,
        posts,
        rect(
            x - half * 0.9,
            floor - height,
            width * 0.9,
            height * 0.36,
            "kv-fig-chair",
            radius=height * 0.07,
        ),
        rect(
            x - half,
            seat - height * 0.05,
            width,
            height * 0.1,
            "kv-fig-chair",
            radius=height * 0.05,
        ),
    )


def _pair(x: float, y: float) -> str:
    return f"{num(x)} {num(y)}"
