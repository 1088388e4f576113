"""Adds line and column to what MkDocs and markdown-exec say about a page.

In: their log records on a dead link and on a block that fails, which name the page or the block
only. Out: the same records as one paragraph that begins ``docs/page.md:LINE:COLUMN:``, without a
traceback.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from pathlib import Path

from kvdocs.site.pages import fences, place_of, read

LOGGERS = ("mkdocs.structure.pages", "mkdocs.plugins.markdown_exec._internal.formatters.base")

_LINK = re.compile(
    r"Doc file '(?P<page>[^']+)' (?P<what>contains an? [^']*link '(?P<link>[^']+)'.*)"
)
_BLOCK = re.compile(r".*Execution of \w+ code block '(?P<id>[^']+)'", re.DOTALL)
_RAISED = re.compile(r'^ *File "<code block: [^>]*>", line (?P<line>\d+)', re.MULTILINE)


def say_where(docs: Path, page: Callable[[], Path]) -> None:
    """Have the two add the place; ``page`` gives the page that is being made."""
    for logger in map(logging.getLogger, LOGGERS):
        others = [one for one in logger.filters if not isinstance(one, Placed)]
        logger.filters = [*others, Placed(docs, page)]


class Placed(logging.Filter):
    """Rewrites such a record."""

    def __init__(self, docs: Path, page: Callable[[], Path]) -> None:
        super().__init__()
        self.docs, self.page = docs, page

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every record through, with its place where it has one."""
        said = record.getMessage()
        if found := _LINK.fullmatch(said):
            page = self.docs / found["page"]
            text = read(page) if page.is_file() else ""
            if (position := text.find(f"({found['link']}")) >= 0:
                line, column = place_of(text, position)
                record.msg, record.args = f"{page}:{line}:{column}: {found['what']}", ()
        elif found := _BLOCK.match(said):
            record.msg, record.args = _failed(self.page(), found["id"], said), ()
        return True


def of_block(page: Path, name: str) -> str:
    """``docs/page.md:LINE:COLUMN`` of the executed block with this ``id``."""
    text = read(page)
    at = (fence.start for fence in fences(text) if fence.options.get("id") == name)
    line, column = place_of(text, next(at, 0))
    return f"{page}:{line}:{column}"


def _failed(page: Path, name: str, said: str) -> str:
    last = next(line.strip() for line in reversed(said.splitlines()) if line.strip(" `"))
    lines = [found["line"] for found in _RAISED.finditer(said)]
    where = f" in line {lines[-1]} of its snippet" if lines else ""
    return f"{of_block(page, name)}: the block {name!r} failed{where}: {last}"
