"""vLLM 0.33.0 as an engine: how it holds a model under its flags on a card, or why it refuses to.

In: a model, ``Flags``, a card or None. Out: a ``Pool``. Files and lines are of the 0.33.0 wheel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from kvdocs.engines.face import Change, Refused
from kvdocs.engines.vllm import VERSION, auto
from kvdocs.engines.vllm.architectures import no_class
from kvdocs.engines.vllm.auto import SPARSE_CARDS, by_architecture
from kvdocs.engines.vllm.compressed import compresses
from kvdocs.engines.vllm.dtypes import cards
from kvdocs.engines.vllm.kernels import least_capability, refusal
from kvdocs.engines.vllm.layers import Options, sparse
from kvdocs.engines.vllm.memory import (
    WORKING_MEMORY,
    Flags,
    flags,
    ranks,
    unused,
    working_memory,
)
from kvdocs.engines.vllm.pool import Pool
from kvdocs.engines.vllm.states import rank_state
from kvdocs.engines.weights import BITS
from kvdocs.facts.gpus import Gpu
from kvdocs.facts.models import Model
from kvdocs.formula import ConfigError
from kvdocs.formula.config import EffectiveConfig
from kvdocs.formula.kv_dtype import named_kv_dtype
from kvdocs.units import ratio

__all__ = ["Flags", "flags", "hold", "loaded_weights", "more_cards", "ranks", "smaller_caches"]
__all__ += ["WORKING_MEMORY", "unused", "working_memory"]

KEY = "vllm"
TITLE = f"vLLM {VERSION}"
WEIGHT_BITS = BITS
SMALLER_WEIGHTS = ("fp8", "int4")
RANKS = (2, 4, 8)


def hold(model: Model, flags: Flags, card: Gpu | None = None) -> Pool:
    """vLLM's pool for a model on one rank; ``card`` is None where it is not known.

    Where nobody asks for a cache dtype, vLLM takes what the checkpoint says
    (layers/attention/attention.py:287, utils/torch_utils.py:498).

    Raises:
        Refused: vLLM refuses the combination, or keeps no cache for such a layer.
        ConfigError: a field of the config has no usable value.

    >>> from kvdocs.facts.snapshot import load
    >>> pool = hold(load("Qwen/Qwen2.5-7B-Instruct"), Flags())
    >>> pool.plan(10 * 2**30, max_model_len=32_768).pool_tokens
    187232
    """
    if reason := no_class(model.config):
        raise Refused(f"{TITLE} cannot run {model.id}: {reason}")
    dtype, named_by = flags.kv_cache_dtype, None
    if dtype == "auto":
        dtype, named_by = named_kv_dtype(model.config, model.id) or ("auto", None)
    try:
        _check_dtype(model, dtype, card)
        pool = Pool.of(model.layout, _options(model, flags, dtype, card))
        loaded_weights(model, card)
    except ConfigError:
        raise
    except ValueError as error:
        raise Refused(str(error)) from None
    _check_heads(model, flags.tensor_parallel_size)
    return replace(pool, kv_dtype=dtype, named_by=named_by)


def _options(model: Model, flags: Flags, dtype: str, card: Gpu | None) -> Options:
    """The flags as vLLM resolves them for this model on this card."""
    newer = card is not None and float(card.compute_capability) >= 9
    tp = flags.tensor_parallel_size
    return Options(
        kv_cache_dtype=auto.kept(dtype, model, _capability(card)),
        block_size=flags.block_size,
        tensor_parallel_size=tp,
        pipeline_parallel_size=flags.pipeline_parallel_size,
        decode_context_parallel_size=flags.decode_context_parallel_size,
        max_num_batched_tokens=flags.batched_tokens(card),
        async_scheduling=flags.async_scheduling,
        prefix_caching=flags.prefix_caching,
        state=rank_state(model.config, tp, model.id, flashinfer=newer),
    )


def _check_dtype(model: Model, dtype: str, card: Gpu | None) -> None:
    """Refuse a format that the card does not take, or no kernel reads."""
    takes, capability = cards(dtype), _capability(card)
    if card and not takes.take(card.compute_capability):
        raise ValueError(
            f"{TITLE} refuses a cache in {dtype} on a {card.name}: its compute capability is "
            f"{capability}, and this format needs {takes} ({takes.source}). Use a cache in float16"
        )
    asked = by_architecture(dtype, model.config, capability)
    if reason := refusal(asked, model.layout, model.config, capability):
        raise ValueError(f"{TITLE} refuses --kv-cache-dtype {dtype}: {reason}")


def _check_heads(model: Model, tp: int) -> None:
    """Refuse ranks that cannot share the heads of the queries."""
    heads = EffectiveConfig.of(model.config, model.id).get("num_attention_heads")
    if type(heads) is int and heads > 0 and heads % tp:
        raise Refused(
            f"{TITLE} refuses {tp} tensor-parallel ranks for {model.id}: {heads} attention heads "
            f"cannot be divided by {tp} (config/model.py:1557). Choose a --tp that divides {heads}"
        )


def _capability(card: Gpu | None) -> str | None:
    return card.compute_capability if card else None


def loaded_weights(model: Model, card: Gpu | None) -> tuple[int, str] | None:
    """Of 16 bits, where they are published in 32.

    Raises:
        ValueError: vLLM refuses to run such a quantised model in float32.
    """
    return auto.loaded_weights(model, _capability(card))


def smaller_caches(
    model: Model, flags: Flags, card: Gpu | None, tokens: int, users: int
) -> Iterator[Change]:
    """An FP8 cache, where it is smaller."""
    smaller = replace(flags, kv_cache_dtype="fp8")
    try:
        now, then = (hold(model, one, card).sequence_bytes(tokens) for one in (flags, smaller))
    except ValueError:  # vLLM refuses it
        return
    share = Fraction(then, now)
    if share < 1:
        percent = ratio(100 * share.numerator, share.denominator, 0)
        size = "half the size" if share == Fraction(1, 2) else f"{percent}% of the size"
        where = "" if card else f", on a card of compute capability {_fp8_cards(model)}"
        yield Change("--kv-dtype fp8", f"a cache in FP8, {size}{where}", smaller)


def _fp8_cards(model: Model) -> str:
    """The compute capabilities on which vLLM takes FP8 for the model."""
    if sparse(model.layout) or compresses(model.layout):
        return SPARSE_CARDS
    return f"{least_capability('fp8', model.layout, model.config)} or more"


def more_cards(flags: Flags) -> Iterator[Change]:
    """More tensor-parallel ranks."""
    for count in RANKS:
        if count > flags.tensor_parallel_size:
            text = f"{count} such cards, one rank each"
            yield Change(f"--tp {count}", text, replace(flags, tensor_parallel_size=count))
