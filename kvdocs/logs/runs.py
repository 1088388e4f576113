"""The readings of a log start-up by start-up, and the numbers of one start-up by name.

In: an ``EngineLog``. Out: runs, each the readings between one start of the engine and the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from kvdocs.logs.number import COUNTS, LENGTHS, Number
from kvdocs.logs.phrase import Printed
from kvdocs.logs.reading import EngineLog, Reading

MOST = 10**15  # beyond any real count


def runs(log: EngineLog) -> Iterator[list[Reading]]:
    """The readings of each start-up: one run for each that the settings tell apart, and within one
    a memory line after a pool's size begins the next.

    Lines may have been pasted in another order: where the start-up has no memory yet, and no pool
    size follows, the memory is of the size before it.
    """
    run: list[Reading] = []
    readings = list(filter(_sound, log.readings))
    last_size = max((place for place, one in enumerate(readings) if one.is_size), default=-1)
    for place, reading in enumerate(readings):
        another = bool(run) and log.start_up_of(run[0]) != log.start_up_of(reading)
        if run and (another or _begins(reading, run, sizes_follow=place < last_size)):
            yield run
            run = []
        run.append(reading)
    if run:
        yield run


def _begins(reading: Reading, run: list[Reading], sizes_follow: bool) -> bool:
    sized = [one for one in run if one.is_size]
    memory = any(Number.MEMORY in one and not one.is_size for one in run)
    if not reading.is_size:
        engines = {one.phrase.engine for one in sized}
        swapped = not memory and not sizes_follow and engines == {reading.phrase.engine}
        return Number.MEMORY in reading and bool(sized) and not swapped
    same = [one for one in sized if one.phrase is reading.phrase]
    return not memory and bool(same) and len(same) >= len(every(run, Number.WINDOW_TOKENS)) + 1


def _sound(reading: Reading) -> bool:
    """Whether its counts can be counts; others are shown, and nothing is computed from them."""
    whole = LENGTHS | COUNTS
    counts = [one.value for _, one in reading.numbers if one.quantity.unit in whole]
    return all(count.denominator == 1 and 0 < count <= MOST for count in counts)


def every(run: list[Reading], number: Number) -> list[tuple[Printed, Reading]]:
    """Every one of that number, with its reading."""
    return [(reading.printed(number), reading) for reading in run if number in reading]


def lowest(run: list[Reading], number: Number) -> tuple[Printed, Reading] | None:
    """The lowest of them: of several ranks the one that decides."""
    return min(every(run, number), key=lambda pair: pair[0].value, default=None)


def pool_tokens(run: list[Reading], block: int) -> tuple[Fraction, Reading] | None:
    """How many tokens the pool holds: printed, or its blocks times their size."""
    if found := lowest(run, Number.TOKENS):
        return found[0].value, found[1]
    if found := lowest(run, Number.BLOCKS):
        blocks, reading = found
        stated = Number.BLOCK_SIZE in reading
        size = reading.printed(Number.BLOCK_SIZE).value if stated else block
        return blocks.value * size, reading
    return None


def longest_request(run: list[Reading]) -> int | None:
    """The longest request the run speaks of."""
    found = lowest(run, Number.LENGTH)
    return int(found[0].value) if found and found[0].quantity.unit == "tokens" else None
