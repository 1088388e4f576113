"""What vLLM prints about its cache at the start, in old wordings and new ones.

Errors and metrics have modules of their own.

Data only. Files are those of the vLLM 0.33.0 wheel. V0 is the first engine, whose wordings were
read in public threads.
"""

from __future__ import annotations

from kvdocs.logs.phrase import ALL, RANK, REQUEST, Phrase, Quantity

GIB = Quantity("GiB", RANK)
# format_gib rounds to two places and then prints no trailing zeros: "7.0" is 7.00.
ROUNDED = Quantity("GiB", RANK, decimals=2)
TOKENS = Quantity("tokens", ALL)
BLOCKS = Quantity("blocks", RANK)
LENGTH = Quantity("tokens", REQUEST)
TIMES = Quantity("×", ALL, decimals=2)
SHARE = Quantity("share of a GPU", RANK)

PHRASES = (
    Phrase(
        "vllm.available",
        "vLLM",
        "V1, v1/worker/gpu_worker.py:773",
        "Available KV cache memory",
        "Available KV cache memory: {memory} GiB",
        "What one GPU has left for the cache after weights, activations and CUDA graphs.",
        {"memory": ROUNDED},
    ),
    Phrase(
        "vllm.reserved",
        "vLLM",
        "V1, v1/worker/gpu_worker.py:666",
        "memory for KV Cache as specified",
        "reserved {memory} GiB memory for KV Cache as specified by kv_cache_memory_bytes",
        "What one GPU gives to the cache because --kv-cache-memory-bytes says so; the utilization "
        "plays no part.",
        {"memory": ROUNDED},
    ),
    Phrase(
        "vllm.capacity",
        "vLLM",
        "V1 since February 2025 (vllm#13596), v1/core/kv_cache_utils.py:1147",
        "KV cache size: ",
        "KV cache size: {tokens} tokens",
        "How many tokens the cache holds over all requests. Each GPU holds its share of the heads "
        "of these same tokens, so it is not to be multiplied by the number of GPUs. In 0.33 it is "
        "the concurrency below times the longest request, which for models with windows or states "
        "is not blocks times block size.",
        {"tokens": TOKENS},
    ),
    Phrase(
        "vllm.concurrency",
        "vLLM",
        "V0 and V1, v1/core/kv_cache_utils.py:1147",
        "Maximum concurrency for",
        "Maximum concurrency for {length} tokens per request: {concurrency}x",
        "How many requests of the full --max-model-len fit at once. Shorter requests fit in "
        "greater number: it is the worst case, not a limit.",
        {"length": LENGTH, "concurrency": TIMES},
    ),
    Phrase(
        "vllm.blocks",
        "vLLM",
        "V0, and V1 before February 2025 (vllm#13596)",
        "GPU blocks: |cuda blocks: |CUDA blocks: ",
        "GPU blocks: {blocks}",
        "Blocks, not tokens: times the block size, 16 unless it was changed.",
        {"blocks": BLOCKS},
        also=(r"(?<!\w)(?:cuda|CUDA) blocks: <blocks>",),
    ),
    Phrase(
        "vllm.blocks_config",
        "vLLM",
        "V1, v1/metrics/loggers.py:351",
        "after num_gpu_blocks is",
        "vllm cache_config_info with initialization after num_gpu_blocks is: {blocks}",
        "Blocks of the pool. For models with windows or states a block belongs to one group of "
        "layers, and blocks times 16 is not the number of tokens.",
        {"blocks": BLOCKS},
    ),
    Phrase(
        "vllm.override",
        "vLLM",
        "V0 and V1, v1/core/kv_cache_planning.py:1526",
        "with num_gpu_blocks_override",
        "Overriding num_gpu_blocks={profiled} with num_gpu_blocks_override={override}",
        "The blocks that the memory of one GPU has room for, and the number that "
        "--num-gpu-blocks-override puts in its place: the pool has so many, whatever the memory.",
        {"profiled": BLOCKS, "override": BLOCKS},
        "Start without --num-gpu-blocks-override to use all the memory",
    ),
    Phrase(
        "vllm.profile_v0",
        "vLLM",
        "V0 from December 2024 on, worker.py:267",
        "the rest of the memory reserved for KV Cache",
        "model weights take {weights}GiB; non_torch_memory takes {other}GiB; PyTorch activation "
        "peak memory takes {activation}GiB; the rest of the memory reserved for KV Cache is "
        "{memory}GiB",
        "How one GPU's share is spent. The activation peak is that of a trial run and grows with "
        "--max-num-batched-tokens, in V0 also with --max-model-len.",
        {"weights": GIB, "other": GIB, "activation": GIB, "memory": GIB},
    ),
    Phrase(
        "vllm.rest_v0",
        "vLLM",
        "V0 from December 2024 on, the same line cut short; vllm#10511",
        "reserved for KV Cache",
        "reserved for KV Cache is {memory}GiB",
        "What one GPU has left for the cache.",
        {"memory": GIB},
        also=(r"available_kv_cache_memory\s{1,12}<memory>GiB",),
    ),
    Phrase(
        "vllm.budget_v0",
        "vLLM",
        "V0 from December 2024 on, worker.py:267",
        "the current vLLM instance can use",
        "the current vLLM instance can use total_gpu_memory ({total}GiB) x gpu_memory_utilization "
        "({share}) = {budget}GiB",
        "The share of one GPU that everything together may take: weights, activations, cache.",
        {"total": GIB, "share": SHARE, "budget": GIB},
    ),
    Phrase(
        "vllm.profile_early_v0",
        "vLLM",
        "V0 before December 2024, vllm#10517",
        "kv_cache_size=",
        "kv_cache_size={memory}GiB gpu_memory_utilization={share}",
        "What one GPU has left for the cache.",
        {"memory": GIB, "share": SHARE},
    ),
    Phrase(
        "vllm.weights",
        "vLLM",
        "V1, v1/worker/gpu_model_runner.py:5089; V0 said GB and meant GiB",
        "loading took |weights took ",
        "Model loading took {weights} GiB memory",
        "Weights on one GPU.",
        {"weights": ROUNDED},
        also=(r"(?:Model loading|Loading model weights) took <weights> Gi?B",),
    ),
    Phrase(
        "vllm.attention_block",
        "vLLM",
        "V1, platforms/interface.py:1109",
        "Setting attention block size to",
        "Setting attention block size to {block_size} tokens",
        "A hybrid model: the block grew until it is at least as large as one recurrent state. A "
        "request takes whole blocks of this size.",
        {"block_size": Quantity("tokens", "one block")},
    ),
    Phrase(
        "vllm.state_padding",
        "vLLM",
        "V1, platforms/interface.py:1133",
        "Padding mamba page size by",
        "Padding mamba page size by {padding}%",
        "What each recurrent state is padded by, so that state and block are of one size.",
        {"padding": Quantity("%", "one block")},
    ),
    Phrase(
        "vllm.padding_layers",
        "vLLM",
        "V1, v1/core/kv_cache_planning.py:538",
        "padding layers, may waste",
        "Add {layers} padding layers, may waste at most {padding}% KV cache memory",
        "Groups of layers must be of one size; the last one is filled with layers that hold "
        "nothing.",
        {"layers": Quantity("layers", RANK), "padding": Quantity("%", RANK)},
    ),
    Phrase(
        "vllm.spent",
        "vLLM",
        "V1, v1/worker/gpu_worker.py:1050; in 2025 weights and non-torch memory apart",
        "Actual usage is",
        "Actual usage is {consumed} GiB for consumed memory (weights + non-torch), {peak} GiB for "
        "peak activation, and {graphs} GiB for CUDAGraph memory",
        "What one GPU holds beside the cache, measured after the start. Weights and non-torch "
        "memory are one figure in newer releases.",
        {"consumed": ROUNDED, "peak": ROUNDED, "non_torch": ROUNDED, "graphs": ROUNDED},
        also=(
            r"Actual usage is <consumed> GiB for weight, <peak> GiB for peak activation, "
            r"<non_torch> GiB for non-torch memory, and <graphs> GiB for CUDAGraph memory",
        ),
    ),
)
