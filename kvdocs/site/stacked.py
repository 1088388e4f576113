"""Tables of prose as cards on a phone: each cell gets its column's title, which CSS shows there.

In: a page's HTML. Out: the same, where the tables in a ``<div class="kv-stack" markdown>`` have
``data-label`` on every cell.
"""

from __future__ import annotations

import re
from html import escape, unescape
from itertools import cycle

_TABLE = re.compile(r'(?<=<div class="kv-stack">)\s*<table>.*?</table>', re.DOTALL)
_TITLE = re.compile(r"<th\b[^>]*>(.*?)</th>", re.DOTALL)


def labelled(html: str) -> str:
    """The page with labels.

    >>> labelled('<div class="kv-stack"><table><th>A</th><td>1</td></table>')
    '<div class="kv-stack"><table><th>A</th><td data-label="A">1</td></table>'
    """
    return _TABLE.sub(lambda found: _cells(found[0]), html)


def _cells(table: str) -> str:
    titles = [unescape(re.sub(r"<[^>]+>", "", title)) for title in _TITLE.findall(table)]
    labels = cycle(f' data-label="{escape(title)}"' for title in titles)
    return re.sub(r"<td\b", lambda found: found[0] + next(labels), table)
