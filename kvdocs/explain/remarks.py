"""Reasons that no factor tells: what can only be inferred, and what is worth knowing anyway.

In: nothing; ``reconcile`` gives them where they apply. A remark on a number that agrees says what a
reader would else take it for.
"""

from __future__ import annotations

from dataclasses import replace

from kvdocs.explain.reason import ENGINE, Reason

LOWEST_RANK = Reason(
    key="lowest_rank",
    title="The GPU with the least memory decides",
    says="The number of tokens is the least over all ranks, while this memory is of one rank that "
    "has more. The other ranks' lines are not in this log.",
    change="Look for the lowest memory line of the other ranks; free memory on that GPU",
    of=(ENGINE,),
    inferred=True,
)
SHARED_PAGES = Reason(
    key="shared_pages",
    title="Windows and states share the pool's pages",
    says="Groups of layers draw pages of one size from one pool: a sliding layer takes pages up "
    "to its window, a recurrent state one or more whole pages however long the request. vLLM "
    "0.33.0 then prints as tokens the concurrency times the longest request, and memory ÷ tokens "
    "is not a rate of the model.",
    change="Compare with the same --max-model-len only; short requests pay the states in full",
    of=(ENGINE,),
)
PERHAPS_SHARED = replace(
    SHARED_PAGES,
    says=SHARED_PAGES.says + " The settings that decide how many pages are not all in the log.",
    inferred=True,
)
BY_GROUP = Reason(
    key="tokens_by_group",
    title="The tokens are the blocks divided among the groups",
    says="vLLM up to 0.20.1 at least prints the blocks of the pool, divided by the number of "
    "groups of layers, times the block size, as if every group needed as many; 0.33.0 no longer "
    "does. Groups with a window or a state need fewer in a long request, so more fits than this "
    "number says.",
    change="Take the concurrency times the longest request for what fits",
    of=(ENGINE,),
)
BY_HAND = Reason(
    key="blocks_by_hand",
    title="The number of blocks is set by hand",
    says="With --num-gpu-blocks-override the pool has the blocks that the flag says, whatever the "
    "memory has room for.",
    change="Start without --num-gpu-blocks-override to use all the memory",
    of=(ENGINE,),
)
POOLS_APART = Reason(
    key="pools_apart",
    title="Full and sliding layers have pools of their own",
    says="SGLang prints a line for each pool. Each holds some of the layers: the number fits "
    "those that keep every token, or those that slide.",
    change="Add up the pools",
    of=(ENGINE,),
)
WINDOWS_PARTLY = Reason(
    key="windows_in_part",
    title="Sliding layers are charged in part",
    says="The number lies between the layers that keep every token alone and all layers. How many "
    "tokens of the sliding ones were reserved is not in the log.",
    change="Look for the engine's lines on its windows",
    of=(ENGINE,),
    inferred=True,
)
WINDOWS_FULL = Reason(
    key="windows_as_full",
    title="Sliding layers are charged for every token",
    says="The number fits all layers keeping every token. Calculators do so, and so do engines "
    "while requests are shorter than the window, in releases before hybrid accounting, and with "
    "--disable-hybrid-kv-cache-manager. What the model needs is less.",
    change="Use a release that counts windows, or read the number as the worst case",
)
GIB_CALLED_GB = Reason(
    key="gib_called_gb",
    title="GB is written, GiB is meant",
    says="The program divides by 1024 three times and writes GB. Read as decimal the "
    "number would be off.",
    change="Read it as GiB",
)
RESERVED = Reason(
    key="reserved_not_needed",
    title="The pool is what is free, not what is needed",
    says="The engine gives all the memory it may take to the cache, however few requests there "
    "are. It is not what one request needs.",
    change="To hold less, set the size by hand (vLLM: --kv-cache-memory-bytes; TensorRT-LLM: "
    "max_tokens)",
)
_BY_HAND = {  # to hold less, in one engine's words
    "vLLM": "To hold less, set the size by hand with --kv-cache-memory-bytes",
    "TensorRT-LLM": "To hold less, set max_tokens in the KV cache config",
}


def reserved(engine: str) -> Reason:
    """``RESERVED`` for one engine: another's flag is no help."""
    return replace(RESERVED, change=_BY_HAND.get(engine, "To hold less, set the size by hand"))


SLOTS = Reason(
    key="slots",
    title="The cells are shared by several sequences",
    says="The cache has one context for each parallel slot: cells = slots × context.",
    change="Fewer slots (--parallel, OLLAMA_NUM_PARALLEL) take less",
)
WHOLE_LATENT = Reason(
    key="whole_latent",
    title="Every rank holds the whole latent",
    says="One latent serves all heads, so tensor parallelism cannot split it: each GPU holds all "
    "of it.",
    change="Split it with decode context parallelism, or use data parallelism for attention",
    of=(ENGINE,),
)
SHORT_CONVOLUTION = Reason(
    key="short_convolution",
    title="States of another width and length",
    says="llama.cpp keeps states in float32 throughout, and of a short convolution one input less "
    "than transformers, which keeps the kernel's whole width. The state is paid once per sequence.",
    change="Fewer slots (--parallel) take fewer states; the context plays no part",
    of=(ENGINE,),
)
OWN_FORMAT = Reason(
    key="own_format",
    title="The engine holds something in a format of its own",
    says="Some layers keep index keys or compressed entries besides, and engines store those in "
    "formats of their own, mostly eight bits and a scale. No single rate of the formula is theirs.",
    change="Take the engine's figure for this engine, the formula's for what the model needs",
    of=(ENGINE,),
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
