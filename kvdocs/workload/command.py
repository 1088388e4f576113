"""``kvdocs workload``: a log of requests, its lengths, and how many sequences a pool has room for.

In: arguments. Out: the answer as a table or as JSON; exit status 1 where the pool has no room for
one sequence of the log, else 0.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from typing import BinaryIO

from kvdocs.workload.answer import workload
from kvdocs.workload.request_log import lines, opened
from kvdocs.workload.table import BAR

EVERY = 1 << 16  # lines between two looks of the progress bar


def run(args: argparse.Namespace) -> int:
    """Answer ``kvdocs workload``; raises what ``workload`` raises."""
    options = {name: value for name, value in vars(args).items() if name not in NOT_ASKED}
    name = "standard input" if args.file == "-" else args.file
    found = workload(_lines(args.file), name=name, **options)
    print(json.dumps(found.as_json(), indent=2) if args.json else found)
    return 0 if found.fits else 1


NOT_ASKED = ("command", "file", "json")


def _lines(path: str) -> Iterator[bytes]:
    with opened(path) as file:
        yield from _watched(lines(file), file)


def _watched(source: Iterator[bytes], file: BinaryIO) -> Iterator[bytes]:
    """The lines, and a bar on a terminal that shows how much of the file has been read."""
    if not sys.stderr.isatty():
        yield from source
        return
    size, done = os.fstat(file.fileno()).st_size, 0
    for number, line in enumerate(source, 1):
        done += len(line)
        if number % EVERY == 0:
            _bar(done, size, number)
        yield line
    print("\r" + " " * 79 + "\r", end="", file=sys.stderr, flush=True)


def _bar(done: int, size: int, number: int) -> None:
    share = f"[{'#' * (BAR * done // size):<{BAR}}] {100 * done // size:>3}%" if size else ""
    print(f"\r{share} {number:,} lines", end="", file=sys.stderr, flush=True)
