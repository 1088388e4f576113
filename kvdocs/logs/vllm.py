"""What vLLM prints about its cache at the start, in old wordings and new ones.

Errors and metrics have modules of their own.

Data only. Files are those of the vLLM 0.33.0 wheel. V0 is the first engine, whose wordings were
read in public threads.
"""

from __future__ import annotations

from functools import partial

from kvdocs.logs.number import Number
from kvdocs.logs.phrase import ALL, RANK, REQUEST, Phrase, Quantity

GIB = Quantity("GiB", RANK)
# format_gib rounds to two places and then prints no trailing zeros: "7.0" is 7.00.
ROUNDED = Quantity("GiB", RANK, decimals=2)
TOKENS = Quantity("tokens", ALL)
BLOCKS = Quantity("blocks", RANK)
LENGTH = Quantity("tokens", REQUEST)
TIMES = Quantity("×", ALL, decimals=2)
SHARE = Quantity("share of a GPU", RANK)

_phrase = partial(Phrase, engine="vLLM")

PHRASES = (
    _phrase(
        key="vllm.available",
        wording="V1, v1/worker/gpu_worker.py:773",
        hint="Available KV cache memory",
        text="Available KV cache memory: {memory} GiB",
        means="What one GPU has left for the cache after weights, activations and CUDA graphs.",
        numbers={Number.MEMORY: ROUNDED},
    ),
    _phrase(
        key="vllm.reserved",
        wording="V1, v1/worker/gpu_worker.py:666",
        hint="memory for KV Cache as specified",
        text="reserved {memory} GiB memory for KV Cache as specified by kv_cache_memory_bytes",
        means="What one GPU gives to the cache because --kv-cache-memory-bytes says so; the "
        "utilization plays no part.",
        numbers={Number.MEMORY: ROUNDED},
    ),
    _phrase(
        key="vllm.capacity",
        wording="V1 since February 2025 (vllm#13596), v1/core/kv_cache_utils.py:1147",
        hint="KV cache size: ",
        text="KV cache size: {tokens} tokens",
        means="How many tokens the cache holds over all requests. Each GPU holds its share of the "
        "heads of these same tokens, so it is not to be multiplied by the number of GPUs. In 0.33 "
        "it is the concurrency below times the longest request, which for models with windows or "
        "states is not blocks times block size.",
        numbers={Number.TOKENS: TOKENS},
    ),
    _phrase(
        key="vllm.concurrency",
        wording="V0 and V1, v1/core/kv_cache_utils.py:1147",
        hint="Maximum concurrency for",
        text="Maximum concurrency for {length} tokens per request: {concurrency}x",
        means="How many requests of the full --max-model-len fit at once. Shorter requests fit in "
        "greater number: it is the worst case, not a limit.",
        numbers={Number.LENGTH: LENGTH, Number.CONCURRENCY: TIMES},
    ),
    _phrase(
        key="vllm.blocks",
        wording="V0, and V1 before February 2025 (vllm#13596)",
        hint="GPU blocks: |cuda blocks: |CUDA blocks: ",
        text="GPU blocks: {blocks}",
        means="Blocks, not tokens: times the block size, 16 unless it was changed.",
        numbers={Number.BLOCKS: BLOCKS},
        also=(r"(?<!\w)(?:cuda|CUDA) blocks: <blocks>",),
    ),
    _phrase(
        key="vllm.blocks_config",
        wording="V1, v1/metrics/loggers.py:351",
        hint="after num_gpu_blocks is",
        text="vllm cache_config_info with initialization after num_gpu_blocks is: {blocks}",
        means="Blocks of the pool. For models with windows or states a block belongs to one group "
        "of layers, and blocks times 16 is not the number of tokens.",
        numbers={Number.BLOCKS: BLOCKS},
    ),
    _phrase(
        key="vllm.override",
        wording="V0 and V1, v1/core/kv_cache_planning.py:1526",
        hint="with num_gpu_blocks_override",
        text="Overriding num_gpu_blocks={profiled} with num_gpu_blocks_override={override}",
        means="The blocks that the memory of one GPU has room for, and the number that "
        "--num-gpu-blocks-override puts in its place: the pool has so many, whatever the memory.",
        numbers={Number.PROFILED: BLOCKS, Number.OVERRIDE: BLOCKS},
        change="Start without --num-gpu-blocks-override to use all the memory",
    ),
    _phrase(
        key="vllm.profile_v0",
        wording="V0 from December 2024 on, worker.py:267",
        hint="the rest of the memory reserved for KV Cache",
        text="model weights take {weights}GiB; non_torch_memory takes {other}GiB; PyTorch "
        "activation peak memory takes {activation}GiB; the rest of the memory reserved for KV "
        "Cache is {memory}GiB",
        means="How one GPU's share is spent. The activation peak is that of a trial run and grows "
        "with --max-num-batched-tokens, in V0 also with --max-model-len.",
        numbers={
            Number.WEIGHTS: GIB,
            Number.OTHER: GIB,
            Number.ACTIVATION: GIB,
            Number.MEMORY: GIB,
        },
    ),
    _phrase(
        key="vllm.rest_v0",
        wording="V0 from December 2024 on, the same line cut short; vllm#10511",
        hint="reserved for KV Cache",
        text="reserved for KV Cache is {memory}GiB",
        means="What one GPU has left for the cache.",
        numbers={Number.MEMORY: GIB},
        also=(r"available_kv_cache_memory\s{1,12}<memory>GiB",),
    ),
    _phrase(
        key="vllm.budget_v0",
        wording="V0 from December 2024 on, worker.py:267",
        hint="the current vLLM instance can use",
        text="the current vLLM instance can use total_gpu_memory ({total}GiB) x "
        "gpu_memory_utilization ({share}) = {budget}GiB",
        means="The share of one GPU that everything together may take: weights, activations, "
        "cache.",
        numbers={Number.TOTAL: GIB, Number.SHARE: SHARE, Number.BUDGET: GIB},
    ),
    _phrase(
        key="vllm.profile_early_v0",
        wording="V0 before December 2024, vllm#10517",
        hint="kv_cache_size=",
        text="kv_cache_size={memory}GiB gpu_memory_utilization={share}",
        means="What one GPU has left for the cache.",
        numbers={Number.MEMORY: GIB, Number.SHARE: SHARE},
    ),
    _phrase(
        key="vllm.weights",
        wording="V1, v1/worker/gpu_model_runner.py:5089; V0 said GB and meant GiB",
        hint="loading took |weights took ",
        text="Model loading took {weights} GiB memory",
        means="Weights on one GPU.",
        numbers={Number.WEIGHTS: ROUNDED},
        also=(r"(?:Model loading|Loading model weights) took <weights> Gi?B",),
    ),
    _phrase(
        key="vllm.attention_block",
        wording="V1, platforms/interface.py:1109",
        hint="Setting attention block size to",
        text="Setting attention block size to {block_size} tokens",
        means="A hybrid model: the block grew until it is at least as large as one recurrent "
        "state. A request takes whole blocks of this size.",
        numbers={Number.BLOCK_SIZE: Quantity("tokens", "one block")},
    ),
    _phrase(
        key="vllm.state_padding",
        wording="V1, platforms/interface.py:1133",
        hint="Padding mamba page size by",
        text="Padding mamba page size by {padding}%",
        means="What each recurrent state is padded by, so that state and block are of one size.",
        numbers={Number.PADDING: Quantity("%", "one block")},
    ),
    _phrase(
        key="vllm.padding_layers",
        wording="V1, v1/core/kv_cache_planning.py:538",
        hint="padding layers, may waste",
        text="Add {layers} padding layers, may waste at most {padding}% KV cache memory",
        means="Groups of layers must be of one size; the last one is filled with layers that hold "
        "nothing.",
        numbers={Number.LAYERS: Quantity("layers", RANK), Number.PADDING: Quantity("%", RANK)},
    ),
    _phrase(
        key="vllm.spent",
        wording="V1, v1/worker/gpu_worker.py:1050; in 2025 weights and non-torch memory apart",
        hint="Actual usage is",
        text="Actual usage is {consumed} GiB for consumed memory (weights + non-torch), {peak} "
        "GiB for peak activation, and {graphs} GiB for CUDAGraph memory",
        means="What one GPU holds beside the cache, measured after the start. Weights and "
        "non-torch memory are one figure in newer releases.",
        numbers={
            Number.CONSUMED: ROUNDED,
            Number.PEAK: ROUNDED,
            Number.NON_TORCH: ROUNDED,
            Number.GRAPHS: ROUNDED,
        },
        also=(
            r"Actual usage is <consumed> GiB for weight, <peak> GiB for peak activation, "
            r"<non_torch> GiB for non-torch memory, and <graphs> GiB for CUDAGraph memory",
        ),
    ),
)
