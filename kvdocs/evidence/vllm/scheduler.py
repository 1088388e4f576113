"""vLLM 0.33.0's own scheduler and cache manager, run for real without a GPU or a model.

In: requests with their arrival, the limits of a server, a model. Out: what every step did. The
configuration, the scheduler and the cache manager are vLLM's; a stand-in for the model answers
every request that is read with one token. Prefix caching and asynchronous scheduling are off.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from kvdocs.evidence.vllm.geometry import geometry, published
from kvdocs.evidence.vllm.planner import Flags, planned_pool
from kvdocs.workload.request_log import Request
from kvdocs.workload.simulation import Server, Step

MODEL = "Qwen/Qwen2.5-7B-Instruct"


def engine_steps(
    requests: list[Request],
    server: Server,
    arrivals: list[int],
    max_model_len: int = 32_768,
    model: str = MODEL,
    planned: Any = None,
) -> Iterator[Step]:
    """The steps of vLLM's scheduler until every request has its answer.

    ``planned`` is the pool as vLLM's planner gives it (``planned_pool``); else
    it is made of ``server.blocks`` blocks for ``model``.
    """
    from vllm.v1.outputs import ModelRunnerOutput

    scheduler = _scheduler(server, max_model_len, planned or _pool(server, model), bool(planned))
    hasher = _hasher(scheduler) if planned else None
    pool = scheduler.kv_cache_manager.block_pool
    coming = list(enumerate(zip(requests, arrivals, strict=True)))
    number = 0
    while coming or scheduler.has_unfinished_requests():
        while coming and coming[0][1][1] <= number:
            index, (request, _) = coming.pop(0)
            scheduler.add_request(_request(index, request, hasher))
        planned = scheduler.schedule()
        used = server.blocks - pool.get_num_free_blocks()
        running, waiting = scheduler.get_request_counts()
        resumed = planned.scheduled_cached_reqs.resumed_req_ids
        admitted = [one.req_id for one in planned.scheduled_new_reqs] + list(resumed)
        ids = list(planned.num_scheduled_tokens)
        sampled = [[] if scheduler.requests[one].is_prefill_chunk else [7] for one in ids]
        places = {one: place for place, one in enumerate(ids)}
        scheduler.update_from_output(planned, ModelRunnerOutput(ids, places, sampled))
        yield Step(
            planned.total_num_scheduled_tokens,
            running,
            waiting,
            used,
            _sorted(admitted),
            _sorted(planned.preempted_req_ids or ()),
            _sorted(scheduler.finished_req_ids),
        )
        number += 1


def _sorted(ids: Iterable[str | int]) -> tuple[int, ...]:
    return tuple(sorted(map(int, ids)))


def _request(index: int, request: Request, hasher: Any) -> Any:
    from vllm.sampling_params import SamplingParams
    from vllm.v1.request import Request as EngineRequest

    limits = SamplingParams(max_tokens=request.output, ignore_eos=True)
    prompt = [1 + index] * request.prompt
    return EngineRequest(str(index), prompt, limits, None, block_hasher=hasher)


def _hasher(scheduler: Any) -> Any:
    """What gives each request the hashes by which blocks are found again."""
    from vllm.utils.hashing import sha256
    from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash

    init_none_hash(sha256)
    return get_request_block_hasher(scheduler.hash_block_size, sha256)


def _config(server: Server, max_model_len: int, caching: bool = False) -> Any:
    """vLLM's configuration, with its own defaults wherever ``server`` is silent.

    It is of ``MODEL`` always: the scheduler asks the pool, not the model, what layers there are.
    """
    from vllm.config import CacheConfig, DeviceConfig, ModelConfig, SchedulerConfig, VllmConfig

    with tempfile.TemporaryDirectory() as folder:
        named = published(MODEL) | {"architectures": ["Qwen2ForCausalLM"]}
        (Path(folder) / "config.json").write_text(json.dumps(named), encoding="utf-8")
        model = ModelConfig(
            model=folder, skip_tokenizer_init=True, dtype="bfloat16", max_model_len=max_model_len
        )
        scheduler = SchedulerConfig(
            max_num_seqs=server.max_num_seqs,
            max_num_batched_tokens=server.max_num_batched_tokens,
            max_model_len=max_model_len,
            is_encoder_decoder=False,
            async_scheduling=False,
            watermark=(server.watermark + 0.5) / (server.blocks + 1),
        )
        cache = CacheConfig(
            block_size=server.block_tokens,
            enable_prefix_caching=caching,
            mamba_cache_mode="align" if caching else "none",
        )
        return VllmConfig(
            model_config=model,
            cache_config=cache,
            scheduler_config=scheduler,
            device_config=DeviceConfig("cpu"),
        )


def _pool(server: Server, model: str = MODEL) -> Any:
    """The pool that vLLM plans for a model, with the blocks of ``server`` and the one held back."""
    return replace(_planned(model, server.block_tokens), num_blocks=server.blocks + 1)


@cache
def _planned(model: str, block_tokens: int) -> Any:
    flags = Flags(block_size=block_tokens, async_scheduling=False, prefix_caching=False)
    return planned_pool(geometry(published(model)), flags, 2**40)


def _scheduler(server: Server, max_model_len: int, pool: Any, caching: bool) -> Any:
    from vllm.v1.core.kv_cache_utils import resolve_kv_cache_block_sizes
    from vllm.v1.core.sched.scheduler import Scheduler
    from vllm.v1.structured_output import StructuredOutputManager

    config = _config(server, max_model_len, caching)
    config.cache_config.num_gpu_blocks = pool.num_blocks
    block, hashed = resolve_kv_cache_block_sizes(pool, config)
    return Scheduler(config, pool, StructuredOutputManager(config), block, hash_block_size=hashed)


def logged_concurrency(server: Server, max_model_len: int) -> float:
    """The maximum concurrency that vLLM logs for a pool of ``MODEL``."""
    from vllm.v1.core.kv_cache_utils import get_max_concurrency_for_kv_cache_config

    config, pool = _config(server, max_model_len), _pool(server)
    return float(get_max_concurrency_for_kv_cache_config(config, pool))
