"""The caches transformers really allocates, held against the formula, layer by layer.

In: a published config, a sequence length, a device. Out: a ``Measurement``: what every layer of
the cache holds after the prompt and after each decoded token, beside what the formula says.
On torch's meta device tensors have a size and no memory: the largest models take seconds.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kvdocs.engines.transformers.cache import behind_slice, bytes_by_transformers
from kvdocs.evidence.transformers.caches import (
    MeasureError,
    build_decoder,
    cache_after_each_step,
    held,
    packages,
    parameter_bytes,
    versions,
)
from kvdocs.facts.hub import find
from kvdocs.facts.models import Model
from kvdocs.formula import CacheLayout, layout_of
from kvdocs.formula.dtypes import element_bytes
from kvdocs.formula.layers import plural
from kvdocs.units import binary, exact

DEVICES = ("meta", "cpu", "cuda")
DTYPES = ("float32", "float16", "bfloat16")


@dataclass(frozen=True)
class LayerBytes:
    """One layer after one step, in bytes.

    ``shown`` is what its tensors show and ``stored`` the memory behind them; ``to_show`` and
    ``to_store`` are what the formula's layer makes of them under ``bytes_by_transformers``.
    """

    index: int
    kind: str
    shown: int
    stored: int
    to_show: int
    to_store: int

    @property
    def equal(self) -> bool:
        """Both figures are as the formula says, to the byte."""
        return (self.shown, self.stored) == (self.to_show, self.to_store)


@dataclass(frozen=True)
class Step:
    """The cache when it has seen ``tokens`` tokens; ``formula`` is what they need, in bytes.

    ``unfreed`` is what was compressed in this step and is freed by the next, in bytes.
    """

    tokens: int
    formula: int
    unfreed: int
    layers: tuple[LayerBytes, ...]

    @property
    def shown(self) -> int:
        """Bytes that the tensors of all layers show."""
        return sum(layer.shown for layer in self.layers)

    @property
    def stored(self) -> int:
        """Bytes of memory behind the tensors of all layers."""
        return sum(layer.stored for layer in self.layers)


@dataclass(frozen=True)
class Measurement:
    """One model's cache over a prompt (the first step) and the tokens decoded after it."""

    source: str
    device: str
    dtype: str
    steps: tuple[Step, ...]

    @property
    def tokens(self) -> int:
        """Length of the sequence after the last step."""
        return self.steps[-1].tokens

    @property
    def held(self) -> int:
        """Bytes of memory the cache of ``tokens`` tokens holds."""
        return self.steps[-1].stored

    @property
    def formula(self) -> int:
        """Bytes the formula gives for ``tokens`` tokens."""
        return self.steps[-1].formula

    @property
    def equal(self) -> bool:
        """Every layer is as the formula says after every step, and so is the sum.

        What the last step compressed and the next frees is in memory and not in the formula.
        """
        return not self.differences() and self.held == self.formula + self.steps[-1].unfreed

    def differences(self) -> list[str]:
        """A line for each step and layer where the cache is not what the formula says."""
        return [
            f"{self.source}: layer {layer.index} ({layer.kind}) after {step.tokens:,} tokens: "
            f"the cache shows {layer.shown:,} and stores {layer.stored:,} bytes, "
            f"the formula says {layer.to_show:,} and {layer.to_store:,}"
            for step in self.steps
            for layer in step.layers
            if not layer.equal
        ]


def measure(
    config: Mapping[str, Any],
    source: str,
    tokens: int,
    device: str,
    dtype: str = "bfloat16",
    decoded: int = 1,
) -> Measurement:
    """Build the text decoder of ``config``, run it, and hold its cache against the formula.

    The sequence is ``tokens`` long, its last ``decoded`` tokens decoded one by one. ``device`` is
    meta (no weights, no memory), cpu or cuda (random weights); ``dtype`` float32, float16 or
    bfloat16. ``source`` names the config in errors.

    Raises:
        ConfigError: the formula has no rule for the config, or cannot use a field.
        MeasureError: torch, transformers, the architecture, the device or the memory is missing,
            the sequence is too short, or the cache depends on the length of an encoder's output.
    """
    layout = layout_of(config, source)
    _check(source, tokens - decoded, device, dtype)
    if layout.needs_encoder:
        raise MeasureError(
            f"{source}: its decoder also keeps K and V of the encoder's output, whose length the "
            "config does not fix, and this command runs the decoder only. For its architecture "
            "with an encoder's output: kvdocs evidence check sweep --only MODEL_TYPE."
        )
    model = build_decoder(config, source, device, dtype)
    steps: list[Step] = []
    seen = 0
    for new, cache in cache_after_each_step(model, source, tokens - decoded, decoded):
        seen += new
        steps.append(_step(source, layout, held(cache, source), seen, new, element_bytes(dtype)))
    return Measurement(source, device, dtype, tuple(steps))


def run(args: argparse.Namespace) -> int:
    """``kvdocs measure``: 0 where cache and formula are equal, 1 where they differ.

    Raises:
        ValueError: what ``find`` and ``measure`` raise; exit status 2.
    """
    _, transformers = packages()
    transformers.logging.set_verbosity_error()  # its advice on config keys is not an answer
    model = find(args.model)
    found = measure(model.config, model.id, args.tokens, args.device)
    report = answer(model, found)
    print(json.dumps(report, indent=2) if args.json else table(report))
    return 0 if found.equal else 1


def answer(model: Model, found: Measurement) -> dict[str, Any]:
    """The measurement under its documented keys; every ``_bytes`` is exact.

    ``held_bytes`` is the memory behind the cache of ``tokens`` tokens and ``formula_bytes`` what
    the formula says; ``unfreed_bytes`` is what the last step compressed, which is in ``held_bytes``
    until the next step; ``equal`` is true where every layer agrees after all ``steps``: the prompt,
    then each decoded token. A step has ``shown_bytes`` (what the tensors show) and
    ``stored_bytes`` (the memory behind them). ``layers`` counts layers of a kind.
    ``parameter_bytes`` is the parameters times 2; ``weights_bytes`` is what is published, null
    where that is unknown.
    """
    kinds = [layer.kind for layer in found.steps[-1].layers]
    return {
        "model": model.id,
        "model_type": model.config["model_type"],
        **versions(),
        "device": found.device,
        "dtype": found.dtype,
        "tokens": found.tokens,
        "held_bytes": found.held,
        "formula_bytes": found.formula,
        "unfreed_bytes": found.steps[-1].unfreed,
        "equal": found.equal,
        "differences": found.differences(),
        "layers": {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)},
        "steps": [
            {
                "tokens": step.tokens,
                "shown_bytes": step.shown,
                "stored_bytes": step.stored,
                "formula_bytes": step.formula,
            }
            for step in found.steps
        ],
        "parameter_bytes": parameter_bytes(model.config, model.id),
        "weights_bytes": model.weights.bytes if model.weights else None,
        "weights_kind": model.weights.kind if model.weights else None,
    }


def table(report: Mapping[str, Any]) -> str:
    """The answer for people."""
    layers = " + ".join(plural(count, f"{kind} layer") for kind, count in report["layers"].items())
    same = "equal in every layer" if report["equal"] else "NOT EQUAL"
    names = ["prompt"] + ["decoded token"] * (len(report["steps"]) - 1)
    lines = [
        f"{report['model']} ({report['model_type']}): {layers}",
        f"{report['device']} in {report['dtype']}, transformers {report['transformers']}, "
        f"torch {report['torch']}",
        "",
        f"{'after a':<15}{'tokens':>10}{'bytes shown':>20}{'bytes stored':>20}{'formula':>20}",
        *(
            f"{name:<15}{step['tokens']:>10,}{step['shown_bytes']:>20,}"
            f"{step['stored_bytes']:>20,}{step['formula_bytes']:>20,}"
            for name, step in zip(names, report["steps"], strict=True)
        ),
        "",
        f"cache    {exact(report['held_bytes'])} ({binary(report['held_bytes'])})",
        f"formula  {exact(report['formula_bytes'])}: {same}",
        *_unfreed(report["unfreed_bytes"]),
        _weights_line(report),
    ]
    return "\n".join([*lines, *report["differences"]])


def _unfreed(count: int) -> list[str]:
    more = f"unfreed  {exact(count)}, which the last step compressed and the next one frees"
    return [more] if count else []


def _weights_line(report: Mapping[str, Any]) -> str:
    counted, published = report["parameter_bytes"], report["weights_bytes"]
    line = f"weights  {exact(counted)}: parameters × 2 bytes"
    if published is None:
        return f"{line}; no published size to compare with"
    if published == counted:
        return f"{line}, equal to the published size"
    return f"{line}; published {exact(published)} ({report['weights_kind']})"


def _step(
    source: str,
    layout: CacheLayout,
    found: list[tuple[int, int]],
    tokens: int,
    new: int,
    size: int,
) -> Step:
    unlisted = layout.layers[len(found) :]
    if not any(layer.bytes(tokens, size) for layer in unlisted):
        found = found + [(0, 0)] * len(unlisted)  # as releases before 5.23 list shared layers
    if len(found) != len(layout.layers):
        have = f"the cache has {plural(len(found), 'layer')}"
        raise MeasureError(f"{source}: {have}, the formula {len(layout.layers):,}.")
    layers = []
    for index, (layer, (shown, stored)) in enumerate(zip(layout.layers, found, strict=True)):
        expected = bytes_by_transformers(layer, tokens, new, size)
        layers.append(LayerBytes(index, layer.kind, shown, stored, *expected))
    formula = sum(layer.bytes(tokens, size) for layer in layout.layers)
    parts = [part for layer in layout.layers for part in layer.parts]
    unfreed = sum(behind_slice(part, tokens, new, size) for part in parts)
    return Step(tokens, formula, unfreed, tuple(layers))


def _check(source: str, prompt: int, device: str, dtype: str) -> None:
    torch, _ = packages()
    if prompt < 1:
        raise MeasureError(f"{source}: needs 2 tokens or more, a prompt and a decoded token.")
    if device not in DEVICES:
        raise MeasureError(f"unknown device {device!r}; choose one of {', '.join(DEVICES)}.")
    if dtype not in DTYPES:
        raise MeasureError(f"unknown dtype {dtype!r}; choose one of {', '.join(DTYPES)}.")
    if device == "cuda" and not torch.cuda.is_available():
        raise MeasureError("no CUDA device here. Use --device meta or --device cpu.")
