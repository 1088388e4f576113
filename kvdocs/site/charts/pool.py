"""One pool of cache, shared out in several ways: a place for each sequence, and what is in it.

What for: the page on workloads. In: for each way the blocks of a place and those really held. Out:
a ``<figure>`` as a string. All rows are the same pool, as wide as the figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kvdocs.site.charts.curves import label
from kvdocs.site.charts.svg import (
    LARGE,
    NARROW,
    TEXT,
    WIDE,
    Drawing,
    figure,
    group,
    line,
    rect,
    text,
    texts,
)

BAR = 30.0
"""Height of a pool."""


@dataclass(frozen=True)
class Share:
    """One way: ``places`` are (blocks set aside, blocks held), side by side.

    Raises ValueError where a place holds more than it has, or there is none.
    """

    name: str
    note: str
    places: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        if not self.places or any(not 0 <= held <= room for room, held in self.places):
            raise ValueError(f"{self.name}: no places, or more held than there is room")

    @property
    def taken(self) -> int:
        """Blocks set aside in all."""
        return sum(room for room, _ in self.places)


def shared_pool(ways: Sequence[Share], blocks: int, name: str = "shared-pool") -> str:
    """Return the pool of ``blocks`` blocks, one row a way.

    Raises ValueError where there is no way, where one sets more aside than there is, or where
    ``name`` is no usable id.
    """
    if not ways or any(way.taken > blocks for way in ways):
        raise ValueError(f"no way to share {blocks:,} blocks, or one that needs more")
    told = "; ".join(
        f"{way.name}: {len(way.places):,} sequences, {way.note}, {_percent(way, blocks)} of the "
        "blocks in use"
        for way in ways
    )
    desc = f"The same {blocks:,} blocks of cache, shared out in {len(ways)} ways. {told}."
    wide, narrow = _draw(ways, blocks, WIDE, LARGE), _draw(ways, blocks, NARROW, TEXT)
    return figure(name, "One pool, shared out in several ways", desc, wide, narrow)


def _percent(way: Share, blocks: int) -> str:
    held = sum(held for _, held in way.places)
    return f"{(200 * held + blocks) // (2 * blocks)}%"


def _draw(ways: Sequence[Share], blocks: int, width: float, size: float) -> Drawing:
    parts, y, leading = [], size, size * 1.25
    right = width - 2
    for way in ways:
        note = f"{way.note}; {_percent(way, blocks)} of the blocks in use"
        words = label(way.name, note, width - 10, size)
        parts.append(texts(2, y, words, size=size, leading=leading))
        y += (len(words) - 1) * leading + 8
        parts.append(_row(way, blocks, 2, right, y))
        y += BAR + size * 2.1
    y -= size * 0.6
    key = f"each row is the same pool of {blocks:,} blocks"
    parts.append(text(2, y, key, "kv-fig-muted", size=size))
    return Drawing(width, y + 8, "".join(parts))


def _row(way: Share, blocks: int, left: float, right: float, y: float) -> str:
    scale = (right - left) / blocks
    parts = [rect(left, y, right - left, BAR, "kv-fig-pool")]
    x = left
    for room, held in way.places:
        parts.append(rect(x, y, held * scale, BAR, "kv-fig-bar"))
        x += room * scale
        parts.append(line(x, y, x, y + BAR, "kv-fig-seat"))
    return group("kv-fig-row", *parts)
