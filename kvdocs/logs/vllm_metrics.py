"""What vLLM's metrics and its periodic log line say about the cache while it serves.

Data only. Files are those of the vLLM 0.33.0 wheel. Of each only the highest reading is kept.
"""

from __future__ import annotations

from kvdocs.logs.phrase import ALL, Phrase, Quantity
from kvdocs.logs.vllm import BLOCKS

LOOKED_UP = Quantity("tokens", ALL)
REQUESTS = Quantity("requests", ALL)

METRICS = (
    Phrase(
        "vllm.usage",
        "vLLM",
        "V1, v1/metrics/loggers.py:314",
        "KV cache usage: ",
        "KV cache usage: {usage}%",
        "Share of blocks held by running requests; the highest of the log is shown. Cached blocks "
        "that nobody uses count as free.",
        {"usage": Quantity("%", ALL)},
        highest=True,
    ),
    Phrase(
        "vllm.usage_metric",
        "vLLM",
        "V1, v1/metrics/loggers.py:620; gpu_cache_usage_perc in earlier releases",
        "cache_usage_perc",
        "vllm:kv_cache_usage_perc {fraction}",
        "Share of blocks held by running requests, from 0 to 1.",
        {"fraction": Quantity("of 1", ALL)},
        also=(r"vllm:(?:kv|gpu)_cache_usage_perc(?:\{[^{}\n]{0,999}\})? <fraction>",),
        highest=True,
    ),
    Phrase(
        "vllm.preemptions",
        "vLLM",
        "V1, v1/metrics/loggers.py:738",
        "vllm:num_preemptions_total",
        "vllm:num_preemptions_total {preemptions}",
        "Requests that lost their blocks because the cache was full and were computed again.",
        {"preemptions": REQUESTS},
        "Above zero and rising: the cache is too small for the load. Lower --max-num-seqs, or make "
        "the cache larger",
        also=(
            r"vllm:num_preemptions(?:_total)?(?:\{[^{}\n]{0,999}\})? <preemptions>",
            r"Preemptions: <preemptions>",
        ),
        highest=True,
    ),
    Phrase(
        "vllm.preempted_v0",
        "vLLM",
        "V0, core/scheduler.py; vllm#6102, vllm#546",
        "cumulative_preemption",
        "total_num_cumulative_preemption={preemptions}",
        "There was not enough cache space: so many times since the start a request lost its "
        "blocks, to be computed again (RECOMPUTE) or brought back from the CPU (SWAP).",
        {"preemptions": REQUESTS},
        "Rising: the cache is too small for the load. Lower --max-num-seqs, or make the cache "
        "larger",
        also=(r"total_cumulative_preemption_cnt=<preemptions>",),
        highest=True,
    ),
    Phrase(
        "vllm.running_log",
        "vLLM",
        "V0 and V1, v1/metrics/loggers.py:285",
        "Running: ",
        "Running: {running} reqs",
        "Requests that hold blocks and are computed; the highest of the log is shown.",
        {"running": REQUESTS},
        highest=True,
    ),
    Phrase(
        "vllm.waiting_log",
        "vLLM",
        "V1, v1/metrics/loggers.py:286; V0 called them pending",
        "Waiting: |Pending: ",
        "Waiting: {waiting} reqs",
        "Requests that wait their turn: for blocks where the usage is near 100%, else for a place "
        "among --max-num-seqs.",
        {"waiting": REQUESTS},
        also=(r"Pending: <waiting> reqs",),
        highest=True,
    ),
    Phrase(
        "vllm.prefix_queries",
        "vLLM",
        "V1, v1/metrics/loggers.py:662",
        "prefix_cache_queries",
        "vllm:prefix_cache_queries_total {queried}",
        "Tokens of prompts that were looked up in the prefix cache. The hits divided by these are "
        "the hit rate.",
        {"queried": LOOKED_UP},
        also=(r"vllm:(?:gpu_)?prefix_cache_queries(?:_total)?(?:\{[^{}\n]{0,999}\})? <queried>",),
        highest=True,
    ),
    Phrase(
        "vllm.prefix_hits",
        "vLLM",
        "V1, v1/metrics/loggers.py:673",
        "prefix_cache_hits",
        "vllm:prefix_cache_hits_total {hits}",
        "Tokens of prompts whose blocks were still in the cache, so that they were not computed "
        "again.",
        {"hits": LOOKED_UP},
        also=(r"vllm:(?:gpu_)?prefix_cache_hits(?:_total)?(?:\{[^{}\n]{0,999}\})? <hits>",),
        highest=True,
    ),
    Phrase(
        "vllm.running",
        "vLLM",
        "V1, v1/metrics/loggers.py:528",
        "vllm:num_requests_running",
        "vllm:num_requests_running {running}",
        "Requests that hold blocks and are computed; the highest of the scrape is shown.",
        {"running": REQUESTS},
        also=(r"vllm:num_requests_running(?:\{[^{}\n]{0,999}\})? <running>",),
        highest=True,
    ),
    Phrase(
        "vllm.waiting",
        "vLLM",
        "V1, v1/metrics/loggers.py:538",
        "vllm:num_requests_waiting",
        "vllm:num_requests_waiting {waiting}",
        "Requests that wait their turn: for blocks where the usage is near 1, else for a place "
        "among --max-num-seqs.",
        {"waiting": REQUESTS},
        also=(r"vllm:num_requests_waiting(?:\{[^{}\n]{0,999}\})? <waiting>",),
        highest=True,
    ),
    Phrase(
        "vllm.config_metric",
        "vLLM",
        "V1, v1/metrics/loggers.py:1120",
        "vllm:cache_config_info",
        "vllm:cache_config_info num_gpu_blocks={blocks}",
        "Blocks of the pool, as the metrics report them.",
        {"blocks": BLOCKS},
        also=(r'vllm:cache_config_info\{[^{}\n]{0,1500}?num_gpu_blocks="<blocks>"',),
    ),
)
