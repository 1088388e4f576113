"""``kvdocs cost``: what one sequence's cache takes, as a table for people or as JSON.

In: a model, a length, a cache dtype. Out: an ``answer`` whose keys are stable, and its rendering.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace

from kvdocs.evidence.known import known_by_model
from kvdocs.facts.hub import find
from kvdocs.facts.models import Model
from kvdocs.formula import ConfigError, crossover, dtype_name
from kvdocs.formula.architectures import rule_for
from kvdocs.formula.config import EffectiveConfig
from kvdocs.formula.dtypes import dtype_of, element_bytes
from kvdocs.formula.layers import Layer
from kvdocs.formula.layout import DEFAULT_DTYPE, EncoderLengthMissing
from kvdocs.units import binary, exact

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import Any

    from kvdocs.formula.rules.types import Rule


# Where a config may name a cache dtype; kvdocs.formula.kv_dtype knows more.
QUANTISED = ("quantization_config", "compression_config", "hf_quant_config")


def run(args: argparse.Namespace) -> int:
    """Answer ``kvdocs cost``; raises what ``find`` and the formula raise."""
    chosen = dtype_name(args.kv_dtype) if args.kv_dtype is not None else None
    model = find(args.model)
    dtype, named_by = (chosen, None) if chosen else kv_dtype(model)
    if args.encoder_tokens is not None:
        check_reads_an_encoder(model)
    try:
        found = answer(model, args.tokens, dtype, args.encoder_tokens, named_by)
    except EncoderLengthMissing as error:
        raise ValueError(f"{model.id}: {error} with --encoder-tokens") from None
    if args.engine:
        from kvdocs.cost_engine import by_transformers

        found["engine"] = by_transformers(model, found)
    print(json.dumps(found, indent=2) if args.json else table(model, found))
    return 0


def check_reads_an_encoder(model: Model) -> None:
    """Refuse ``--encoder-tokens`` where it decides nothing.

    Raises:
        ValueError: no layer reads an encoder, or the config fixes the length of its output.
    """
    if model.layout.needs_encoder:
        return
    parts = [part for layer in model.layout.layers for part in layer.parts]
    fixed = next((n for part in parts if (n := getattr(part, "encoder_tokens", None))), None)
    why = f"its encoder always gives {fixed:,} tokens" if fixed else "it reads no encoder"
    raise ValueError(f"{model.id}: --encoder-tokens does not go with it: {why}. Leave it out")


def kv_dtype(model: Model) -> tuple[str, str | None]:
    """The cache dtype that a model's config names and the field, else 16 bits and None.

    Raises:
        ConfigError: the config names a cache dtype unknown here, or not of whole bytes (NVFP4).
    """
    if any(place in model.config for place in QUANTISED):
        from kvdocs.formula.kv_dtype import named_kv_dtype

        named = named_kv_dtype(model.config, model.id)
        if named and dtype_of(named[0]) is None:
            problem = f"names {named[0]}, whose numbers take no whole bytes and share scales"
            remedy = "Ask kvdocs fit, which counts it as vLLM does, or name a dtype by --kv-dtype"
            raise ConfigError(model.id, named[1], problem, remedy)
        return named or (DEFAULT_DTYPE, None)
    return DEFAULT_DTYPE, None


def answer(
    model: Model,
    tokens: int,
    dtype: str,
    encoder_tokens: int | None = None,
    named_by: str | None = None,
) -> dict[str, Any]:
    """The answer under its documented keys; sizes in bytes.

    ``bytes_per_token`` is what the next token adds at this length. In ``layers`` the bytes are of
    ONE layer, and its token bytes count up to ``window`` tokens. ``from_defaults`` holds what the
    config does not say and the config class does. ``encoder_tokens`` is the length of the encoder's
    output, null where none was given; ``kv_dtype_from`` the config's field that named the dtype,
    null where none did.

    Raises:
        ConfigError: no rule for the model, or a field without a usable value.
    """
    layout = model.layout
    return {
        "model": model.id,
        "model_type": model.config["model_type"],
        "source": {
            "kind": model.source.kind,
            "revision": model.source.revision,
            "retrieved": model.source.retrieved,
        },
        "kv_dtype": dtype,
        "kv_dtype_from": named_by,
        "tokens": tokens,
        "encoder_tokens": encoder_tokens,
        "bytes": layout.bytes(tokens, dtype, encoder_tokens),
        "bytes_per_token": layout.slope(tokens, dtype, encoder_tokens),
        "constant_bytes": layout.constant_bytes(dtype, encoder_tokens),
        "layers": [
            _layer(layer, count, element_bytes(dtype), encoder_tokens or 0)
            for layer, count in layout.groups()
        ],
        "weights_bytes": model.weights.bytes if model.weights else None,
        "from_defaults": _from_defaults(model),
        "known_by": known_by_model(model),
    }


def table(model: Model, found: dict[str, Any]) -> str:
    """The answer for people, with the derivation."""
    tokens, dtype = found["tokens"], found["kv_dtype"]
    origin = "" if model.source.kind == "file" else f", {model.source}"
    lines = [
        f"{model.id} ({found['model_type']}){origin}",
        f"one sequence of {tokens:,} tokens, cache in {dtype}"
        + (f" ({found['kv_dtype_from']})" if found["kv_dtype_from"] else ""),
        "",
        *(f"  {line}" for line in model.layout.derivation(tokens, dtype, found["encoder_tokens"])),
        "",
        row("cache", found["bytes"]),
        row("next token", found["bytes_per_token"]),
    ]
    if model.weights:
        count = crossover(model.weights.bytes, found["bytes"])
        lines.append(row("weights", model.weights.bytes) + f"  ({model.weights.kind})")
        lines.append(f"  {count:,} such sequences hold more than the weights")
    if missing := found["from_defaults"]:
        stated = ", ".join(f"{name} {value:,}" for name, value in missing.items())
        lines.append(f"  not in the config, so the default of its class counts: {stated}")
    lines.append(f"  known by: {KNOWN_BY[found['known_by']]}")
    if "engine" in found:
        from kvdocs.cost_engine import rows

        lines += rows(found)
    return "\n".join(lines)


KNOWN_BY = {
    "measured": "measured; for this architecture the formula equals, byte for byte, the cache that "
    "transformers allocates in 16 bits",
    "stated": "as stated by hand; whether the model keeps that was not checked",
    "unverified": "unverified; the formula follows the config class, and no cache that was "
    "measured shows it",
}


def _from_defaults(model: Model) -> dict[str, int]:
    """Sizes that the config leaves out and that count: twice as much would be another layout."""
    config = EffectiveConfig.of(model.config, model.id)
    rule = rule_for(config.model_type)
    return {
        name: value
        for name, value in config.defaults.items()
        if type(value) is int
        and rule
        and name not in config.published
        and _with_default(config, rule, name, 2 * value) != model.layout.layers
    }


def _with_default(
    config: EffectiveConfig, rule: Rule, name: str, value: int
) -> tuple[Layer, ...] | None:
    try:
        return tuple(rule(replace(config, defaults={**config.defaults, name: value})))
    except ConfigError:  # it counts, and does not go with the rest
        return None


def _layer(layer: Layer, count: int, element_bytes: int, encoder_tokens: int) -> dict[str, Any]:
    start = layer.bytes(0, element_bytes, encoder_tokens)
    return {
        "kind": layer.kind,
        "count": count,
        "bytes_per_token": layer.bytes(1, element_bytes, encoder_tokens) - start,
        "window": layer.window,
        "constant_bytes": start,
    }


def row(name: str, count: int) -> str:
    """One line of the table: a name, its bytes in a binary unit, and with every digit."""
    return f"  {name:<12}{binary(count):>10}  {exact(count):>24}"
