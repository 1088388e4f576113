"""What is in the lines of a log, each shape of line read once.

In: lines as bytes. Out: the phrases in each, with their numbers as printed, and the settings that
it states. The shape of a line is the line with every digit written as 0. Phrases look for digits,
not for which ones, so in all lines of one shape the same is found at the same places; and a server
prints few shapes, again and again. What is remembered is bounded; every regular expression is
linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kvdocs.logs.known import INDEX, phrase
from kvdocs.logs.phrase import Phrase
from kvdocs.logs.settings import HINTS, settings_in

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import Any

LONGEST_KNOWN = 1 << 10  # bytes; shapes up to this length are remembered,
MOST_KNOWN = 1 << 12  # and so many of them

Found = tuple[Phrase, Mapping[str, str]]  # a phrase and its numbers as printed
Content = tuple[Sequence[Found], Mapping[str, str]]  # of a line: phrases, and settings by name
Spot = tuple[Phrase, tuple[tuple[str, int, int], ...]]  # where in a line they stand

_SHAPE = bytes.maketrans(b"123456789", b"000000000")
_TIME = rb"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"


def shape(text: bytes) -> bytes:
    """The text with every digit written as 0.

    >>> shape(b"GPU KV cache size: 42,656 tokens")
    b'GPU KV cache size: 00,000 tokens'
    """
    return text.translate(_SHAPE)


_PLACES: dict[bytes, list[int]] = {}  # of each hint, as a shape, the phrases it is of
for _place, (_, _, _hint) in enumerate(INDEX):
    for _piece in _hint.split("|"):
        _PLACES.setdefault(shape(_piece.encode()), []).append(_place)
_SETTINGS = frozenset(map(shape, HINTS))
_HINTS = (*_PLACES, *_SETTINGS)


class Lines:
    """Reads lines, and remembers the spots of each shape. None stands for a shape in which the
    digits themselves may matter, an empty sequence for one that says nothing."""

    def __init__(self) -> None:
        self.shapes: dict[bytes, Sequence[Spot] | None] = {}
        self.exact: dict[bytes, Content] = {}

    def hints(self, shapes: Sequence[bytes]) -> list[bytes]:
        """The hints in those shapes that are not known; to look for each hint in all of them at
        once is faster than in one after the other. Without any, all of these say nothing."""
        new = dict.fromkeys(one for one in shapes if one not in self.shapes)
        text = b"\n".join(new)
        found = [hint for hint in _HINTS if hint in text]
        if not found and len(text) <= LONGEST_KNOWN * MOST_KNOWN and len(new) <= MOST_KNOWN:
            if len(self.shapes) + len(new) > MOST_KNOWN:
                self.shapes.clear()
            self.shapes.update(dict.fromkeys(new, ()))
        return found

    def found(self, line: bytes, shaped: bytes, hints: Sequence[bytes]) -> Content:
        """What is in a line of that shape; if the shape is new, by these hints."""
        if shaped in self.shapes:
            spots = self.shapes[shaped]
        else:
            spots = self._learn(line, shaped, [hint for hint in hints if hint in shaped])
        if spots is None:
            return self._exactly(line, shaped)
        phrases = [
            (one, {name: line[start:end].decode() for name, start, end in places})
            for one, places in spots
        ]
        return phrases, {}

    def _learn(self, line: bytes, shaped: bytes, hints: Sequence[bytes]) -> Sequence[Spot] | None:
        spots: Sequence[Spot] | None = None
        if not hints:
            spots = ()
        elif shaped.isascii() and _SETTINGS.isdisjoint(hints):
            places = _places(hints)
            if not any(phrase(place).reads_digits for place in places):
                spots = tuple(_spots(line.decode(), places))
        if len(shaped) <= LONGEST_KNOWN:
            _remember(self.shapes, shaped, spots)
        return spots

    def _exactly(self, line: bytes, shaped: bytes) -> Content:
        """What is in this very line; one that is known but for the time of day is not read
        again."""
        key = re.sub(_TIME, b"", line)
        if key in self.exact:
            return self.exact[key]
        text = line.decode("utf-8", "replace")
        hints = [hint for hint in _HINTS if hint in shaped]
        phrases = [
            (one, {name: text[start:end] for name, start, end in places})
            for one, places in _spots(text, _places(hints))
        ]
        found = phrases, settings_in(text)
        if len(key) <= LONGEST_KNOWN:
            _remember(self.exact, key, found)
        return found


def _remember(known: dict[bytes, Any], key: bytes, value: Any) -> None:
    if len(known) >= MOST_KNOWN:
        known.clear()
    known[key] = value


def _places(hints: Iterable[bytes]) -> list[int]:
    """The phrases that may be in a line with these hints."""
    return sorted({place for hint in hints for place in _PLACES.get(hint, ())})


def _spots(line: str, places: Sequence[int]) -> Iterator[Spot]:
    """The phrases of a line; the words of one are not read again as another's."""
    taken: list[tuple[int, int]] = []
    for one in map(phrase, places):
        for pattern in one.patterns:
            matches = [m for m in pattern.finditer(line) if not _overlaps(m.span(), taken)]
            for match in matches:
                taken.append(match.span())
                named = ((name, *match.span(name)) for name in match.groupdict())
                yield one, tuple(spot for spot in named if spot[1] < spot[2])


def _overlaps(span: tuple[int, int], others: list[tuple[int, int]]) -> bool:
    return any(span[0] < end and start < span[1] for start, end in others)
