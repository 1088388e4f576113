"""The figures of the site, each a function that returns accessible SVG in a ``<figure>``.

What for: the one door for pages and snippets. In: numbers from the floors below, as small frozen
dataclasses that refuse numbers which contradict each other. Out: one line of HTML; nothing is
printed, read or random. Each figure holds a wide and a narrow drawing of the same thing, and
``docs/assets/css/figures.css`` colours them and shows the one that has the room.
"""

from kvdocs.site.charts.growth import Curve, growth
from kvdocs.site.charts.heads import Heads, shared_heads
from kvdocs.site.charts.kept import Band, Cell, kept, keys_and_values, tokens_band
from kvdocs.site.charts.lengths import Lengths, lengths
from kvdocs.site.charts.memory import memory_wedge
from kvdocs.site.charts.notebooks import notebooks
from kvdocs.site.charts.pool import Share, shared_pool
from kvdocs.site.charts.seats import Seats, seats
from kvdocs.site.charts.wedge import Wedge
from kvdocs.site.charts.wrong import Error, wrong

__all__ = [
    "Band",
    "Cell",
    "Curve",
    "Error",
    "Heads",
    "Lengths",
    "Seats",
    "Share",
    "Wedge",
    "growth",
    "kept",
    "keys_and_values",
    "lengths",
    "memory_wedge",
    "notebooks",
    "seats",
    "shared_heads",
    "shared_pool",
    "tokens_band",
    "wrong",
]
