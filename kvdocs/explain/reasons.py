"""The reason that fits: the one whose factor takes the formula to the number that was printed.

In: a printed number, the formula's, the model it is about. Out: the reasons whose factor takes the
formula to the printed number within the rounding of its last digit. Their words are in
``reasons.toml``, their factors here.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from fractions import Fraction
from itertools import combinations

from kvdocs.explain import factors
from kvdocs.explain.reason import CLAIM, REASONS, Reason
from kvdocs.explain.subject import Subject

# What each multiplies the formula's number by, in the order in which they are tried.
FACTORS: dict[str, Callable[[Subject], Iterable[Fraction | int]]] = {
    "cache_dtype": factors.dtype,
    "scales_beside": factors.scales,
    "per_rank_or_total": factors.ranks,
    "pipeline_stage": factors.stage_layers,
    "decode_context": factors.spread,
    "head_copies": factors.copies,
    "every_layer": factors.every_layer,
    "windows_dropped": factors.windows_dropped,
    "heads_ignored": factors.heads_ignored,
    "bits_as_bytes": factors.bits,
    "one_count_for_all": factors.one_count,
    "latent_expanded": factors.latent_expanded,
    "latent_missed": factors.latent_missed,
    "draft_layer": factors.draft_layer,
    "binary_or_decimal": factors.binary_or_decimal,
    "thousand": factors.thousand,
}

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
        (REASONS[key], set(tell(subject)))
        for key, tell in FACTORS.items()
        if of in REASONS[key].of
        and key not in without
        and not (subject.dtype_known and key == "cache_dtype")
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
