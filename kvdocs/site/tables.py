"""Rows to Markdown, CSV and JSON. The functions return text; nothing here prints or computes bytes.

In: models and numbers. Out: the tables of the pages and the files readers download.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from kvdocs.evidence.records import known_by
from kvdocs.facts.models import Model
from kvdocs.formula import ConfigError, crossover
from kvdocs.formula.config import EffectiveConfig
from kvdocs.formula.layers import FullAttention, Latent
from kvdocs.site.numbers import KINDS, Checked
from kvdocs.site.popover import exact_value
from kvdocs.units import binary

CONVERSATION = 4096  # tokens

# One row per model: the keys of the JSON and the header of the CSV. Sizes in bytes, 16-bit cache.
COLUMNS = (
    "model",
    "attention",
    "layers",
    "kv_heads",
    "head_dim",
    "window",
    "bytes_per_token",
    "bytes_per_token_past_window",
    "bytes_at_4096_tokens",
    "weights_bytes",
    "weights_kind",
    "crossover_at_4096_tokens",
    "known_by",
    "config_from",
    "config_complete",
)


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
    """One model under ``COLUMNS``; None where a value does not exist.

    Raises:
        ConfigError: no rule for the model.
    """
    layout = model.layout
    held = layout.bytes(CONVERSATION)
    heads = {x.kv_heads for x in layout.layers if isinstance(x, FullAttention)}
    dims = {x.k_dim for x in layout.layers if isinstance(x, FullAttention)}
    weights = model.weights
    return {
        "model": model.id,
        "attention": attention(model),
        "layers": len(layout.layers),
        "kv_heads": max(heads, default=None),
        "head_dim": max(dims, default=None),
        "window": max((x.window for x in layout.layers if x.window), default=None),
        "bytes_per_token": layout.slope(),
        "bytes_per_token_past_window": layout.slope_past_windows(),
        "bytes_at_4096_tokens": held,
        "weights_bytes": weights.bytes if weights else None,
        "weights_kind": weights.kind if weights else None,
        "crossover_at_4096_tokens": crossover(weights.bytes, held) if weights else None,
        "known_by": known_by(model.config["model_type"], model.id),
        "config_from": f"{model.source}: {model.source.detail}",
        "config_complete": model.complete,
    }


def attention(model: Model) -> str:
    """How heads share K and V, in the field's words, and whether layers slide.

    >>> from kvdocs.facts.snapshot import load
    >>> attention(load("openai/gpt-oss-20b"))
    'grouped, 12 of 24 layers slide'
    """
    layers = model.layout.layers
    if isinstance(layers[0], Latent):
        return "latent"
    config = EffectiveConfig.of(model.config, model.id)
    heads = config.required("num_attention_heads")
    kv_heads = layers[0].kv_heads if isinstance(layers[0], FullAttention) else 0
    scheme = {heads: "multi-head", 1: "multi-query"}.get(kv_heads, "grouped")
    sliding = sum(layer.kind == "window" for layer in layers)
    if not sliding:
        return scheme
    return f"{scheme}, " + (
        "all layers slide" if sliding == len(layers) else f"{sliding} of {len(layers)} layers slide"
    )


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
    """The rows as CSV with a header; empty where a value does not exist."""
    import pandas

    frame = pandas.DataFrame(rows, columns=list(COLUMNS)).convert_dtypes()
    return frame.to_csv(index=False, lineterminator="\n")


def models_html(rows: list[dict[str, Any]]) -> str:
    """The sortable, filterable table of all models; complete without a script."""
    head = "".join(
        f'<th scope="col" data-sort="{sort}"{extra}>{title}</th>' for title, sort, extra in _HEAD
    )
    body = "\n".join(_html_row(row) for row in rows)
    return (
        '<div class="kv-table" data-kv-table>\n<table>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</div>"
    )


_HEAD = (
    ("Model", "text", ""),
    ("Attention", "text", " data-filter"),
    ("Layers", "number", ""),
    ("KV heads", "number", ""),
    ("head_dim", "number", ""),
    ("Per token", "number", ""),
    ("Past the window", "number", ""),
    ("4,096 tokens", "number", ""),
    ("Weights", "number", ""),
    ("Crossover", "number", ""),
    ("Known by", "text", " data-filter"),
    ("Config from", "text", ""),
)


def _html_row(row: dict[str, Any]) -> str:
    scheme, _, windows = row["attention"].partition(", ")
    cells = [
        f'<th scope="row">{escape(row["model"])}</th>',
        f'<td data-value="{scheme}">{scheme}' + (f"<br><small>{windows}</small>" if windows else ""),
        *(_count(row[key]) for key in ("layers", "kv_heads", "head_dim")),
        _size(row["bytes_per_token"]),
        _size(row["bytes_per_token_past_window"]),
        _size(row["bytes_at_4096_tokens"]),
        _size(row["weights_bytes"], row["weights_kind"]),
        _count(row["crossover_at_4096_tokens"]),
        f'<td data-value="{row["known_by"]}">{row["known_by"]}',
        f"<td>{escape(row['config_from'])}" + ("" if row["config_complete"] else " (part of the file)"),
    ]
    closed = [cell if cell.endswith("</th>") else cell + "</td>" for cell in cells]
    return "<tr>" + "".join(closed) + "</tr>"


def _count(value: int | None) -> str:
    return '<td data-value="">–' if value is None else f'<td data-value="{value}">{value:,}'


def _size(value: int | None, title: str | None = None) -> str:
    if value is None:
        return '<td data-value="">–'
    about = f' title="{escape(title)}"' if title else ""
    return f'<td data-value="{value}"{about}>{binary(value)}'


def ledger(checked: Iterable[Checked], page_of: dict[str, str]) -> str:
    """Every stated number as a row; ``page_of`` maps a file name to the page's title."""
    rows = [
        [
            f"[{page_of[c.stated.path.name]}]({c.stated.path.name})",
            _plain(c.stated.text),
            KINDS[c.stated.kind].lower(),
            f"`{c.stated.expression}`" if c.stated.kind in ("kv", "cited", "measured") else _plain(c.stated.expression),
            _plain(exact_value(c)),
            _plain("; ".join(c.answer.sources)) if c.answer else "",
        ]
        for c in checked
    ]
    return markdown(["Page", "Stated", "Kind", "Expression or reason", "Exactly", "Source"], rows, "lrllrl")


def _plain(text: str) -> str:
    return escape(text).replace("|", "&#124;").replace("*", "&#42;").replace("_", "&#95;")
