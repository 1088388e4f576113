"""The answer of ``kvdocs workload`` for people: lengths, bars, and the ways to plan.

In: the answer under its keys for JSON, so that the table says nothing they do not. Out: text.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from kvdocs.formula.layers import plural
from kvdocs.units import ceil_div, exact, gib, ratio

HEADS = ("mean", "p50", "p95", "p99", "longest")
LENGTHS = ("prompt", "output", "total")
BAR = 32  # characters of a full bar
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
    rows += ["", f"  {'tokens':<8}" + "".join(f"{head:>12}" for head in HEADS)]
    for key in LENGTHS:
        rows.append(f"  {key:<8}" + "".join(f"{found[key][head]:>12,}" for head in HEADS))
    rows += ["", *_bars(found["histogram"])]
    if "plans" in found:
        rows += ["", *_served(found), *_ways(found)]
        rows += [f"note: {note}" for note in found["notes"]]
    return "\n".join(rows)


def _served(found: dict[str, Any]) -> list[str]:
    """What serves the log, where a model was named."""
    if "model" not in found:
        return []
    named = f" ({found['kv_dtype_from']})" if found["kv_dtype_from"] else ""
    where = f" on {found['gpu']}" if found["gpu"] else ""
    ranks = found["tp"] * found["pp"]
    each = f", each of {ranks} ranks" if ranks > 1 else ""
    rows = [
        f"  {found['model']}{where}, {found['engine']}, cache in {found['kept_as']}{named}{each}"
    ]
    if found["available_bytes"] is not None:
        left = gib(found["available_bytes"], found["available_bytes"])
        rows.append(f"  {left} for the cache, in blocks of {exact(found['block_bytes'])}")
    return rows


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
