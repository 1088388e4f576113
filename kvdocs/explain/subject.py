"""What a log's numbers are held against: a model's layout as one rank of an engine holds it.

In: a layout, the ranks, the cache dtype. Out: a ``Subject`` with the formula's bytes per token.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from fractions import Fraction
from functools import cached_property

from kvdocs.engines.vllm.dtypes import KV_DTYPES, head_bytes, latent_bytes
from kvdocs.engines.vllm.layers import in_16_bits, index_bytes, share_of_heads
from kvdocs.facts.gpus import Gpu
from kvdocs.facts.models import Model
from kvdocs.formula.config import EffectiveConfig
from kvdocs.formula.constant import State
from kvdocs.formula.dtypes import NAMES
from kvdocs.formula.kv_dtype import named_kv_dtype
from kvdocs.formula.layers import FullAttention, Latent, Layer
from kvdocs.formula.layout import CacheLayout
from kvdocs.formula.several import IndexKeys
from kvdocs.startup import dataclass

# Bits an element takes, by the names that engines and dtypes go by. The quantised formats of
# llama.cpp store a scale with every block of elements, so q8_0 takes 8.5 bits and not 8.
# Formats of vLLM that keep scales beside the numbers have no such size: vllm/dtypes.py has theirs.
BITS = {name: dtype.bits for name, dtype in NAMES.items() if dtype.kind != "integer"}
SCALED = tuple(name for name in KV_DTYPES if name not in BITS and name != "auto")
DEFAULT = "bfloat16"


def has_size(dtype: str) -> bool:
    """Whether a token's size is known in this dtype."""
    return dtype in BITS or dtype in SCALED


def check_dtype(dtype: str) -> None:
    """Refuse a dtype in which a token's size is not known.

    Raises:
        ValueError: it is none.
    """
    if not has_size(dtype):
        known = ", ".join((*BITS, *SCALED))
        raise ValueError(f"unknown cache dtype {dtype!r}; choose one of {known}")


def cache_dtype(stated: str | None, model: Model | None, own: str | None) -> tuple[str, bool]:
    """The dtype of a cache, and whether it is beyond doubt: as the reader or the log states it,
    else as the checkpoint names it, else the model's ``own``, where the log has that.

    A checkpoint's word is not beyond doubt: engines of before 2026 did not all follow it.

    Raises:
        ConfigError: only the checkpoint names one, and it is unknown here.
    """
    if stated:
        return stated, True
    named = named_kv_dtype(model.config, model.id) if model else None
    return (named[0], False) if named else (own or DEFAULT, bool(own))


def bits(dtype: str) -> Fraction:
    """Bits of one element.

    Raises:
        ValueError: the dtype is unknown, or its size depends on more than the element.

    >>> bits("q8_0"), bits("fp8")
    (Fraction(17, 2), Fraction(8, 1))
    """
    if dtype not in BITS:
        raise ValueError(f"a cache in {dtype!r} has no fixed size of an element")
    return BITS[dtype]


@dataclass(frozen=True)
class Subject:
    """A model as ``tp`` ranks hold it, keys and values in the cache dtype ``dtype``.

    ``fields`` are whole numbers of its config, for the mistakes that start from them.
    ``dtype_known``: the dtype was stated, so another one is no explanation. ``model`` is None where
    only a layout was stated. ``pp`` is the number of pipeline stages, ``dcp`` that of the ranks
    over which the tokens of a request are spread.

    Raises:
        ValueError: fewer ranks than one, or ranks that cannot share the heads.
    """

    layout: CacheLayout
    name: str = ""
    tp: int = 1
    dtype: str = DEFAULT
    fields: Mapping[str, int] = field(default_factory=dict)
    dtype_known: bool = False
    model: Model | None = None
    pp: int = 1
    dcp: int = 1
    card: Gpu | None = None

    def __post_init__(self) -> None:
        if self.tp < 1:
            raise ValueError(f"a model runs on 1 rank or more, not {self.tp}")
        for part, _ in self.layout.groups():
            if isinstance(part, FullAttention):
                share_of_heads(part.kv_heads, self.tp)

    @classmethod
    def of(
        cls,
        model: Model,
        *,
        tp: int = 1,
        dtype: str = DEFAULT,
        dtype_known: bool = False,
        pp: int = 1,
        dcp: int = 1,
        card: Gpu | None = None,
    ) -> Subject:
        """The subject for a published model.

        Raises:
            ConfigError: no rule for the model, or a field without a usable value.
            ValueError: its heads cannot be split over so many ranks.
        """
        config = EffectiveConfig.of(model.config, model.id)
        values = {**config.defaults, **config.published}
        fields = {name: value for name, value in values.items() if type(value) is int}
        return cls(model.layout, model.id, tp, dtype, fields, dtype_known, model, pp, dcp, card)

    @property
    def flag(self) -> str:
        """The cache dtype as vLLM is asked for it: ``auto`` for 16 bits, unless the checkpoint
        names another format."""
        named = named_kv_dtype(self.model.config, self.name) if self.model else None
        return "auto" if BITS.get(self.dtype) == 16 and not named else self.dtype

    @cached_property
    def parts(self) -> tuple[Layer, ...]:
        """What the layers keep, one by one: most keep one thing, some several."""
        return tuple(part for layer in self.layout.layers for part in layer.parts)

    @cached_property
    def of_a_rank(self) -> tuple[Layer, ...]:
        """The parts that keep tokens as one rank holds them: its share of the KV heads."""
        return tuple(map(self._share, self.keeping))

    def _share(self, part: Layer) -> Layer:
        if isinstance(part, FullAttention):
            return replace(part, kv_heads=share_of_heads(part.kv_heads, self.tp))
        return part

    def _scaled(self, layer: int) -> int:
        """Bytes of a token in one layer on a rank, in one of vLLM's formats with scales."""
        dtype = "auto" if layer in in_16_bits(self.layout, self.dtype) else self.dtype
        parts = filter(_grows, self.layout.layers[layer].parts)
        return sum(_scaled(self._share(part), dtype) for part in parts)

    @property
    def keeping(self) -> list[Layer]:
        """The parts that keep tokens."""
        return [part for part in self.parts if _grows(part)]

    @property
    def elements(self) -> list[int]:
        """Elements a token adds in each layer, over all ranks."""
        return [
            sum(part.elements_per_token for part in layer.parts if _grows(part))
            for layer in self.layout.layers
        ]

    @property
    def sliding(self) -> list[Layer]:
        """The parts with a window."""
        return [part for part in self.parts if part.window is not None]

    @property
    def full(self) -> list[Layer]:
        """The parts that keep every token."""
        return [part for part in self.keeping if part.window is None]

    def only(self, parts: Iterable[Layer]) -> Subject:
        """The same, if these were all it keeps."""
        return replace(self, layout=CacheLayout(tuple(parts)))

    @property
    def has_states(self) -> bool:
        """Whether something takes room before the first token."""
        return any(part.bytes(0, 2) for part in self.parts)

    @property
    def plain(self) -> bool:
        """Whether its layers are of kinds that every engine holds as the formula does."""
        return {part.kind for part in self.keeping} <= {"full", "window", "chunk", "latent"}

    @property
    def uniform(self) -> bool:
        """Whether every layer keeps every token, so that a cache is tokens times one rate."""
        return not self.sliding and not self.has_states

    def rate(self, k_type: str = "", v_type: str = "") -> Fraction:
        """Bytes a token adds on one rank while no window is full; keys and values may differ.

        Raises:
            ValueError: no engine holds such a model in its dtype.
        """
        if self.dtype in SCALED and not k_type:
            return Fraction(sum(map(self._scaled, range(len(self.layout.layers)))))
        return self.keys(k_type) + self.values(v_type or k_type)

    def keys(self, dtype: str = "") -> Fraction:
        """The keys' part of ``rate``; a latent counts as keys."""
        return _total(map(_key_elements, self.of_a_rank), dtype or self.dtype)

    def values(self, dtype: str = "") -> Fraction:
        """The values' part of ``rate``."""
        return _total(map(_value_elements, self.of_a_rank), dtype or self.dtype)

    @property
    def over_all_ranks(self) -> Fraction:
        """How many times one rank's share the whole model is: less than ``tp`` where it copies."""
        whole = replace(self, tp=1)
        return whole.rate() / self.rate() if self.rate() else Fraction(1)


def _total(elements: map[int], dtype: str) -> Fraction:
    return sum(elements) * bits(dtype) / 8


def _scaled(part: Layer, dtype: str) -> int:
    """Bytes of a token in one of vLLM's formats with scales."""
    if isinstance(part, FullAttention):
        return part.kv_heads * head_bytes(dtype, part.k_dim, part.v_dim)
    if isinstance(part, Latent):
        return latent_bytes(dtype, part.elements_per_token)
    if isinstance(part, IndexKeys):
        return index_bytes(part)
    raise ValueError(f"how {dtype} holds a layer of kind {part.kind!r} is not known here")


def _grows(layer: Layer) -> bool:
    """Whether a token adds to it; the K and V of an encoder's output do not grow."""
    return layer.bytes(1, 2) > layer.bytes(0, 2)


def _key_elements(layer: Layer) -> int:
    if isinstance(layer, FullAttention):
        return layer.kv_heads * layer.k_dim
    return layer.elements_per_token


def _value_elements(layer: Layer) -> int:
    return layer.kv_heads * layer.v_dim if isinstance(layer, FullAttention) else 0


def expanded(subject: Subject) -> list[tuple[int, int]]:
    """Elements of K and of V a latent layer would take with its heads expanded; one rank's.

    The second pair has both padded to the next power of two, as attention kernels of 2024 did.
    """
    fields = subject.fields
    heads = fields.get("num_attention_heads", 0) // subject.tp
    key = fields.get("qk_nope_head_dim", 0) + fields.get("qk_rope_head_dim", 0)
    value = fields.get("v_head_dim", 0)
    if not (heads and key and value):
        return []
    padded = 1 << (key - 1).bit_length()
    return [(heads * key, heads * value), (heads * key, heads * key), (heads * padded,) * 2]


def state_bytes(subject: Subject) -> int:
    """Bytes of one sequence's recurrent states as llama.cpp holds them, 0 where that is unknown."""
    states = [part for part in subject.parts if isinstance(part, State)]
    if not states or not subject.model:
        return 0
    from kvdocs.engines.llama_cpp.context import state_buffer  # which few logs need

    try:
        config = EffectiveConfig.of(subject.model.config, subject.name)
        return state_buffer(states, config, sequences=1).bytes
    except ValueError:
        return 0


def latents(subject: Subject) -> list[Latent]:
    """The latents its layers keep."""
    return [part for part in subject.parts if isinstance(part, Latent)]
