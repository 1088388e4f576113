"""What vLLM 0.33.0 takes of a card beside the cache: its share, its weights, its working memory.

In: flags, the card, the memory. Out: terms, and the defaults that depend on the card. Files and
lines are of the 0.33.0 wheel.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from kvdocs.engines.terms import MIB, Term, cited, cited_range
from kvdocs.engines.vllm.dtypes import KV_DTYPES
from kvdocs.facts.claims import claim
from kvdocs.facts.gpus import Gpu
from kvdocs.formula.dtypes import full_name
from kvdocs.units import ceil_div

WORKING_MEMORY = "activations, CUDA graphs, libraries"
LARGE_CARD = 70 * 2**30  # from here on vLLM's defaults are larger (engine/arg_utils.py:2984)
LARGEST_CARD = 160 * 2**30  # and from here on they are larger still (…arg_utils.py:2973)


@dataclass(frozen=True)
class Flags:
    """vLLM's flags that decide the cache and its memory, with its defaults.

    ``kv_cache_dtype`` ``auto`` is what the checkpoint names, else the model's own dtype.
    ``gpu_memory_utilization`` and ``max_num_batched_tokens`` are vLLM's own where they are None;
    the latter depends on the card.

    Raises:
        ValueError: a value that is none.
    """

    kv_cache_dtype: str = "auto"
    tensor_parallel_size: int = 1
    pipeline_parallel_size: int = 1
    decode_context_parallel_size: int = 1
    max_num_batched_tokens: int | None = None
    gpu_memory_utilization: Fraction | None = None
    block_size: int = 16
    async_scheduling: bool = True
    prefix_caching: bool = True

    def __post_init__(self) -> None:
        share = self.gpu_memory_utilization
        if share is not None and not 0 < share <= 1:
            said = float(share)
            raise ValueError(f"--utilization is {said:g}; it is a share above 0 and at most 1")
        for name, value in vars(self).items():
            if type(value) is int and value < 1:
                raise ValueError(f"--{name.replace('_', '-')} is {value}; it must be 1 or more")

    @property
    def share(self) -> Fraction:
        """The share of the card that the engine may use."""
        if self.gpu_memory_utilization is not None:
            return self.gpu_memory_utilization
        return Fraction(str(claim("vllm.gpu_memory_utilization.default").value))

    def batched_tokens(self, card: Gpu | None) -> int:
        """The most tokens of one step: as stated, else vLLM's default for the card, else the one
        for small cards (engine/arg_utils.py:2973-3004)."""
        if self.max_num_batched_tokens is not None:
            return self.max_num_batched_tokens
        size = "small"
        if card and card.memory_mib * MIB >= LARGEST_CARD:
            size = "largest"
        elif card and large(card.memory_mib * MIB, card):
            size = "large"
        return int(claim(f"vllm.max_num_batched_tokens.default_{size}").value)


def flags(
    kv_dtype: str = "auto",
    *,
    tp: int = 1,
    pp: int = 1,
    utilization: str | float | Fraction | None = None,
    max_num_batched_tokens: int | None = None,
) -> Flags:
    """vLLM's flags, by the names that the commands have for them.

    Raises:
        ValueError: an option has no usable value.
    """
    asked = kv_dtype.lower()
    return Flags(
        kv_cache_dtype=asked if asked in KV_DTYPES else full_name(asked),
        tensor_parallel_size=tp,
        pipeline_parallel_size=pp,
        gpu_memory_utilization=None if utilization is None else _share(utilization),
        max_num_batched_tokens=max_num_batched_tokens,
    )


def _share(text: str | float | Fraction) -> Fraction:
    try:
        return Fraction(str(text))
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"--utilization {text!r} is not a share such as 0.92") from None


def large(memory: int, card: Gpu | None) -> bool:
    """Whether vLLM's defaults are those of a large card: an A100 and a GB10 count as small ones
    (engine/arg_utils.py:2962, 2985)."""
    small = card and ("a100" in card.name.lower() or card.compute_capability == "12.1")
    return memory >= LARGE_CARD and not small


def ranks(flags: Flags) -> int:
    """Cards that hold the model together."""
    return flags.tensor_parallel_size * flags.pipeline_parallel_size


def unused(flags: Flags, memory: int, kept: tuple[int, int]) -> tuple[Term, ...]:
    """What the share leaves; vLLM rounds the share up to a byte (v1/worker/utils.py:725)."""
    share, seen = flags.share, [memory - size for size in kept]
    best, worst = (size - ceil_div(size * share.numerator, share.denominator) for size in seen)
    flag = f"--gpu-memory-utilization {float(share):g}"
    return (Term("not used by the engine", -1, worst, best, flag),)


def working_memory(memory: int, card: Gpu | None) -> Term:
    """The range that public logs show for such a card."""
    key = f"vllm.other_memory.{'large_card' if large(memory, card) else 'small_card'}"
    least, most = cited_range(key)
    return Term(f"working memory: {WORKING_MEMORY}", -1, most, least, cited(key))
