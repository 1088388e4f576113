"""``kvdocs workload``: a log of requests, its lengths, and how many sequences a pool has room for.

In: a log, and a pool as an engine states it. Out: an ``answer`` whose keys are stable, and its
rendering. The pool is vLLM's: ``kvdocs.engines.vllm.pool`` says how many blocks a sequence takes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from fractions import Fraction
from typing import Any, BinaryIO

from kvdocs.engines.vllm.pool import Options
from kvdocs.engines.vllm.states import rank_state
from kvdocs.formula.layers import plural
from kvdocs.literal import size_of
from kvdocs.units import ceil_div, ratio
from kvdocs.workload.estimates import estimates
from kvdocs.workload.lengths import Histogram, Log, bins, mean, percentile, read
from kvdocs.workload.request_log import lines, tokenizer
from kvdocs.workload.space import Space

PERCENTILES = (50, 95, 99)
LENGTHS = ("prompt", "output", "total")
EVERY = 1 << 16  # lines between two looks of the progress bar
BAR = 32  # characters of a full bar


def run(args: argparse.Namespace) -> int:
    """Answer ``kvdocs workload``: 1 where the pool has no room for one sequence of the log."""
    space = _space(args)
    count = tokenizer(args.tokenizer) if args.tokenizer else None
    name = "standard input" if args.file == "-" else args.file
    with _opened(args.file) as file:
        log = read(_watched(lines(file), file), name, count)
    found = answer(log, name, space, args.risk, args.max_model_len)
    print(json.dumps(found, indent=2) if args.json else table(found))
    return 1 if space and found["plans"][-1]["sequences"] == 0 else 0


def answer(
    log: Log, name: str, space: Space | None, risk: Fraction, max_model_len: int | None = None
) -> dict[str, Any]:
    """The answer under its documented keys; lengths in tokens, ``overflow`` from 0 to 1."""
    workload = log.workload
    lengths = (workload.prompts, workload.outputs, workload.totals)
    found: dict[str, Any] = {
        "file": name,
        "requests": workload.requests,
        "lines": log.lines,
        "bad_lines": log.bad_lines,
        "bad": dict(log.bad),
        "examples": [{"line": number, "reason": reason} for number, reason in log.examples],
        **{key: _lengths(one) for key, one in zip(LENGTHS, lengths, strict=True)},
        "histogram": [
            {"from": low, "to": high, "requests": count} for low, high, count in bins(lengths[2])
        ],
    }
    if space:
        found["pool_blocks"] = space.blocks
        found["risk"] = float(risk)
        found["over_limit"] = workload.longer_than(max_model_len) if max_model_len else 0
        found["plans"] = [
            asdict(plan) | {"overflow": float(plan.overflow)}
            for plan in estimates(workload, space, risk, max_model_len)
        ]
    return found


def _lengths(histogram: Histogram) -> dict[str, int]:
    percentiles = {f"p{percent}": percentile(histogram, percent) for percent in PERCENTILES}
    return {"mean": round(mean(histogram)), **percentiles, "longest": max(histogram)}


WAYS = {
    "max_model_len": "each at --max-model-len, {:,} tokens",
    "longest": "each as long as the longest, {:,} tokens",
    "p99": "each as long as p99, {:,} tokens",
    "most": "as in the log, all at their most",
    "moment": "as in the log, at a random moment",
}


def table(found: dict[str, Any]) -> str:
    """The answer for people."""
    rows = [f"{found['file']}: {plural(found['requests'], 'request')}"]
    for reason, count in found["bad"].items():
        rows.append(f"  not counted: {count:,} of {found['lines']:,} lines, {reason}")
    for one in found["examples"]:
        rows.append(f"    line {one['line']:,}: {one['reason']}")
    heads = ["mean", *(f"p{percent}" for percent in PERCENTILES), "longest"]
    rows += ["", f"  {'tokens':<8}" + "".join(f"{head:>12}" for head in heads)]
    for key in LENGTHS:
        rows.append(f"  {key:<8}" + "".join(f"{found[key][head]:>12,}" for head in heads))
    rows += ["", *_bars(found["histogram"])]
    if "plans" in found:
        rows += ["", *_ways(found)]
    return "\n".join(rows)


def _bars(histogram: list[dict[str, int]]) -> list[str]:
    most = max(one["requests"] for one in histogram)
    width = max(len(f"{one['to']:,}") for one in histogram)
    rows = ["  tokens of a request (prompt and answer), and how many requests have them"]
    for one in histogram:
        eighths = ceil_div(one["requests"] * BAR * 8, most)
        bar = "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
        rows.append(
            f"  {one['from']:>{width},} to {one['to']:>{width},} {bar:<{BAR}} {one['requests']:,}"
        )
    return rows


def _ways(found: dict[str, Any]) -> list[str]:
    ways = [WAYS[plan["way"]].format(plan["tokens"] or 0) for plan in found["plans"]]
    width = max(map(len, ways))
    rows = [f"  {found['pool_blocks']:,} blocks for requests. How many fit at once:"]
    for way, plan in zip(ways, found["plans"], strict=True):
        share = _percent(plan["overflow"])
        rows.append(f"  {way:<{width}}{plan['sequences']:>8,}  outgrow the pool: {share}")
    if over := found["over_limit"]:
        verb = "is" if over == 1 else "are"
        rows.append(
            f"  {plural(over, 'request')} of the log {verb} longer than --max-model-len, so vLLM "
            "refuses or cuts them"
        )
    if found["plans"][-1]["sequences"] == 0:
        return [
            *rows,
            "",
            "  Not even one sequence of the log fits at that risk: give a larger pool.",
        ]
    sequences = plural(found["plans"][-1]["sequences"], "sequence")
    return [
        *rows,
        "",
        f"  {sequences} of a server that is never idle want more "
        f"than the pool at {_percent(found['risk'])} of",
        "  its steps or fewer. Then a new one waits, or a running one is stopped and read again.",
        "  Requests are taken as independent draws from the log that share no beginning.",
    ]


def _percent(share: float) -> str:
    """A probability in percent, with two figures that count; below 0.0001% it says just that.

    >>> _percent(0.00956), _percent(0.5), _percent(1e-12), _percent(0.0)
    ('0.96%', '50%', 'below 0.0001%', 'below 0.0001%')
    """
    exact = Fraction(share) * 100
    if exact < Fraction(1, 10_000):
        return "below 0.0001%"
    decimals = 0
    while decimals < 5 and exact * 10**decimals < 10:
        decimals += 1
    return ratio(exact.numerator, exact.denominator, decimals) + "%"


def _space(args: argparse.Namespace) -> Space | None:
    """The pool that the arguments describe; None where they describe none.

    Raises:
        ValueError: they contradict one another, or there is no such model.
    """
    if args.available is None and args.pool_tokens is None:
        if args.model or args.max_model_len:
            raise ValueError("no pool: give --available or --pool-tokens as well")
        return None
    options = Options(args.max_model_len or 1)
    if not args.model:
        if args.available is not None:
            raise ValueError("--available is in bytes: give --model, whose cache it is to hold")
        return Space.every_token(args.pool_tokens // options.block_size, options)
    from kvdocs.facts.hub import find

    model = find(args.model)
    options = replace(options, state=rank_state(model.config, ranks=1, source=model.id))
    available = None if args.available is None else size_of("--available", args.available)
    return Space.of_model(model.layout, options, available, args.pool_tokens or 0)


def _opened(path: str) -> BinaryIO:
    if path == "-":
        from kvdocs.facts.hub import standard_input

        return standard_input("a log of requests")
    try:
        return open(path, "rb")
    except OSError as error:
        raise ValueError(
            f"{path}: {error.strerror}. Name a file, or - for standard input"
        ) from None


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
