"""An explanation as text for people, made of its JSON: the table says nothing that is not in it.

In: the JSON of an ``Explanation``. Out: lines of at most 88 columns.
"""

from __future__ import annotations

from kvdocs.formula.layers import plural
from kvdocs.units import binary

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import Any


def table(found: dict[str, Any]) -> str:
    """The answer for people."""
    count = plural(len(found["readings"]), "known phrase")
    lines = [f"{found['engine']}, {count} in {plural(found['lines'], 'line')}"]
    lines += _held(found["starts"])
    for start in found["starts"]:
        lines += _planned(start, several=len(found["starts"]) > 1)
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
    if "refused" in (start["planned"] or {}):
        return "the log's numbers are compared with one another only: no plan goes with them"
    if start["kv_dtype_unknown"]:
        return (
            "held against one another only: the log names a cache dtype whose size is not\n"
            "known here; say with --kv-dtype which one to count"
        )
    return (
        "held against one another only: name the model with --model to hold them\n"
        "against the formula (and its dtype with --kv-dtype, if it is unusual)"
    )


def _planned(start: dict[str, Any], several: bool) -> list[str]:
    """What vLLM 0.33.0 makes of the memory of one start-up."""
    plan = start["planned"]
    if not plan:
        return []
    engine = plan["engine"]
    head = f"from line {start['line']:,} " if several else ""
    if start["version"] and not engine.endswith(f" {start['version']}"):
        head += f"(the log is of {start['version']}) "
    if "refused" in plan:
        return ["", *_wrapped(f"{head}{engine} has no plan: {plan['refused']}", "")]
    fit = "fits" if plan["sequences"] == 1 else "fit"
    text = (
        f"{head}{engine} makes of {plan['available_bytes']:,} bytes: {plan['blocks']:,} blocks of "
        f"{plan['block_bytes']:,} bytes, {plan['pool_tokens']:,} tokens, "
        f"concurrency {plan['max_concurrency']:,.2f} for {plan['max_model_len']:,} tokens per "
        f"request; {plural(plan['sequences'], 'such request')} {fit} at once"
    )
    return ["", *_wrapped(text, "")]


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


def _show(value: float | None) -> str:
    return "none" if value is None else f"{value:,.4f}"
