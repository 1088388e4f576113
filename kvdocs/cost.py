"""``kvdocs cost``: what one sequence's cache takes.

In: a model, a length, a cache dtype. Out: a ``Cost``, which prints as a table for people and turns
into JSON whose keys are stable. ``kvdocs.cost(…)`` in Python is ``cost`` here.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import field, replace

from kvdocs.called import answers
from kvdocs.evidence.known import known_by_model
from kvdocs.facts.hub import find
from kvdocs.facts.models import Model, Source
from kvdocs.formula import ConfigError, crossover, dtype_name
from kvdocs.formula.architectures import rule_for
from kvdocs.formula.config import EffectiveConfig
from kvdocs.formula.dtypes import dtype_of, element_bytes
from kvdocs.formula.layers import Layer
from kvdocs.formula.layout import DEFAULT_DTYPE, EncoderLengthMissing
from kvdocs.options import check
from kvdocs.startup import dataclass
from kvdocs.units import exact, row

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping
    from typing import Any

    from kvdocs.engines.one_sequence import OneSequence
    from kvdocs.formula.rules.types import Rule


# Where a config may name a cache dtype; kvdocs.formula.kv_dtype knows more.
QUANTISED = ("quantization_config", "compression_config", "hf_quant_config")

KNOWN_BY = {
    "measured": "measured; for this architecture the formula equals, byte for byte, the cache that "
    "transformers allocates in 16 bits",
    "stated": "as stated by hand; whether the model keeps that was not checked",
    "unverified": "unverified; the formula follows the config class, and no cache that was "
    "measured shows it",
}


def run(args: argparse.Namespace) -> int:
    """Answer ``kvdocs cost``; raises what ``find`` and ``cost`` raise."""
    found = cost(
        find(args.model),
        tokens=args.tokens,
        kv_dtype=args.kv_dtype,
        encoder_tokens=args.encoder_tokens,
        engine=args.engine,
    )
    print(json.dumps(found.as_json(), indent=2) if args.json else found)
    return 0


def cost(
    model: str | os.PathLike[str] | Mapping[str, Any] | Model,
    *,
    tokens: int = 4096,
    kv_dtype: str | None = None,
    encoder_tokens: int | None = None,
    engine: str | None = None,
) -> Cost:
    """What the cache of one sequence of ``tokens`` tokens takes.

    ``model`` is a Hub id, a path to a config.json or a layout.toml, a config as a dict, or a
    ``Model``. ``kv_dtype`` is fp8, float32 …; left out, it is what the config names, else bfloat16.
    ``encoder_tokens`` is the length of an encoder's output, ``engine`` whose own cache to add.

    Raises:
        LookupFailed: there is no such model.
        ConfigError: no rule for the model, or a field without a usable value.
        ValueError: a length or a dtype that is none, or that does not go with the model.

    >>> found = cost("Qwen/Qwen2.5-7B-Instruct", tokens=4096)
    >>> found.bytes, found.bytes_per_token
    (234881024, 57344)
    """
    check(locals())
    chosen = dtype_name(kv_dtype) if kv_dtype is not None else None
    if not isinstance(model, Model):
        from kvdocs.facts.given import model_of

        model = model_of(model)
    dtype, named_by = (chosen, None) if chosen else named_dtype(model)
    if encoder_tokens is not None:
        check_reads_an_encoder(model)
    try:
        held = model.layout.bytes(tokens, dtype, encoder_tokens)
    except EncoderLengthMissing as error:
        raise ValueError(f"{model.id}: {error} with --encoder-tokens") from None
    found = Cost(model, tokens, dtype, held, named_by, encoder_tokens)
    if engine is None:
        return found
    from kvdocs.engines.one_sequence import one_sequence

    return replace(found, engine=one_sequence(engine, model, tokens, chosen, encoder_tokens))


@dataclass(frozen=True)
class Cost:
    """What the cache of one sequence takes; all sizes in bytes. ``str()`` gives the table.

    ``kv_dtype_from`` is the config's field that named the dtype, ``encoder_tokens`` the length of
    the encoder's output; None where there is none. ``engine`` is what an engine's own cache takes.
    """

    model: Model = field(repr=False)
    tokens: int
    kv_dtype: str
    bytes: int
    kv_dtype_from: str | None = None
    encoder_tokens: int | None = None
    engine: OneSequence | None = None

    @property
    def next_token_bytes(self) -> int:
        """What the next token adds at this length; negative where layers then compress."""
        return self.model.layout.slope(self.tokens, self.kv_dtype, self.encoder_tokens)

    @property
    def long_run_bytes_per_token(self) -> int:
        """What a token adds once every window is full: over whole steps where layers compress."""
        parts = [part for part, _ in self.model.layout.groups()]
        if all(part.period == 1 and part.even_from <= self.tokens for part in parts):
            return self.next_token_bytes
        return self.model.layout.slope_past_windows(self.kv_dtype)

    @property
    def compresses(self) -> bool:
        """Whether layers compress several tokens into one, so that the size goes up and down."""
        return any(part.period > 1 for part, _ in self.model.layout.groups())

    @property
    def bytes_per_token(self) -> int:
        """What the next token adds; where layers compress, what a token adds in the long run."""
        return self.long_run_bytes_per_token if self.compresses else self.next_token_bytes

    @property
    def constant_bytes(self) -> int:
        """What is held before the first token: states and the encoder's output."""
        return self.model.layout.constant_bytes(self.kv_dtype, self.encoder_tokens)

    @property
    def derivation(self) -> list[str]:
        """The arithmetic behind ``bytes``, a line for each kind of layer, and the sum."""
        return self.model.layout.derivation(self.tokens, self.kv_dtype, self.encoder_tokens)

    @property
    def crossover(self) -> int | None:
        """How many such sequences take more than the weights; None where the weights are unknown
        or nothing is cached."""
        weights = self.model.weights
        return crossover(weights.bytes, self.bytes) if weights and self.bytes else None

    @property
    def known_by(self) -> str:
        """How the formula is known to be right for the model: a key of ``KNOWN_BY``."""
        return known_by_model(self.model)

    @property
    def from_defaults(self) -> dict[str, int]:
        """Sizes that the config leaves out and the config class has, where they count: with twice
        as much it would be another layout."""
        config = EffectiveConfig.of(self.model.config, self.model.id)
        rule = rule_for(config.model_type)
        return {
            name: value
            for name, value in config.defaults.items()
            if type(value) is int
            and rule
            and name not in config.published
            and _with_default(config, rule, name, 2 * value) != self.model.layout.layers
        }

    @property
    def notes(self) -> list[str]:
        """What to know beside the answer."""
        return [*self._notes()]

    def _notes(self) -> Iterator[str]:
        longest = self.model.longest_text
        if longest is not None and self.tokens > longest:
            yield f"the model was made for {longest:,} tokens"
        if self.compresses:
            change = self.next_token_bytes
            yield (
                "the size is a sawtooth: tokens wait until some layers compress several into one "
                f"entry. The next token {'frees' if change < 0 else 'adds'} {exact(abs(change))}; "
                f"in the long run a token adds {exact(self.long_run_bytes_per_token)}"
            )

    def as_json(self) -> dict[str, Any]:
        """The answer under its documented keys, for ``json.dumps``; docs/python.md lists them.

        In ``layers`` the bytes are of ONE layer, and its token bytes count up to ``window`` tokens.
        """
        model, weights, source = self.model, self.model.weights, self.model.source
        found = {
            "model": model.id,
            "model_type": model.config["model_type"],
            "source": {**vars(source)},
            "kv_dtype": self.kv_dtype,
            "kv_dtype_from": self.kv_dtype_from,
            "tokens": self.tokens,
            "encoder_tokens": self.encoder_tokens,
            "longest_text": model.longest_text,
            "bytes": self.bytes,
            "bytes_per_token": self.bytes_per_token,
            "next_token_bytes": self.next_token_bytes,
            "long_run_bytes_per_token": self.long_run_bytes_per_token,
            "constant_bytes": self.constant_bytes,
            "layers": [
                _layer(layer, count, element_bytes(self.kv_dtype), self.encoder_tokens or 0)
                for layer, count in model.layout.groups()
            ],
            "derivation": self.derivation,
            "weights_bytes": weights.bytes if weights else None,
            "weights_kind": weights.kind if weights else None,
            "weights_source": weights.source if weights else None,
            "weights_confidence": weights.confidence if weights else None,
            "crossover": self.crossover,
            "from_defaults": self.from_defaults,
            "known_by": self.known_by,
            "known_by_means": KNOWN_BY[self.known_by],
            "notes": self.notes,
        }
        return found if self.engine is None else found | {"engine": self.engine.as_json()}

    def __str__(self) -> str:
        return table(self.as_json())


def table(found: dict[str, Any]) -> str:
    """The answer for people, made of its JSON, so that it says nothing that the JSON does not."""
    return "\n".join(_lines(found))


def _lines(found: dict[str, Any]) -> Iterator[str]:
    source, rate = Source(**found["source"]), found["long_run_bytes_per_token"]
    origin = "" if source.kind == "file" else f", {source}"
    named = f" ({found['kv_dtype_from']})" if found["kv_dtype_from"] else ""
    yield f"{found['model']} ({found['model_type']}){origin}"
    yield f"one sequence of {found['tokens']:,} tokens, cache in {found['kv_dtype']}{named}"
    yield ""
    yield from (f"  {line}" for line in found["derivation"])
    yield ""
    yield row("cache", found["bytes"])
    yield row("next token", found["next_token_bytes"])
    if rate != found["next_token_bytes"]:
        yield row("in long run", rate) + "  (each token)"
    if found["weights_bytes"] is not None:
        yield row("weights", found["weights_bytes"]) + f"  ({found['weights_kind']})"
    if found["crossover"] is not None:
        yield f"  {found['crossover']:,} such sequences hold more than the weights"
    if missing := found["from_defaults"]:
        stated = ", ".join(f"{name} {value:,}" for name, value in missing.items())
        yield f"  not in the config, so the default of its class counts: {stated}"
    yield f"  known by: {found['known_by_means']}"
    if "engine" in found:
        from kvdocs.engines.one_sequence import lines

        yield ""
        yield from lines(found["engine"], found["tokens"])
    yield from (f"note: {note}" for note in found["notes"])


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


def named_dtype(model: Model) -> tuple[str, str | None]:
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


answers(__name__, __name__, "cost")
