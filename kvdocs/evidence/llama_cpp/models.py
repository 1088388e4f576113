"""Published models as GGUF metadata: what decides their caches, and next to nothing else.

In: ``models.toml``, with the published layers, KV heads, head_dim, windows and states. Out: the
metadata of each. The embedding is 64 wide where the architecture leaves that open, there are as
many attention heads as KV heads, and the vocabulary has 32 tokens, so that a model takes little
more memory than its cache. Keys are those of GGUF (gguf-py/gguf/constants.py in llama.cpp).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvdocs.evidence.llama_cpp.library import Value

HEADS_FILL_THE_EMBEDDING = ("olmo2", "phi3", "qwen2")  # embedding = heads times head_dim


@dataclass(frozen=True)
class GgufModel:
    """``id`` is the published model's, empty for one that is made up."""

    id: str
    architecture: str
    metadata: Mapping[str, Value]


def _model(
    shared: Mapping[str, Mapping[str, Value]],
    *,
    id: str,
    architecture: str,
    layers: int,
    heads: Sequence[int] = (),
    keys: Mapping[str, Value] | None = None,
    shares: Sequence[str] = (),
) -> GgufModel:
    found: dict[str, Value] = {
        "vocab_size": 32,
        "context_length": 131_072,
        "embedding_length": 64,
        "feed_forward_length": 32,
        "block_count": layers,
        "attention.layer_norm_rms_epsilon": 1e-5,
    }
    if heads:
        kv_heads, head_dim = heads
        found |= dict.fromkeys(("attention.head_count", "attention.head_count_kv"), kv_heads)
        found |= dict.fromkeys(("attention.key_length", "attention.value_length"), head_dim)
        found["rope.dimension_count"] = head_dim
        if architecture in HEADS_FILL_THE_EMBEDDING:
            found["embedding_length"] = kv_heads * head_dim
    found |= keys or {}
    for part in shares:
        found |= shared[part]
    return GgufModel(id, architecture, found)


def _read() -> dict[str, GgufModel]:
    path = Path(__file__).with_name("models.toml")
    tables: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    shared = tables.pop("shared")
    return {name: _model(shared, **entry) for name, entry in tables.items()}


MODELS = _read()
