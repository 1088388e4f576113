"""The readings of a log start-up by start-up, and the numbers of one start-up by name.

In: an ``EngineLog``. Out: runs, each the readings between one start of the engine and the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from kvdocs.logs.phrase import Printed
from kvdocs.logs.reading import EngineLog, Reading

_TOKENS = ("tokens", "thousand tokens", "blocks", "cells", "cells of one layer")
COUNTS = (*_TOKENS, "layers", "sequences", "states", "requests")
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
        another = bool(run) and log.start_of(run[0]) != log.start_of(reading)
        if run and (another or _begins(reading, run, sizes_follow=place < last_size)):
            yield run
            run = []
        run.append(reading)
    if run:
        yield run


def _begins(reading: Reading, run: list[Reading], sizes_follow: bool) -> bool:
    sized = [one for one in run if one.is_size]
    memory = any("memory" in one and not one.is_size for one in run)
    if not reading.is_size:
        engines = {one.phrase.engine for one in sized}
        swapped = not memory and not sizes_follow and engines == {reading.phrase.engine}
        return "memory" in reading and bool(sized) and not swapped
    same = [one for one in sized if one.phrase is reading.phrase]
    return not memory and bool(same) and len(same) >= len(every(run, "window_tokens")) + 1


def _sound(reading: Reading) -> bool:
    """Whether its counts can be counts; others are shown, and nothing is computed from them."""
    printed = [reading.printed(name) for name in reading.values if name in reading]
    counts = [one.value for one in printed if one.quantity.unit in COUNTS]
    return all(count.denominator == 1 and 0 < count <= MOST for count in counts)


def every(run: list[Reading], name: str) -> list[tuple[Printed, Reading]]:
    """Every number called ``name``, with its reading."""
    return [(reading.printed(name), reading) for reading in run if name in reading]


def lowest(run: list[Reading], name: str) -> tuple[Printed, Reading] | None:
    """The lowest of them: of several ranks the one that decides."""
    return min(every(run, name), key=lambda pair: pair[0].value, default=None)


def pool_tokens(run: list[Reading], block: int) -> tuple[Fraction, Reading] | None:
    """How many tokens the pool holds: printed, or its blocks times their size."""
    if found := lowest(run, "tokens"):
        return found[0].value, found[1]
    if found := lowest(run, "blocks"):
        size = found[1].printed("block_size").value if "block_size" in found[1] else block
        return found[0].value * size, found[1]
    return None


def longest_request(run: list[Reading]) -> int | None:
    """The longest request the run speaks of."""
    found = lowest(run, "length")
    return int(found[0].value) if found and found[0].quantity.unit == "tokens" else None
