"""Published models as GGUF metadata: what decides their caches, and next to nothing else.

Layers, KV heads, head_dim, windows and states are the published ones. The embedding is 64 wide
where the architecture leaves that open, there are as many attention heads as KV heads, and the
vocabulary has 32 tokens, so that a model takes little more memory than its cache.
Keys are those of GGUF, after the architecture's name (gguf-py/gguf/constants.py in llama.cpp).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kvdocs.evidence.llama_cpp.library import Value

HEADS_FILL_THE_EMBEDDING = ("olmo2", "phi3", "qwen2")  # embedding = heads times head_dim


@dataclass(frozen=True)
class GgufModel:
    """``id`` is the published model's, empty for one that is made up."""

    id: str
    architecture: str
    metadata: Mapping[str, Value]


def _model(id: str, architecture: str, layers: int, keys: Mapping[str, Value]) -> GgufModel:
    metadata: dict[str, Value] = {
        "vocab_size": 32,
        "context_length": 131_072,
        "embedding_length": 64,
        "feed_forward_length": 32,
        "block_count": layers,
        "attention.layer_norm_rms_epsilon": 1e-5,
    }
    return GgufModel(id, architecture, metadata | dict(keys))


def _attention(
    id: str,
    architecture: str,
    layers: int,
    kv_heads: int,
    head_dim: int,
    keys: Mapping[str, Value] | None = None,
) -> GgufModel:
    own: dict[str, Value] = {
        "attention.head_count": kv_heads,
        "attention.head_count_kv": kv_heads,
        "attention.key_length": head_dim,
        "attention.value_length": head_dim,
        "rope.dimension_count": head_dim,
    }
    if architecture in HEADS_FILL_THE_EMBEDDING:
        own["embedding_length"] = kv_heads * head_dim
    return _model(id, architecture, layers, own | dict(keys or {}))


WINDOW = "attention.sliding_window"
EXPERTS: dict[str, Value] = {
    "expert_count": 2,
    "expert_used_count": 2,
    "expert_feed_forward_length": 32,
    "expert_shared_count": 1,
    "expert_gating_func": 2,
}
LATENT: dict[str, Value] = {
    "attention.head_count": 4,
    "attention.head_count_kv": 1,
    "attention.key_length": 512 + 64,
    "attention.value_length": 512,
    "attention.key_length_mla": 192,
    "attention.value_length_mla": 128,
    "attention.kv_lora_rank": 512,
    "attention.q_lora_rank": 32,
    "rope.dimension_count": 64,
    "leading_dense_block_count": 61,
}
INDEX: dict[str, Value] = {
    "attention.indexer.head_count": 2,
    "attention.indexer.key_length": 128,
    "attention.indexer.top_k": 2048,
}

QWEN_05B = _attention("Qwen/Qwen2.5-0.5B-Instruct", "qwen2", 24, 2, 64)
QWEN_7B = _attention("Qwen/Qwen2.5-7B-Instruct", "qwen2", 28, 4, 128)
LLAMA_8B = _attention("meta-llama/Llama-3.1-8B-Instruct", "llama", 32, 8, 128)

GEMMA_2 = _attention("google/gemma-2-9b", "gemma2", 42, 8, 256, {WINDOW: 4096})
GEMMA_3 = _attention("google/gemma-3-27b-it", "gemma3", 62, 16, 128, {WINDOW: 1024})
GPT_OSS = _attention("openai/gpt-oss-20b", "gpt-oss", 24, 8, 64, {WINDOW: 128} | EXPERTS)
OLMO_3 = _attention("allenai/Olmo-3-7B-Instruct", "olmo2", 32, 32, 128, {WINDOW: 4096})
PHI_3 = _attention("microsoft/Phi-3-mini-4k-instruct", "phi3", 32, 32, 96, {WINDOW: 2047})
MISTRAL = _attention("mistralai/Mistral-7B-v0.1", "llama", 32, 8, 128, {WINDOW: 4096})
LLAMA_4 = _attention(
    "meta-llama/Llama-4-Scout-17B-16E-Instruct",
    "llama4",
    48,
    8,
    128,
    {"interleave_moe_layer_step": 1} | EXPERTS,
)
GEMMA_3N = _attention(
    "google/gemma-3n-E4B-it",
    "gemma3n",
    35,
    2,
    256,
    {WINDOW: 512, "embedding_length_per_layer_input": 32, "attention.shared_kv_layers": 15},
)
GEMMA_4 = _attention(
    "google/gemma-4-E2B",
    "gemma4",
    35,
    1,
    512,
    {
        WINDOW: 512,
        "embedding_length_per_layer_input": 32,
        "attention.shared_kv_layers": 20,
        "attention.sliding_window_pattern": [True, True, True, True, False] * 7,
        "attention.key_length_swa": 256,
        "attention.value_length_swa": 256,
    },
)

DEEPSEEK_V3 = _model("deepseek-ai/DeepSeek-V3", "deepseek2", 61, LATENT | EXPERTS)
DEEPSEEK_V32 = _model("deepseek-ai/DeepSeek-V3.2", "deepseek32", 61, LATENT | EXPERTS | INDEX)

QWEN_35 = _attention(
    "Qwen/Qwen3.5-27B",
    "qwen35",
    64,
    4,
    256,
    {
        "full_attention_interval": 4,
        "rope.dimension_sections": [11, 11, 10, 0],
        "ssm.conv_kernel": 4,
        "ssm.inner_size": 48 * 128,
        "ssm.state_size": 128,
        "ssm.time_step_rank": 48,
        "ssm.group_count": 16,
    },
)
GRANITE_4 = _attention(
    "ibm-granite/granite-4.0-h-tiny",
    "granitehybrid",
    40,
    4,
    128,
    {
        "embedding_length": 1536,
        "attention.head_count_kv": [4 if i in (5, 15, 25, 35) else 0 for i in range(40)],
        "ssm.conv_kernel": 4,
        "ssm.inner_size": 48 * 64,
        "ssm.state_size": 128,
        "ssm.time_step_rank": 48,
        "ssm.group_count": 1,
    },
)
QWEN_3_NEXT = _attention(
    "Qwen/Qwen3-Next-80B-A3B-Instruct",
    "qwen3next",
    48,
    2,
    256,
    {
        "full_attention_interval": 4,
        "expert_shared_feed_forward_length": 32,
        "ssm.conv_kernel": 4,
        "ssm.inner_size": 32 * 128,
        "ssm.state_size": 128,
        "ssm.time_step_rank": 32,
        "ssm.group_count": 16,
    }
    | EXPERTS,
)
ODD_HEAD_DIM = _attention("", "llama", 2, 2, 80)  # which blocks of 32 do not divide
