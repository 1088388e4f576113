"""A log in, the numbers its engine printed about the cache out.

In: the bytes of a start-up log, an error or a metrics scrape, of any size and with anything in it.
Out: an ``EngineLog``: the ``Reading``s in order, and each ``StartUp``. It is read in pieces; what
is kept is bounded; every regular expression is linear. Lines that no phrase is found in are left
alone, and nothing but the numbers of a known phrase is kept.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import field

from kvdocs.logs.lines import Lines, shape
from kvdocs.logs.number import Number
from kvdocs.logs.phrase import WORDS, Phrase, Printed
from kvdocs.logs.start_up import StartUp
from kvdocs.startup import dataclass

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import BinaryIO

PIECE = 1 << 20  # bytes read at a time
LONGEST_LINE = 1 << 16  # bytes; a longer line is cut into such pieces
MOST_START_UPS = 200  # start-ups told apart
MOST_READINGS = 200  # different ones kept of one phrase; ranks print one each

# Keys that are looked for in every reading of a long log.
_MEMORY, _SEQUENCES = Number.MEMORY.key, Number.SEQUENCES.key
_SIZES = frozenset((Number.TOKENS.key, Number.BLOCKS.key))
_ENDS = frozenset(one.key for one in (Number.CELLS, Number.K_SIZE, Number.NEEDED, Number.LONGEST))
_NOT_ALONE = frozenset((Number.TOKENS.key, Number.LAYERS.key))
_ESCAPES = rb"\x1b\[[0-9;]{0,16}[A-Za-z]|\^\[\[[0-9;]{0,16}m"  # colours


@dataclass(frozen=True)
class Reading:
    """A phrase found in a log: the numbers as printed, and the line (from 1) of the first time."""

    phrase: Phrase
    values: Mapping[str, str]
    line: int

    def __contains__(self, number: Number) -> bool:
        return number.key in self.values

    def printed(self, number: Number) -> Printed:
        """That number, with its unit."""
        return Printed(self.values[number.key], self.phrase.numbers[number])

    def word(self, name: str) -> str:
        """One of ``WORDS``; empty where the line had none.

        Raises:
            ValueError: it is none of them.
        """
        if name not in WORDS:
            raise ValueError(f"no phrase has a word called {name!r}")
        return self.values.get(name, "")

    @property
    def numbers(self) -> list[tuple[Number, Printed]]:
        """Every number that the line had, as they stand in it."""
        known = {number.key: number for number in self.phrase.numbers}
        return [(known[key], self.printed(known[key])) for key in self.values if key in known]

    @property
    def is_size(self) -> bool:
        """Whether it is the size of a pool."""
        return not _SIZES.isdisjoint(self.values) and _SEQUENCES not in self.values

    @property
    def ends_start_up(self) -> bool:
        """Whether what a start-up makes of its settings is printed by now."""
        return self.is_size or not _ENDS.isdisjoint(self.values)

    @property
    def shown(self) -> str:
        """The phrase with its numbers; nothing else of the line."""
        return self.phrase.show(self.values)


@dataclass
class EngineLog:
    """What was found. ``times`` counts how often each reading was printed, ``left_out`` those that
    were too many to keep; of ``start_ups`` there is at least one."""

    readings: list[Reading] = field(default_factory=list)
    start_ups: list[StartUp] = field(default_factory=lambda: [StartUp()])
    lines: int = 0
    times: dict[int, int] = field(default_factory=dict)
    left_out: int = 0

    def start_up_of(self, reading: Reading) -> int:
        """Which start-up it is of, from 0."""
        return bisect_right(self.start_ups, reading.line, lo=1, key=lambda one: one.line) - 1

    @property
    def engine(self) -> str:
        """The engine most readings are of; empty without a reading."""
        names = [reading.phrase.engine for reading in self.readings]
        return max(dict.fromkeys(names), key=names.count, default="")


def scan(stream: BinaryIO) -> EngineLog:
    """Everything recognised in a log.

    >>> import io
    >>> log = scan(io.BytesIO(b"INFO [gpu_worker.py:298] Available KV cache memory: 6.51 GiB"))
    >>> log.readings[0].shown, log.engine
    ('Available KV cache memory: 6.51 GiB', 'vLLM')
    """
    log = EngineLog()
    kept = _Kept(log)
    lines = Lines()
    for before, block in _blocks(stream, log):
        texts, shapes = block.split(b"\n"), shape(block).split(b"\n")
        hints = lines.hints(shapes)
        unknown = None if hints else ()
        for number, (text, shaped) in enumerate(zip(texts, shapes, strict=True), before + 1):
            if lines.shapes.get(shaped, unknown) != ():
                for start in range(0, len(text), LONGEST_LINE):
                    cut = slice(start, start + LONGEST_LINE)
                    phrases, settings = lines.found(text[cut], shaped[cut], hints)
                    kept.take_settings(settings, number)
                    for phrase, values in phrases:
                        kept.take_reading(phrase, values, number)
    return log


class _Kept:
    """The readings that a log keeps: each once, and of some phrases only the highest."""

    def __init__(self, log: EngineLog) -> None:
        self.log = log
        self.seen: dict[tuple[str, tuple[tuple[str, str], ...]], int] = {}
        self.of_phrase: dict[str, list[int]] = {}
        self.highest: dict[str, float] = {}
        self.sized = False  # whether the last start-up has printed what it makes of its settings

    def take_settings(self, settings: Mapping[str, str], line: int) -> None:
        """Take up settings; after a pool's size they may be those of the next start-up."""
        start_ups = self.log.start_ups
        told_apart = self.sized and len(start_ups) < MOST_START_UPS
        if another := start_ups[-1].next(settings, line) if told_apart else None:
            start_ups.append(another)
            self.seen.clear()
            self.sized = False
        elif settings:
            start_ups[-1].take(settings)

    def take_reading(self, phrase: Phrase, values: Mapping[str, str], line: int) -> None:
        """Keep a reading or count it."""
        log, key = self.log, (phrase.key, tuple(values.items()))
        if _begins_again(phrase, values, log):
            self.seen.clear()
        if key in self.seen:
            log.times[self.seen[key]] += 1
            return
        reading = Reading(phrase, values, line)
        self.sized = self.sized or reading.ends_start_up
        if not self._beaten(reading):
            place = len(log.readings)
            self.seen[key] = place
            self.of_phrase.setdefault(phrase.key, []).append(place)
            log.times[place] = 1
            log.readings.append(reading)

    def _beaten(self, reading: Reading) -> bool:
        """Whether it need not be kept: there are enough, or a higher one."""
        phrase = reading.phrase
        same = self.of_phrase.get(phrase.key, [])
        if not phrase.highest:
            self.log.left_out += len(same) >= MOST_READINGS
            return len(same) >= MOST_READINGS
        number, best = _first_number(reading), self.highest.get(phrase.key)
        if best is None or number > best:
            self.highest[phrase.key] = number
            for place in same:
                self.log.readings[place] = reading
        return bool(same)


def _begins_again(phrase: Phrase, values: Mapping[str, str], log: EngineLog) -> bool:
    """Whether the memory is printed again after other phrases: by the next start-up, or rank."""
    if _MEMORY not in values or not _NOT_ALONE.isdisjoint(values):
        return False
    return bool(log.readings) and log.readings[-1].phrase is not phrase


def _first_number(reading: Reading) -> float:
    return float(reading.values[next(iter(reading.phrase.numbers)).key].replace(",", ""))


def _blocks(stream: BinaryIO, log: EngineLog) -> Iterator[tuple[int, bytes]]:
    """Whole lines without colours, a block at a time, with the number of lines before it."""
    rest = b""
    for piece in _pieces(stream):
        block = rest + piece
        end = block.rfind(b"\n") + 1
        if not end and len(block) > LONGEST_LINE:
            end = len(block)
        whole, rest = block[:end], block[end:]
        yield log.lines, _plain(whole)
        log.lines += whole.count(b"\n")
    yield log.lines, _plain(rest)
    log.lines += bool(rest)


def _plain(block: bytes) -> bytes:
    return re.sub(_ESCAPES, b"", block) if b"\x1b[" in block or b"^[[" in block else block


def _pieces(stream: BinaryIO) -> Iterator[bytes]:
    """The stream as UTF-8; a log that PowerShell wrote begins with the mark of UTF-16."""
    piece = stream.read(PIECE)
    if piece[:2] not in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        while piece:
            yield piece
            piece = stream.read(PIECE)
        return
    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    while piece:
        yield decoder.decode(piece).encode("utf-8", "replace")
        piece = stream.read(PIECE)
