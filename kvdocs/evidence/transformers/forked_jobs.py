"""Jobs in forked processes, each with a limit of memory and of time.

In: one function and its jobs. Out: each job's answer, or why there is none, as they end. The
parent has imported what the jobs need, so a child starts at once; what a child breaks or leaks
ends with it.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

POLL_SECONDS = 1.0


@dataclass(frozen=True)
class Limits:
    """What one job may take: bytes of memory, and seconds of its own processor time."""

    memory: int
    seconds: int


@dataclass(frozen=True)
class _Child:
    job: Any
    process: Any
    deadline: float


def run_each(
    work: Callable[[Any], dict[str, Any]], jobs: Iterable[Any], at_once: int, limits: Limits
) -> Iterator[tuple[Any, dict[str, Any] | str]]:
    """Each job with what ``work`` made of it, or with a sentence saying what ended it.

    ``work`` must not raise; what it returns is sent from the child to the parent.
    """
    waiting = list(reversed(list(jobs)))
    running: dict[Connection, _Child] = {}
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                pipe, child = _start(work, waiting.pop(), limits)
                running[pipe] = child
            for pipe in _ended(running):
                child = running.pop(pipe)
                yield child.job, _answer(pipe, child, limits)
    finally:
        for child in running.values():
            child.process.kill()


def _start(work: Callable[[Any], Any], job: Any, limits: Limits) -> tuple[Connection, _Child]:
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(work, job, theirs, limits))
    process.start()
    theirs.close()
    # A busy machine may give a job a tenth of a processor; the processor's limit comes first.
    return ours, _Child(job, process, time.monotonic() + 10 * limits.seconds)


def _child(work: Callable[[Any], Any], job: Any, pipe: Connection, limits: Limits) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (limits.memory, limits.memory))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.seconds, limits.seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with open(os.devnull, "w") as nothing:
        os.dup2(nothing.fileno(), 1)
        os.dup2(nothing.fileno(), 2)
    pipe.send(work(job))
    pipe.close()


def _ended(running: dict[Connection, _Child]) -> list[Connection]:
    ready = [pipe for pipe in wait(list(running), POLL_SECONDS) if isinstance(pipe, Connection)]
    late = [p for p, c in running.items() if time.monotonic() > c.deadline and p not in ready]
    for pipe in late:
        running[pipe].process.kill()
    return ready + late


def _answer(pipe: Connection, child: _Child, limits: Limits) -> dict[str, Any] | str:
    try:
        found: dict[str, Any] = pipe.recv()
    except EOFError:
        found = {}
    child.process.join()
    pipe.close()
    if found:
        return found
    if child.process.exitcode in (-9, -24):  # SIGKILL from here, SIGXCPU from the limit
        return f"it took more than the {limits.seconds:,} seconds of processor time it may take"
    return f"its process ended with status {child.process.exitcode}"
