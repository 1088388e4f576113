"""The figures of the site, each a function that returns accessible SVG in a ``<figure>``.

What for: the one door for pages and snippets. In: numbers from the floors below, as small frozen
dataclasses that refuse numbers which contradict each other. Out: one line of HTML; nothing is
printed, read or random. Each figure holds a wide and a narrow drawing of the same thing, and
``docs/assets/css/figures.css`` colours them and shows the one that has the room.
"""

from kvdocs.site.chart_growth import Curve, growth
from kvdocs.site.chart_heads import Heads, shared_heads
from kvdocs.site.chart_kept import Band, Cell, kept, keys_and_values, tokens_band
from kvdocs.site.chart_lengths import Lengths, lengths
from kvdocs.site.chart_memory import memory_wedge
from kvdocs.site.chart_notebooks import notebooks
from kvdocs.site.chart_pool import Share, shared_pool
from kvdocs.site.chart_seats import Seats, seats
from kvdocs.site.chart_wrong import Error, wrong
from kvdocs.site.wedge import Wedge

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
