"""The simulation held against vLLM's own scheduler and cache manager, on the same requests.

In: ``CASES``, each a seeded list of requests with the limits of a server. Out: the steps that
vLLM's ``Scheduler`` and ``KVCacheManager`` take, and the record of them for machines without vLLM.
The scheduler is vLLM's; the model is a stand-in that answers every request that is read with one
token. Nothing but ``update`` writes the record, and it runs vLLM.

    python -m kvdocs.evidence.scheduling update     in an environment with vLLM 0.33.0
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvdocs.serving.request_log import Request
from kvdocs.serving.simulation import Server, Step, simulate

RECORD = Path(__file__).with_name("records") / "scheduling.json"
MODEL = "Qwen/Qwen2.5-7B-Instruct"
BLOCK_BYTES = 917_504  # of MODEL: 16 tokens of 57,344 bytes
FACT_POOL = 6_600_000_000  # bytes of cache in the admission experiment
FACT_REQUEST = Request(prompt=3000, output=8)
FACT_LIMITS = (4096, 32_768)
COLUMNS = ("tokens", "running", "waiting", "used_blocks", "admitted", "preempted", "finished")
WHAT = (
    "Steps of vLLM's Scheduler and KVCacheManager on seeded requests, without prefix caching and "
    "without asynchronous scheduling; one token for every request whose text is read. Columns have "
    "one entry a step. admitted, preempted and finished are positions in the list of requests. "
    "admission is the same experiment at several --max-model-len: a pool of pool_bytes, as many "
    "requests as would ever fit twice, all in one step."
)


@dataclass(frozen=True)
class Case:
    """Requests drawn with ``seed``, and the server they meet; lengths are medians in tokens.

    ``pause`` is the mean number of steps between two arrivals, 0 if all are there at once.
    """

    name: str
    server: Server
    seed: int
    requests: int
    prompt: int
    output: int
    pause: float = 0.0

    def draw(self) -> tuple[list[Request], list[int]]:
        """The requests and the steps before which they arrive."""
        rng = random.Random(self.seed)
        found, arrivals, clock = [], [], 0.0
        for _ in range(self.requests):
            prompt = max(1, round(self.prompt * rng.lognormvariate(0, 0.8)))
            found.append(Request(prompt, max(1, round(self.output * rng.lognormvariate(0, 0.8)))))
            clock += rng.expovariate(1) * self.pause
            arrivals.append(int(clock))
        return found, arrivals


CASES = (
    Case("room for all", Server(2000), 1, 40, prompt=200, output=40, pause=3),
    Case("too many at once", Server(300), 2, 60, prompt=100, output=80),
    Case("chunked prompts", Server(700, max_num_batched_tokens=512), 3, 40, 1000, 60, pause=2),
    Case("few places", Server(300, max_num_seqs=12), 4, 50, prompt=200, output=80, pause=2),
    Case("watermark", Server(300, watermark=15), 5, 50, prompt=100, output=80, pause=1),
    Case("small steps", Server(100, 16, max_num_batched_tokens=16), 6, 40, 60, 60),
)


def engine_steps(
    requests: list[Request], server: Server, arrivals: list[int], max_model_len: int = 32_768
) -> Iterator[Step]:
    """The steps of vLLM's scheduler until every request has its answer."""
    from vllm.v1.outputs import ModelRunnerOutput

    scheduler = _scheduler(server, max_model_len)
    pool = scheduler.kv_cache_manager.block_pool
    coming = list(enumerate(zip(requests, arrivals, strict=True)))
    number = 0
    while coming or scheduler.has_unfinished_requests():
        while coming and coming[0][1][1] <= number:
            index, (request, _) = coming.pop(0)
            scheduler.add_request(_request(index, request))
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


def _request(index: int, request: Request) -> Any:
    from vllm.sampling_params import SamplingParams
    from vllm.v1.request import Request as EngineRequest

    limits = SamplingParams(max_tokens=request.output, ignore_eos=True)
    return EngineRequest(str(index), [1] * request.prompt, limits, None)


def _config(server: Server, max_model_len: int) -> Any:
    """vLLM's configuration for ``MODEL``, with its own defaults wherever ``server`` is silent."""
    from vllm.config import CacheConfig, DeviceConfig, ModelConfig, SchedulerConfig, VllmConfig

    from kvdocs.facts.hub import find

    with tempfile.TemporaryDirectory() as folder:
        published = dict(find(MODEL).config) | {"architectures": ["Qwen2ForCausalLM"]}
        (Path(folder) / "config.json").write_text(json.dumps(published), encoding="utf-8")
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
        cache = CacheConfig(block_size=server.block_tokens, enable_prefix_caching=False)
        return VllmConfig(
            model_config=model,
            cache_config=cache,
            scheduler_config=scheduler,
            device_config=DeviceConfig("cpu"),
        )


def _pool(server: Server) -> Any:
    """vLLM's description of a pool for ``MODEL``: ``server``'s blocks and the one held back."""
    import torch
    from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec

    spec = FullAttentionSpec(
        block_size=server.block_tokens, num_kv_heads=4, head_size=128, dtype=torch.bfloat16
    )
    layers = [f"layer.{number}" for number in range(28)]
    return KVCacheConfig(server.blocks + 1, [], [KVCacheGroupSpec(layers, spec)])


def _scheduler(server: Server, max_model_len: int) -> Any:
    from vllm.v1.core.sched.scheduler import Scheduler
    from vllm.v1.structured_output import StructuredOutputManager

    config, pool = _config(server, max_model_len), _pool(server)
    config.cache_config.num_gpu_blocks = pool.num_blocks
    return Scheduler(config, pool, StructuredOutputManager(config), server.block_tokens)


def admission_server() -> Server:
    """The pool of the admission experiment, with room in one step for all prompts."""
    blocks = FACT_POOL // BLOCK_BYTES - 1
    return Server(blocks, max_num_batched_tokens=2 * blocks * 16)


def admission_requests() -> list[Request]:
    """Twice as many requests as the pool has room for."""
    server = admission_server()
    return [FACT_REQUEST] * (2 * server.blocks // server.blocks_for(FACT_REQUEST.prompt))


def _admission(limit: int) -> dict[str, Any]:
    """What vLLM admits in the first step, and the concurrency it logs, at one --max-model-len."""
    from vllm.v1.core.kv_cache_utils import get_max_concurrency_for_kv_cache_config

    server, requests = admission_server(), admission_requests()
    first = next(engine_steps(requests, server, [0] * len(requests), limit))
    logged = get_max_concurrency_for_kv_cache_config(_config(server, limit), _pool(server))
    admitted = len(first.admitted)
    return {"admitted": admitted, "logged_concurrency": round(logged, 2)}


def columns(steps: Iterable[Step]) -> dict[str, list[Any]]:
    """The steps column by column, as the record keeps them."""
    rows = list(steps)
    plain = {name: [getattr(row, name) for row in rows] for name in COLUMNS}
    events = COLUMNS[4:]
    return plain | {name: [sorted(one) for one in plain[name]] for name in events}


def simulated(case: Case) -> dict[str, list[Any]]:
    """The same columns from the simulation."""
    requests, arrivals = case.draw()
    return columns(simulate(requests, case.server, arrivals))


def recorded(path: Path = RECORD) -> dict[str, Any]:
    """The record as it was written."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def measured() -> dict[str, Any]:
    """The record's content, from vLLM run now."""
    import datetime
    import platform

    import vllm

    cases = {}
    for case in CASES:
        requests, arrivals = case.draw()
        cases[case.name] = columns(engine_steps(requests, case.server, arrivals))
    return {
        "what": WHAT,
        "date": datetime.date.today().isoformat(),
        "vllm": vllm.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "model": MODEL,
        "admission": {
            "pool_bytes": FACT_POOL,
            "prompt_tokens": FACT_REQUEST.prompt,
            **{f"at_{limit}": _admission(limit) for limit in FACT_LIMITS},
        },
        "cases": cases,
    }


def update(path: Path = RECORD) -> None:
    """Run vLLM and write the record; takes a few minutes."""
    content = measured()
    cases = content.pop("cases")
    rows = ",\n".join(
        f" {json.dumps(name)}: {{\n  {_rows(found)}\n }}" for name, found in cases.items()
    )
    head = json.dumps(content, indent=1).removesuffix("\n}")
    path.write_text(f'{head},\n "cases": {{\n{rows}\n }}\n}}\n', encoding="utf-8")


def _rows(found: dict[str, list[Any]]) -> str:
    return ",\n  ".join(
        f"{json.dumps(name)}: {json.dumps(values, separators=(',', ':'))}"
        for name, values in found.items()
    )


if __name__ == "__main__":
    if sys.argv[1:] != ["update"]:
        sys.exit(__doc__)
    update()
