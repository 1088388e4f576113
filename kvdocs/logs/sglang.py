"""What SGLang prints about its cache: at the start, while it serves, in errors and metrics.

Data only, read in the 0.5.23 wheel; older wordings in public threads.
"""

from __future__ import annotations

from kvdocs.logs.phrase import ALL, RANK, REQUEST, Phrase, Quantity

# SGLang writes GB and divides by 1024 three times (mem_cache/memory_pool.py:116).
GIB = Quantity("GiB", RANK)
TOKENS = Quantity("tokens", ALL)
REQUESTS = Quantity("requests", ALL)
RUNNING = "Requests that hold tokens and are computed; the highest of the scrape is shown."
RETRACTED = "Requests that lost their place because the pool was full and were computed again."
FEWER = (
    "Lower --max-running-requests or raise --schedule-conservativeness, or make the pool larger "
    "with --mem-fraction-static"
)

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
        also=(r"sglang:max_total_num_tokens(?:\{[^{}\n]{0,999}\})? <tokens>",),
    ),
    Phrase(
        "sglang.windows",
        "SGLang",
        "0.5.23, srt/model_executor/pool_configurator.py:889",
        "liding window memory pool",
        "Use sliding window memory pool. full_layer_tokens={full_tokens}, "
        "swa_layer_tokens={window_tokens}",
        "Two pools: one for layers that keep every token, one for sliding layers.",
        {"full_tokens": TOKENS, "window_tokens": TOKENS},
        also=(
            r"Use Sliding window memory pool\. full_layer_tokens=<full_tokens>, "
            r"swa_layer_tokens=<window_tokens>",
        ),
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
        also=(r"sglang:token_usage(?:\{[^{}\n]{0,999}\})? <fraction>",),
        highest=True,
    ),
    Phrase(
        "sglang.usage_log",
        "SGLang",
        "0.5.23, srt/managers/scheduler_components/pool_stats_observer.py:147",
        "token usage: ",
        "#token: {used}, token usage: {fraction}",
        "Tokens of the pool that are held, and their share of it, from 0 to 1; the highest of the "
        "log is shown, over all pools of a model with several.",
        {"fraction": Quantity("of 1", ALL), "used": TOKENS},
        also=(
            r"#full token: <used>, full token usage: <fraction>",
            r"token usage: <fraction>",
        ),
        highest=True,
    ),
    Phrase(
        "sglang.retracted",
        "SGLang",
        "0.5.23, srt/managers/scheduler.py:4530; earlier 'Decode out of memory happened'",
        "#retracted_reqs: ",
        "#retracted_reqs: {retracted}",
        "The pool was full while requests wrote: so many lost their place and are computed again.",
        {"retracted": REQUESTS},
        FEWER,
        highest=True,
    ),
    Phrase(
        "sglang.limits",
        "SGLang",
        "0.5.23, srt/managers/scheduler.py:1269",
        "max_running_requests=",
        "max_running_requests={at_once}, context_len={length}, available_gpu_mem={left} GB",
        "At most so many requests run at once, whatever the pool holds; the longest request; and "
        "what one GPU has left when weights and pool are allocated. SGLang writes GB and means "
        "GiB.",
        {"at_once": REQUESTS, "length": Quantity("tokens", REQUEST), "left": GIB},
        also=(
            r"max_running_requests=<at_once>, context_len=<length>"
            r"(?:, available_gpu_mem=<left> GB)?",
        ),
    ),
    Phrase(
        "sglang.weights",
        "SGLang",
        "0.5.23, srt/model_executor/model_runner.py:1373",
        "Load weight end",
        "Load weight end. avail mem={free} GB, mem usage={weights} GB",
        "Weights on one GPU, and what is free beside them. SGLang writes GB and means GiB.",
        {"free": GIB, "weights": GIB},
        also=(r"Load weight end\.[^\n]{0,300}? avail mem=<free> GB(?:, mem usage=<weights> GB)?",),
    ),
    Phrase(
        "sglang.pool_end",
        "SGLang",
        "0.5.23, srt/mem_cache/kv_cache_configurator.py:499",
        "Memory pool end",
        "Memory pool end. avail mem={left} GB",
        "What one GPU has left beside weights and pool: for activations and CUDA graphs.",
        {"left": GIB},
    ),
    Phrase(
        "sglang.too_long",
        "SGLang",
        "0.5.23, srt/managers/utils.py:283",
        "the maximum allowed length",
        "Input length ({prompt} tokens) exceeds the maximum allowed length ({longest} tokens)",
        "One request was refused: it is longer than the context, or than the whole pool.",
        {"prompt": Quantity("tokens", REQUEST), "longest": Quantity("tokens", REQUEST)},
        "Raise --context-length or the pool (--mem-fraction-static), or shorten the prompt",
    ),
    Phrase(
        "sglang.context",
        "SGLang",
        "0.5.23, srt/managers/tokenizer_manager.py:1372",
        "Requested token count exceeds",
        "Requested token count exceeds the model's maximum context length of {length} tokens. You "
        "requested a total of {prompt} tokens",
        "One request was refused because of the context length. The memory plays no part.",
        {"length": Quantity("tokens", REQUEST), "prompt": Quantity("tokens", REQUEST)},
        "Raise --context-length, or ask for fewer tokens",
    ),
    *(
        Phrase(
            f"sglang.metric.{name}",
            "SGLang",
            f"0.5.23, srt/observability/metrics_collector.py:{line}",
            f"sglang:{name}",
            f"sglang:{name} {{{counted}}}",
            means,
            {counted: quantity},
            change,
            also=(rf"sglang:{name}(?:\{{[^{{}}\n]{{0,999}}\}})? <{counted}>",),
            highest=True,
        )
        for name, line, counted, quantity, means, change in (
            ("num_running_reqs", 365, "running", REQUESTS, RUNNING, ""),
            ("num_queue_reqs", 371, "waiting", REQUESTS, "Requests that wait their turn.", ""),
            ("num_used_tokens", 433, "used", TOKENS, "Tokens of the pool that are held.", ""),
            ("num_retracted_requests_total", 559, "retracted", REQUESTS, RETRACTED, FEWER),
        )
    ),
)
