"""The sweep's record as a table: every architecture, whether the formula is exact, how it was run.

In: the record's entries. Out: HTML with one row per architecture; nothing is left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

from kvdocs.site.tables import cell, sortable

# What the record calls a status, and what the page says.
STATUS = {
    "exact": "exact",
    "differs": "differs",
    "no rule": "no rule",
    "no cache": "no cache",
    "not run": "could not run",
}
_HEAD = (
    ("Architecture", "text", ""),
    ("Class", "text", ""),
    ("Result", "text", " data-filter"),
    ("Layers", "text", ""),
    ("Tokens", "text", ""),
    ("Run on", "text", " data-filter"),
    ("Changed, or why not", "text", ""),
)


def coverage_html(entries: Iterable[dict[str, Any]]) -> str:
    """The searchable table of all architectures; complete without a script."""
    return sortable("architectures", _HEAD, [_cells(entry) for entry in entries])


def tokens_tried(entry: dict[str, Any]) -> list[int]:
    """The sequence lengths at which an architecture was exact, in every width it was run in."""
    rows = entry.get("rows", [])
    wrong = {row["tokens"] for row in rows if not row.get("equal")}
    return sorted({row["tokens"] for row in rows} - wrong)


def how_run(entry: dict[str, Any]) -> str:
    """Where the model was run: full size without values, or small with real ones."""
    if not entry.get("rows"):
        return "–"
    if entry["device"] == "cpu":
        return "CPU, small"
    return "meta, values assumed" if entry["assumed_values"] else "meta"


def remark(entry: dict[str, Any]) -> str:
    """What was changed in the defaults and why, then what went wrong, as HTML."""
    changed = ", ".join(f"{name} = {value}" for name, value in entry.get("changed", {}).items())
    parts = [f"<code>{escape(changed)}</code>"] if changed else []
    parts += [escape(text) for text in dict.fromkeys((entry.get("why"), entry["reason"])) if text]
    return "<br>".join(parts)


def _cells(entry: dict[str, Any]) -> list[str]:
    status = STATUS[entry["status"]]
    where = how_run(entry)
    kinds = " + ".join(f"{count} {kind}" for kind, count in entry.get("kinds", {}).items())
    return [
        f'<th scope="row"><code>{escape(entry["model_type"])}</code></th>',
        cell(f"<code>{escape(entry['class'])}</code>"),
        cell(status, status),
        cell(kinds or "–"),
        cell(", ".join(f"{count:,}" for count in tokens_tried(entry)) or "–"),
        cell(where, where),
        cell(remark(entry)),
    ]
