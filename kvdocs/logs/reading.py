"""A log in, the numbers its engine printed about the cache out.

In: the bytes of a start-up log, an error or a metrics scrape, of any size and with anything in it.
Out: an ``EngineLog``: the ``Reading``s in order, and the ``Settings`` of each start-up. It is read
in pieces; what is kept is bounded; every regular expression is linear. Lines that no phrase is
found in are left alone, and nothing but the numbers of a known phrase is kept.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

from kvdocs.logs.lines import PHRASES, VLLM, Lines, shape
from kvdocs.logs.phrase import Phrase, Printed
from kvdocs.logs.settings import Settings

__all__ = ["PHRASES", "VLLM", "EngineLog", "Reading", "scan"]

PIECE = 1 << 20  # bytes read at a time
LONGEST_LINE = 1 << 16  # bytes; a longer line is cut into such pieces
MOST_STARTS = 200  # start-ups told apart
MOST_READINGS = 200  # different ones kept of one phrase; ranks print one each

_ESCAPES = re.compile(rb"\x1b\[[0-9;]{0,16}[A-Za-z]|\^\[\[[0-9;]{0,16}m")  # colours


@dataclass(frozen=True)
class Reading:
    """A phrase found in a log: the numbers as printed, and the line (from 1) of the first time."""

    phrase: Phrase
    values: Mapping[str, str]
    line: int

    def __contains__(self, name: str) -> bool:
        return name in self.values and name in self.phrase.numbers

    def printed(self, name: str) -> Printed:
        """The number called ``name``, with its unit."""
        return Printed(self.values[name], self.phrase.numbers[name])

    @property
    def is_size(self) -> bool:
        """Whether it is the size of a pool."""
        return ("tokens" in self or "blocks" in self) and "sequences" not in self

    @property
    def ends_start(self) -> bool:
        """Whether what a start-up makes of its settings is printed by now."""
        return self.is_size or any(one in self for one in ("cells", "k_size", "needed", "longest"))

    @property
    def shown(self) -> str:
        """The phrase with its numbers; nothing else of the line."""
        return self.phrase.show(self.values)


@dataclass
class EngineLog:
    """What was found. ``times`` counts how often each reading was printed; ``starts`` are the
    settings of the start-ups, of which there is at least one."""

    readings: list[Reading] = field(default_factory=list)
    starts: list[Settings] = field(default_factory=lambda: [Settings()])
    lines: int = 0
    times: dict[int, int] = field(default_factory=dict)
    left_out: int = 0

    def start_of(self, reading: Reading) -> int:
        """Which start-up it is of, from 0."""
        return bisect_right(self.starts, reading.line, lo=1, key=lambda one: one.line) - 1

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
                    kept.state(settings, number)
                    for phrase, values in phrases:
                        kept.take(phrase, values, number)
    return log


@dataclass
class _Kept:
    """The readings that a log keeps: each once, and of some phrases only the highest."""

    log: EngineLog
    seen: dict[tuple[str, tuple[tuple[str, str], ...]], int] = field(default_factory=dict)
    of_phrase: dict[str, list[int]] = field(default_factory=dict)
    started: bool = False  # whether the last start-up has printed what it makes of its settings

    def state(self, stated: Mapping[str, str], line: int) -> None:
        """Take up settings; after a pool's size they may be those of the next start-up."""
        starts = self.log.starts
        told_apart = self.started and len(starts) < MOST_STARTS
        if another := starts[-1].next(stated, line) if told_apart else None:
            starts.append(another)
            self.seen.clear()
            self.started = False
        elif stated:
            starts[-1].take(stated)

    def take(self, phrase: Phrase, values: Mapping[str, str], line: int) -> None:
        """Keep a reading or count it."""
        log, reading = self.log, Reading(phrase, values, line)
        self.started = self.started or reading.ends_start
        key = (phrase.key, tuple(values.items()))
        if _starts_again(reading, log):
            self.seen.clear()
        if key in self.seen:
            log.times[self.seen[key]] += 1
        elif not self._beaten(reading):
            place = len(log.readings)
            self.seen[key] = place
            self.of_phrase.setdefault(phrase.key, []).append(place)
            log.times[place] = 1
            log.readings.append(reading)

    def _beaten(self, reading: Reading) -> bool:
        """Whether it need not be kept: there are enough, or a higher one."""
        same = self.of_phrase.get(reading.phrase.key, [])
        if not reading.phrase.highest:
            self.log.left_out += len(same) >= MOST_READINGS
            return len(same) >= MOST_READINGS
        for place in same:
            if _first_number(reading) > _first_number(self.log.readings[place]):
                self.log.readings[place] = reading
            return True
        return False


def _starts_again(reading: Reading, log: EngineLog) -> bool:
    """Whether the memory is printed again after other phrases: by the next start, or rank."""
    if "memory" not in reading or "tokens" in reading or "layers" in reading or not log.readings:
        return False
    return log.readings[-1].phrase is not reading.phrase


def _first_number(reading: Reading) -> float:
    return float(reading.values[next(iter(reading.phrase.numbers))].replace(",", ""))


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
    return _ESCAPES.sub(b"", block) if b"\x1b[" in block or b"^[[" in block else block


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
