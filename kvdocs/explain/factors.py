"""What a mistake multiplies the formula's number by, for each named reason that has such a factor.

In: the ``Subject`` that a number is about. Out: the factors; none where the mistake cannot be made.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

from kvdocs.explain.subject import BITS, SCALED, Subject, expanded, latents
from kvdocs.formula.dtypes import DTYPES
from kvdocs.units import ceil_div


def ranks(s: Subject) -> Iterable[Fraction]:
    """All ranks' bytes for one's, or one's for all."""
    whole = s.over_all_ranks
    return {whole, 1 / whole, Fraction(s.tp), Fraction(1, s.tp)} - {Fraction(1)}


def stage_layers(s: Subject) -> Iterable[Fraction]:
    """The layers of one pipeline stage for all layers."""
    layers = len(s.layout.layers)
    return {Fraction(count, layers) for count in (layers // s.pp, ceil_div(layers, s.pp))} - {1}


def spread(s: Subject) -> Iterable[Fraction]:
    """One rank's tokens for all tokens, with decode context parallelism."""
    return {Fraction(1, s.dcp)} - {Fraction(1)}


def copies(s: Subject) -> Iterable[Fraction]:
    """What all ranks hold for what one would: more where they copy heads."""
    return {s.over_all_ranks / s.tp} - {Fraction(1)}


def every_layer(s: Subject) -> Iterable[Fraction]:
    """All layers for those that keep tokens."""
    kept = sum(map(bool, s.elements))
    every = max(len(s.layout.layers), s.fields.get("num_hidden_layers", 0))
    return [Fraction(every, kept)] if 0 < kept < every else ()


def windows_dropped(s: Subject) -> Iterable[Fraction]:
    """The layers without a window for all layers."""
    sliding = sum(layer.elements_per_token for layer in s.sliding)
    every = sum(layer.elements_per_token for layer in s.keeping)
    return [1 - Fraction(sliding, every)] if 0 < sliding < every else ()


def heads_ignored(s: Subject) -> Iterable[Fraction]:
    """Attention heads for KV heads."""
    query, kv = s.fields.get("num_attention_heads", 0), s.layout.kv_heads
    return [Fraction(query, kv)] if kv and query > kv else ()


def one_count(s: Subject) -> Iterable[Fraction]:
    """All layers taken to be like the largest, or like the first."""
    sizes = s.elements
    if not sum(sizes):
        return ()
    same = {Fraction(len(sizes) * size, sum(sizes)) for size in (max(sizes), sizes[0])}
    return same - {Fraction(1)}


def bits(s: Subject) -> Iterable[Fraction]:
    """A width in bits (8, 16) used where a width in bytes belongs."""
    width = BITS.get(s.dtype)
    return [Fraction(count) / (width / 8) for count in (4, 8, 16)] if width else ()


def dtype(s: Subject) -> Iterable[Fraction]:
    """Every other width of an element for the one assumed."""
    return _in_formats(s, DTYPES) - {Fraction(1)}


def scales(s: Subject) -> Iterable[Fraction]:
    """Where the dtype is known, only formats of the same name: fp8 may be fp8_ds_mla."""
    names = [name for name in SCALED if not s.dtype_known or name.startswith(s.dtype[:3])]
    return _in_formats(s, names) - {Fraction(1)}


def _in_formats(s: Subject, names: Iterable[str]) -> set[Fraction]:
    factors, now = set(), s.rate()
    for name in names if now else ():
        try:
            factors.add(replace(s, dtype=name).rate() / now)
        except ValueError:  # a format for heads only, or for latents only
            continue
    return factors


def latent_expanded(s: Subject) -> Iterable[Fraction]:
    """A K and a V for every head for the latent."""
    held = sum(layer.elements_per_token for layer in latents(s))
    every = sum(layer.elements_per_token for layer in s.keeping)
    if not held or held != every:
        return ()
    return [Fraction(len(latents(s)) * sum(pair), held) for pair in expanded(s)]


def latent_missed(s: Subject) -> Iterable[Fraction]:
    """The published heads for the latent."""
    heads, dim = s.fields.get("num_key_value_heads", 0), s.fields.get("head_dim", 0)
    held = sum(layer.elements_per_token for layer in latents(s))
    return [Fraction(len(latents(s)) * 2 * heads * dim, held)] if held and heads and dim else ()


def draft_layer(s: Subject) -> Iterable[Fraction]:
    """One layer more."""
    kept = sum(map(bool, s.elements))
    return [Fraction(kept + 1, kept)] if kept else ()


def binary_or_decimal(_: Subject) -> Iterable[Fraction]:
    """Powers of 1,024 for powers of 1,000, or the other way round."""
    return [Fraction(1024, 1000) ** power for power in (1, 2, 3, -1, -2, -3)]


def thousand(_: Subject) -> Iterable[Fraction | int]:
    """A thousand times, or a thousandth."""
    return [Fraction(1, 1000), Fraction(1, 1024), 1000, 1024]
