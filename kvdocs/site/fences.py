"""Guards for executed blocks: a misspelt one would silently not run.

In: a page. Out: what is wrong with its executed blocks, each with its position. Every block that
runs has an ``id`` (so that a failure can be found), known options, and one snippet file as its
body, so that what the page shows is a file which readers can copy and tests run.
"""

from __future__ import annotations

import re

from kvdocs.site.pages import COMMENT, Fence, fences

OPTIONS = {"exec": "1", "id": None, "html": "1"}
_INCLUDE = re.compile(r'\s*--8<-- "[\w./-]+\.py"\s*')


def problems(text: str) -> list[tuple[int, str]]:
    """(position, problem) for every executed block of the page that would not run as meant."""
    found = []
    seen: set[str] = set()
    hidden = [match.span() for match in COMMENT.finditer(text)]
    for fence in fences(text):
        if fence.runs:
            found += [(fence.start, problem) for problem in _of(fence, seen)]
            if any(start < fence.start < end for start, end in hidden):
                found.append((fence.start, "executed block is in a comment, so it does not run"))
    return found


def count(text: str) -> int:
    """How many blocks of the page are executed."""
    return sum(fence.runs for fence in fences(text))


def _of(fence: Fence, seen: set[str]) -> list[str]:
    found = []
    written = " ".join([fence.language, *(f'{k}="{v}"' for k, v in fence.options.items())])
    if fence.language != "python" or written != " ".join(fence.info.split()):
        found.append(f'executed block is not of the form python exec="1" id="…": {fence.info}')
    for name, value in fence.options.items():
        if name not in OPTIONS:
            found.append(f"executed block has an unknown option {name!r}")
        elif OPTIONS[name] not in (None, value):
            found.append(f'executed block: {name} must be "{OPTIONS[name]}", not "{value}"')
    name = fence.options.get("id", "")
    if not name or name in seen:
        found.append("executed block needs an id of its own")
    seen.add(name)
    if not _INCLUDE.fullmatch(fence.body):
        found.append("executed block must hold one line that includes a file of snippets/")
    return found
