"""How many equal requests vLLM 0.33.0's own planner and scheduler run at once, found by trying.

In: ``CASES``: a model, the memory for its cache, the tokens of every request. Out: the content of
the record ``seats``, for machines without vLLM. The pool is vLLM's own plan, the steps are its
scheduler's; nothing of ``kvdocs.engines`` takes part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kvdocs.evidence.vllm.geometry import geometry, published
from kvdocs.evidence.vllm.planner import Flags, planned, planned_pool
from kvdocs.evidence.vllm.scheduler import engine_steps
from kvdocs.workload.request_log import Request
from kvdocs.workload.simulation import Server

MOST = 1024  # requests
WHAT = (
    "The most equal requests, all there from the start, that vLLM's Scheduler runs at once without "
    "preempting one or letting one wait, in a pool that its planner makes of so many bytes, with "
    "2,048 tokens a step and prefix caching on. logged_concurrency is what vLLM logs for requests "
    "of that length."
)


@dataclass(frozen=True)
class Case:
    """Requests of ``tokens`` tokens, ``prompt`` of them a prompt, in ``gib`` GiB of cache.

    Where prompts are short, all are read in the first step, and so all grow in step.
    """

    name: str
    model: str
    gib: int
    tokens: int
    prompt: int

    @property
    def available(self) -> int:
        """Bytes for the cache."""
        return self.gib * 2**30


CASES = (
    Case("qwen2_5_7b", "Qwen/Qwen2.5-7B-Instruct", 10, 10_000, 8000),
    Case("gemma_3_4b", "google/gemma-3-4b-it", 8, 10_000, 8000),
    Case("gemma_3_4b_in_step", "google/gemma-3-4b-it", 8, 2000, 64),
    Case("gpt_oss_20b", "openai/gpt-oss-20b", 6, 10_000, 8000),
    Case("gpt_oss_20b_in_step", "openai/gpt-oss-20b", 6, 2000, 64),
    Case("mistral_7b", "mistralai/Mistral-7B-v0.1", 10, 10_000, 8000),
    Case("granite_4_tiny", "ibm-granite/granite-4.0-h-tiny", 2, 10_000, 8000),
    Case("granite_4_tiny_in_step", "ibm-granite/granite-4.0-h-tiny", 2, 2000, 64),
    Case("qwen3_next", "Qwen/Qwen3-Next-80B-A3B-Instruct", 8, 10_000, 8000),
    Case("deepseek_v4_flash", "deepseek-ai/DeepSeek-V4-Flash", 8, 10_000, 9000),
)


def _measured(case: Case) -> dict[str, Any]:
    """What vLLM does with one case."""
    found = geometry(published(case.model))
    pool = planned_pool(found, Flags(), case.available)
    low, high = 0, 1
    while high <= MOST and _together(case, pool, high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _together(case, pool, middle) else (low, middle)
    logged = planned(found, Flags(case.tokens), case.available).concurrency
    return {
        "model": case.model,
        "available_bytes": case.available,
        "tokens": case.tokens,
        "prompt_tokens": case.prompt,
        "blocks": pool.num_blocks,
        "logged_concurrency": round(logged, 2),
        "most_at_once": low,
    }


def _together(case: Case, pool: Any, count: int) -> bool:
    """Whether so many run at once, none preempted."""
    requests = [Request(case.prompt, case.tokens - case.prompt)] * count
    server, most = Server(pool.num_blocks - 1, max_num_seqs=MOST), 0
    for step in engine_steps(requests, server, [0] * count, planned=pool):
        if step.preempted:
            return False
        most = max(most, step.running)
    return most == count


def measured() -> dict[str, Any]:
    """The record's content; takes some minutes."""
    return {"cases": {case.name: _measured(case) for case in CASES}}
