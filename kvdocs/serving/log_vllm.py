"""What vLLM prints about its cache, in its old wordings and its new ones; metrics apart.

Data only. Files are those of the vLLM 0.33.0 wheel. V0 is the first engine, whose wordings were
read in public threads.
"""

from __future__ import annotations

from kvdocs.serving.log_phrase import ALL, RANK, REQUEST, Phrase, Quantity

GIB = Quantity("GiB", RANK)
# format_gib rounds to two places and then prints no trailing zeros: "7.0" is 7.00.
ROUNDED = Quantity("GiB", RANK, decimals=2)
TOKENS = Quantity("tokens", ALL)
BLOCKS = Quantity("blocks", RANK)
LENGTH = Quantity("tokens", REQUEST)
TIMES = Quantity("×", ALL, decimals=2)
SHARE = Quantity("share of a GPU", RANK)

MORE_ROOM = (
    "More room: a higher --gpu-memory-utilization, an fp8 cache (--kv-cache-dtype fp8), smaller "
    "weights, more GPUs, or a lower --max-model-len if no request is that long"
)

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
        "vllm.too_long",
        "vLLM",
        "V1, v1/core/kv_cache_planning.py:78",
        "KV cache is needed, which is larger",
        "max seq len ({length}), ({needed} GiB KV cache is needed, which is larger than the "
        "available KV cache memory ({available} GiB)",
        "The server did not start: one request of the full --max-model-len needs more than one GPU "
        "has left for the cache. Both figures are per GPU.",
        {"length": LENGTH, "needed": ROUNDED, "available": ROUNDED},
        MORE_ROOM,
        also=(
            r"max seq len \(<length>\),\s{1,4}\(?<needed> GiB KV\s{1,4}cache is\s{1,4}needed, "
            r"which is larger than the available KV cache\s{1,4}memory \(<available> GiB\)",
        ),
    ),
    Phrase(
        "vllm.longest",
        "vLLM",
        "V1, v1/core/kv_cache_planning.py:73",
        "estimated maximum model length",
        "the estimated maximum model length is {longest}",
        "The longest request for which that memory would do: the --max-model-len to start with.",
        {"longest": LENGTH},
    ),
    Phrase(
        "vllm.nothing_left",
        "vLLM",
        "V0 and V1, v1/core/kv_cache_planning.py:58",
        "No available memory for the cache blocks",
        "No available memory for the cache blocks",
        "The server did not start: weights and working memory fill the share of the GPU that "
        "--gpu-memory-utilization allows.",
        change="Raise --gpu-memory-utilization, or take smaller weights or more GPUs; a shorter "
        "--max-model-len frees nothing but a little working memory",
    ),
    Phrase(
        "vllm.too_long_v0",
        "vLLM",
        "V0, vllm#2418",
        "tokens that can be stored in KV cache",
        "max seq len ({length}) is larger than the maximum number of tokens that can be stored in "
        "KV cache ({tokens})",
        "The server did not start: the whole cache holds fewer tokens than one request may have.",
        {"length": LENGTH, "tokens": TOKENS},
        MORE_ROOM,
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
        "vllm.state_blocks",
        "vLLM",
        "V1, seen in 0.24.0",
        "exceeds available Mamba cache blocks",
        "max_num_seqs ({sequences}) exceeds available Mamba cache blocks ({blocks})",
        "Each running request needs a block for its recurrent state, whatever its length.",
        {"sequences": Quantity("requests", ALL), "blocks": BLOCKS},
        "Lower --max-num-seqs to the number of blocks, or make the cache larger",
    ),
    Phrase(
        "vllm.prompt_too_long",
        "vLLM",
        "V1, v1/engine/input_processor.py:590",
        "is longer than the maximum model length",
        "prompt (length {prompt}) is longer than the maximum model length of {length}",
        "One request was refused because of --max-model-len. The memory plays no part.",
        {"prompt": LENGTH, "length": LENGTH},
        "Raise --max-model-len, or shorten the prompt",
    ),
    Phrase(
        "vllm.fp8_refused",
        "vLLM",
        "V1, v1/attention/backends/triton_attn.py",
        "requires SM89+",
        "native FP8 (fp8e4nv) requires SM89+",
        "This GPU cannot hold an fp8 cache in vLLM: it is older than an A100.",
        change="Leave --kv-cache-dtype at auto on this card",
    ),
)
