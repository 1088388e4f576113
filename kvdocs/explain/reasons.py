"""Named reasons why a printed number is not the formula's, and the search for the one that fits.

In: a printed number, the formula's, the model it is about. Out: the reasons whose factor takes the
formula to the printed number within the rounding of its last digit.
"""

from __future__ import annotations

from collections.abc import Container
from fractions import Fraction
from itertools import combinations

from kvdocs.explain import factors
from kvdocs.explain.reason import CLAIM, ENGINE, Reason
from kvdocs.explain.subject import Subject

REASONS = (
    Reason(
        key="cache_dtype",
        title="The cache is in another format",
        says="The printed number fits elements of another width than the one assumed. An fp8 cache "
        "takes half of sixteen bits, float32 twice as much; q8_0 and q4_0 take more than eight and "
        "four, because every few elements carry a scale.",
        change="Pass the format with --kv-dtype, or set it in the engine",
        factors=factors.dtype,
    ),
    Reason(
        key="scales_beside",
        title="Scales lie beside the numbers",
        says="The printed number fits one of vLLM's formats that keep a scale beside each token's "
        "numbers, so that an 8-bit cache takes more than half of sixteen bits. For sparse "
        "attention vLLM itself chooses such a format, fp8_ds_mla, when --kv-cache-dtype is fp8.",
        change="Pass the format's full name with --kv-dtype, as fp8_ds_mla or fp8_per_token_head",
        factors=factors.scales,
        of=(ENGINE,),
    ),
    Reason(
        key="per_rank_or_total",
        title="One number is of one GPU, the other of all",
        says="With tensor parallelism each GPU holds its share of the KV heads. Engines print "
        "memory per GPU and tokens for all of them, so the two are to be compared with the share.",
        change="Compare memory per GPU with bytes per token per GPU; do not add up the GPUs' "
        "memory",
        factors=factors.ranks,
    ),
    Reason(
        key="pipeline_stage",
        title="A GPU holds only its stage's layers",
        says="With pipeline parallelism the layers are dealt out to the stages, so a GPU's memory "
        "is to be compared with the layers of one stage.",
        change="Divide by the number of stages, or look at the stage with the most layers",
        factors=factors.stage_layers,
        of=(ENGINE,),
    ),
    Reason(
        key="decode_context",
        title="The tokens of a request are spread over GPUs",
        says="With decode context parallelism GPUs that would hold copies of the same cache hold "
        "different tokens of it. Each holds a share of a request's tokens, and the number of "
        "tokens printed is that of all of them.",
        change="Divide the tokens by --decode-context-parallel-size for those of one GPU",
        factors=factors.spread,
        of=(ENGINE,),
    ),
    Reason(
        key="head_copies",
        title="KV heads are copied beyond their number",
        says="There are more ranks than KV heads, so several ranks hold the same head. A GPU's "
        "share stops falling, and all GPUs together hold more than one GPU would.",
        change="More ranks than KV heads add no room for the cache; use data parallelism for that",
        factors=factors.copies,
    ),
    Reason(
        key="every_layer",
        title="Every layer was counted as attention",
        says="Only some layers keep tokens; the others keep a state of fixed size, or another "
        "layer's cache. Multiplying by num_hidden_layers counts them all.",
        change="Multiply by the number of layers that keep tokens",
        factors=factors.every_layer,
        of=(CLAIM,),
    ),
    Reason(
        key="windows_dropped",
        title="Sliding layers were left out",
        says="A sliding layer keeps its window, and until the window is full it grows like any "
        "other.",
        change="Count sliding layers up to their window",
        factors=factors.windows_dropped,
        of=(CLAIM,),
    ),
    Reason(
        key="heads_ignored",
        title="Attention heads were counted, not KV heads",
        says="Groups of attention heads share one K and V. With num_attention_heads in the place "
        "of num_key_value_heads the result is too high by the size of a group. hidden_size in the "
        "place of num_key_value_heads × head_dim counts all attention heads too, where head_dim "
        "is hidden_size ÷ num_attention_heads.",
        change="Use num_key_value_heads × head_dim",
        factors=factors.heads_ignored,
        of=(CLAIM,),
    ),
    Reason(
        key="bits_as_bytes",
        title="Bits were counted as bytes",
        says="A width in bits stands where bytes belong. The bits of quantised weights say nothing "
        "about the cache either, which stays at sixteen unless it is told otherwise.",
        change="Use 2 bytes for sixteen bits, 1 for fp8, whatever the weights are quantised to",
        factors=factors.bits,
        of=(CLAIM,),
    ),
    Reason(
        key="one_count_for_all",
        title="All layers were taken to be alike",
        says="The layers have different numbers of KV heads. One number for all of them is too "
        "high, or, where the first layer has none, zero.",
        change="Add up the layers one by one",
        factors=factors.one_count,
        of=(CLAIM,),
    ),
    Reason(
        key="latent_expanded",
        title="The latent was expanded into heads",
        says="The model keeps one latent for all heads. Without support for that an engine "
        "expands it into a K and a V for every head, and may pad them to the width its kernels "
        "take.",
        change="Use a release of the engine with multi-head latent attention (MLA)",
        factors=factors.latent_expanded,
    ),
    Reason(
        key="latent_missed",
        title="Head counts were used for a latent cache",
        says="The config publishes num_key_value_heads and head_dim, but the cache holds one "
        "latent and one rotary key a token, and neither field plays a part.",
        change="Use kv_lora_rank + qk_rope_head_dim, once per layer",
        factors=factors.latent_missed,
    ),
    Reason(
        key="draft_layer",
        title="A draft layer has a cache too",
        says="Speculative decoding with the model's own prediction layer (MTP) adds one layer's "
        "cache.",
        change="Count one layer more, or start without the speculative settings",
        factors=factors.draft_layer,
        of=(ENGINE,),
    ),
    Reason(
        key="binary_or_decimal",
        title="Binary and decimal units were mixed",
        says="A GiB is 1024³ bytes and a GB is 1000³; many programs write the second and mean the "
        "first.",
        change="Divide by 1024 for KiB, MiB, GiB and by 1000 for kB, MB, GB, in both numbers alike",
        factors=factors.binary_or_decimal,
    ),
    Reason(
        key="thousand",
        title="The unit is off by a thousand",
        says="Bytes stand where kilobytes belong, or the other way round.",
        change="Check the unit: a token takes kilobytes in all but the smallest models",
        factors=factors.thousand,
        of=(CLAIM,),
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
        if reason.factors
        and of in reason.of
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
