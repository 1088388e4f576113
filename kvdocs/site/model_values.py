"""What a model answers in an expression: bytes, slopes, layers, fields of its config.

In: a model of the catalogue and a call such as ``.bytes(4096, dtype=fp8)``. Out: a number, and in
the trace the line of arithmetic that gave it. ``without_sharing()`` and ``five_factors()`` are the
same model with another layout, which answers like the first.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from kvdocs.facts.models import Model
from kvdocs.formula import CacheLayout, crossover
from kvdocs.formula.config import EffectiveConfig
from kvdocs.formula.five_factors import five_factors
from kvdocs.literal import Literal
from kvdocs.site.values import Call, Trace

BFLOAT16 = "bfloat16"


def model_names(models: Iterable[Model]) -> dict[str, Model]:
    """Every name a model may be called by in an expression.

    >>> from kvdocs.facts.snapshot import load
    >>> sorted(model_names([load("Qwen/Qwen2.5-7B-Instruct")]))
    ['qwen2_5_7b', 'qwen2_5_7b_instruct']
    """
    full = {re.sub(r"[^a-z0-9]", "_", model.name.lower()): model for model in models}
    short: dict[str, list[Model]] = {}
    for name, model in full.items():
        short.setdefault(re.sub(r"_(instruct|it|hf)$", "", name), []).append(model)
    unique = {name: found[0] for name, found in short.items() if len(found) == 1}
    return unique | full


@dataclass(frozen=True)
class NamedModel:
    """A model with its layout, and the words that tell it from the model as published."""

    model: Model
    layout: CacheLayout
    suffix: str = ""

    @classmethod
    def of(cls, model: Model, trace: Trace) -> NamedModel:
        """The model as published."""
        trace.sources.append(f"config.json of {model.id}, {model.source}")
        return cls(model, model.layout)

    @property
    def title(self) -> str:
        """The model's name, and in which way its layout is not its own."""
        return self.model.name + self.suffix

    def field(self, name: str, trace: Trace) -> int:
        """The size of the weights, or a whole-number field of the config by its own name."""
        if name == "weights":
            return self.weights(trace)
        config = EffectiveConfig.of(self.model.config, self.model.id)
        value = config.get(name)
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"{self.model.id} has no whole number called {name!r}")
        if config.origin(name) != "config.json":
            trace.sources.append(f"{name}: {config.origin(name)}")
        trace.how.append(f"{self.title}: {name} = {value:,}")
        return value

    def method(self, name: str, call: Call, trace: Trace) -> int | NamedModel:
        """What the model answers to a call."""
        if name == "layers":
            return self._layers(call, trace)
        if name in ("bytes", "slope") and call.args:
            call.only(1, "one whole number of tokens", "dtype")
            tokens, dtype = call.tokens(call.args[0]), _dtype(call)
            return (self.bytes if name == "bytes" else self._slope)(tokens, dtype, trace)
        if name in ("slope", "constant_bytes", "slope_past_windows"):
            call.only(0, "no number of tokens", "dtype")
            dtype = _dtype(call)
            if name == "slope_past_windows":
                return self._slope_past_windows(dtype, trace)
            return (self._slope if name == "slope" else self.bytes)(0, dtype, trace)
        if name in ("five_factors", "without_sharing") and not call.args and not call.named:
            return self._five_factors() if name == "five_factors" else self._without_sharing()
        raise ValueError(f"{call.text!r} is not something a model answers")

    def weights(self, trace: Trace) -> int:
        """Bytes of the published weights."""
        if self.model.weights is None:
            raise ValueError(f"the size of {self.model.id}'s weights is not known")
        count = self.model.weights.bytes
        trace.how.append(f"{self.model.name}: weights = {count:,} bytes")
        trace.sources.append(f"weights of {self.model.id}: {self.model.weights.kind}")
        return count

    def bytes(self, tokens: int, dtype: str, trace: Trace) -> int:
        """Bytes of one sequence."""
        count = self.layout.bytes(tokens, dtype)
        trace.how.append(f"{self.title}, {tokens:,} tokens:")
        trace.how += self.layout.derivation(tokens, dtype)
        return count

    def crossover(self, tokens: int, trace: Trace) -> int:
        """Conversations of ``tokens`` tokens whose caches together exceed the weights."""
        weights, held = self.weights(trace), self.bytes(tokens, BFLOAT16, trace)
        count = crossover(weights, held)
        ratio = Literal.parse("0.00").rewrite(Fraction(weights, held))
        trace.how.append(f"{weights:,} ÷ {held:,} = {ratio}, so {count:,} conversations exceed it")
        return count

    def _layers(self, call: Call, trace: Trace) -> int:
        call.only(1, "one kind of layer")
        kind = ast.unparse(call.args[0])
        count = sum(any(part.kind == kind for part in x.parts) for x in self.layout.layers)
        if not count:
            kinds = ", ".join(sorted({part.kind for part, _ in self.layout.groups()}))
            raise ValueError(f"{self.title} has no layers of kind {kind!r}; it has {kinds}")
        trace.how.append(f"{self.title}: {count:,} of {len(self.layout.layers):,} layers, {kind}")
        return count

    def _slope(self, tokens: int, dtype: str, trace: Trace) -> int:
        count = self.layout.slope(tokens, dtype)
        if tokens == 0:
            trace.how.append(f"{self.title}, one token:")
            trace.how += self.layout.derivation(1, dtype)
        else:
            after = self.layout.bytes(tokens + 1, dtype)
            trace.how.append(f"{self.title}, from {tokens:,} to {tokens + 1:,} tokens:")
            trace.how.append(f"{after:,} − {after - count:,} = {count:,} bytes")
        return count

    def _slope_past_windows(self, dtype: str, trace: Trace) -> int:
        count, (start, end) = self.layout.slope_past_windows(dtype), self.layout.past_windows
        before, after = (self.layout.bytes(tokens, dtype, 0) for tokens in (start, end))
        added = f"{after - before:,} bytes"
        trace.how.append(f"{self.title}, from {start:,} to {end:,} tokens:")
        trace.how.append(f"{after:,} − {before:,} = {added}")
        if end - start > 1:
            trace.how.append(f"{added} ÷ {end - start:,} tokens = {count:,} bytes")
        return count

    def _five_factors(self) -> NamedModel:
        layout = five_factors(self.model.config, self.model.id)
        return NamedModel(self.model, layout, " by the five factors")

    def _without_sharing(self) -> NamedModel:
        heads = EffectiveConfig.of(self.model.config, self.model.id).required("num_attention_heads")
        layout = self.layout.without_sharing(heads)
        return NamedModel(self.model, layout, " if every head had its own K and V")


def _dtype(call: Call) -> str:
    return ast.unparse(call.named["dtype"]) if "dtype" in call.named else BFLOAT16
