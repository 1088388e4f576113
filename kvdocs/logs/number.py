"""Every number that a phrase may yield, declared once: its name, what it counts, in which units.

In: nothing. Out: ``Number``. A phrase names its numbers by their keys, and whoever compares numbers
asks with these members, so a misspelt name is an error and never a comparison that does not happen.
"""

from __future__ import annotations

from enum import Enum, unique

from kvdocs.units import BYTE_UNITS

# Families of units: a phrase may print a number in any unit of the number's family.
BYTES = frozenset(BYTE_UNITS)
LENGTHS = frozenset(("tokens", "thousand tokens", "cells", "cells of one layer"))
COUNTS = frozenset(("blocks", "layers", "sequences", "states", "requests"))
SHARES = frozenset(("share of a GPU", "share of the free memory", "of 1", "%"))
MULTIPLES = frozenset("×")


@unique
class Number(Enum):
    """A number that phrases yield. ``key`` is its name in a phrase's text and in the JSON,
    ``counts`` says what it counts, ``units`` is the family of its units.

    >>> Number.K_SIZE.key, "GiB" in Number.K_SIZE.units
    ('k_size', True)
    """

    def __init__(self, counts: str, units: frozenset[str]) -> None:
        self.key = self._name_.lower()
        self.counts = counts
        self.units = units

    # The pool, and what a token takes in it.
    MEMORY = "what the cache has, or may have", BYTES
    K_SIZE = "what the keys of the cache have", BYTES
    V_SIZE = "what the values of the cache have", BYTES
    OF_DEVICE = "the part of the cache on one device", BYTES
    TOKENS = "tokens that the pool holds", LENGTHS
    FULL_TOKENS = "tokens that the pool of the layers without a window holds", LENGTHS
    WINDOW_TOKENS = "tokens that the pool of the sliding layers holds", LENGTHS
    CELLS = "llama.cpp's cells, of one token each", LENGTHS
    CELL_LAYERS = "cells times layers", LENGTHS
    BLOCKS = "blocks of the pool", COUNTS
    POOL_BLOCKS = "blocks of TensorRT-LLM's pool", COUNTS
    PROFILED = "blocks that the memory has room for", COUNTS
    OVERRIDE = "blocks that a flag puts in their place", COUNTS
    BLOCK_SIZE = "tokens of a block of this pool", LENGTHS
    PER_BLOCK = "tokens of a block of TensorRT-LLM's pool", LENGTHS
    TOKEN_SIZE = "what the engine takes for one token", BYTES
    LAYERS = "layers that a line is about", COUNTS
    PADDING = "what padding adds", SHARES
    # Recurrent states.
    STATE = "what all recurrent states have", BYTES
    STATES = "sequences with a recurrent state", COUNTS
    SLOTS = "places for a recurrent state", COUNTS
    CONV = "the convolutions' part of the states", BYTES
    SSM = "the recurrences' part of the states", BYTES
    # Requests.
    LENGTH = "the longest request that is accepted", LENGTHS
    LONGEST = "the longest request for which there is room", LENGTHS
    CONCURRENCY = "requests of full length that fit at once", MULTIPLES
    SEQUENCES = "sequences that share the cache", COUNTS
    AT_ONCE = "the most requests that run at once", COUNTS
    PROMPT = "a prompt that was refused", LENGTHS
    ASKED = "the length asked for", LENGTHS
    DERIVED = "the length that the config allows", LENGTHS
    BATCH = "tokens of a step that found no room", LENGTHS
    # The memory of a GPU, and what goes from it.
    CARD = "what the GPU has", BYTES
    TOTAL = "what the GPU has, of which vLLM takes a share", BYTES
    CAPACITY = "what the GPU has, in PyTorch's words", BYTES
    SHARE = "the share of the GPU that the engine may use", SHARES
    WANTED_SHARE = "the share that is more than what is free", SHARES
    SHARE_OF_FREE = "the share of the free memory that the cache gets", SHARES
    BUDGET = "that share in bytes", BYTES
    FREE = "what is free before the cache is allocated, or at an error", BYTES
    LEFT = "what is free when weights and cache are allocated", BYTES
    WEIGHTS = "the weights", BYTES
    ACTIVATION = "the most that activations take in a trial run", BYTES
    OTHER = "what PyTorch does not allocate", BYTES
    CONSUMED = "weights, and in new releases what PyTorch does not allocate", BYTES
    PEAK = "the peak of a trial run", BYTES
    NON_TORCH = "what PyTorch does not allocate, measured after the start", BYTES
    GRAPHS = "CUDA graphs", BYTES
    NEEDED = "what one request of full length needs", BYTES
    AVAILABLE = "what the cache has, in the refusal of that request", BYTES
    WANTED = "an allocation that found no room", BYTES
    # While it serves.
    USAGE = "the share of the blocks that requests hold", SHARES
    FRACTION = "the share of the pool that requests hold", SHARES
    USED = "tokens of the pool that requests hold", LENGTHS
    RUNNING = "requests that run", COUNTS
    WAITING = "requests that wait", COUNTS
    PREEMPTIONS = "requests that lost their blocks", COUNTS
    RETRACTED = "requests that lost their place in SGLang's pool", COUNTS
    QUERIED = "tokens looked up in the prefix cache", LENGTHS
    HITS = "tokens found in the prefix cache", LENGTHS
    # What people and calculators say.
    RATE = "what somebody says one token takes", BYTES
    CLAIMED = "what somebody says so many tokens take", BYTES
    COUNT = "those tokens", LENGTHS
    TIMES = "sequences of so many tokens each", COUNTS
    BLOCK_MEMORY = "what somebody says a block takes", BYTES
