"""Bytes one token takes in one layer of vLLM 0.33.0, for every ``--kv-cache-dtype``.

In: the dtype's name as on vLLM's command line and the sizes of a layer on one rank. Out: whole
bytes, scales included where they lie in the cache. Paths in docstrings are in the vLLM 0.33.0
wheel.

Plain FP8 keeps one scale for a whole tensor, outside the cache, so it takes exactly half of 16
bits. The other formats keep a scale beside each token's numbers, so they take a little more than
their bits say.
"""

from __future__ import annotations

from collections.abc import Callable

from kvdocs.engines.vllm import VERSION
from kvdocs.formula.dtypes import element_bytes
from kvdocs.startup import dataclass
from kvdocs.units import ceil_div

HeadBytes = Callable[[int, int], int]  # (k_dim, v_dim) of one head -> bytes of one token
FLOAT32 = 4


@dataclass(frozen=True)
class KvDtype:
    """One ``--kv-cache-dtype``: bytes of a token in one head, and in one latent vector.

    ``latent`` is None where vLLM has no kernel for latents in this format, ``head`` where it has
    none for heads.
    """

    name: str
    head: HeadBytes | None
    latent: Callable[[int], int] | None


def head_bytes(dtype: str, k_dim: int, v_dim: int) -> int:
    """Bytes of one token in one KV head: K, V and the scales beside them.

    Raises:
        ValueError: vLLM has no such dtype, or not for KV heads.

    >>> head_bytes("auto", 128, 128), head_bytes("fp8", 128, 128)
    (512, 256)
    >>> head_bytes("int8_per_token_head", 128, 128), head_bytes("nvfp4", 128, 128)
    (264, 144)
    """
    found = kv_dtype(dtype)
    if found.head is None:
        raise ValueError(f"--kv-cache-dtype {dtype} is for latent caches (DeepSeek), not KV heads")
    return found.head(k_dim, v_dim)


def latent_bytes(dtype: str, elements: int) -> int:
    """Bytes of one token in a latent vector of ``elements`` numbers.

    Raises:
        ValueError: vLLM has no such dtype, or not for latents.

    >>> latent_bytes("auto", 576), latent_bytes("fp8", 576), latent_bytes("fp8_ds_mla", 576)
    (1152, 576, 656)
    """
    found = kv_dtype(dtype)
    if found.latent is None:
        raise ValueError(f"--kv-cache-dtype {dtype} is for KV heads, not for a latent cache")
    return found.latent(elements)


def kv_dtype(name: str) -> KvDtype:
    """The dtype of that name.

    Raises:
        ValueError: not one of vLLM 0.33.0's (config/cache.py:44).
    """
    if name == IN_32_BITS.name:
        return IN_32_BITS
    if name not in KV_DTYPES:
        known = ", ".join(KV_DTYPES)
        raise ValueError(f"vLLM {VERSION} has no --kv-cache-dtype {name!r}; it has {known}")
    return KV_DTYPES[name]


@dataclass(frozen=True)
class Cards:
    """The NVIDIA cards on which vLLM takes a dtype, by compute capability: at ``least`` that one
    and, where ``only`` is not empty, of one of these generations; none where only cards of another
    ``maker`` take it. ``source`` is where it says so.
    """

    least: float = 0
    only: tuple[int, ...] = ()
    source: str = ""
    maker: str = ""

    def take(self, capability: str) -> bool:
        """Whether a card of that compute capability is among them.

        >>> Cards(8.0).take("7.5"), Cards(only=(10,)).take("10.0")
        (False, True)
        """
        if self.maker:
            return False
        major = int(capability.partition(".")[0])
        return float(capability) >= self.least and (not self.only or major in self.only)

    def __str__(self) -> str:
        if self.maker:
            return f"a card by {self.maker}"
        if self.only:
            return " or ".join(f"{major}.x" for major in self.only)
        return f"{self.least:.1f} or more"


def cards(dtype: str) -> Cards:
    """The cards that take a dtype; every card where nothing in vLLM 0.33.0 says otherwise.

    >>> str(cards("fp8")), str(cards("nvfp4_4over6")), cards("auto").take("7.5")
    ('8.0 or more', '10.x', True)
    """
    return CARDS.get(dtype, Cards())


def _plain(element_bytes: int) -> HeadBytes:
    """v1/kv_cache_interface.py:637: (head_size + head_size_v) elements."""
    return lambda k, v: (k + v) * element_bytes


def _per_token_head(bits: int) -> HeadBytes:
    """Two 32-bit scales follow each head's numbers (v1/attention/backends/triton_attn.py:307)."""
    return lambda k, v: k * bits // 8 + v * bits // 8 + 2 * FLOAT32


def _nvfp4(k: int, v: int) -> int:
    """4-bit numbers and one 8-bit scale for 16 of them (utils/torch_utils.py:542)."""
    if k != v:
        raise ValueError(f"nvfp4 needs keys and values of one size, not {k} and {v}")
    return 2 * (k // 2 + k // 16)


def _turboquant(key_bits: int, value_bits: int) -> HeadBytes:
    """Codes, a 16-bit norm for keys of fewer than 8 bits, 16-bit scale and zero for values;
    rounded up to an even number (layers/quantization/turboquant/config.py:129-175)."""

    def head(k: int, v: int) -> int:
        key = k if key_bits == 8 else ceil_div(k * key_bits, 8) + 2
        slot = key + ceil_div(k * value_bits, 8) + 4
        return slot + slot % 2

    return head


def _ultraquant(k: int, v: int) -> int:
    """4-bit codes and one 8-bit scale for 32 of them (attention/ops/ultraquant/format.py:195)."""
    if k % 32:
        raise ValueError(f"ultraquant_4bit needs a head_dim that 32 divides, not {k}")
    return 2 * (k // 2 + k // 32)


def _octave(value_bits: int, compact: bool) -> HeadBytes:
    """Keys in 3 bits, the 64 rotary ones in 4 unless ``compact``; a 16-bit scale for 64 of them,
    or one in all, and one for values; padded to 8 or 4 bytes (attention/ops/rocm_octave.py:177).
    The kernels take heads of 256 only (attention/backends/rocm_octave_attn.py:64)."""

    def head(k: int, v: int) -> int:
        if (k, v) != (256, 256):
            raise ValueError(f"the octave formats need a head_dim of 256, not {k}")
        keys = k * 3 // 8 if compact else (64 * 4 + (k - 64) * 3) // 8
        scales = 2 if compact else k // 64 + 1
        align = 4 if compact else 8
        return ceil_div(keys + v * value_bits // 8 + 2 * scales, align) * align

    return head


def _latent_per_token(bits: int) -> Callable[[int], int]:
    """layers/attention/mla_attention.py:1598."""
    return lambda elements: elements * bits // 8 + 2 * FLOAT32


def _float(name: str, of: str) -> KvDtype:
    """A dtype without scales in the cache, whose elements are those of the dtype ``of``."""
    size = element_bytes(of)
    return KvDtype(name, _plain(size), lambda elements: size * elements)


KV_DTYPES = {
    found.name: found
    for found in (
        # "auto" is the model's dtype; vLLM runs models published in 32 bits in 16
        # (config/model.py:2440).
        _float("auto", "bfloat16"),
        *(_float(name, name) for name in ("float16", "bfloat16")),
        *(_float(name, name) for name in ("fp8", "fp8_e4m3", "fp8_e5m2", "fp8_inc")),
        # One opaque record a token (layers/attention/mla_attention.py:1386).
        KvDtype("fp8_ds_mla", None, lambda _: 656),
        KvDtype("nvfp4_ds_mla", None, lambda _: 352),
        KvDtype("fp8_per_token_head", _per_token_head(8), _latent_per_token(8)),
        KvDtype("int8_per_token_head", _per_token_head(8), _latent_per_token(8)),
        KvDtype("int4_per_token_head", _per_token_head(4), _latent_per_token(4)),
        KvDtype("nvfp4", _nvfp4, None),
        KvDtype("nvfp4_4over6", _nvfp4, None),
        KvDtype("turboquant_k8v4", _turboquant(8, 4), None),
        KvDtype("turboquant_4bit_nc", _turboquant(4, 4), None),
        KvDtype("turboquant_k3v4_nc", _turboquant(3, 4), None),
        KvDtype("turboquant_3bit_nc", _turboquant(3, 3), None),
        KvDtype("octave_k3v4", _octave(4, compact=False), None),
        KvDtype("octave_k3v3", _octave(3, compact=False), None),
        KvDtype("octave_k3v3_compact", _octave(3, compact=True), None),
        KvDtype("ultraquant_4bit", _ultraquant, None),
    )
}

# What "auto" is where vLLM can run a model in 32 bits only; not a name on its command line.
IN_32_BITS = _float("the model's float32", "float32")

_FLASHINFER = Cards(8.0, source="v1/attention/backends/flashinfer.py:696")
CARDS = {
    "bfloat16": Cards(8.0, source="v1/attention/backends/triton_attn.py:533"),
    "fp8": _FLASHINFER,
    "fp8_e4m3": _FLASHINFER,
    "fp8_e5m2": _FLASHINFER,
    "fp8_inc": Cards(maker="Intel", source="config/cache.py:241"),
    # Only Triton has a kernel for it, and Triton wants arithmetic in FP8.
    "fp8_per_token_head": Cards(8.9, source="v1/attention/backends/triton_attn.py:520"),
    "fp8_ds_mla": Cards(
        only=(9, 10, 12),
        source="v1/attention/backends/mla/flashmla_sparse.py:203, flashinfer_mla_sparse.py:192",
    ),
    "nvfp4_ds_mla": Cards(only=(10,), source="v1/attention/backends/mla/flashmla_sparse.py:154"),
    **{
        name: Cards(maker="AMD", source="platforms/rocm.py:566")
        for name in KV_DTYPES
        if name.startswith(("octave", "ultraquant"))
    },
    "nvfp4": Cards(only=(8, 9, 10, 12), source="v1/attention/backends/flashinfer.py:114, 654"),
    "nvfp4_4over6": Cards(only=(10,), source="v1/attention/backends/flashinfer.py:654"),
}
