"""What SGLang prints about its cache: at the start, while it serves, in errors and metrics.

Data only, read in the 0.5.23 wheel; older wordings in public threads.
"""

from __future__ import annotations

from functools import partial

from kvdocs.logs.number import Number
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

_phrase = partial(Phrase, engine="SGLang")

SGLANG = (
    _phrase(
        key="sglang.allocated",
        wording="0.5.23, srt/mem_cache/memory_pool.py:2088; earlier releases without the dtype",
        hint="#tokens: ",
        text="#tokens: {tokens}, K size: {k_size} GB, V size: {v_size} GB",
        means="The pool: tokens in all, and the memory of keys and of values on one GPU. SGLang "
        "writes GB and means GiB.",
        numbers={Number.TOKENS: TOKENS, Number.K_SIZE: GIB, Number.V_SIZE: GIB},
    ),
    _phrase(
        key="sglang.allocated_latent",
        wording="0.5.23, srt/mem_cache/memory_pool.py:2096",
        hint="#tokens: ",
        text="#tokens: {tokens}, KV size: {memory} GB",
        means="The pool of a model with one latent for keys and values, on one GPU. SGLang writes "
        "GB and means GiB.",
        numbers={Number.TOKENS: TOKENS, Number.MEMORY: GIB},
    ),
    _phrase(
        key="sglang.tokens",
        wording="0.5.23, srt/managers/scheduler.py:1269",
        hint="max_total_num_tokens",
        text="max_total_num_tokens={tokens}",
        means="How many tokens the cache holds over all requests.",
        numbers={Number.TOKENS: TOKENS},
        also=(r"sglang:max_total_num_tokens(?:\{[^{}\n]{0,999}\})? <tokens>",),
    ),
    _phrase(
        key="sglang.windows",
        wording="0.5.23, srt/model_executor/pool_configurator.py:889",
        hint="liding window memory pool",
        text="Use sliding window memory pool. full_layer_tokens={full_tokens}, "
        "swa_layer_tokens={window_tokens}",
        means="Two pools: one for layers that keep every token, one for sliding layers.",
        numbers={Number.FULL_TOKENS: TOKENS, Number.WINDOW_TOKENS: TOKENS},
        also=(
            r"Use Sliding window memory pool\. full_layer_tokens=<full_tokens>, "
            r"swa_layer_tokens=<window_tokens>",
        ),
    ),
    _phrase(
        key="sglang.states",
        wording="0.5.23, srt/mem_cache/memory_pool.py:984",
        hint="Mamba Cache is allocated",
        text="Mamba Cache is allocated. max_mamba_cache_size: {slots}, conv_state size: {conv}GB, "
        "ssm_state size: {ssm}GB",
        means="Recurrent states: so many slots, one for each running or cached request, on one "
        "GPU.",
        numbers={Number.SLOTS: Quantity("states", ALL), Number.CONV: GIB, Number.SSM: GIB},
    ),
    _phrase(
        key="sglang.nothing_left",
        wording="0.5.23, srt/model_executor/pool_configurator.py:96",
        hint="increase --mem-fraction-static",
        text="Not enough memory. Please try to increase --mem-fraction-static",
        means="The server did not start: the weights leave nothing for the cache.",
        change="Raise --mem-fraction-static, or take smaller weights or more GPUs",
        also=(r"Loaded weights leave no GPU memory for the KV cache",),
    ),
    _phrase(
        key="sglang.usage",
        wording="0.5.23, observability/metrics_collector.py:405",
        hint="token_usage",
        text="sglang:token_usage {fraction}",
        means="Share of the fullest pool in use, from 0 to 1.",
        numbers={Number.FRACTION: Quantity("of 1", ALL)},
        also=(r"sglang:token_usage(?:\{[^{}\n]{0,999}\})? <fraction>",),
        highest=True,
    ),
    _phrase(
        key="sglang.usage_log",
        wording="0.5.23, srt/managers/scheduler_components/pool_stats_observer.py:147",
        hint="token usage: ",
        text="#token: {used}, token usage: {fraction}",
        means="Tokens of the pool that are held, and their share of it, from 0 to 1; the highest "
        "of the log is shown, over all pools of a model with several.",
        numbers={Number.FRACTION: Quantity("of 1", ALL), Number.USED: TOKENS},
        also=(
            r"#full token: <used>, full token usage: <fraction>",
            r"token usage: <fraction>",
        ),
        highest=True,
    ),
    _phrase(
        key="sglang.retracted",
        wording="0.5.23, srt/managers/scheduler.py:4530; earlier 'Decode out of memory happened'",
        hint="#retracted_reqs: ",
        text="#retracted_reqs: {retracted}",
        means="The pool was full while requests wrote: so many lost their place and are computed "
        "again.",
        numbers={Number.RETRACTED: REQUESTS},
        change=FEWER,
        highest=True,
    ),
    _phrase(
        key="sglang.limits",
        wording="0.5.23, srt/managers/scheduler.py:1269",
        hint="max_running_requests=",
        text="max_running_requests={at_once}, context_len={length}, available_gpu_mem={left} GB",
        means="At most so many requests run at once, whatever the pool holds; the longest "
        "request; and what one GPU has left when weights and pool are allocated. SGLang writes GB "
        "and means GiB.",
        numbers={
            Number.AT_ONCE: REQUESTS,
            Number.LENGTH: Quantity("tokens", REQUEST),
            Number.LEFT: GIB,
        },
        also=(
            r"max_running_requests=<at_once>, context_len=<length>"
            r"(?:, available_gpu_mem=<left> GB)?",
        ),
    ),
    _phrase(
        key="sglang.weights",
        wording="0.5.23, srt/model_executor/model_runner.py:1373",
        hint="Load weight end",
        text="Load weight end. avail mem={free} GB, mem usage={weights} GB",
        means="Weights on one GPU, and what is free beside them. SGLang writes GB and means GiB.",
        numbers={Number.FREE: GIB, Number.WEIGHTS: GIB},
        also=(r"Load weight end\.[^\n]{0,300}? avail mem=<free> GB(?:, mem usage=<weights> GB)?",),
    ),
    _phrase(
        key="sglang.pool_end",
        wording="0.5.23, srt/mem_cache/kv_cache_configurator.py:499",
        hint="Memory pool end",
        text="Memory pool end. avail mem={left} GB",
        means="What one GPU has left beside weights and pool: for activations and CUDA graphs.",
        numbers={Number.LEFT: GIB},
    ),
    _phrase(
        key="sglang.too_long",
        wording="0.5.23, srt/managers/utils.py:283",
        hint="the maximum allowed length",
        text="Input length ({prompt} tokens) exceeds the maximum allowed length ({longest} tokens)",
        means="One request was refused: it is longer than the context, or than the whole pool.",
        numbers={
            Number.PROMPT: Quantity("tokens", REQUEST),
            Number.LONGEST: Quantity("tokens", REQUEST),
        },
        change="Raise --context-length or the pool (--mem-fraction-static), or shorten the prompt",
    ),
    _phrase(
        key="sglang.context",
        wording="0.5.23, srt/managers/tokenizer_manager.py:1372",
        hint="Requested token count exceeds",
        text="Requested token count exceeds the model's maximum context length of {length} "
        "tokens. You requested a total of {prompt} tokens",
        means="One request was refused because of the context length. The memory plays no part.",
        numbers={
            Number.LENGTH: Quantity("tokens", REQUEST),
            Number.PROMPT: Quantity("tokens", REQUEST),
        },
        change="Raise --context-length, or ask for fewer tokens",
    ),
    *(
        _phrase(
            key=f"sglang.metric.{name}",
            wording=f"0.5.23, srt/observability/metrics_collector.py:{line}",
            hint=f"sglang:{name}",
            text=f"sglang:{name} {{{counted.key}}}",
            means=means,
            numbers={counted: quantity},
            change=change,
            also=(rf"sglang:{name}(?:\{{[^{{}}\n]{{0,999}}\}})? <{counted.key}>",),
            highest=True,
        )
        for name, line, counted, quantity, means, change in (
            ("num_running_reqs", 365, Number.RUNNING, REQUESTS, RUNNING, ""),
            ("num_queue_reqs", 371, Number.WAITING, REQUESTS, "Requests that wait their turn.", ""),
            ("num_used_tokens", 433, Number.USED, TOKENS, "Tokens of the pool that are held.", ""),
            ("num_retracted_requests_total", 559, Number.RETRACTED, REQUESTS, RETRACTED, FEWER),
        )
    ),
)
