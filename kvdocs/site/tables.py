"""Rows to Markdown, CSV and JSON. The functions return text; nothing here prints or computes bytes.

In: models and numbers. Out: the tables of the pages and the files readers download.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from kvdocs.evidence.known import known_by_model
from kvdocs.facts.models import Model
from kvdocs.formula import ConfigError, crossover
from kvdocs.formula.config import EffectiveConfig
from kvdocs.site.numbers import KINDS, REASONED, Checked
from kvdocs.site.popover import button, exact_value
from kvdocs.units import binary, exact

CONVERSATION = 4096  # tokens

# One row per model: the keys of the JSON and the header of the CSV. Sizes in bytes, 16-bit cache.


def markdown(header: Sequence[str], rows: Iterable[Sequence[object]], right: str = "") -> str:
    """A Markdown table; ``right`` holds one letter per column, ``r`` for right-aligned.

    >>> print(markdown(["layer", "bytes"], [["full", 2048]], "lr"))
    | layer | bytes |
    |:--|--:|
    | full | 2048 |
    """
    marks = ["--:" if mark == "r" else ":--" for mark in right.ljust(len(header), "l")]
    lines = [f"| {' | '.join(header)} |", f"|{'|'.join(marks)}|"]
    lines += [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows]
    return "\n".join(lines)


def model_row(model: Model) -> dict[str, Any]:
    """One model under the columns of ``models.csv``; None where a value does not exist.

    Raises:
        ConfigError: no rule for the model.
    """
    layout = model.layout
    held = layout.bytes(CONVERSATION)
    weights = model.weights
    return {
        "model": model.id,
        "attention": attention(model),
        "layers": len(layout.layers),
        "kv_heads": layout.kv_heads or None,
        "head_dim": layout.head_dim or None,
        "window": max((x.window for x in layout.layers if x.window), default=None),
        "bytes_per_token": layout.slope(),
        "bytes_per_token_past_window": layout.slope_past_windows(),
        "bytes_at_4096_tokens": held,
        "weights_bytes": weights.bytes if weights else None,
        "weights_kind": weights.kind if weights else None,
        "weights_from": weights.source if weights else None,
        "weights_confidence": weights.confidence if weights else None,
        "crossover_at_4096_tokens": crossover(weights.bytes, held) if weights else None,
        "known_by": known_by_model(model),
        "config_source": model.source.kind,
        "config_from": f"{model.source}; {model.source.detail}",
        "config_agrees": "; ".join(model.agrees),
        "config_complete": model.complete,
    }


def attention(model: Model) -> str:
    """How heads share K and V, in the field's words, and what layers keep besides.

    >>> from kvdocs.facts.snapshot import load
    >>> attention(load("openai/gpt-oss-20b"))
    'grouped, 12 of 24 layers slide'
    >>> attention(load("deepseek-ai/DeepSeek-V3.2"))
    'latent, all layers keep an index'
    """
    layers = model.layout.layers
    kinds = Counter(kind for layer in layers for kind in {part.kind for part in layer.parts})
    counts = ((words, kinds[kind]) for kind, words in _ALSO.items() if kinds[kind])
    return ", ".join([_scheme(model), *(_so_many(n, len(layers), words) for words, n in counts)])


_ALSO = {
    "window": "slide",
    "chunk": "work in chunks",
    "index": "keep an index",
    "compressed": "compress",
    "state": "keep a state",
    "shared": "share a cache",
    "none": "keep nothing",
    "cross": "read an encoder",
}


def _scheme(model: Model) -> str:
    if not model.layout.kv_heads:
        return "latent"
    heads = EffectiveConfig.of(model.config, model.id).required("num_attention_heads")
    return {heads: "multi-head", 1: "multi-query"}.get(model.layout.kv_heads, "grouped")


def _so_many(count: int, layers: int, words: str) -> str:
    return f"all layers {words}" if count == layers else f"{count} of {layers} layers {words}"


def computed_and_refused(models: Iterable[Model]) -> tuple[list[dict[str, Any]], list[Model]]:
    """Rows for the models with a rule; the models without one."""
    rows, refused = [], []
    for model in models:
        try:
            rows.append(model_row(model))
        except ConfigError:
            refused.append(model)
    return rows, refused


def as_json(rows: list[dict[str, Any]]) -> str:
    """The rows as a JSON list."""
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


def as_csv(rows: list[dict[str, Any]]) -> str:
    """The rows, one or more, as CSV with a header; empty where a value does not exist."""
    text = io.StringIO()
    lines = csv.DictWriter(text, rows[0], lineterminator="\n")
    lines.writeheader()
    lines.writerows(rows)
    return text.getvalue()


def models_html(rows: list[dict[str, Any]]) -> str:
    """The sortable, filterable table of all models; complete without a script."""
    return sortable(
        "models", _MODEL_HEAD, [_model_cells(row, number) for number, row in enumerate(rows)]
    )


def ledger_html(checked: Iterable[Checked]) -> str:
    """Every number the site stands by as a row of a sortable, filterable table."""
    kept = [one for one in checked if one.stated.kind != "withdrawn"]
    return sortable("numbers", _LEDGER_HEAD, [_ledger_cells(one) for one in kept])


# Title, how the column sorts, further attributes of the header.
_MODEL_HEAD = (
    ("Model", "text", ""),
    ("Attention", "text", " data-filter"),
    ("Layers", "number", ""),
    ("KV heads", "number", ""),
    ("head_dim", "number", ""),
    ("Per token", "number", ""),
    ("Past the window", "number", ""),
    (f"{CONVERSATION:,} tokens", "number", ""),
    ("Weights", "number", ""),
    ("Crossover", "number", ""),
    ("Known by", "text", " data-filter"),
    ("Config", "text", ""),
)
_LEDGER_HEAD = (
    ("Page", "text", " data-filter"),
    ("Stated", "text", ""),
    ("Kind", "text", " data-filter"),
    ("Expression or reason", "text", ""),
    ("Exactly", "text", ""),
    ("Source", "text", ""),
)


def _model_cells(row: dict[str, Any], number: int) -> list[str]:
    scheme, _, windows = row["attention"].partition(", ")
    slides = f"<br><small>{windows}</small>" if windows else ""
    config = [("kind", "Config"), ("source", row["config_from"])]
    config += [("how", f"Agrees with {row['config_agrees']}")] if row["config_agrees"] else []
    config += [("how", "Only part of the file is known")] if not row["config_complete"] else []
    return [
        f'<th scope="row">{escape(row["model"])}</th>',
        cell(scheme + slides, scheme),
        *(_count(row[key]) for key in ("layers", "kv_heads", "head_dim")),
        _size(row["bytes_per_token"]),
        _size(row["bytes_per_token_past_window"]),
        _size(row["bytes_at_4096_tokens"]),
        _weights(row, number),
        _count(row["crossover_at_4096_tokens"]),
        cell(row["known_by"], row["known_by"]),
        cell(button(f"config-{number}", row["config_source"], "cited", config)),
    ]


def _ledger_cells(one: Checked) -> list[str]:
    stated = one.stated
    page = "/".join(stated.path.with_suffix("").parts[1:])  # below docs/
    how, sources = (one.answer.how, one.answer.sources) if one.answer else ((), ())
    in_words = stated.kind in REASONED
    behind = escape(how[0]) if in_words else f"<code>{escape(stated.expression)}</code>"
    return [
        f'<th scope="row"><a href="{page}.html">{page}</a></th>',
        cell(escape(stated.text), stated.text),
        cell(KINDS[stated.kind].lower(), KINDS[stated.kind].lower()),
        cell(behind),
        cell(escape(exact_value(one))),
        cell("<br>".join(escape(source) for source in sources)),
    ]


def sortable(name: str, head: Sequence[tuple[str, str, str]], rows: Iterable[list[str]]) -> str:
    """A sortable, filterable table of ``name``, e.g. models; rows are lists of cells in HTML.

    ``head`` holds per column its title, ``text`` or ``number``, and further attributes.
    """
    titles = "".join(
        f'<th scope="col" data-sort="{sort}"{extra}>{title}</th>' for title, sort, extra in head
    )
    body = "\n".join(f"<tr>{''.join(cells)}</tr>" for cells in rows)
    return (
        f'<div class="kv-table" data-kv-table="{name}">\n<table>\n'
        f"<thead><tr>{titles}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</div>"
    )


def cell(content: str, value: str | None = None) -> str:
    """A cell of such a table; ``value`` is what it sorts and filters by."""
    attribute = "" if value is None else f' data-value="{escape(value)}"'
    return f"<td{attribute}>{content}</td>"


def number_cell(content: str, value: float | None) -> str:
    """A cell that sorts by its exact value; a dash, sorted last, where there is none."""
    if value is None:
        return '<td class="kv-num" data-value="">–</td>'
    return f'<td class="kv-num" data-value="{value}">{content}</td>'


def _count(value: int | None) -> str:
    return number_cell("" if value is None else f"{value:,}", value)


def _size(value: int) -> str:
    return number_cell(binary(value), value)


def _weights(row: dict[str, Any], number: int) -> str:
    if row["weights_bytes"] is None:
        return number_cell("", None)
    parts = [
        ("kind", "Weights"),
        ("exact", exact(row["weights_bytes"])),
        ("how", row["weights_kind"]),
        ("source", f"{row['weights_from']} (confidence: {row['weights_confidence']})"),
    ]
    label = binary(row["weights_bytes"])
    return number_cell(button(f"weights-{number}", label, "cited", parts), row["weights_bytes"])
