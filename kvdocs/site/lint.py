"""Numbers that no link stands behind: in prose all of them, elsewhere those in bytes.

In: a page's text in which the stated numbers are blanked. Out: the position of every number that
is left where a reader would take it for a quantity. A ratio in words that compares, such as "twice
as much" or "a third of", is one too.
"""

from __future__ import annotations

import re

from kvdocs.site.pages import fences, prose
from kvdocs.site.words import COMPARISON
from kvdocs.units import BYTE_UNITS

_UNITS = "|".join(sorted({*BYTE_UNITS} - {"B"}))  # "7B" is a size class
_LARGE = "|".join(sorted({*BYTE_UNITS} - {"B", "byte", "bytes"}))
_MEMORY = re.compile(
    rf"(?<![^\W_])[\d½¼¾][\d,.½²³]*[  -]?(?:{_UNITS})(?![^\W_])|&\#(?:4[89]|5[0-7]);",
    re.IGNORECASE,
)
_IN_WORDS = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty|forty"
    r"|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|billion)"
    rf"(?:[-  ]\w+)?[  ](?:{_LARGE})\b",
    re.IGNORECASE,
)
# Numbers that are part of a name, a date or a list marker rather than a quantity.
_NAMED = re.compile(
    r"\d{4}-\d\d-\d\d"
    r"|\b(?:RTX|Gemma|Llama|Olmo|Qwen|Python|arXiv)[  ]\d[\d.]*+(?![  ]?(?:" + _UNITS + r")\b)"
    r"|^\s*\d+\.(?=\s)"
    r"|\[\^\d+\]",
    re.MULTILINE,
)
_BARE = re.compile(
    r"(?<![^\W_])(?<![^\W_][.\-/#])\d[\d,]*(?:\.\d+)*(?P<suffix>[^\W_]*[%×]?)(?![^\W_])(?!-bit)"
)
_SUFFIXES_OF_NAMES = {"B", "D", "st", "nd", "rd", "th"}  # a 7B model, the 5th
_ADDRESS = re.compile(r"(?:https?|mailto):[^\s)>\"]+|<!--.*?-->", re.DOTALL)


def bare(text: str) -> list[int]:
    """Where a bare number stands, in order.

    >>> bare("It takes 7 GiB. A 7B model on the RTX 4090.")
    [9]
    >>> bare("The cache takes seventeen GiB, and two tokens share it.")
    [16]
    >>> bare("It takes twice as long. That is wrong half the time.")
    [9]
    """
    words = _NAMED.sub(_blanks, prose(text))
    found = {m.start() for m in _BARE.finditer(words) if m["suffix"] not in _SUFFIXES_OF_NAMES}
    found |= {match.start() for match in _IN_WORDS.finditer(words)}
    found |= {match.start() for match in COMPARISON.finditer(words)}
    for fence in fences(text):
        if fence.runs:
            text = text[: fence.start] + _blanks(text[fence.start : fence.end]) + text[fence.end :]
    anywhere = _ADDRESS.sub(_blanks, text)
    found |= {match.start() for match in _MEMORY.finditer(anywhere)}
    return sorted(found)


def _blanks(found: re.Match[str] | str) -> str:
    return re.sub(r"[^\n]", " ", found if isinstance(found, str) else found[0])
