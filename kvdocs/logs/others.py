"""What TensorRT-LLM, transformers, LMDeploy and PyTorch print about memory.

Data only, read in public repositories and threads and in the reports of ``reports.toml``. ``ANY``
is what people and calculators write: a size per token, or for so many.
"""

from __future__ import annotations

from kvdocs.logs.phrase import ALL, RANK, REQUEST, SEQUENCE, TOKEN, Phrase, Quantity

GIB = Quantity("GiB", RANK)
TOKENS = Quantity("tokens", ALL)
SEQUENCES = Quantity("sequences", ALL)

OTHERS = (
    Phrase(
        "trtllm.bytes",
        "TensorRT-LLM",
        "0.8, TensorRT-LLM#1400",
        "bytes for k/v cache",
        "Allocate {memory} bytes for k/v cache",
        "The pool on one GPU: the free memory times kv_cache_free_gpu_memory_fraction, whatever "
        "the longest request needs.",
        {"memory": Quantity("bytes", RANK)},
        "To hold less, set max_tokens_in_paged_kv_cache or a lower "
        "kv_cache_free_gpu_memory_fraction",
    ),
    Phrase(
        "trtllm.tokens",
        "TensorRT-LLM",
        "0.8, TensorRT-LLM#1400",
        "tokens in paged KV cache",
        "Using {tokens} tokens in paged KV cache",
        "How many tokens that pool holds; it is rounded up to whole blocks when it is allocated.",
        {"tokens": TOKENS},
        also=(r"Using <tokens> (?:total )?tokens in paged KV cache",),
    ),
    Phrase(
        "trtllm.allocated",
        "TensorRT-LLM",
        "later releases, the [MemUsageChange] lines; seen in logs of 2025",
        "for max tokens in paged KV cache",
        "Allocated {memory} GiB for max tokens in paged KV cache ({tokens})",
        "The pool on one GPU, and the tokens it holds.",
        {"memory": GIB, "tokens": TOKENS},
        "To hold less, set max_tokens or a lower free_gpu_memory_fraction in the KV cache config",
    ),
    Phrase(
        "trtllm.free",
        "TensorRT-LLM",
        "0.9 and later, batch_manager/kvCacheManager.cpp; TensorRT-LLM#2268",
        "calculating max tokens in paged kv cache",
        "Memory usage when calculating max tokens in paged kv cache: total: {card} GiB, "
        "available: {free} GiB",
        "What one GPU has in all, and what is free before the cache is allocated. The pool takes "
        "free_gpu_memory_fraction of the free part, 0.9 unless it was changed.",
        {"card": GIB, "free": GIB},
    ),
    Phrase(
        "trtllm.profile",
        "TensorRT-LLM",
        "1.0 and later, tensorrt_llm/_torch/pyexecutor/_util.py; earlier without the last part",
        "available KV cache memory when calculating max tokens",
        "Peak memory during memory usage profiling (torch + non-torch): {peak} GiB, available KV "
        "cache memory when calculating max tokens: {memory} GiB, fraction is set {share_of_free}, "
        "kv size is {token_size}",
        "The peak of a trial run on one GPU, what is left for the cache times the fraction, and "
        "the bytes of one token on this GPU.",
        {
            "peak": GIB,
            "memory": GIB,
            "share_of_free": Quantity("share of the free memory", RANK),
            "token_size": Quantity("bytes", TOKEN),
        },
        also=(
            r"Peak memory during memory usage profiling \(torch \+ non-torch\): <peak> GiB, "
            r"available KV cache memory when calculating max tokens: <memory> GiB"
            r"(?:, fraction is set <share_of_free>, kv size (?:per token )?is <token_size>)?",
        ),
    ),
    Phrase(
        "trtllm.blocks",
        "TensorRT-LLM",
        "0.9 to 0.20, batch_manager/kvCacheManager.cpp; TensorRT-LLM#2268",
        "KV cache primary pool: |primary blocks=",
        "Number of blocks in KV cache primary pool: {pool_blocks}",
        "Blocks on one GPU; times the tokens per block they are the tokens of the pool.",
        {"pool_blocks": Quantity("blocks", RANK)},
        also=(r"primary blocks=<pool_blocks>",),
    ),
    Phrase(
        "trtllm.block",
        "TensorRT-LLM",
        "0.9 and later, batch_manager/kvCacheManager.cpp",
        "Number of tokens per block: ",
        "Number of tokens per block: {per_block}",
        "Tokens of one block: a request takes whole ones.",
        {"per_block": Quantity("tokens", "one block")},
    ),
    Phrase(
        "trtllm.one_sequence",
        "TensorRT-LLM",
        "0.6 to 0.12, batch_manager/kvCacheManager.cpp; tensorrtllm_backend#366",
        "must be large enough to process at least 1 sequence",
        "maxTokensInPagedKvCache ({tokens}) must be large enough to process at least 1 sequence",
        "The server did not start: the pool holds fewer tokens than one sequence of the length the "
        "engine was built for.",
        {"tokens": TOKENS},
        "Build with a lower --max_seq_len, or give the pool more: a higher "
        "kv_cache_free_gpu_mem_fraction, smaller weights, more GPUs",
        also=(r"maxTokensInPagedKvCache must be large enough to process at least 1 sequence",),
    ),
    Phrase(
        "trtllm.reduced",
        "TensorRT-LLM",
        "0.13 to 0.20, batch_manager",
        "for at least one sequence to fit in kvCache",
        "maxAttentionWindow and maxSequenceLen are too large for at least one sequence to fit in "
        "kvCache. they are reduced to {longest}",
        "The whole pool holds this many tokens; longer requests are refused.",
        {"longest": Quantity("tokens", REQUEST)},
        "Raise free_gpu_memory_fraction, or take smaller weights or more GPUs",
    ),
    Phrase(
        "trtllm.out_of_memory",
        "TensorRT-LLM",
        "0.5 and later, runtime/tllmBuffers.h; TensorRT-LLM#401",
        "CUDA runtime error in",
        "CUDA runtime error in ::cudaMalloc(ptr, n): out of memory",
        "An allocation found no free memory on the GPU: the pool took what the rest needs, or the "
        "weights leave nothing.",
        change="Lower free_gpu_memory_fraction, so that the cache leaves more to the rest",
        also=(r"CUDA runtime error in ::cudaMalloc[^\n]{0,120}?: out of memory",),
    ),
    Phrase(
        "transformers.paged",
        "transformers",
        "releases of 2025; gone in 5.24.0",
        "self.num_blocks = ",
        "self.num_blocks = {blocks}, self.block_size = {block_size}",
        "The pool of continuous batching, in blocks of so many tokens.",
        {"blocks": Quantity("blocks", RANK), "block_size": Quantity("tokens", "one block")},
    ),
    Phrase(
        "lmdeploy.truncated",
        "LMDeploy",
        "TurboMind, lmdeploy#4366",
        "due to limited KV cache memory",
        "session_len truncated to {longest} due to limited KV cache memory",
        "The whole pool holds this many tokens; longer requests are cut.",
        {"longest": Quantity("tokens", REQUEST)},
        "Raise cache_max_entry_count, or find out what the engine believes a token to cost",
        also=(r"`session_len` truncated to <longest> due to limited KV cache memory",),
    ),
    Phrase(
        "quant.kv_cache",
        "ModelOpt",
        "hf_quant_config.json, beside config.json",
        "kv_cache_quant_algo",
        '"kv_cache_quant_algo": "{kv_dtype}"',
        "The checkpoint asks for a cache in this format, in a file that config.json does not "
        "mention. vLLM reads it since the end of 2025; earlier releases kept sixteen bits.",
    ),
)

_RATE = {
    "bytes": Quantity("bytes", TOKEN, decimals=0),
    **{unit: Quantity(unit, TOKEN) for unit in ("kB", "KiB", "MB", "MiB")},
}

PYTORCH = (
    *(
        Phrase(
            f"pytorch.out_of_memory.{unit}",
            "PyTorch",
            "c10/cuda/CUDACachingAllocator.cpp; vllm#783, vllm#15598",
            "out of memory. Tried to allocate",
            f"CUDA out of memory. Tried to allocate {{wanted}} {unit}",
            "One allocation found no room on the GPU. It is the last one, not the cache: engines "
            "allocate the cache once, at the start.",
            {"wanted": Quantity(unit, RANK)},
            "At the start: lower --gpu-memory-utilization (SGLang: --mem-fraction-static), which "
            "shrinks the cache and leaves more to the rest, or stop other processes on this GPU. "
            "While serving: lower --max-num-batched-tokens or --max-num-seqs (SGLang: "
            "--chunked-prefill-size, --max-running-requests)",
            also=(rf"(?:CUDA|HIP|XPU) out of memory\. Tried to allocate <wanted> {unit}",),
        )
        for unit in ("GiB", "MiB", "KiB")
    ),
    *(
        Phrase(
            f"pytorch.free.{unit}",
            "PyTorch",
            "c10/cuda/CUDACachingAllocator.cpp; until 2.1 in another order; vllm#783, vllm#15598",
            "total capac",
            f"total capacity of {{capacity}} GiB of which {{free}} {unit} is free",
            "What this GPU has in all, and what is free of it, counting every process.",
            {"capacity": Quantity("GiB", RANK), "free": Quantity(unit, RANK)},
            also=(
                rf"total capac(?:it|t)y of <capacity> GiB of which <free> {unit} is free",
                rf"<capacity> GiB total capacity;[^\n;]{{1,60}}; <free> {unit} free",
            ),
        )
        for unit in ("GiB", "MiB", "KiB", "bytes")
    ),
)

ANY = (
    *(
        Phrase(
            f"any.per_token.{unit}",
            "a calculation",
            "as people and calculators write it",
            "/token|/ token|per token",
            f"{{rate}} {unit} per token",
            "What somebody says one token takes.",
            {"rate": _RATE[unit]},
            also=(rf"(?<![\w.])<rate> ?{written} ?(?:/|per ) ?token",),
        )
        for unit, written in {
            "bytes": r"(?:[Bb]ytes?|B)",
            "kB": "[kK]B",
            "KiB": "KiB",
            "MB": "MB",
            "MiB": "MiB",
        }.items()
    ),
    *(
        Phrase(
            f"any.for_tokens.{unit}",
            "a calculation",
            "as people and calculators write it",
            f"{unit} for |{unit} at ",
            f"{{claimed}} {unit} for {{count}} tokens x {{times}} sequences",
            "What somebody says the caches of so many tokens take.",
            {
                "claimed": Quantity(unit, ALL),
                "count": Quantity("tokens", SEQUENCE),
                "times": SEQUENCES,
            },
            also=(
                rf"(?<![\w.])<claimed> ?{unit} (?:for|at) <count> tokens"
                rf"(?: (?:x|×) <times> sequences)?",
            ),
        )
        for unit in ("bytes", "MB", "MiB", "GB", "GiB")
    ),
    Phrase(
        "any.for_thousands",
        "a calculation",
        "as people write it",
        "K tokens",
        "{claimed} GiB for {count}K tokens",
        "What somebody says the caches of so many tokens take.",
        {"claimed": Quantity("GiB", ALL), "count": Quantity("thousand tokens", SEQUENCE)},
        also=(r"(?<![\w.])<claimed> ?Gi?B (?:for|at) <count> ?K tokens",),
    ),
    Phrase(
        "any.per_block",
        "a calculation",
        "as people and calculators write it",
        "/block",
        "{block_memory} MB/block of {block_size} tokens",
        "What somebody says a block of so many tokens takes.",
        {
            "block_memory": Quantity("MB", "one block"),
            "block_size": Quantity("tokens", "one block"),
        },
        also=(r"(?<![\w.])<block_memory> ?MB ?/ ?block of <block_size> tokens",),
    ),
)
