"""Named reasons why a printed number is not the formula's: each with the factor it makes.

In: the model a number is about. Out: the reasons whose factor takes the formula to the printed
number within the rounding of its last digit. A reason either predicts the number exactly, or is
marked ``inferred``: then it only says in which direction and how far the number may lie.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

from kvdocs.explain.subject import BITS, SCALED, Subject, expanded, latents
from kvdocs.formula.dtypes import DTYPES
from kvdocs.units import ceil_div

Factors = Callable[[Subject], Iterable[Fraction | int]]
ENGINE = "engine"
CLAIM = "claim"  # what people and calculators say


@dataclass(frozen=True)
class Reason:
    """A known reason.

    ``factors`` are what it multiplies the formula's number by. ``of`` says whose numbers it is
    for: an engine's, a calculation's, or both. ``change`` says what to do.
    """

    key: str
    title: str
    says: str
    change: str
    factors: Factors
    of: tuple[str, ...] = (ENGINE, CLAIM)
    inferred: bool = False


def _ranks(s: Subject) -> Iterable[Fraction]:
    whole = s.over_all_ranks
    return {whole, 1 / whole, Fraction(s.tp), Fraction(1, s.tp)} - {Fraction(1)}


def _stage(s: Subject) -> Iterable[Fraction]:
    layers = len(s.layout.layers)
    return {Fraction(count, layers) for count in (layers // s.pp, ceil_div(layers, s.pp))} - {1}


def _spread(s: Subject) -> Iterable[Fraction]:
    return {Fraction(1, s.dcp)} - {Fraction(1)}


def _copies(s: Subject) -> Iterable[Fraction]:
    return {s.over_all_ranks / s.tp} - {Fraction(1)}


def _every_layer(s: Subject) -> Iterable[Fraction]:
    kept = sum(map(bool, s.elements))
    every = max(len(s.layout.layers), s.fields.get("num_hidden_layers", 0))
    return [Fraction(every, kept)] if 0 < kept < every else ()


def _windows_dropped(s: Subject) -> Iterable[Fraction]:
    sliding = sum(layer.elements_per_token for layer in s.sliding)
    every = sum(layer.elements_per_token for layer in s.keeping)
    return [1 - Fraction(sliding, every)] if 0 < sliding < every else ()


def _heads_ignored(s: Subject) -> Iterable[Fraction]:
    query, kv = s.fields.get("num_attention_heads", 0), s.layout.kv_heads
    return [Fraction(query, kv)] if kv and query > kv else ()


def _one_count(s: Subject) -> Iterable[Fraction]:
    """All layers taken to be like the largest, or like the first."""
    sizes = s.elements
    if not sum(sizes):
        return ()
    same = {Fraction(len(sizes) * size, sum(sizes)) for size in (max(sizes), sizes[0])}
    return same - {Fraction(1)}


def _bits(s: Subject) -> Iterable[Fraction]:
    """A width in bits (8, 16) used where a width in bytes belongs."""
    width = BITS.get(s.dtype)
    return [Fraction(count) / (width / 8) for count in (4, 8, 16)] if width else ()


def _dtype(s: Subject) -> Iterable[Fraction]:
    return _in_formats(s, DTYPES) - {Fraction(1)}


def _scales(s: Subject) -> Iterable[Fraction]:
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


def _latent_expanded(s: Subject) -> Iterable[Fraction]:
    held = sum(layer.elements_per_token for layer in latents(s))
    every = sum(layer.elements_per_token for layer in s.keeping)
    if not held or held != every:
        return ()
    return [Fraction(len(latents(s)) * sum(pair), held) for pair in expanded(s)]


def _latent_missed(s: Subject) -> Iterable[Fraction]:
    heads, dim = s.fields.get("num_key_value_heads", 0), s.fields.get("head_dim", 0)
    held = sum(layer.elements_per_token for layer in latents(s))
    return [Fraction(len(latents(s)) * 2 * heads * dim, held)] if held and heads and dim else ()


def _draft_layer(s: Subject) -> Iterable[Fraction]:
    kept = sum(map(bool, s.elements))
    return [Fraction(kept + 1, kept)] if kept else ()


REASONS = (
    Reason(
        "cache_dtype",
        "The cache is in another format",
        "The printed number fits elements of another width than the one assumed. An fp8 cache "
        "takes half of sixteen bits, float32 twice as much; q8_0 and q4_0 take more than eight and "
        "four, because every few elements carry a scale.",
        "Pass the format with --kv-dtype, or set it in the engine",
        _dtype,
    ),
    Reason(
        "scales_beside",
        "Scales lie beside the numbers",
        "The printed number fits one of vLLM's formats that keep a scale beside each token's "
        "numbers, so that an 8-bit cache takes more than half of sixteen bits. For sparse "
        "attention vLLM itself chooses such a format, fp8_ds_mla, when --kv-cache-dtype is fp8.",
        "Pass the format's full name with --kv-dtype, as fp8_ds_mla or fp8_per_token_head",
        _scales,
        (ENGINE,),
    ),
    Reason(
        "per_rank_or_total",
        "One number is of one GPU, the other of all",
        "With tensor parallelism each GPU holds its share of the KV heads. Engines print memory "
        "per GPU and tokens for all of them, so the two are to be compared with the share.",
        "Compare memory per GPU with bytes per token per GPU; do not add up the GPUs' memory",
        _ranks,
    ),
    Reason(
        "pipeline_stage",
        "A GPU holds only its stage's layers",
        "With pipeline parallelism the layers are dealt out to the stages, so a GPU's memory is to "
        "be compared with the layers of one stage.",
        "Divide by the number of stages, or look at the stage with the most layers",
        _stage,
        (ENGINE,),
    ),
    Reason(
        "decode_context",
        "The tokens of a request are spread over GPUs",
        "With decode context parallelism GPUs that would hold copies of the same cache hold "
        "different tokens of it. Each holds a share of a request's tokens, and the number of "
        "tokens printed is that of all of them.",
        "Divide the tokens by --decode-context-parallel-size for those of one GPU",
        _spread,
        (ENGINE,),
    ),
    Reason(
        "head_copies",
        "KV heads are copied beyond their number",
        "There are more ranks than KV heads, so several ranks hold the same head. A GPU's share "
        "stops falling, and all GPUs together hold more than one GPU would.",
        "More ranks than KV heads add no room for the cache; use data parallelism for that",
        _copies,
    ),
    Reason(
        "every_layer",
        "Every layer was counted as attention",
        "Only some layers keep tokens; the others keep a state of fixed size, or another layer's "
        "cache. Multiplying by num_hidden_layers counts them all.",
        "Multiply by the number of layers that keep tokens",
        _every_layer,
        (CLAIM,),
    ),
    Reason(
        "windows_dropped",
        "Sliding layers were left out",
        "A sliding layer keeps its window, and until the window is full it grows like any other.",
        "Count sliding layers up to their window",
        _windows_dropped,
        (CLAIM,),
    ),
    Reason(
        "heads_ignored",
        "Attention heads were counted, not KV heads",
        "Groups of attention heads share one K and V. With num_attention_heads in the place of "
        "num_key_value_heads the result is too high by the size of a group. hidden_size in the "
        "place of num_key_value_heads × head_dim counts all attention heads too, where head_dim is "
        "hidden_size ÷ num_attention_heads.",
        "Use num_key_value_heads × head_dim",
        _heads_ignored,
        (CLAIM,),
    ),
    Reason(
        "bits_as_bytes",
        "Bits were counted as bytes",
        "A width in bits stands where bytes belong. The bits of quantised weights say nothing "
        "about the cache either, which stays at sixteen unless it is told otherwise.",
        "Use 2 bytes for sixteen bits, 1 for fp8, whatever the weights are quantised to",
        _bits,
        (CLAIM,),
    ),
    Reason(
        "one_count_for_all",
        "All layers were taken to be alike",
        "The layers have different numbers of KV heads. One number for all of them is too high, "
        "or, where the first layer has none, zero.",
        "Add up the layers one by one",
        _one_count,
        (CLAIM,),
    ),
    Reason(
        "latent_expanded",
        "The latent was expanded into heads",
        "The model keeps one latent for all heads. Without support for that an engine expands it "
        "into a K and a V for every head, and may pad them to the width its kernels take.",
        "Use a release of the engine with multi-head latent attention (MLA)",
        _latent_expanded,
    ),
    Reason(
        "latent_missed",
        "Head counts were used for a latent cache",
        "The config publishes num_key_value_heads and head_dim, but the cache holds one latent and "
        "one rotary key a token, and neither field plays a part.",
        "Use kv_lora_rank + qk_rope_head_dim, once per layer",
        _latent_missed,
    ),
    Reason(
        "draft_layer",
        "A draft layer has a cache too",
        "Speculative decoding with the model's own prediction layer (MTP) adds one layer's cache.",
        "Count one layer more, or start without the speculative settings",
        _draft_layer,
        (ENGINE,),
    ),
    Reason(
        "binary_or_decimal",
        "Binary and decimal units were mixed",
        "A GiB is 1024³ bytes and a GB is 1000³; many programs write the second and mean the "
        "first.",
        "Divide by 1024 for KiB, MiB, GiB and by 1000 for kB, MB, GB, in both numbers alike",
        lambda s: [Fraction(1024, 1000) ** power for power in (1, 2, 3, -1, -2, -3)],
    ),
    Reason(
        "thousand",
        "The unit is off by a thousand",
        "Bytes stand where kilobytes belong, or the other way round.",
        "Check the unit: a token takes kilobytes in all but the smallest models",
        lambda s: [Fraction(1, 1000), Fraction(1, 1024), 1000, 1024],
        (CLAIM,),
    ),
)


BY_SCOPE = ("per_rank_or_total", "head_copies")  # not between numbers of known scope
STATED = ("decode_context", "pipeline_stage", "per_rank_or_total")


def explain(
    low: Fraction,
    high: Fraction,
    formula: Fraction,
    subject: Subject,
    of: str,
    without: Container[str] = (),
) -> tuple[tuple[Reason, ...], tuple[Reason, ...]]:
    """The reasons that take ``formula`` into the interval, and what else would do so alone; those
    whose keys are in ``without`` are not looked at.

    One reason, or for a claim two where no one does; nothing where none do.
    """
    known = [
        (reason, set(reason.factors(subject)))
        for reason in REASONS
        if of in reason.of
        and reason.key not in without
        and not (subject.dtype_known and reason.key == "cache_dtype")
    ]
    fits = [
        reason
        for reason, factors in known
        if any(low <= formula * factor <= high for factor in factors)
    ]
    if subject.pp > 1 or subject.dcp > 1:  # what the log states comes before what it may be
        order = {key: place for place, key in enumerate(STATED)}
        fits.sort(key=lambda reason: order.get(reason.key, len(order)))
    if fits or of != CLAIM:
        return tuple(fits[:1]), tuple(fits[1:])
    for (one, ones), (two, twos) in combinations(known, 2):
        if any(low <= formula * f * g <= high for f in ones for g in twos):
            return (one, two), ()
    return (), ()
