"""How many sequences fit on a GPU with vLLM 0.33.0, term by term.

In: a ``Question``: the model, the memory, the flags. Out: an ``Answer``.

What is left for the cache is the share of the GPU that the engine may use, less the weights, less
what else the engine needs. Two of these terms are only known as a range, so there are two answers:
the sure one, with every range at its worse end, and the best one. ``available`` (the engine's own
"Available KV cache memory") or ``overhead`` takes the place of a range; with the former the answer
is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property

from kvdocs.facts.claims import Claim, Gpu, load_claims
from kvdocs.facts.models import Model
from kvdocs.formula.config import EffectiveConfig
from kvdocs.literal import Literal
from kvdocs.serving.vllm import Options, Plan, Pool, plan
from kvdocs.serving.vllm_dtypes import cards
from kvdocs.serving.vllm_layers import RankState
from kvdocs.serving.vllm_states import rank_state

LONGEST = 2**30  # tokens; beyond any real context
MIB = 2**20
LARGE_CARD = 70 * 2**30  # from here on vLLM's defaults are larger (engine/arg_utils.py:2984)
LARGEST_CARD = 160 * 2**30  # and from here on they are larger still (…arg_utils.py:2973)


@dataclass(frozen=True)
class Term:
    """One line of the sum. ``bytes`` is what counts in the sure answer, ``best`` in the best one;
    they differ where only a range is known. ``sign`` is 1 for what is there, -1 for what goes."""

    name: str
    sign: int
    bytes: int
    best: int
    source: str


@dataclass(frozen=True)
class Question:
    """What is asked. Sizes in bytes; ``weights`` are those of the whole model, all others are of
    one rank.

    ``memory`` is the card's as its driver reports it; ``tokens`` the length of each sequence,
    None to ask for the longest; ``users`` the sequences at once, None to ask how many.
    ``kv_dtype_from`` is the config's field that named the dtype. ``utilization`` and
    ``max_num_batched_tokens`` are vLLM's own where they are None.
    """

    model: Model
    memory: int
    gpu: Gpu | None = None
    tokens: int | None = None
    users: int | None = None
    kv_dtype: str = "auto"
    kv_dtype_from: str | None = None
    weights: int | None = None
    weights_source: str = "stated"
    tp: int = 1
    pp: int = 1
    utilization: Fraction | None = None
    overhead: int | None = None
    available: int | None = None
    max_num_batched_tokens: int | None = None

    @property
    def share(self) -> Fraction:
        """The share of the card that the engine may use."""
        if self.utilization is not None:
            return self.utilization
        return Fraction(str(_claims()["vllm.gpu_memory_utilization.default"].value))

    @property
    def batched_tokens(self) -> int:
        """The most tokens of one step: as stated, else vLLM's default for the card, else the one
        for small cards (engine/arg_utils.py:2973-3004)."""
        if self.max_num_batched_tokens is not None:
            return self.max_num_batched_tokens
        size = "small"
        if self.gpu and self.gpu.memory_mib * MIB >= LARGEST_CARD:
            size = "largest"
        elif self.gpu and self.large_card:
            size = "large"
        return int(_claims()[f"vllm.max_num_batched_tokens.default_{size}"].value)

    @property
    def large_card(self) -> bool:
        """Whether vLLM's defaults are those of a large card; an A100 counts as a small one."""
        a100 = self.gpu is not None and self.gpu.key.startswith("a100")
        return self.memory >= LARGE_CARD and not a100

    @cached_property
    def pool(self) -> Pool:
        """vLLM's pool for these flags.

        Raises:
            ValueError: vLLM refuses the combination, or keeps no cache for such a layer.
        """
        return Pool.of(self.model.layout, self.options(self.tokens or 1))

    def options(self, tokens: int) -> Options:
        """The flags, with ``tokens`` as --max-model-len."""
        return Options(
            tokens,
            kv_cache_dtype=self.kv_dtype,
            tensor_parallel_size=self.tp,
            pipeline_parallel_size=self.pp,
            max_num_batched_tokens=self.batched_tokens,
            state=self.state,
        )

    @cached_property
    def state(self) -> RankState | None:
        """What a layer without attention keeps on a rank, where the model has such layers."""
        newer = self.gpu is not None and float(self.gpu.compute_capability) >= 9
        return rank_state(self.model.config, self.tp, self.model.id, flashinfer=newer)


@dataclass(frozen=True)
class Answer:
    """What fits. ``sure`` and ``best`` are vLLM's plans at the two ends of the ranges.

    ``tokens`` is the length asked for, or the longest for the users asked for. ``fits`` is True
    where even the sure plan holds them, ``may_fit`` where the best one does.
    """

    request: Question
    terms: tuple[Term, ...]
    tokens: int
    sure: Plan
    best: Plan

    @property
    def users(self) -> int:
        """Sequences asked for; one at least."""
        return self.request.users or 1

    @property
    def fits(self) -> bool:
        """Whether what is asked for fits in every case."""
        return self.tokens > 0 and self.sure.sequences >= self.users

    @property
    def may_fit(self) -> bool:
        """Whether it fits with every range at its better end."""
        return self.tokens > 0 and self.best.sequences >= self.users


def fit(request: Question) -> Answer:
    """The answer to ``request``.

    Raises:
        ValueError: the request contradicts itself, the model or the hardware; the message says
            which flag.
    """
    _check(request)
    terms = budget(request)
    sure, best = total(terms), sum(term.sign * term.best for term in terms)
    tokens = request.tokens
    if tokens is None:
        limit = request.model.longest_text or LONGEST
        tokens = request.pool.longest(max(0, sure), request.users or 1, limit)
    layout, options = request.model.layout, request.options(max(1, tokens))
    plans = [plan(layout, options, max(0, available)) for available in (sure, best)]
    return Answer(request, terms, tokens, *plans)


def total(terms: tuple[Term, ...]) -> int:
    """Bytes left for the cache on each rank, with every range at its worse end."""
    return sum(term.sign * term.bytes for term in terms)


def budget(request: Question) -> tuple[Term, ...]:
    """The terms whose sum is the memory for the cache on each rank."""
    if request.available is not None:
        source = "stated: the engine's own figure"
        return (Term("available for the cache", 1, request.available, request.available, source),)
    memory = request.memory
    kept = _range("nvidia.kept_by_driver")
    unused = [(memory - size) - _share(memory - size, request.share) for size in kept]
    known = request.gpu.memory_source if request.gpu else "stated"
    return (
        Term("memory as the driver reports it", 1, memory, memory, known),
        Term("kept by the driver", -1, kept[1], kept[0], _cite("nvidia.kept_by_driver")),
        Term(
            "not used by the engine",
            -1,
            unused[1],
            unused[0],
            f"--gpu-memory-utilization {float(request.share):g}",
        ),
        _weights(request),
        _other(request),
    )


def _weights(request: Question) -> Term:
    if request.weights is None:
        raise ValueError(f"the size of {request.model.id}'s weights is not known: state --weights")
    ranks = request.tp * request.pp
    each = -(-request.weights // ranks)
    split = f", divided by {ranks} ranks" if ranks > 1 else ""
    return Term("weights", -1, each, each, request.weights_source + split)


def _other(request: Question) -> Term:
    name = "working memory: activations, CUDA graphs, libraries"
    if request.overhead is not None:
        return Term(name, -1, request.overhead, request.overhead, "stated")
    size = "large_card" if request.large_card else "small_card"
    key = f"vllm.other_memory.{size}"
    least, most = _range(key)
    return Term(name, -1, most, least, _cite(key))


def _check(request: Question) -> None:
    if not 0 < request.share <= 1:
        share = float(request.share)
        raise ValueError(f"--utilization is {share:g}; it is a share above 0 and at most 1")
    if request.available is None and request.memory < 1:
        raise ValueError(f"--vram is {request.memory:,} bytes, which is no card")
    for name in ("weights", "overhead", "available"):
        size = getattr(request, name)
        if size is not None and size < (1 if name == "weights" else 0):
            raise ValueError(f"--{name} is {size:,} bytes, which is no size")
    for name in ("tokens", "users", "tp", "pp", "max_num_batched_tokens"):
        count = getattr(request, name)
        if count is not None and count < 1:
            raise ValueError(f"--{name.replace('_', '-')} is {count}; it must be 1 or more")
    gpu, takes = request.gpu, cards(request.kv_dtype)
    if gpu and not takes.take(gpu.compute_capability):
        raise ValueError(
            f"vLLM 0.33.0 refuses a cache in {request.kv_dtype} on a {gpu.name}: its compute "
            f"capability is {gpu.compute_capability}, and this format needs {takes} "
            f"({takes.source}). Use a cache in float16"
        )
    assert request.pool  # made here, so that what vLLM refuses is refused first
    heads = attention_heads(request.model)
    if heads and heads % request.tp:
        raise ValueError(
            f"vLLM 0.33.0 refuses {request.tp} tensor-parallel ranks for {request.model.id}: "
            f"{heads} attention heads cannot be divided by {request.tp} (config/model.py:1557). "
            f"Choose a --tp that divides {heads}"
        )


def attention_heads(model: Model) -> int | None:
    """How many heads the queries have, where the config or its class says so."""
    found = EffectiveConfig.of(model.config, model.id).get("num_attention_heads")
    return found if type(found) is int and found > 0 else None


def _share(size: int, share: Fraction) -> int:
    """vLLM rounds the share it may use up to a whole byte (v1/worker/utils.py:725)."""
    return -(-size * share.numerator // share.denominator)


@cache
def _claims() -> dict[str, Claim]:
    return load_claims()


def _range(key: str) -> tuple[int, int]:
    """The two ends of a cited range, in bytes."""
    claims = _claims()
    texts = (str(claims[f"{key}.{end}"].value) for end in ("least", "most"))
    least, most = (Literal.parse(text) for text in texts)
    return int(least.number * least.scale), int(most.number * most.scale)


def _cite(key: str) -> str:
    claims = _claims()
    least, most = (claims[f"{key}.{end}"] for end in ("least", "most"))
    return f"{least.source}, {most.source}"
