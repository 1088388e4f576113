"""A log in, the numbers its engine printed about the cache out.

In: the bytes of a start-up log, an error or a metrics scrape, of any size and with anything in it.
Out: an ``EngineLog``: the ``Reading``s in order, and the ``Settings`` that the log states. It is
read in pieces; what is kept is bounded; every regular expression is linear. Lines that no phrase is
found in are left alone, and nothing but the numbers of a known phrase is kept.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

from kvdocs.serving.log_llama_cpp import PHRASES as LLAMA_CPP
from kvdocs.serving.log_others import ANY, OTHERS, SGLANG
from kvdocs.serving.log_phrase import Phrase, Printed
from kvdocs.serving.log_settings import Settings
from kvdocs.serving.log_vllm import PHRASES as START_UP
from kvdocs.serving.log_vllm_metrics import METRICS

VLLM = (*START_UP, *METRICS)
PHRASES: tuple[Phrase, ...] = (*VLLM, *SGLANG, *LLAMA_CPP, *OTHERS, *ANY)

PIECE = 1 << 20  # bytes read at a time
LONGEST_LINE = 1 << 16  # bytes; a longer line is cut into such pieces
LONGEST_KNOWN = 1 << 10  # bytes; such lines are remembered, so as not to be read again,
MOST_KNOWN = 4096  # and so many of them
MOST_READINGS = 200  # different ones kept of one phrase; ranks print one each

_ESCAPES = re.compile(r"\x1b\[[0-9;]{0,16}[A-Za-z]|\^\[\[[0-9;]{0,16}m")
_TIME = re.compile(rb"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?")
_PLACES = {  # of each hint, the phrases it is of
    hint: [place for place, phrase in enumerate(PHRASES) if hint in phrase.hints]
    for hint in dict.fromkeys(hint for phrase in PHRASES for hint in phrase.hints)
}
_HINTS = tuple(sorted({hint.encode() for hint in _PLACES} | set(Settings.HINTS)))


Found = tuple[Phrase, Mapping[str, str]]  # a phrase and its numbers as printed


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
    def shown(self) -> str:
        """The phrase with its numbers; nothing else of the line."""
        return self.phrase.show(self.values)


@dataclass
class EngineLog:
    """What was found. ``times`` counts how often each reading was printed."""

    readings: list[Reading] = field(default_factory=list)
    settings: Settings = field(default_factory=Settings)
    lines: int = 0
    times: dict[int, int] = field(default_factory=dict)
    left_out: int = 0

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
    seen: dict[tuple[str, tuple[tuple[str, str], ...]], int] = {}
    known: dict[bytes, list[Found]] = {}
    for number, line, hints in _lines(stream, log):
        for phrase, values in _found(line, hints, known, log.settings):
            reading = Reading(phrase, values, number)
            key = (phrase.key, tuple(values.items()))
            if _starts_again(reading, log):
                seen.clear()
            if key in seen:
                log.times[seen[key]] += 1
            elif not _beaten(reading, log):
                seen[key] = len(log.readings)
                log.times[len(log.readings)] = 1
                log.readings.append(reading)
    return log


def _found(
    line: bytes, hints: Iterable[str], known: dict[bytes, list[Found]], settings: Settings
) -> list[Found]:
    """What is in a line; a line that is ``known`` but for the time of day is not read again."""
    key = _TIME.sub(b"", line)
    if key not in known:
        text = _ESCAPES.sub("", line.decode("utf-8", "replace"))
        settings.read(text)
        found = list(_of_line(text, hints))
        if len(key) > LONGEST_KNOWN:
            return found
        if len(known) == MOST_KNOWN:
            known.clear()
        known[key] = found
    return known[key]


def _starts_again(reading: Reading, log: EngineLog) -> bool:
    """Whether the memory is printed again after other phrases: by the next start, or rank."""
    if "memory" not in reading or "tokens" in reading or "layers" in reading or not log.readings:
        return False
    return log.readings[-1].phrase is not reading.phrase


def _of_line(line: str, hints: Iterable[str]) -> Iterator[Found]:
    """The phrases of a line; the words of one are not read again as another's."""
    found: list[tuple[int, int]] = []
    hinted = {place for hint in hints if hint in line for place in _PLACES.get(hint, ())}
    for phrase in (PHRASES[place] for place in sorted(hinted)):
        for pattern in phrase.patterns:
            matches = [m for m in pattern.finditer(line) if not _overlaps(m.span(), found)]
            for match in matches:
                values = {name: text for name, text in match.groupdict().items() if text}
                found.append(match.span())
                yield phrase, values


def _overlaps(span: tuple[int, int], others: list[tuple[int, int]]) -> bool:
    return any(span[0] < end and start < span[1] for start, end in others)


def _beaten(reading: Reading, log: EngineLog) -> bool:
    """Whether it need not be kept: of some phrases only the highest reading counts."""
    same = [i for i, one in enumerate(log.readings) if one.phrase is reading.phrase]
    if not reading.phrase.highest:
        log.left_out += len(same) >= MOST_READINGS
        return len(same) >= MOST_READINGS
    for index in same:
        if _first_number(reading) > _first_number(log.readings[index]):
            log.readings[index] = reading
        return True
    return False


def _first_number(reading: Reading) -> float:
    return float(reading.values[next(iter(reading.phrase.numbers))].replace(",", ""))


def _lines(stream: BinaryIO, log: EngineLog) -> Iterator[tuple[int, bytes, Iterable[str]]]:
    """The lines with a known piece of text in them: number, line, pieces that it may contain."""
    rest = b""
    for piece in _pieces(stream):
        block = rest + piece
        end = block.rfind(b"\n") + 1
        if not end and len(block) > LONGEST_LINE:
            end = len(block)
        whole, rest = block[:end], block[end:]
        yield from _hinted(whole, log)
    yield from _hinted(rest, log)
    log.lines += bool(rest)


def _hinted(block: bytes, log: EngineLog) -> Iterator[tuple[int, bytes, Iterable[str]]]:
    hints = [hint for hint in _HINTS if hint in block]
    if hints:
        texts = [hint.decode() for hint in hints]
        for number, line in enumerate(block.split(b"\n"), log.lines + 1):
            if any(hint in line for hint in hints):
                for start in range(0, len(line), LONGEST_LINE):
                    yield number, line[start : start + LONGEST_LINE], texts
    log.lines += block.count(b"\n")


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
