"""What ``kvdocs fit`` answers, for expressions: ``fit(qwen2_5_7b, gpu.rtx_4090, tokens=4096)``.

In: a model and the command's options. Out: an ``Answered``, whose fields are the keys of the
command's JSON: ``.sequences`` (also ``.sure.sequences``), ``.best.sequences``,
``.available_bytes``, ``.pool_tokens``, ``.terms.weights.bytes``. ``asked`` is the only place that
knows how the command works it out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kvdocs.facts.models import Model
from kvdocs.fit.command import as_json
from kvdocs.fit.options import OWN, SIZES, ask
from kvdocs.formula.layers import plural
from kvdocs.site.values import Call, Trace, as_number, show
from kvdocs.units import exact

WORDS = ("engine", "kv_dtype", "weights_dtype")  # as the command takes them, not worked out
OPTIONS = ("tokens", "users", *WORDS, *SIZES, *OWN)


def asked(model: Model, gpu: str | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON of ``kvdocs fit`` without its remedies, by the functions that the command calls.

    ``options`` are the command's by their names: sizes in bytes, counts as whole numbers.

    Raises:
        ValueError: the command would refuse the question.
    """
    return as_json(ask(model, gpu=gpu, **options), [])


@dataclass(frozen=True)
class Answered:
    """An answer of ``kvdocs fit``, or the part of it that ``inside`` leads to."""

    keys: Mapping[str, Any]
    title: str
    inside: str = ""

    def field(self, name: str, trace: Trace) -> Any:
        """A figure, or a part that has more of them.

        Raises:
            ValueError: the answer has no such figure.
        """
        if name == "sure" and not self.inside:
            return self
        value = self.keys.get(name)
        if name == "terms" and isinstance(value, list):
            value = {_key(term["name"]): term for term in value}
        if isinstance(value, Mapping):
            return Answered(value, self.title, f"{self.inside}{name}.")
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            known = ", ".join(self.keys)
            raise ValueError(
                f"{self.title}: no figure is called {self.inside}{name}; it has {known}"
            )
        number = as_number(value)
        shown = exact(int(value)) if name.endswith("bytes") else show(number)
        trace.how.append(f"{self.inside}{name} = {shown}")
        return number


def fit_call(model: Model, call: Call, trace: Trace) -> Answered:
    """``fit(model, gpu.KEY, tokens=…, …)``, with the terms of the sum in the trace.

    Raises:
        ValueError: an option is unknown or has no usable value, or the command refuses it.
    """
    unknown = set(call.named) - {*OPTIONS}
    if unknown or len(call.args) > 2:
        what = f"unknown option {min(unknown)!r}" if unknown else "wants a model and a card"
        raise ValueError(f"{call.text!r}: {what}; options are {', '.join(OPTIONS)}")
    gpu = _card(call) if len(call.args) == 2 else None
    options = {name: _option(name, node, call) for name, node in call.named.items()}
    found = asked(model, gpu, options)
    title = f"kvdocs fit {model.name}, {found['engine']}"
    title += f", {found['gpu']}" if found["gpu"] else ""
    trace.how.append(f"{title}, {plural(found['tokens'], 'token')}:")
    for term in found["terms"]:
        sign = "+" if term["sign"] > 0 else "−"
        best = "" if term["bytes"] == term["best_bytes"] else f", at best {term['best_bytes']:,}"
        trace.how.append(f"{sign} {term['bytes']:,} bytes{best}: {term['name']}")
        trace.sources.append(term["source"])
    return Answered(found, title)


def _card(call: Call) -> str:
    written = ast.unparse(call.args[1])
    if not written.startswith("gpu."):
        raise ValueError(f"{written!r} is no card; a card is written gpu.rtx_4090")
    return written.removeprefix("gpu.")


def _option(name: str, node: ast.expr, call: Call) -> Any:
    if name in WORDS:
        return re.sub(r"[()'\s]", "", ast.unparse(node))  # q8_0, llama.cpp, (q8_0, q4_0)
    value = call.number(node)
    if name == "utilization":
        return str(float(value))
    if value != int(value):
        raise ValueError(f"{call.text!r}: {name} is no whole number")
    return int(value)


def _key(name: str) -> str:
    """A term by a name that expressions can write: ``working_memory``."""
    return re.sub(r"\W+", "_", name.partition(":")[0]).strip("_")
