"""What one layer still keeps as a sequence grows: tokens as cells, one band for each thing kept.

What for: the pages on cache kinds. In: a function from a number of tokens to bands of cells; which
tokens are kept comes from the layer itself. Out: a ``<figure>`` as a string. Kept cells are filled,
cells that were let go or never stored are dashed outlines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kvdocs.formula.layers import Layer
from kvdocs.site.charts.svg import LARGE, NARROW, TEXT, WIDE, Drawing, figure, group, rect, text

STYLES = ("key", "value", "latent", "index", "state")
COLUMNS = 16
"""Most tokens a band has room for."""
LENGTHS = (4, 8, 16)
"""The lengths at which a layer is drawn, unless others show more of it."""


@dataclass(frozen=True)
class Cell:
    """The tokens ``first`` to ``last``, counted from 1, as one thing that is kept or is not."""

    first: int
    last: int
    kept: bool


@dataclass(frozen=True)
class Band:
    """One thing a layer keeps, such as K; ``height`` is its share of a usual band's height.

    Raises ValueError where the style is unknown or a cell lies outside the columns.
    """

    label: str
    style: str
    cells: tuple[Cell, ...]
    height: float = 1.0

    def __post_init__(self) -> None:
        if self.style not in STYLES:
            raise ValueError(f"{self.label}: no style {self.style!r}; choose one of {STYLES}")
        if any(not 1 <= cell.first <= cell.last <= COLUMNS for cell in self.cells):
            raise ValueError(f"{self.label}: a cell lies outside 1 to {COLUMNS}")


@dataclass(frozen=True)
class _Size:
    """Lengths of one variant in user units."""

    width: float
    label: float
    row: float
    text: float

    @property
    def pitch(self) -> float:
        return (self.width - self.label) / COLUMNS


Bands = Callable[[int], Sequence[Band]]


def tokens_band(label: str, style: str, tokens: int, kept: int, height: float = 1.0) -> Band:
    """One cell for each of ``tokens`` tokens, of which the last ``kept`` are still kept."""
    cells = tuple(Cell(i, i, i > tokens - kept) for i in range(1, tokens + 1))
    return Band(label, style, cells, height)


def keys_and_values(layer: Layer, tokens: int) -> list[Band]:
    """K and V of the tokens that ``layer`` still holds."""
    held = layer.tokens_kept(tokens)
    return [tokens_band("K", "key", tokens, held), tokens_band("V", "value", tokens, held)]


def kept(title: str, bands: Bands, name: str, lengths: Sequence[int] = LENGTHS) -> str:
    """Return the figure of what ``bands`` gives at each of ``lengths``.

    ``name`` is the stem of the figure's ids; raises ValueError where it is no usable id.
    """
    told = ". ".join(_told(tokens, bands(tokens)) for tokens in lengths) + "."
    wide = _drawing(bands, lengths, _Size(WIDE, 128, 18, LARGE))
    narrow = _drawing(bands, lengths, _Size(NARROW, 84, 14, TEXT))
    return figure(name, title, told, wide, narrow)


def _told(tokens: int, bands: Sequence[Band]) -> str:
    each = (f"{b.label} {sum(c.kept for c in b.cells)} of {len(b.cells)} kept" for b in bands)
    return f"After {tokens} tokens: " + ", ".join(each)


def _drawing(bands: Bands, lengths: Sequence[int], size: _Size) -> Drawing:
    parts, y = [], size.text
    for tokens in lengths:
        parts.append(text(0, y, f"after {tokens} tokens", "kv-fig-bold", size=size.text))
        y += size.text * 0.65
        for band in bands(tokens):
            height = size.row * band.height
            parts.append(_band(band, y, height, size))
            y += max(height, size.text) + 4
        y += size.text * 1.5
    return Drawing(size.width, y - size.text * 1.5, "".join(parts))


def _band(band: Band, y: float, height: float, size: _Size) -> str:
    middle = y + height / 2 + size.text * 0.36
    label = text(size.label - 10, middle, band.label, "kv-fig-muted", size=size.text, anchor="end")
    cells = (_cell(cell, band.style, y, height, size) for cell in band.cells)
    return group("kv-fig-band", label, *cells)


def _cell(cell: Cell, style: str, y: float, height: float, size: _Size) -> str:
    x = size.label + (cell.first - 1) * size.pitch
    width = (cell.last - cell.first + 1) * size.pitch - 3
    return rect(x, y, width, height, f"kv-fig-{style if cell.kept else 'gone'}-cell", radius=2)
