"""The format in which vLLM 0.33.0 keeps sparse latents on a card.

In: a cache dtype, what vLLM read from a config, a compute capability. Out: the format as vLLM names
it, or None where it refuses. The backend is the chooser's, and vLLM's own function renames.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace

from kvdocs.evidence.vllm.backends import AskedLayer, chosen
from kvdocs.evidence.vllm.geometry import Geometry

SPARSE_CARDS = ("9.0", "10.0")  # Hopper first; data-centre Blackwell has one format more
RENAME = {  # the backends that rename a format, by their class
    "FlashMLASparseBackend": "FLASHMLA_SPARSE",
    "FlashInferMLASparseSM120Backend": "FLASHINFER_MLA_SPARSE_SM120",
}


def sparse_format(dtype: str, found: Geometry, capability: str) -> str | None:
    """The format kept for ``--kv-cache-dtype dtype``."""
    backend = _backend(dtype, _Read(found), capability)
    if backend is None:
        return None
    from vllm.model_executor.layers.attention import mla_attention

    named = SimpleNamespace(get_name=lambda: RENAME.get(backend, backend))
    return str(mla_attention._canonicalize_sparse_mla_kv_cache_dtype(named, dtype))


class _Read:
    """A geometry that can be a key; models of one size share their backend."""

    def __init__(self, found: Geometry) -> None:
        text = found.text
        self.found = found
        self.size = text.kv_lora_rank + text.qk_rope_head_dim
        self.key = (self.size, text.qk_nope_head_dim, text.index_topk)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Read) and self.key == other.key


@cache
def _backend(dtype: str, read: _Read, capability: str) -> str | None:
    layer = AskedLayer(read.size, latent=True, sparse=True)
    try:
        return chosen(layer, dtype, capability, read.found)
    except ValueError:
        return None
