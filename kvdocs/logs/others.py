"""What TensorRT-LLM, transformers, LMDeploy and PyTorch print about memory.

Data only, read in public repositories and threads and in the reports of ``reports.toml``. ``ANY``
is what people and calculators write: a size per token, or for so many.
"""

from __future__ import annotations

from kvdocs.logs.number import Number
from kvdocs.logs.phrase import ALL, RANK, REQUEST, SEQUENCE, TOKEN, Phrase, Quantity

GIB = Quantity("GiB", RANK)
TOKENS = Quantity("tokens", ALL)
SEQUENCES = Quantity("sequences", ALL)

OTHERS = (
    Phrase(
        key="trtllm.bytes",
        engine="TensorRT-LLM",
        wording="0.8, TensorRT-LLM#1400",
        hint="bytes for k/v cache",
        text="Allocate {memory} bytes for k/v cache",
        means="The pool on one GPU: the free memory times kv_cache_free_gpu_memory_fraction, "
        "whatever the longest request needs.",
        numbers={Number.MEMORY: Quantity("bytes", RANK)},
        change="To hold less, set max_tokens_in_paged_kv_cache or a lower "
        "kv_cache_free_gpu_memory_fraction",
    ),
    Phrase(
        key="trtllm.tokens",
        engine="TensorRT-LLM",
        wording="0.8, TensorRT-LLM#1400",
        hint="tokens in paged KV cache",
        text="Using {tokens} tokens in paged KV cache",
        means="How many tokens that pool holds; it is rounded up to whole blocks when it is "
        "allocated.",
        numbers={Number.TOKENS: TOKENS},
        also=(r"Using <tokens> (?:total )?tokens in paged KV cache",),
    ),
    Phrase(
        key="trtllm.allocated",
        engine="TensorRT-LLM",
        wording="later releases, the [MemUsageChange] lines; seen in logs of 2025",
        hint="for max tokens in paged KV cache",
        text="Allocated {memory} GiB for max tokens in paged KV cache ({tokens})",
        means="The pool on one GPU, and the tokens it holds.",
        numbers={Number.MEMORY: GIB, Number.TOKENS: TOKENS},
        change="To hold less, set max_tokens or a lower free_gpu_memory_fraction in the KV cache "
        "config",
    ),
    Phrase(
        key="trtllm.free",
        engine="TensorRT-LLM",
        wording="0.9 and later, batch_manager/kvCacheManager.cpp; TensorRT-LLM#2268",
        hint="calculating max tokens in paged kv cache",
        text="Memory usage when calculating max tokens in paged kv cache: total: {card} GiB, "
        "available: {free} GiB",
        means="What one GPU has in all, and what is free before the cache is allocated. The pool "
        "takes free_gpu_memory_fraction of the free part, 0.9 unless it was changed.",
        numbers={Number.CARD: GIB, Number.FREE: GIB},
    ),
    Phrase(
        key="trtllm.profile",
        engine="TensorRT-LLM",
        wording="1.0 and later, tensorrt_llm/_torch/pyexecutor/_util.py; earlier without the last "
        "part",
        hint="available KV cache memory when calculating max tokens",
        text="Peak memory during memory usage profiling (torch + non-torch): {peak} GiB, "
        "available KV cache memory when calculating max tokens: {memory} GiB, fraction is set "
        "{share_of_free}, kv size is {token_size}",
        means="The peak of a trial run on one GPU, what is left for the cache times the fraction, "
        "and the bytes of one token on this GPU.",
        numbers={
            Number.PEAK: GIB,
            Number.MEMORY: GIB,
            Number.SHARE_OF_FREE: Quantity("share of the free memory", RANK),
            Number.TOKEN_SIZE: Quantity("bytes", TOKEN),
        },
        also=(
            r"Peak memory during memory usage profiling \(torch \+ non-torch\): <peak> GiB, "
            r"available KV cache memory when calculating max tokens: <memory> GiB"
            r"(?:, fraction is set <share_of_free>, kv size (?:per token )?is <token_size>)?",
        ),
    ),
    Phrase(
        key="trtllm.blocks",
        engine="TensorRT-LLM",
        wording="0.9 to 0.20, batch_manager/kvCacheManager.cpp; TensorRT-LLM#2268",
        hint="KV cache primary pool: |primary blocks=",
        text="Number of blocks in KV cache primary pool: {pool_blocks}",
        means="Blocks on one GPU; times the tokens per block they are the tokens of the pool.",
        numbers={Number.POOL_BLOCKS: Quantity("blocks", RANK)},
        also=(r"primary blocks=<pool_blocks>",),
    ),
    Phrase(
        key="trtllm.block",
        engine="TensorRT-LLM",
        wording="0.9 and later, batch_manager/kvCacheManager.cpp",
        hint="Number of tokens per block: ",
        text="Number of tokens per block: {per_block}",
        means="Tokens of one block: a request takes whole ones.",
        numbers={Number.PER_BLOCK: Quantity("tokens", "one block")},
    ),
    Phrase(
        key="trtllm.one_sequence",
        engine="TensorRT-LLM",
        wording="0.6 to 0.12, batch_manager/kvCacheManager.cpp; tensorrtllm_backend#366",
        hint="must be large enough to process at least 1 sequence",
        text="maxTokensInPagedKvCache ({tokens}) must be large enough to process at least 1 "
        "sequence",
        means="The server did not start: the pool holds fewer tokens than one sequence of the "
        "length the engine was built for.",
        numbers={Number.TOKENS: TOKENS},
        change="Build with a lower --max_seq_len, or give the pool more: a higher "
        "kv_cache_free_gpu_mem_fraction, smaller weights, more GPUs",
        also=(r"maxTokensInPagedKvCache must be large enough to process at least 1 sequence",),
    ),
    Phrase(
        key="trtllm.reduced",
        engine="TensorRT-LLM",
        wording="0.13 to 0.20, batch_manager",
        hint="for at least one sequence to fit in kvCache",
        text="maxAttentionWindow and maxSequenceLen are too large for at least one sequence to "
        "fit in kvCache. they are reduced to {longest}",
        means="The whole pool holds this many tokens; longer requests are refused.",
        numbers={Number.LONGEST: Quantity("tokens", REQUEST)},
        change="Raise free_gpu_memory_fraction, or take smaller weights or more GPUs",
    ),
    Phrase(
        key="trtllm.out_of_memory",
        engine="TensorRT-LLM",
        wording="0.5 and later, runtime/tllmBuffers.h; TensorRT-LLM#401",
        hint="CUDA runtime error in",
        text="CUDA runtime error in ::cudaMalloc(ptr, n): out of memory",
        means="An allocation found no free memory on the GPU: the pool took what the rest needs, "
        "or the weights leave nothing.",
        change="Lower free_gpu_memory_fraction, so that the cache leaves more to the rest",
        also=(r"CUDA runtime error in ::cudaMalloc[^\n]{0,120}?: out of memory",),
    ),
    Phrase(
        key="transformers.paged",
        engine="transformers",
        wording="releases of 2025; gone in 5.24.0",
        hint="self.num_blocks = ",
        text="self.num_blocks = {blocks}, self.block_size = {block_size}",
        means="The pool of continuous batching, in blocks of so many tokens.",
        numbers={
            Number.BLOCKS: Quantity("blocks", RANK),
            Number.BLOCK_SIZE: Quantity("tokens", "one block"),
        },
    ),
    Phrase(
        key="lmdeploy.truncated",
        engine="LMDeploy",
        wording="TurboMind, lmdeploy#4366",
        hint="due to limited KV cache memory",
        text="session_len truncated to {longest} due to limited KV cache memory",
        means="The whole pool holds this many tokens; longer requests are cut.",
        numbers={Number.LONGEST: Quantity("tokens", REQUEST)},
        change="Raise cache_max_entry_count, or find out what the engine believes a token to cost",
        also=(r"`session_len` truncated to <longest> due to limited KV cache memory",),
    ),
    Phrase(
        key="quant.kv_cache",
        engine="ModelOpt",
        wording="hf_quant_config.json, beside config.json",
        hint="kv_cache_quant_algo",
        text='"kv_cache_quant_algo": "{kv_dtype}"',
        means="The checkpoint asks for a cache in this format, in a file that config.json does not "
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
            key=f"pytorch.out_of_memory.{unit}",
            engine="PyTorch",
            wording="c10/cuda/CUDACachingAllocator.cpp; vllm#783, vllm#15598",
            hint="out of memory. Tried to allocate",
            text=f"CUDA out of memory. Tried to allocate {{wanted}} {unit}",
            means="One allocation found no room on the GPU. It is the last one, not the cache: "
            "engines allocate the cache once, at the start.",
            numbers={Number.WANTED: Quantity(unit, RANK)},
            change="At the start: lower --gpu-memory-utilization (SGLang: --mem-fraction-static), "
            "which shrinks the cache and leaves more to the rest, or stop other processes on this "
            "GPU. While serving: lower --max-num-batched-tokens or --max-num-seqs (SGLang: "
            "--chunked-prefill-size, --max-running-requests)",
            also=(rf"(?:CUDA|HIP|XPU) out of memory\. Tried to allocate <wanted> {unit}",),
        )
        for unit in ("GiB", "MiB", "KiB")
    ),
    *(
        Phrase(
            key=f"pytorch.free.{unit}",
            engine="PyTorch",
            wording="c10/cuda/CUDACachingAllocator.cpp; until 2.1 in another order; vllm#783, "
            "vllm#15598",
            hint="total capac",
            text=f"total capacity of {{capacity}} GiB of which {{free}} {unit} is free",
            means="What this GPU has in all, and what is free of it, counting every process.",
            numbers={Number.CAPACITY: Quantity("GiB", RANK), Number.FREE: Quantity(unit, RANK)},
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
            key=f"any.per_token.{unit}",
            engine="a calculation",
            wording="as people and calculators write it",
            hint="/token|/ token|per token",
            text=f"{{rate}} {unit} per token",
            means="What somebody says one token takes.",
            numbers={Number.RATE: _RATE[unit]},
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
            key=f"any.for_tokens.{unit}",
            engine="a calculation",
            wording="as people and calculators write it",
            hint=f"{unit} for |{unit} at ",
            text=f"{{claimed}} {unit} for {{count}} tokens x {{times}} sequences",
            means="What somebody says the caches of so many tokens take.",
            numbers={
                Number.CLAIMED: Quantity(unit, ALL),
                Number.COUNT: Quantity("tokens", SEQUENCE),
                Number.TIMES: SEQUENCES,
            },
            also=(
                rf"(?<![\w.])<claimed> ?{unit} (?:for|at) <count> tokens"
                rf"(?: (?:x|×) <times> sequences)?",
            ),
        )
        for unit in ("bytes", "MB", "MiB", "GB", "GiB")
    ),
    Phrase(
        key="any.for_thousands",
        engine="a calculation",
        wording="as people write it",
        hint="K tokens",
        text="{claimed} GiB for {count}K tokens",
        means="What somebody says the caches of so many tokens take.",
        numbers={
            Number.CLAIMED: Quantity("GiB", ALL),
            Number.COUNT: Quantity("thousand tokens", SEQUENCE),
        },
        also=(r"(?<![\w.])<claimed> ?Gi?B (?:for|at) <count> ?K tokens",),
    ),
    Phrase(
        key="any.per_block",
        engine="a calculation",
        wording="as people and calculators write it",
        hint="/block",
        text="{block_memory} MB/block of {block_size} tokens",
        means="What somebody says a block of so many tokens takes.",
        numbers={
            Number.BLOCK_MEMORY: Quantity("MB", "one block"),
            Number.BLOCK_SIZE: Quantity("tokens", "one block"),
        },
        also=(r"(?<![\w.])<block_memory> ?MB ?/ ?block of <block_size> tokens",),
    ),
)
