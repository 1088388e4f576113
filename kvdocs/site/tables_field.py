"""Public reports as a table, and engines' phrases and the named reasons as Markdown.

In: the reports, the phrase tables, the reasons. Out: HTML and Markdown for the two pages on why an
engine's numbers are not the formula's. Every figure is computed when the page is built.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction
from html import escape

from kvdocs.explain.check import Check
from kvdocs.explain.reason import Reason
from kvdocs.explain.replay import Replay, replay
from kvdocs.facts.reports import Report
from kvdocs.formula import layout_of, parse_config
from kvdocs.logs.phrase import ALL, RANK, Phrase
from kvdocs.site.tables import cell, number_cell, sortable
from kvdocs.units import ratio

_HEAD = (
    ("Report", "text", ""),
    ("Outcome", "text", " data-filter"),
    ("Printed ÷ formula", "number", ""),
    ("Formula, a token", "number", ""),
    ("Evidence", "text", " data-filter"),
    ("What was printed", "text", ""),
    ("Lesson", "text", ""),
)
AGREES = "agrees"
EXPLAINED = "explained"
INFERRED = "inferred"
REFUSED = "refused by name"
READ = "read"
# Of several checks of a report the table shows the one that is about the model.
_TELLING = ("pool", "plan", "keys", "cache", "claim", "request", "pools", "rate", "blocks")


def field_html(reports: Iterable[Report]) -> str:
    """The sortable, filterable table of all reports."""
    rows = (_cells(replay(report)) for report in reports)
    return sortable("reports", _HEAD, [list(map(_labelled, row, _HEAD)) for row in rows])


def _labelled(cell: str, head: tuple[str, str, str]) -> str:
    """The cell with its column's title, which stands before it where the rows are cards."""
    return cell.replace("<td", f'<td data-label="{head[0]}"', 1)


def outcome(found: Replay) -> str:
    """How a report came out, in a word.

    Raises:
        ValueError: a number in it contradicts the formula and nothing explains it.
    """
    report, checks = found.report, found.checks
    if any(check.contradicts for check in checks) or _rate(found) != report.formula:
        raise ValueError(f"reports.toml: {report.key}: a number is neither equal nor explained")
    telling = [check for check in checks if not check.agrees]
    if telling:
        inferred = any(reason.inferred for check in telling for reason in check.reasons)
        return INFERRED if inferred else EXPLAINED
    if report.refused and not checks:
        return REFUSED
    return AGREES if checks or (report.config and report.formula) else READ


def decoder(phrases: Iterable[Phrase]) -> str:
    """One section per phrase: what it means, of how much its numbers are, what to do."""
    return "\n\n".join(_section(phrase) for phrase in phrases)


def reasons_markdown(reasons: Iterable[Reason]) -> str:
    """One section per named reason."""
    parts = []
    for reason in reasons:
        inferred = " *Inferred, never proved by a log.*" if reason.inferred else ""
        parts.append(
            f"### {reason.title}\n\n{_coded(reason.says)}{inferred}\n\n"
            f"**What to do.** {_coded(reason.change)}."
        )
    return "\n\n".join(parts)


def _section(phrase: Phrase) -> str:
    lines = [f"### `{phrase.show({})}`", "", _coded(phrase.means), ""]
    scopes: dict[str, list[str]] = {}
    for number, one in phrase.numbers.items():
        unit = "" if one.unit in (number.key, "share of a GPU") else f" ({one.unit})"
        scopes.setdefault(one.scope, []).append(number.key.replace("_", " ") + unit)
    of = "; ".join(f"{', '.join(names)}: {_of(scope)}" for scope, names in scopes.items())
    if of:
        lines += [f"**Of what.** {of[0].upper() + of[1:]}.", ""]
    if phrase.change:
        lines += [f"**What to do.** {_coded(phrase.change)}.", ""]
    lines.append(f"<small>{phrase.wording}</small>")
    return "\n".join(lines)


def _of(scope: str) -> str:
    """The scope in a reader's words."""
    return {RANK: "of each GPU", ALL: "over everything"}.get(scope, f"of {scope}")


def _coded(text: str) -> str:
    """Flags and field names set as code."""
    return re.sub(r"(--[a-z][a-z-]*|\b[A-Za-z]\w*_\w+\b|\bconfig\.json\b)", r"`\1`", text)


def _cells(found: Replay) -> list[str]:
    report = found.report
    check = telling_check(found.checks)
    printed = [reading.shown for reading in found.log.readings]
    return [
        f'<th scope="row"><a href="{escape(report.source)}">{escape(report.title)}</a><br>'
        f"<small>{escape(report.engine)}<br>{escape(report.model)}{_stand_in(report)}</small></th>",
        cell(_said(found), outcome(found)),
        _number(check.ratio if check else None, 4),
        _number(_rate(found), 0),
        cell(report.evidence, report.evidence),
        cell("<br>".join(f"<code>{escape(text)}</code>" for text in printed) or "–"),
        cell(escape(report.lesson)),
    ]


def _stand_in(report: Report) -> str:
    """The model it is held against, where that is another one of the same shape."""
    return f"<br>as {escape(report.snapshot)}" if report.same_shape else ""


def _rate(found: Replay) -> Fraction | None:
    """Bytes a token takes by the formula; None where the report is of no model in particular."""
    if found.subject:
        return found.subject.rate()
    if found.report.config and found.report.formula:
        return Fraction(layout_of(parse_config(found.report.config, found.report.key)).slope())
    return None


def telling_check(checks: tuple[Check, ...]) -> Check | None:
    """The check to show: of the first kind there is, one that does not agree if there is one."""
    for key in _TELLING:
        same = [check for check in checks if check.key == key]
        if same:
            return min(same, key=lambda check: check.agrees)
    return None


def _said(found: Replay) -> str:
    reasons = [reason for check in found.checks if not check.agrees for reason in check.reasons]
    titles = dict.fromkeys(reason.title for reason in reasons)
    return "<br>".join([f"<em>{outcome(found)}</em>", *map(escape, titles)])


def _number(value: Fraction | None, decimals: int) -> str:
    if value is None:
        return number_cell("", None)
    return number_cell(ratio(value.numerator, value.denominator, decimals), float(value))
