"""Reasons that no factor tells: what can only be inferred, and what is worth knowing anyway.

In: nothing; ``reconcile`` gives them where they apply. A remark on a number that agrees says what a
reader would else take it for.
"""

from __future__ import annotations

from dataclasses import replace

from kvdocs.explain.reasons import ENGINE, Reason

LOWEST_RANK = Reason(
    "lowest_rank",
    "The GPU with the least memory decides",
    "The number of tokens is the least over all ranks, while this memory is of one rank that has "
    "more. The other ranks' lines are not in this log.",
    "Look for the lowest memory line of the other ranks; free memory on that GPU",
    lambda _: (),
    (ENGINE,),
    inferred=True,
)
SHARED_PAGES = Reason(
    "shared_pages",
    "Windows and states share the pool's pages",
    "Groups of layers draw pages of one size from one pool: a sliding layer takes pages up to its "
    "window, a recurrent state one or more whole pages however long the request. vLLM 0.33.0 then "
    "prints as tokens the concurrency times the longest request, and memory ÷ tokens is not a rate "
    "of the model.",
    "Compare with the same --max-model-len only; short requests pay the states in full",
    lambda _: (),
    (ENGINE,),
)
PERHAPS_SHARED = replace(
    SHARED_PAGES,
    says=SHARED_PAGES.says + " The settings that decide how many pages are not all in the log.",
    inferred=True,
)
BY_GROUP = Reason(
    "tokens_by_group",
    "The tokens are the blocks divided among the groups",
    "vLLM up to 0.20.1 at least prints the blocks of the pool, divided by the number of groups of "
    "layers, times the block size, as if every group needed as many; 0.33.0 no longer does. Groups "
    "with a window or a state need fewer in a long request, so more fits than this number says.",
    "Take the concurrency times the longest request for what fits",
    lambda _: (),
    (ENGINE,),
)
BY_HAND = Reason(
    "blocks_by_hand",
    "The number of blocks is set by hand",
    "With --num-gpu-blocks-override the pool has the blocks that the flag says, whatever the "
    "memory has room for.",
    "Start without --num-gpu-blocks-override to use all the memory",
    lambda _: (),
    (ENGINE,),
)
POOLS_APART = Reason(
    "pools_apart",
    "Full and sliding layers have pools of their own",
    "SGLang prints a line for each pool. Each holds some of the layers: the number fits those that "
    "keep every token, or those that slide.",
    "Add up the pools",
    lambda _: (),
    (ENGINE,),
)
WINDOWS_PARTLY = Reason(
    "windows_in_part",
    "Sliding layers are charged in part",
    "The number lies between the layers that keep every token alone and all layers. How many "
    "tokens of the sliding ones were reserved is not in the log.",
    "Look for the engine's lines on its windows",
    lambda _: (),
    (ENGINE,),
    inferred=True,
)
WINDOWS_FULL = Reason(
    "windows_as_full",
    "Sliding layers are charged for every token",
    "The number fits all layers keeping every token. Calculators do so, and so do engines while "
    "requests are shorter than the window, in releases before hybrid accounting, and with "
    "--disable-hybrid-kv-cache-manager. What the model needs is less.",
    "Use a release that counts windows, or read the number as the worst case",
    lambda _: (),
)
GIB_CALLED_GB = Reason(
    "gib_called_gb",
    "GB is written, GiB is meant",
    "The program divides by 1024 three times and writes GB. Read as decimal the "
    "number would be off.",
    "Read it as GiB",
    lambda _: (),
)
RESERVED = Reason(
    "reserved_not_needed",
    "The pool is what is free, not what is needed",
    "The engine gives all the memory it may take to the cache, however few requests there are. It "
    "is not what one request needs.",
    "To hold less, set the size by hand (vLLM: --kv-cache-memory-bytes; TensorRT-LLM: max_tokens)",
    lambda _: (),
)
_BY_HAND = {  # to hold less, in one engine's words
    "vLLM": "To hold less, set the size by hand with --kv-cache-memory-bytes",
    "TensorRT-LLM": "To hold less, set max_tokens in the KV cache config",
}


def reserved(engine: str) -> Reason:
    """``RESERVED`` for one engine: another's flag is no help."""
    return replace(RESERVED, change=_BY_HAND.get(engine, "To hold less, set the size by hand"))


SLOTS = Reason(
    "slots",
    "The cells are shared by several sequences",
    "The cache has one context for each parallel slot: cells = slots × context.",
    "Fewer slots (--parallel, OLLAMA_NUM_PARALLEL) take less",
    lambda _: (),
)
WHOLE_LATENT = Reason(
    "whole_latent",
    "Every rank holds the whole latent",
    "One latent serves all heads, so tensor parallelism cannot split it: each GPU holds all of it.",
    "Split it with decode context parallelism, or use data parallelism for attention",
    lambda _: (),
    (ENGINE,),
)
SHORT_CONVOLUTION = Reason(
    "short_convolution",
    "States of another width and length",
    "llama.cpp keeps states in float32 throughout, and of a short convolution one input less than "
    "transformers, which keeps the kernel's whole width. The state is paid once per sequence.",
    "Fewer slots (--parallel) take fewer states; the context plays no part",
    lambda _: (),
    (ENGINE,),
)
OWN_FORMAT = Reason(
    "own_format",
    "The engine holds something in a format of its own",
    "Some layers keep index keys or compressed entries besides, and engines store those in formats "
    "of their own, mostly eight bits and a scale. No single rate of the formula is theirs.",
    "Take the engine's figure for this engine, the formula's for what the model needs",
    lambda _: (),
    (ENGINE,),
    inferred=True,
)
REMARKS = (
    OWN_FORMAT,
    SHORT_CONVOLUTION,
    LOWEST_RANK,
    SHARED_PAGES,
    BY_GROUP,
    BY_HAND,
    POOLS_APART,
    WINDOWS_PARTLY,
    WINDOWS_FULL,
    GIB_CALLED_GB,
    RESERVED,
    SLOTS,
    WHOLE_LATENT,
)
