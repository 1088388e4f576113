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
Functions: ``crossover(model, tokens)``, ``ceil``, ``floor``, those of ``engines.py``, such as
``llama_cpp_context(model, tokens)``, and ``fit(model, gpu.rtx_4090, tokens=4096)``, the answer of
``kvdocs fit`` with its options by name and the keys of its JSON as fields: ``.sequences``,
``.best.sequences``, ``.available_bytes``, ``.terms.weights.bytes``. Facts: ``gpu.rtx_4090`` is a
card's memory in bytes, ``cited.KEY`` a claim, ``measured.KEY`` a figure of a record,
``snippet.FILE.NAME`` a constant that a snippet writes at its top level, ``code.FOLDER.MODULE.NAME``
one of this package, and ``example.KEY`` a figure of the page on workloads. Nothing is quoted.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from kvdocs.formula import ConfigError
from kvdocs.site.answers import Answered, fit_call
from kvdocs.site.engines import ENGINES
from kvdocs.site.fact_values import ROOTS
from kvdocs.site.model_values import NamedModel
from kvdocs.site.values import Answer, Call, Number, Scope, Trace, show

ROUNDINGS: dict[str, tuple[Callable[[Number], int], str]] = {
    "ceil": (math.ceil, "up"),
    "floor": (math.floor, "down"),
}
OPERATORS: dict[type[ast.operator], tuple[str, Callable[..., Any]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("−", operator.sub),
    ast.Mult: ("×", operator.mul),
    ast.Div: ("÷", lambda a, b: Fraction(a) / b),
}


def evaluate(expression: str, scope: Scope) -> Answer:
    """The value of an expression and how it was got.

    Raises:
        ValueError: it is not an expression of the language, or has no value.
    """
    tree, run = parsed(expression), _Run(scope)
    try:
        value, text = run.of(tree)
    except RecursionError:
        raise ValueError(f"{expression[:40]!r}… is too long an expression") from None
    except ConfigError as error:
        raise ValueError(str(error)) from None
    except ZeroDivisionError:
        raise ValueError(f"{expression!r} divides by zero") from None
    if isinstance(value, NamedModel):
        raise ValueError(f"{expression!r} names a model; ask it for a number, such as .slope()")
    if not isinstance(value, int | Fraction | str):
        raise ValueError(f"{expression!r} names an answer; ask it for a number, as .sequences")
    how = run.trace.how
    if isinstance(tree, ast.BinOp):
        how.append(f"{text} = {show(value)}")
    return Answer(value, tuple(dict.fromkeys(how)), tuple(dict.fromkeys(run.trace.sources)))


def parsed(expression: str) -> ast.expr:
    """The tree of an expression.

    Raises:
        ValueError: it is none.
    """
    try:
        return ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise ValueError(f"{expression!r} is not an expression") from None


def names_something(expression: str) -> bool:
    """Whether a model, a card, an answer, a claim, a record or a snippet is named in it.

    >>> names_something("floor((4849 - 1) / 256)"), names_something("2 * gpu.t4")
    (False, True)
    """
    nodes = ast.walk(parsed(expression))
    return any(isinstance(node, ast.Name) and node.id not in ROUNDINGS for node in nodes)


class _Run:
    """One evaluation: values with the text that shows them, and the trace."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.trace = Trace()

    def of(self, node: ast.expr) -> tuple[Any, str]:
        """The value of a node, and the text that stands for it in a line of the trace."""
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return self._operation(node)
        value = self._value(node)
        return value, show(value) if isinstance(value, int | Fraction | str) else ""

    def _value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            return node.value if isinstance(node.value, int) else Fraction(repr(node.value))
        if isinstance(node, ast.Name):
            return self._model(node.id)
        if isinstance(node, ast.Attribute):
            root, _, key = ast.unparse(node).partition(".")
            if root in ROOTS:
                return self.trace.add(ROOTS[root](key, self.scope))
            value, _ = self.of(node.value)
            if not isinstance(value, NamedModel | Answered):
                raise ValueError(f"{ast.unparse(node.value)!r} is not a model")
            return value.field(node.attr, self.trace)
        if isinstance(node, ast.Call):
            return self._call(node)
        raise ValueError(f"{ast.unparse(node)!r} is not allowed in an expression")

    def _operation(self, node: ast.BinOp) -> tuple[Number, str]:
        (left, left_text), (right, right_text) = self._term(node.left), self._term(node.right)
        sign, apply = OPERATORS[type(node.op)]
        if isinstance(node.op, ast.Mult | ast.Div):
            left_text = _bracket(node.left, left_text)
            right_text = _bracket(node.right, right_text)
        elif isinstance(node.op, ast.Sub) and isinstance(node.right, ast.BinOp):
            right_text = f"({right_text})"
        return apply(left, right), f"{left_text} {sign} {right_text}"

    def _term(self, node: ast.expr) -> tuple[Number, str]:
        value, text = self.of(node)
        if not isinstance(value, int | Fraction):
            raise ValueError(f"{ast.unparse(node)!r} is not a number")
        return value, text

    def _model(self, name: str) -> NamedModel:
        if name not in self.scope.models:
            raise ValueError(
                f"no model is called {name!r}; a name is the model's own, as in qwen2_5_7b"
            )
        return NamedModel.of(self.scope.models[name], self.trace)

    def _named(self, node: ast.expr) -> NamedModel:
        value, _ = self.of(node)
        if not isinstance(value, NamedModel):
            raise ValueError(f"{ast.unparse(node)!r} is not a model")
        return value

    def _call(self, node: ast.Call) -> Any:
        text, func = ast.unparse(node), node.func
        named = {keyword.arg or "**": keyword.value for keyword in node.keywords}
        call = Call(text, tuple(node.args), named, lambda one: self.of(one)[0])
        if isinstance(func, ast.Attribute):
            return self._named(func.value).method(func.attr, call, self.trace)
        name = func.id if isinstance(func, ast.Name) else ""
        if name in ROUNDINGS:
            return self._rounded(name, call)
        if name == "fit" and call.args:
            return fit_call(self._named(call.args[0]).model, call, self.trace)
        if name == "crossover" or name in ENGINES:
            call.only(2, "a model and a length")
            return self._of_a_length(name, self._named(call.args[0]), call.tokens(call.args[1]))
        raise ValueError(f"{ast.unparse(func)!r} is not a function of expressions")

    def _of_a_length(self, name: str, named: NamedModel, tokens: int) -> int:
        if name == "crossover":
            return named.crossover(tokens, self.trace)
        found = ENGINES[name](named.model, tokens)
        self.trace.how += found.how
        self.trace.sources.append(found.source)
        return found.bytes

    def _rounded(self, name: str, call: Call) -> int:
        call.only(1, "one number")
        value, text = self._term(call.args[0])
        apply, word = ROUNDINGS[name]
        self.trace.how.append(f"{text} = {show(value)}, rounded {word}: {apply(value):,}")
        return apply(value)


def _bracket(node: ast.expr, text: str) -> str:
    return f"({text})" if isinstance(node, ast.BinOp) else text
