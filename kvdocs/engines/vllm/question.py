"""What is asked of vLLM 0.33.0: its flags, its share of the card, its working memory, its ranks.

In: a ``VllmQuestion``. Out: terms on each rank, and the ``Plan`` of vLLM's planner. Files and
lines are of the 0.33.0 wheel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from kvdocs.engines.question import MIB, Change, Question, Term, cited, cited_range, claims
from kvdocs.engines.vllm.architectures import no_class
from kvdocs.engines.vllm.auto import SPARSE_CARDS, by_architecture, kept, loaded_weights
from kvdocs.engines.vllm.compressed import compresses
from kvdocs.engines.vllm.dtypes import cards
from kvdocs.engines.vllm.kernels import least_capability, refusal
from kvdocs.engines.vllm.layers import RankState, sparse
from kvdocs.engines.vllm.pool import Options, Plan, Pool, plan
from kvdocs.engines.vllm.states import rank_state
from kvdocs.facts.models import Model
from kvdocs.formula.config import EffectiveConfig
from kvdocs.units import ceil_div, ratio

LARGE_CARD = 70 * 2**30  # from here on vLLM's defaults are larger (engine/arg_utils.py:2984)
LARGEST_CARD = 160 * 2**30  # and from here on they are larger still (…arg_utils.py:2973)
RANKS = (2, 4, 8)


@dataclass(frozen=True)
class VllmQuestion(Question):
    """``weights`` are those of the whole model, all other sizes are of one rank.

    ``utilization`` and ``max_num_batched_tokens`` are vLLM's own where they are None.
    """

    tp: int = 1
    pp: int = 1
    utilization: Fraction | None = None
    max_num_batched_tokens: int | None = None

    key = "vllm"
    engine = "vLLM 0.33.0"
    working_memory = "activations, CUDA graphs, libraries"

    @property
    def share(self) -> Fraction:
        """The share of the card that the engine may use."""
        if self.utilization is not None:
            return self.utilization
        return Fraction(str(claims()["vllm.gpu_memory_utilization.default"].value))

    @property
    def ranks(self) -> int:  # type: ignore[override]
        """Cards that hold the model together."""
        return self.tp * self.pp

    @property
    def kept_as(self) -> str:
        """The format in words; a model with compressed layers has one of its own."""
        if compresses(self.model.layout):
            return f"this model's own format, mostly in 8 bits ({self.kv_dtype})"
        asked = super().kept_as
        return asked if self.kept == self.kv_dtype else f"{self.kept} ({self.kv_dtype})"

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
        return int(claims()[f"vllm.max_num_batched_tokens.default_{size}"].value)

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
            kv_cache_dtype=self.kept,
            tensor_parallel_size=self.tp,
            pipeline_parallel_size=self.pp,
            max_num_batched_tokens=self.batched_tokens,
            state=self.state,
        )

    @property
    def card(self) -> str | None:
        """The card's compute capability, where the card is known."""
        return self.gpu.compute_capability if self.gpu else None

    @cached_property
    def kept(self) -> str:
        """The format in which vLLM keeps the cache on this card."""
        return kept(self.kv_dtype, self.model, self.card)

    def loaded_weights(self) -> tuple[int, str] | None:
        """Of 16 bits, where they are published in 32."""
        return loaded_weights(self.model, self.card)

    @cached_property
    def state(self) -> RankState | None:
        """What a layer without attention keeps on a rank, where the model has such layers."""
        newer = self.gpu is not None and float(self.gpu.compute_capability) >= 9
        return rank_state(self.model.config, self.tp, self.model.id, flashinfer=newer)

    def check(self) -> None:
        """As for any engine, and what vLLM refuses."""
        if not 0 < self.share <= 1:
            share = float(self.share)
            raise ValueError(f"--utilization is {share:g}; it is a share above 0 and at most 1")
        super().check()
        if reason := no_class(self.model.config):
            raise ValueError(f"vLLM 0.33.0 cannot run {self.model.id}: {reason}")
        for name in ("tp", "pp", "max_num_batched_tokens"):
            self.check_count(name)
        gpu, takes = self.gpu, cards(self.kv_dtype)
        if gpu and not takes.take(gpu.compute_capability):
            raise ValueError(
                f"vLLM 0.33.0 refuses a cache in {self.kv_dtype} on a {gpu.name}: its compute "
                f"capability is {gpu.compute_capability}, and this format needs {takes} "
                f"({takes.source}). Use a cache in float16"
            )
        asked = by_architecture(self.kv_dtype, self.model.config, self.card)
        if reason := refusal(asked, self.model.layout, self.model.config, self.card):
            raise ValueError(f"vLLM 0.33.0 refuses --kv-cache-dtype {self.kv_dtype}: {reason}")
        _ = (
            self.pool,
            self.loaded_weights(),
        )  # made here, so that what vLLM refuses is refused first
        heads = attention_heads(self.model)
        if heads and heads % self.tp:
            raise ValueError(
                f"vLLM 0.33.0 refuses {self.tp} tensor-parallel ranks for {self.model.id}: "
                f"{heads} attention heads cannot be divided by {self.tp} (config/model.py:1557). "
                f"Choose a --tp that divides {heads}"
            )

    def unused(self, kept: tuple[int, int]) -> tuple[Term, ...]:
        """What the share leaves; vLLM rounds the share up to a byte (v1/worker/utils.py:725)."""
        share, seen = self.share, [self.memory - size for size in kept]
        best, worst = (size - ceil_div(size * share.numerator, share.denominator) for size in seen)
        flag = f"--gpu-memory-utilization {float(share):g}"
        return (Term("not used by the engine", -1, worst, best, flag),)

    def weights_term(self, ranks: int = 1) -> Term:
        """The weights on one rank."""
        return super().weights_term(self.ranks)

    def overhead_term(self) -> Term:
        """As stated, else the range that public logs show for such a card."""
        if self.overhead is not None:
            return super().overhead_term()
        key = f"vllm.other_memory.{'large_card' if self.large_card else 'small_card'}"
        least, most = cited_range(key)
        return Term(f"working memory: {self.working_memory}", -1, most, least, cited(key))

    def capacity(self, tokens: int, available: int) -> Plan:
        """vLLM's plan with ``tokens`` as --max-model-len."""
        return plan(self.model.layout, self.options(tokens), available)

    def longest(self, available: int) -> int:
        """The longest context of all users at once."""
        return self.pool.longest(available, self.users or 1, self.limit)

    def smaller_caches(self) -> Iterator[Change]:
        """An FP8 cache, where it is smaller."""
        smaller = replace(self, kv_dtype="fp8")
        tokens = self.tokens or self.limit
        try:
            share = Fraction(smaller.request_bytes(tokens), self.request_bytes(tokens))
        except ValueError:  # vLLM refuses it
            return
        if share < 1:
            percent = ratio(100 * share.numerator, share.denominator, 0)
            size = "half the size" if share == Fraction(1, 2) else f"{percent}% of the size"
            text = f"a cache in FP8, {size}"
            if self.gpu is None:
                layout = self.model.layout
                least = f"{least_capability('fp8', layout, self.model.config)} or more"
                takes = SPARSE_CARDS if sparse(layout) or compresses(layout) else least
                text += f", on a card of compute capability {takes}"
            yield Change("--kv-dtype fp8", text, smaller)

    def request_bytes(self, tokens: int) -> int:
        """Bytes of all the blocks that a request of ``tokens`` tokens can hold, on one rank."""
        return max(self.pool.block_bytes) * self.pool.request_blocks(tokens)

    def more_cards(self) -> Iterator[Change]:
        """More tensor-parallel ranks."""
        for ranks in RANKS:
            if ranks > self.tp:
                text = f"{ranks} such cards, one rank each"
                yield Change(f"--tp {ranks}", text, replace(self, tp=ranks))


def attention_heads(model: Model) -> int | None:
    """How many heads the queries have, where the config or its class says so."""
    found = EffectiveConfig.of(model.config, model.id).get("num_attention_heads")
    return found if type(found) is int and found > 0 else None
