"""What vLLM's metrics and its periodic log line say about the cache while it serves.

Data only. Files are those of the vLLM 0.33.0 wheel. Of each only the highest reading is kept.
"""

from __future__ import annotations

from functools import partial

from kvdocs.logs.number import Number
from kvdocs.logs.phrase import ALL, Phrase, Quantity
from kvdocs.logs.vllm import BLOCKS

LOOKED_UP = Quantity("tokens", ALL)
REQUESTS = Quantity("requests", ALL)

_phrase = partial(Phrase, engine="vLLM")

METRICS = (
    _phrase(
        key="vllm.usage",
        wording="V1, v1/metrics/loggers.py:314",
        hint="KV cache usage: ",
        text="KV cache usage: {usage}%",
        means="Share of blocks held by running requests; the highest of the log is shown. Cached "
        "blocks that nobody uses count as free.",
        numbers={Number.USAGE: Quantity("%", ALL)},
        highest=True,
    ),
    _phrase(
        key="vllm.usage_metric",
        wording="V1, v1/metrics/loggers.py:620; gpu_cache_usage_perc in earlier releases",
        hint="cache_usage_perc",
        text="vllm:kv_cache_usage_perc {fraction}",
        means="Share of blocks held by running requests, from 0 to 1.",
        numbers={Number.FRACTION: Quantity("of 1", ALL)},
        also=(r"vllm:(?:kv|gpu)_cache_usage_perc(?:\{[^{}\n]{0,999}\})? <fraction>",),
        highest=True,
    ),
    _phrase(
        key="vllm.preemptions",
        wording="V1, v1/metrics/loggers.py:738",
        hint="vllm:num_preemptions_total",
        text="vllm:num_preemptions_total {preemptions}",
        means="Requests that lost their blocks because the cache was full and were computed again.",
        numbers={Number.PREEMPTIONS: REQUESTS},
        change="Above zero and rising: the cache is too small for the load. Lower --max-num-seqs, "
        "or make the cache larger",
        also=(
            r"vllm:num_preemptions(?:_total)?(?:\{[^{}\n]{0,999}\})? <preemptions>",
            r"Preemptions: <preemptions>",
        ),
        highest=True,
    ),
    _phrase(
        key="vllm.preempted_v0",
        wording="V0, core/scheduler.py; vllm#6102, vllm#546",
        hint="cumulative_preemption",
        text="total_num_cumulative_preemption={preemptions}",
        means="There was not enough cache space: so many times since the start a request lost its "
        "blocks, to be computed again (RECOMPUTE) or brought back from the CPU (SWAP).",
        numbers={Number.PREEMPTIONS: REQUESTS},
        change="Rising: the cache is too small for the load. Lower --max-num-seqs, or make the "
        "cache larger",
        also=(r"total_cumulative_preemption_cnt=<preemptions>",),
        highest=True,
    ),
    _phrase(
        key="vllm.running_log",
        wording="V0 and V1, v1/metrics/loggers.py:285",
        hint="Running: ",
        text="Running: {running} reqs",
        means="Requests that hold blocks and are computed; the highest of the log is shown.",
        numbers={Number.RUNNING: REQUESTS},
        highest=True,
    ),
    _phrase(
        key="vllm.waiting_log",
        wording="V1, v1/metrics/loggers.py:286; V0 called them pending",
        hint="Waiting: |Pending: ",
        text="Waiting: {waiting} reqs",
        means="Requests that wait their turn: for blocks where the usage is near 100%, else for a "
        "place among --max-num-seqs.",
        numbers={Number.WAITING: REQUESTS},
        also=(r"Pending: <waiting> reqs",),
        highest=True,
    ),
    _phrase(
        key="vllm.prefix_queries",
        wording="V1, v1/metrics/loggers.py:662",
        hint="prefix_cache_queries",
        text="vllm:prefix_cache_queries_total {queried}",
        means="Tokens of prompts that were looked up in the prefix cache. The hits divided by "
        "these are the hit rate.",
        numbers={Number.QUERIED: LOOKED_UP},
        also=(r"vllm:(?:gpu_)?prefix_cache_queries(?:_total)?(?:\{[^{}\n]{0,999}\})? <queried>",),
        highest=True,
    ),
    _phrase(
        key="vllm.prefix_hits",
        wording="V1, v1/metrics/loggers.py:673",
        hint="prefix_cache_hits",
        text="vllm:prefix_cache_hits_total {hits}",
        means="Tokens of prompts whose blocks were still in the cache, so that they were not "
        "computed again.",
        numbers={Number.HITS: LOOKED_UP},
        also=(r"vllm:(?:gpu_)?prefix_cache_hits(?:_total)?(?:\{[^{}\n]{0,999}\})? <hits>",),
        highest=True,
    ),
    _phrase(
        key="vllm.running",
        wording="V1, v1/metrics/loggers.py:528",
        hint="vllm:num_requests_running",
        text="vllm:num_requests_running {running}",
        means="Requests that hold blocks and are computed; the highest of the scrape is shown.",
        numbers={Number.RUNNING: REQUESTS},
        also=(r"vllm:num_requests_running(?:\{[^{}\n]{0,999}\})? <running>",),
        highest=True,
    ),
    _phrase(
        key="vllm.waiting",
        wording="V1, v1/metrics/loggers.py:538",
        hint="vllm:num_requests_waiting",
        text="vllm:num_requests_waiting {waiting}",
        means="Requests that wait their turn: for blocks where the usage is near 1, else for a "
        "place among --max-num-seqs.",
        numbers={Number.WAITING: REQUESTS},
        also=(r"vllm:num_requests_waiting(?:\{[^{}\n]{0,999}\})? <waiting>",),
        highest=True,
    ),
    _phrase(
        key="vllm.config_metric",
        wording="V1, v1/metrics/loggers.py:1120",
        hint="vllm:cache_config_info",
        text="vllm:cache_config_info num_gpu_blocks={blocks}",
        means="Blocks of the pool, as the metrics report them.",
        numbers={Number.BLOCKS: BLOCKS},
        also=(r'vllm:cache_config_info\{[^{}\n]{0,1500}?num_gpu_blocks="<blocks>"',),
    ),
)
