"""The expressions behind stated numbers: a small whitelist, evaluated exactly, never ``eval``.

In: text such as ``50 * qwen2_5_7b.bytes(4096)`` and what its names stand for. Out: an ``Answer``:
the exact value, how it was got line by line, and the sources of what went in.

Names are models: the model's name in lower case with every other character an underscore; the
endings ``_instruct``, ``_it`` and ``_hf`` may be left out where that names one model only.
A model answers ``bytes(tokens)``, ``slope(tokens=0)``, ``slope_past_windows()``,
``constant_bytes()``, ``layers(KIND)``, ``weights``, any whole-number field of its config by its
own name, ``without_sharing()``, the same model with K and V for every attention head, and
``five_factors()``, the same model as the simple formula has it. ``bytes`` and ``slope`` take a
cache dtype: ``dtype=fp8``.
Functions: ``crossover(model, tokens)``, ``ceil``, ``floor``, and those of ``engines.py``, such as
``llama_cpp_context(model, tokens)``. Facts: ``gpu.rtx_4090`` is a card's
memory in bytes, ``cited.KEY`` a claim, ``measured.KEY`` a figure of a record. Nothing is quoted.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any

from kvdocs.facts.claims import Claim
from kvdocs.facts.gpus import Gpu
from kvdocs.facts.models import Model
from kvdocs.formula import CacheLayout, ConfigError, crossover
from kvdocs.formula.config import EffectiveConfig
from kvdocs.formula.five_factors import five_factors
from kvdocs.literal import Literal
from kvdocs.site.engines import ENGINES, Held

Number = int | Fraction


@dataclass(frozen=True)
class Answer:
    """An exact value, the lines that lead to it, and where its inputs come from."""

    value: Number | str
    how: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scope:
    """What the names in expressions stand for."""

    models: Mapping[str, Model]
    claims: Mapping[str, Claim] = field(default_factory=dict)
    gpus: Mapping[str, Gpu] = field(default_factory=dict)
    records: Mapping[str, Any] = field(default_factory=dict)


def names(models: Iterable[Model]) -> dict[str, Model]:
    """Every name a model may be called by in an expression.

    >>> from kvdocs.facts.snapshot import load
    >>> sorted(names([load("Qwen/Qwen2.5-7B-Instruct")]))
    ['qwen2_5_7b', 'qwen2_5_7b_instruct']
    """
    full = {_name(model): model for model in models}
    short: dict[str, list[Model]] = {}
    for name, model in full.items():
        short.setdefault(re.sub(r"_(instruct|it|hf)$", "", name), []).append(model)
    unique = {name: found[0] for name, found in short.items() if len(found) == 1}
    return unique | full


def evaluate(expression: str, scope: Scope) -> Answer:
    """The value of an expression and how it was got.

    Raises:
        ValueError: it is not an expression of the language, or has no value.
    """
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise ValueError(f"{expression!r} is not an expression") from None
    run = _Run(scope)
    try:
        value, text = run.of(tree.body)
    except RecursionError:
        raise ValueError(f"{expression[:40]!r}… is too long an expression") from None
    except ConfigError as error:
        raise ValueError(str(error)) from None
    except ZeroDivisionError:
        raise ValueError(f"{expression!r} divides by zero") from None
    if not isinstance(value, int | Fraction | str):
        raise ValueError(f"{expression!r} names a model; ask it for a number, such as .slope()")
    if isinstance(tree.body, ast.BinOp):
        run.how.append(f"{text} = {_show(value)}")
    return Answer(value, tuple(dict.fromkeys(run.how)), tuple(dict.fromkeys(run.sources)))


@dataclass(frozen=True)
class _Cache:
    """A model's layout, with the words that tell it from the model as published."""

    model: Model
    layout: CacheLayout
    suffix: str = ""

    @property
    def title(self) -> str:
        return self.model.name + self.suffix


_OPERATORS: dict[type[ast.operator], tuple[str, Callable[..., Any]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("−", operator.sub),
    ast.Mult: ("×", operator.mul),
    ast.Div: ("÷", lambda a, b: Fraction(a) / b),
}


class _Run:
    """One evaluation: values with the text that shows them, and the trace."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.how: list[str] = []
        self.sources: list[str] = []

    def of(self, node: ast.expr) -> tuple[Any, str]:
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            value = Fraction(repr(node.value))
            return (int(value) if isinstance(node.value, int) else value), _show(value)
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return self._operation(node)
        if isinstance(node, ast.Name):
            return self._model(node.id)
        if isinstance(node, ast.Attribute):
            root, _, key = ast.unparse(node).partition(".")
            return self._fact(root, key) if root in _FACTS else self._field(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        raise ValueError(f"{ast.unparse(node)!r} is not allowed in an expression")

    def _operation(self, node: ast.BinOp) -> tuple[Number, str]:
        left, left_text = self._number(node.left)
        right, right_text = self._number(node.right)
        sign, apply = _OPERATORS[type(node.op)]
        if isinstance(node.op, ast.Mult | ast.Div):
            left_text = _bracket(node.left, left_text)
            right_text = _bracket(node.right, right_text)
        elif isinstance(node.op, ast.Sub) and isinstance(node.right, ast.BinOp):
            right_text = f"({right_text})"
        return apply(left, right), f"{left_text} {sign} {right_text}"

    def _number(self, node: ast.expr) -> tuple[Number, str]:
        value, text = self.of(node)
        if not isinstance(value, int | Fraction):
            raise ValueError(f"{ast.unparse(node)!r} is not a number")
        return value, text

    def _model(self, name: str) -> tuple[_Cache, str]:
        if name not in self.scope.models:
            raise ValueError(
                f"no model is called {name!r}; a name is the model's own, as in qwen2_5_7b"
            )
        model = self.scope.models[name]
        self.sources.append(f"config.json of {model.id}, {model.source}")
        return _Cache(model, model.layout), model.name

    def _field(self, node: ast.Attribute) -> tuple[int, str]:
        cache = self._cache(node.value)
        if node.attr == "weights":
            return self._weights(cache.model)
        config = EffectiveConfig.of(cache.model.config, cache.model.id)
        value = config.get(node.attr)
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"{cache.model.id} has no whole number called {node.attr!r}")
        if config.origin(node.attr) != "config.json":
            self.sources.append(f"{node.attr}: {config.origin(node.attr)}")
        self.how.append(f"{cache.title}: {node.attr} = {value:,}")
        return value, f"{value:,}"

    def _weights(self, model: Model) -> tuple[int, str]:
        if model.weights is None:
            raise ValueError(f"the size of {model.id}'s weights is not known")
        count = model.weights.bytes
        self.how.append(f"{model.name}: weights = {count:,} bytes")
        self.sources.append(f"weights of {model.id}: {model.weights.kind}")
        return count, f"{count:,}"

    def _cache(self, node: ast.expr) -> _Cache:
        value, _ = self.of(node)
        if not isinstance(value, _Cache):
            raise ValueError(f"{ast.unparse(node)!r} is not a model")
        return value

    def _call(self, node: ast.Call) -> tuple[Any, str]:
        if isinstance(node.func, ast.Attribute):
            return self._method(node.func, node)
        if isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS:
            return _FUNCTIONS[node.func.id](self, node)
        if isinstance(node.func, ast.Name) and node.func.id in ENGINES:
            return self._engine(ENGINES[node.func.id], node)
        raise ValueError(f"{ast.unparse(node.func)!r} is not a function of expressions")

    def _method(self, func: ast.Attribute, node: ast.Call) -> tuple[Any, str]:
        cache = self._cache(func.value)
        if func.attr == "layers":
            return self._layers(cache, node)
        tokens, dtype = self._arguments(node)
        if func.attr == "five_factors" and tokens is None:
            layout = five_factors(cache.model.config, cache.model.id)
            return _Cache(cache.model, layout, " by the five factors"), ""
        if func.attr == "without_sharing" and tokens is None:
            heads = EffectiveConfig.of(cache.model.config, cache.model.id)
            layout = cache.layout.without_sharing(heads.required("num_attention_heads"))
            return _Cache(cache.model, layout, " if every head had its own K and V"), ""
        if func.attr == "bytes" and tokens is not None:
            return self._bytes(cache, tokens, dtype)
        if func.attr == "constant_bytes" and tokens is None:
            return self._bytes(cache, 0, dtype)
        if func.attr == "slope":
            return self._slope(cache, tokens or 0, dtype)
        if func.attr == "slope_past_windows" and tokens is None:
            return self._slope_past_windows(cache, dtype)
        raise ValueError(f"{ast.unparse(node)!r} is not something a model answers")

    def _layers(self, cache: _Cache, node: ast.Call) -> tuple[int, str]:
        if len(node.args) != 1 or node.keywords:
            raise ValueError(f"{ast.unparse(node)!r} wants one kind of layer")
        kind = ast.unparse(node.args[0])
        count = sum(any(part.kind == kind for part in x.parts) for x in cache.layout.layers)
        if not count:
            kinds = ", ".join(sorted({part.kind for part, _ in cache.layout.groups()}))
            raise ValueError(f"{cache.title} has no layers of kind {kind!r}; it has {kinds}")
        self.how.append(f"{cache.title}: {count:,} of {len(cache.layout.layers):,} layers, {kind}")
        return count, f"{count:,}"

    def _arguments(self, node: ast.Call) -> tuple[int | None, str]:
        """The tokens and the dtype of a call such as ``bytes(4096, dtype=fp8)``."""
        dtype = "bfloat16"
        for keyword in node.keywords:
            if keyword.arg != "dtype":
                raise ValueError(f"{ast.unparse(node)!r}: unknown argument {keyword.arg!r}")
            dtype = ast.unparse(keyword.value)
        if len(node.args) > 1:
            raise ValueError(f"{ast.unparse(node)!r} wants one whole number of tokens")
        return (self._tokens(node.args[0]) if node.args else None), dtype

    def _tokens(self, node: ast.expr) -> int:
        tokens, _ = self._number(node)
        if not isinstance(tokens, int):
            raise ValueError(f"{ast.unparse(node)!r} is no whole number of tokens")
        return tokens

    def _bytes(self, cache: _Cache, tokens: int, dtype: str) -> tuple[int, str]:
        count = cache.layout.bytes(tokens, dtype)
        self.how.append(f"{cache.title}, {tokens:,} tokens:")
        self.how += cache.layout.derivation(tokens, dtype)
        return count, f"{count:,}"

    def _slope(self, cache: _Cache, tokens: int, dtype: str) -> tuple[int, str]:
        count = cache.layout.slope(tokens, dtype)
        if tokens == 0:
            self.how.append(f"{cache.title}, one token:")
            self.how += cache.layout.derivation(1, dtype)
        else:
            after = cache.layout.bytes(tokens + 1, dtype)
            self.how.append(f"{cache.title}, from {tokens:,} to {tokens + 1:,} tokens:")
            self.how.append(f"{after:,} − {after - count:,} = {count:,} bytes")
        return count, f"{count:,}"

    def _slope_past_windows(self, cache: _Cache, dtype: str) -> tuple[int, str]:
        count, (start, end) = cache.layout.slope_past_windows(dtype), cache.layout.past_windows
        before, after = (cache.layout.bytes(tokens, dtype, 0) for tokens in (start, end))
        self.how.append(f"{cache.title}, from {start:,} to {end:,} tokens:")
        self.how.append(f"{after:,} − {before:,} = {after - before:,} bytes")
        if end - start > 1:
            self.how.append(f"{after - before:,} bytes ÷ {end - start:,} tokens = {count:,} bytes")
        return count, f"{count:,}"

    def _crossover(self, node: ast.Call) -> tuple[int, str]:
        if len(node.args) != 2 or node.keywords:
            raise ValueError(f"{ast.unparse(node)!r}: crossover wants a model and a length")
        cache = self._cache(node.args[0])
        tokens = self._tokens(node.args[1])
        weights, _ = self._weights(cache.model)
        held, _ = self._bytes(cache, tokens, "bfloat16")
        count = crossover(weights, held)
        ratio = Literal.parse("0.00").rewrite(Fraction(weights, held))
        self.how.append(f"{weights:,} ÷ {held:,} = {ratio}, so {count:,} conversations exceed it")
        return count, f"{count:,}"

    def _engine(self, held: Callable[[Model, int], Held], node: ast.Call) -> tuple[int, str]:
        if len(node.args) != 2 or node.keywords:
            raise ValueError(f"{ast.unparse(node)!r} wants a model and a length")
        cache = self._cache(node.args[0])
        tokens, _ = self._number(node.args[1])
        found = held(cache.model, int(tokens))
        self.how += found.how
        self.sources.append(found.source)
        return found.bytes, f"{found.bytes:,}"

    def _whole(self, node: ast.Call) -> tuple[int, str]:
        if len(node.args) != 1 or node.keywords or not isinstance(node.func, ast.Name):
            raise ValueError(f"{ast.unparse(node)!r} wants one number")
        value, text = self._number(node.args[0])
        whole = math.floor(value) if node.func.id == "floor" else math.ceil(value)
        word = "down" if node.func.id == "floor" else "up"
        self.how.append(f"{text} = {_show(value)}, rounded {word}: {whole:,}")
        return whole, f"{whole:,}"

    def _fact(self, root: str, key: str) -> tuple[Number | str, str]:
        answer = _FACTS[root](key, self.scope)
        self.how += answer.how
        self.sources += answer.sources
        return answer.value, _show(answer.value)


_FUNCTIONS: dict[str, Callable[[_Run, ast.Call], tuple[Any, str]]] = {
    "crossover": _Run._crossover,
    "ceil": _Run._whole,
    "floor": _Run._whole,
}


def gpu(key: str, scope: Scope) -> Answer:
    """The memory of a card in bytes, as its driver reports it.

    Raises:
        ValueError: there is no such card.
    """
    if key not in scope.gpus:
        raise ValueError(f"no GPU is called {key!r} in gpus.toml")
    card = scope.gpus[key]
    count = card.memory_mib * 1024**2
    line = f"{card.name}: {card.memory_mib:,} MiB = {count:,} bytes"
    return Answer(count, (line,), (card.memory_source,))


def cited(key: str, scope: Scope) -> Answer:
    """The value of a claim, or of ``gpus.KEY.FIELD``; text with a memory unit becomes bytes.

    Raises:
        ValueError: there is no such claim.
    """
    if key.startswith("gpus."):
        return _card(key, scope)
    if key not in scope.claims:
        raise ValueError(f"no claim is called {key!r} in claims.toml")
    claim = scope.claims[key]
    source = f"{claim.version}, {claim.source}, {claim.how} {claim.checked}"
    return Answer(_as_number(claim.value), (claim.says,), (source,))


def _card(key: str, scope: Scope) -> Answer:
    name, _, field_name = key.removeprefix("gpus.").partition(".")
    card = scope.gpus.get(name)
    if card is None or field_name not in (known.name for known in fields(card)):
        raise ValueError(f"gpus.toml has no {key!r}")
    value = getattr(card, field_name)
    if field_name == "sold_as":
        return Answer(str(value), (f"{card.name}: sold by this name, whatever its driver reports",))
    capability = field_name.startswith(("compute", "capability", "fp8"))
    source = card.capability_source if capability else card.memory_source
    return Answer(_as_number(value), (f"{card.name}: {field_name}",), (source,))


def measured(key: str, scope: Scope) -> Answer:
    """A figure of a record, by its path: ``record.key.key``.

    Raises:
        ValueError: no record has it.
    """
    found: Any = scope.records
    for part in key.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    if isinstance(found, bool) or not isinstance(found, int | float | str):
        raise ValueError(f"no record has a figure called {key!r}")
    record = scope.records[key.partition(".")[0]]
    value = Fraction(repr(found)) if isinstance(found, float) else _as_number(found)
    return Answer(
        value, (), (f"record {key}, measured {record.get('date', 'on an unknown date')}",)
    )


_FACTS: dict[str, Callable[[str, Scope], Answer]] = {
    "gpu": gpu,
    "cited": cited,
    "measured": measured,
}


def _as_number(value: object) -> Number | str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int | float):
        return Fraction(repr(value)) if isinstance(value, float) else value
    try:
        literal = Literal.parse(str(value))
    except ValueError:
        return str(value)
    return literal.number * literal.scale


def _name(model: Model) -> str:
    return re.sub(r"[^a-z0-9]", "_", model.name.lower())


def _bracket(node: ast.expr, text: str) -> str:
    return f"({text})" if isinstance(node, ast.BinOp) else text


def _show(value: Number | str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) or value.denominator == 1:
        return f"{int(value):,}"
    short = Literal.parse("0.0000").rewrite(value).rstrip("0").rstrip(".")
    return short
