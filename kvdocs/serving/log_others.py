"""What SGLang, TensorRT-LLM, transformers and LMDeploy print about their caches.

Data only. SGLang was read in the 0.5.23 wheel, the rest in public repositories and in the
reports of ``reports.toml``. ``ANY`` is what people and calculators write: a size
per token, or for so many.
"""

from __future__ import annotations

from kvdocs.serving.log_phrase import ALL, RANK, REQUEST, SEQUENCE, TOKEN, Phrase, Quantity

# SGLang writes GB and divides by 1024 three times (mem_cache/memory_pool.py:116).
GIB = Quantity("GiB", RANK)
TOKENS = Quantity("tokens", ALL)
SEQUENCES = Quantity("sequences", ALL)

SGLANG = (
    Phrase(
        "sglang.allocated",
        "SGLang",
        "0.5.23, srt/mem_cache/memory_pool.py:2088; earlier releases without the dtype",
        "#tokens: ",
        "#tokens: {tokens}, K size: {k_size} GB, V size: {v_size} GB",
        "The pool: tokens in all, and the memory of keys and of values on one GPU. SGLang writes "
        "GB and means GiB.",
        {"tokens": TOKENS, "k_size": GIB, "v_size": GIB},
    ),
    Phrase(
        "sglang.allocated_latent",
        "SGLang",
        "0.5.23, srt/mem_cache/memory_pool.py:2096",
        "#tokens: ",
        "#tokens: {tokens}, KV size: {memory} GB",
        "The pool of a model with one latent for keys and values, on one GPU. SGLang writes GB and "
        "means GiB.",
        {"tokens": TOKENS, "memory": GIB},
    ),
    Phrase(
        "sglang.tokens",
        "SGLang",
        "0.5.23, srt/managers/scheduler.py:1269",
        "max_total_num_tokens",
        "max_total_num_tokens={tokens}",
        "How many tokens the cache holds over all requests.",
        {"tokens": TOKENS},
        also=(r"sglang:max_total_num_tokens(?:\{[^}\n]{0,999}\})? <tokens>",),
    ),
    Phrase(
        "sglang.windows",
        "SGLang",
        "0.5.23, srt/model_executor/pool_configurator.py:889",
        "Use sliding window memory pool",
        "Use sliding window memory pool. full_layer_tokens={full_tokens}, "
        "swa_layer_tokens={window_tokens}",
        "Two pools: one for layers that keep every token, one for sliding layers.",
        {"full_tokens": TOKENS, "window_tokens": TOKENS},
    ),
    Phrase(
        "sglang.states",
        "SGLang",
        "0.5.23, srt/mem_cache/memory_pool.py:984",
        "Mamba Cache is allocated",
        "Mamba Cache is allocated. max_mamba_cache_size: {slots}, conv_state size: {conv}GB, "
        "ssm_state size: {ssm}GB",
        "Recurrent states: so many slots, one for each running or cached request, on one GPU.",
        {"slots": Quantity("states", ALL), "conv": GIB, "ssm": GIB},
    ),
    Phrase(
        "sglang.nothing_left",
        "SGLang",
        "0.5.23, srt/model_executor/pool_configurator.py:96",
        "increase --mem-fraction-static",
        "Not enough memory. Please try to increase --mem-fraction-static",
        "The server did not start: the weights leave nothing for the cache.",
        change="Raise --mem-fraction-static, or take smaller weights or more GPUs",
        also=(r"Loaded weights leave no GPU memory for the KV cache",),
    ),
    Phrase(
        "sglang.usage",
        "SGLang",
        "0.5.23, observability/metrics_collector.py:405",
        "token_usage",
        "sglang:token_usage {fraction}",
        "Share of the fullest pool in use, from 0 to 1.",
        {"fraction": Quantity("of 1", ALL)},
        also=(r"sglang:token_usage(?:\{[^}\n]{0,999}\})? <fraction>",),
        highest=True,
    ),
)

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
