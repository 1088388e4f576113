"""``kvdocs explain``: what the numbers in an engine's log mean, and whether they add up.

In: a log, an error or a metrics scrape. Out: an ``answer`` whose keys are stable, and its
rendering. Nothing of the log is shown but the numbers of phrases that are known.
"""

from __future__ import annotations

import argparse
import json

from kvdocs.explain.check import Check
from kvdocs.explain.reasons import Reason
from kvdocs.explain.reconcile import not_compared, reconcile
from kvdocs.explain.subject import DEFAULT, Subject, cache_dtype, check_dtype, has_size
from kvdocs.facts import snapshot
from kvdocs.facts.hub import find, standard_input
from kvdocs.facts.models import LookupFailed, Model
from kvdocs.formula.layers import plural
from kvdocs.logs.reading import EngineLog, Reading, scan
from kvdocs.logs.settings import Settings
from kvdocs.units import binary

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import Any

AGREES, CONTRADICTS = "explained", "contradicts"


def run(args: argparse.Namespace) -> int:
    """Answer ``kvdocs explain``; raises what ``find`` and the formula raise.

    Status 0 explained, 1 a number contradicts the formula and no known reason gives it.
    """
    log = read(args.file)
    if not log.readings:
        raise LookupFailed(
            args.file,
            f"no known phrase of an engine in {plural(log.lines, 'line')}",
            "Known are start-up logs, errors and metrics of vLLM, SGLang, llama.cpp and "
            "TensorRT-LLM; in vLLM the line 'Available KV cache memory' must be among them",
        )
    found = answer(log, *subjects(log, args.model, args.tp, args.kv_dtype))
    print(json.dumps(found, indent=2) if args.json else table(found))
    return 1 if found["status"] == CONTRADICTS else 0


def read(name: str) -> EngineLog:
    """The log in a file, or on standard input for ``-``.

    Raises:
        LookupFailed: the file cannot be read, or standard input is closed.
    """
    if name == "-":
        return scan(standard_input("a log"))
    try:
        with open(name, "rb") as file:
            return scan(file)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise LookupFailed(name, reason, "Pass the path of a log, or - to paste one") from None


def subjects(
    log: EngineLog, model: str | None, tp: int | None, kv_dtype: str | None
) -> list[Subject | None]:
    """What to hold each start-up against: as the arguments say, else as the log does; None if
    neither.

    Raises:
        LookupFailed: there is no such model.
        ConfigError: no rule for the model.
        ValueError: an unknown dtype, or heads that cannot be split over so many ranks.
    """
    if kv_dtype:
        check_dtype(kv_dtype)
    given = find(model) if model else None
    return [_subject(settings, given, tp, kv_dtype) for settings in log.starts]


def _subject(
    settings: Settings, given: Model | None, tp: int | None, kv_dtype: str | None
) -> Subject | None:
    found = given or snapshot.load(settings.model or "")
    if found is None:
        return None
    dtype, known = cache_dtype(kv_dtype or settings.kv_dtype, found, settings.dtype)
    if not has_size(dtype):
        return None
    return Subject.of(found, tp or settings.tp or 1, dtype, known, settings.pp, settings.dcp)


def answer(log: EngineLog, *held: Subject | None) -> dict[str, Any]:
    """The answer under its documented keys; sizes in bytes. ``held`` as ``subjects`` has them."""
    checks = reconcile(log, *held)
    starts = [_start(*pair) for pair in zip(log.starts, held, strict=True)]
    first = next((start for start in starts if start["model"]), starts[0])
    return {
        "engine": log.engine,
        "lines": log.lines,
        **{name: value for name, value in first.items() if name != "line"},
        "starts": starts,
        "readings": [_reading(log, index) for index in range(len(log.readings))],
        "checks": [_check(check) for check in checks],
        "not_compared": [{"line": line, "says": says} for line, says in not_compared(log, *held)],
        "change": list(dict.fromkeys(_changes(log, checks))),
        "status": CONTRADICTS if any(check.contradicts for check in checks) else AGREES,
    }


def _start(settings: Settings, held: Subject | None) -> dict[str, Any]:
    """What a start-up is held against."""
    return {
        "line": settings.line,
        "model": held.name if held else None,
        "tensor_parallel": held.tp if held else settings.tp,
        "kv_dtype": held.dtype if held else None,
        "kv_dtype_unknown": not held and not has_size(settings.kv_dtype or DEFAULT),
        "bytes_per_token": _whole(held.rate()) if held else None,
    }


def table(found: dict[str, Any]) -> str:
    """The answer for people."""
    count = plural(len(found["readings"]), "known phrase")
    lines = [f"{found['engine']}, {count} in {plural(found['lines'], 'line')}"]
    lines += _held(found["starts"])
    for reading in found["readings"]:
        lines += ["", f"line {reading['line']:,}: {reading['phrase']}{_of_what(reading)}"]
        lines += _wrapped(reading["means"])
    for check in found["checks"]:
        lines += ["", *_check_lines(check)]
    for note in found["not_compared"]:
        lines += ["", f"not compared: line {note['line']:,}", *_wrapped(note["says"] + ".")]
    if found["change"]:
        lines += ["", "what to change"]
        lines += [line for change in found["change"] for line in _wrapped(change + ".", "  - ")]
    return "\n".join(lines)


def _held(starts: list[dict[str, Any]]) -> list[str]:
    """What each start-up is held against; of those that are alike one after another the first."""
    said = [(start["line"], _against(start)) for start in starts]
    told = [one for one, before in zip(said, [(0, ""), *said], strict=False) if one[1] != before[1]]
    if len(told) == 1:
        return [told[0][1]]
    return [f"from line {line:,} {text}" for line, text in told]


def _against(start: dict[str, Any]) -> str:
    if start["model"]:
        rate = f"{start['bytes_per_token']:,} bytes per token"
        where = (
            f" on each of {start['tensor_parallel']} GPUs" if start["tensor_parallel"] > 1 else ""
        )
        return f"held against {start['model']}, cache in {start['kv_dtype']}: {rate}{where}"
    if start["kv_dtype_unknown"]:
        return (
            "held against one another only: the log names a cache dtype whose size is not\n"
            "known here; say with --kv-dtype which one to count"
        )
    return (
        "held against one another only: name the model with --model to hold them\n"
        "against the formula (and its dtype with --kv-dtype, if it is unusual)"
    )


def _reading(log: EngineLog, index: int) -> dict[str, Any]:
    reading = log.readings[index]
    return {
        "line": reading.line,
        "times": log.times[index],
        "key": reading.phrase.key,
        "engine": reading.phrase.engine,
        "wording": reading.phrase.wording,
        "phrase": reading.shown,
        "means": reading.phrase.means,
        "numbers": {
            name: {
                "value": _whole(reading.printed(name).value),
                "printed": text,
                "unit": reading.printed(name).quantity.unit,
                "scope": reading.printed(name).quantity.scope,
            }
            for name, text in reading.values.items()
            if name in reading
        },
    }


def _check(check: Check) -> dict[str, Any]:
    return {
        "key": check.key,
        "title": check.title,
        "line": check.line,
        "unit": check.unit,
        "printed": _whole(check.printed),
        "printed_from": _whole(check.low),
        "printed_to": _whole(check.high),
        "formula": _whole(check.formula),
        "ratio": round(float(check.ratio), 4) if check.ratio is not None else None,
        "agrees": check.agrees,
        "reasons": [_reason(reason) for reason in check.reasons],
        "or": [_reason(reason) for reason in check.instead],
    }


def _reason(reason: Reason) -> dict[str, Any]:
    return {
        "key": reason.key,
        "title": reason.title,
        "says": reason.says,
        "change": reason.change,
        "inferred": reason.inferred,
    }


def _changes(log: EngineLog, checks: list[Check]) -> list[str]:
    phrases = [one.phrase.change for one in log.readings if one.phrase.change and _matters(one)]
    return phrases + [reason.change for check in checks for reason in check.reasons]


def _matters(reading: Reading) -> bool:
    """Whether there is anything to change: not for a count of zero."""
    counts = [reading.printed(name).value for name in reading.phrase.numbers if name in reading]
    return not counts or any(counts)


def _check_lines(check: dict[str, Any]) -> list[str]:
    size = check["unit"] == "bytes"
    places = 0 if check["unit"].startswith(("bytes", "tokens")) else 2
    printed, formula = (
        binary(round(value)) if size else f"{value:,.{places}f}"
        for value in (check["printed"], check["formula"])
    )
    unit = "" if size else f" {check['unit']}"
    lines = [
        f"{check['title']}",
        f"  printed {printed}, by the formula {formula}{unit}; ratio {_show(check['ratio'])}",
    ]
    if check["agrees"]:
        lines.append("  agrees, to the last digit printed")
    elif not check["reasons"]:
        lines.append("  CONTRADICTS the formula, and no known reason gives this number")
    for reason in check["reasons"]:
        inferred = " (inferred)" if reason["inferred"] else ""
        lines += [f"  {_lower(reason['title'])}{inferred}", *_wrapped(reason["says"], "    ")]
    lines += [f"  or else: {_lower(reason['title'])}" for reason in check["or"]]
    return lines


def _of_what(reading: dict[str, Any]) -> str:
    scopes = dict.fromkeys(one["scope"] for one in reading["numbers"].values() if one["scope"])
    return f"  [{', '.join(scopes)}]" if scopes else ""


def _wrapped(text: str, indent: str = "  ") -> list[str]:
    """``text`` in lines of 88 columns. (textwrap takes longer to import than to do without.)"""
    lines, line = [], indent
    for word in text.split():
        if len(line) + len(word) > 88:
            lines.append(line.rstrip())
            line = " " * len(indent)
        line += word + " "
    return [*lines, line.rstrip()]


def _lower(title: str) -> str:
    return title[0].lower() + title[1:] if title[1].islower() else title


def _whole(value: Any) -> int | float:
    return int(value) if value == int(value) else float(value)


def _show(value: float | None) -> str:
    return "none" if value is None else f"{value:,.4f}"
