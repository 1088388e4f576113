"""A Markdown page as source text: where its code is, which blocks run, what is prose.

In: the text of a page. Out: its fenced blocks with their options and lines, and ``prose``: the same
text, character for character, in which everything that is not prose is blanked. Positions in
``prose`` are positions in the page, so an error can name line and column.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"^(?P<indent>[ \t]*)(?P<mark>`{3,}|~{3,})(?P<info>[^\n`]*)$", re.MULTILINE)
_OPTION = re.compile(r'([\w-]+)="([^"]*)"')
_NOT_PROSE = re.compile(
    r"""
    \A---\n.*?\n---\n                       # front matter
    | <!--.*?-->                            # comments
    | <(?:https?|mailto):[^>\s]+>           # automatic links
    | </?[A-Za-z][^>]*>                     # tags
    | &\#?\w+;                              # entities
    | \{:?[ ]?[.\#][^}\n]*\}                # attribute lists
    | (?<=\])\([^()\s]*(?:\s+"[^"]*")?\)    # link targets
    | ^[ ]*\[[^\]]+\]:[ ]<?(?:https?:|[#/.]|[\w/-]+\.(?:md|html)).*$  # link definitions
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)


@dataclass(frozen=True)
class Fence:
    """A fenced code block: its language and options, where it stands, the text inside.

    ``start`` and ``end`` are positions in the page.
    """

    language: str
    options: dict[str, str]
    info: str
    start: int
    end: int
    body: str

    @property
    def runs(self) -> bool:
        """Whether markdown-exec is asked to execute it."""
        return "exec" in self.info


def pages(paths: list[Path]) -> list[Path]:
    """The Markdown files among ``paths`` and in the folders among them, sorted.

    Raises:
        ValueError: a path does not exist.
    """
    found: set[Path] = set()
    for path in paths:
        if not path.exists():
            raise ValueError(f"{path}: no such file or folder. Name a page or a folder of pages")
        inside = (page for page in path.rglob("*.md") if page.is_file())
        found.update(inside if path.is_dir() else [path])
    return sorted(found)


def read(path: Path) -> str:
    """The text of a page, its line ends as they are.

    Raises:
        ValueError: it is not UTF-8 text.
    """
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8 text at byte {error.start:,}") from None


def place_of(text: str, position: int) -> tuple[int, int]:
    """The line and the column at which ``position`` stands, both counted from 1."""
    before = text[:position]
    return before.count("\n") + 1, position - before.rfind("\n")


def fences(text: str) -> list[Fence]:
    """The fenced code blocks of a page, in order."""
    found = []
    opening: re.Match[str] | None = None
    for match in _FENCE.finditer(text):
        if opening is None:
            opening = match
        elif match["mark"].startswith(opening["mark"]) and not match["info"].strip():
            found.append(_fence(text, opening, match))
            opening = None
    return found


def prose(text: str) -> str:
    """The page with everything but prose blanked; the words of links and tags' contents stay."""
    for fence in fences(text):
        text = _blank(text, fence.start, fence.end)
    text = _CODE_SPAN.sub(lambda m: _blanks(m[0]), text)
    return _NOT_PROSE.sub(lambda m: _blanks(m[0]), text)


def code(text: str) -> list[tuple[int, str]]:
    """Code written in the page itself, as (position, text): blocks that do not run, and spans."""
    blocks = [f for f in fences(text) if not f.runs]
    found = [(text.index(f.body, f.start), f.body) for f in blocks]
    for fence in fences(text):
        text = _blank(text, fence.start, fence.end)
    return found + [(m.start(2), m[2]) for m in _CODE_SPAN.finditer(text)]


def _fence(text: str, opening: re.Match[str], closing: re.Match[str]) -> Fence:
    info = opening["info"].strip()
    language = info.split(maxsplit=1)[0].strip("{}.") if info else ""
    return Fence(
        language=language,
        options=dict(_OPTION.findall(info)),
        info=info,
        start=opening.start(),
        end=closing.end(),
        body=text[opening.end() + 1 : closing.start()],
    )


def _blank(text: str, start: int, end: int) -> str:
    return text[:start] + _blanks(text[start:end]) + text[end:]


def _blanks(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
