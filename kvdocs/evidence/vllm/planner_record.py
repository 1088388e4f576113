"""The record of vLLM 0.33.0's planner for every snapshot model: written with vLLM, read without.

In: the record, ``records/vllm.json``. Out: ``Case``s, each one planner run with what it answered.
``.venv-engines/bin/python -m kvdocs.evidence.vllm.planner_record update`` runs the planner again
and writes the record; ``make test-engines`` makes that environment and compares.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

from kvdocs.engines.vllm.pool import Options
from kvdocs.engines.vllm.states import rank_state
from kvdocs.evidence.again import problem

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import Any

    from kvdocs.evidence.vllm.specs import Geometry

FILE = Path(__file__).parents[1] / "records" / "vllm.json"
RANKS = (1, 2, 4, 8)
DTYPES = ("auto", "fp8")
MEMORY = (2 * 2**30, 10 * 2**30, 61_234_567_890)  # bytes on each rank
LIMITS = (4_096, 32_768, 131_072)  # tokens
WHAT = (
    "vLLM's planner, run on a CPU: get_global_kv_cache_groups, get_kv_cache_configs and "
    "get_kv_cache_capacity, on specs that its own attention layers and config reader made. An "
    "answer is [blocks, tokens, concurrency] as vLLM logs them, or [longest] where it refuses to "
    "start and estimates the longest context. answers are in the order of ranks, dtypes, memory "
    "and limits, the last varying fastest. refused says for which ranks vLLM itself would not "
    "share the model; runs leaves these out. variants change one more flag, or two. beside has "
    "models that the snapshot has not, with the fields of their configs that count."
)
# Every flag that the grid leaves alone, on one model of each kind.
KINDS = (
    "Qwen/Qwen2.5-7B-Instruct",
    "google/gemma-3-27b-it",
    "openai/gpt-oss-20b",
    "deepseek-ai/DeepSeek-V3",
    "deepseek-ai/DeepSeek-V3.2",
    "Qwen/Qwen3-Next-80B-A3B-Instruct",
    "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
    "deepseek-ai/DeepSeek-V4-Flash",
)
VARIANTS: tuple[dict[str, Any], ...] = (
    {"pipeline_parallel_size": 2},
    {"pipeline_parallel_size": 3, "tensor_parallel_size": 2},
    {"pipeline_parallel_size": 4, "async_scheduling": False},
    {"block_size": 32},
    {"block_size": 128, "max_num_batched_tokens": 8_192},
    {"async_scheduling": False},
    {"prefix_caching": False},
    {"tensor_parallel_size": 8, "decode_context_parallel_size": 2},
    {"tensor_parallel_size": 8, "decode_context_parallel_size": 8},
    *({"kv_cache_dtype": name} for name in ("float16", "bfloat16", "fp8_e4m3", "fp8_e5m2")),
    *({"kv_cache_dtype": f"{name}_per_token_head"} for name in ("fp8", "int8", "int4")),
    *({"kv_cache_dtype": name} for name in ("fp8_inc", "nvfp4", "fp8_ds_mla", "nvfp4_ds_mla")),
    *({"kv_cache_dtype": f"turboquant_{name}"} for name in ("k8v4", "4bit_nc", "k3v4_nc")),
    *({"kv_cache_dtype": name} for name in ("turboquant_3bit_nc", "nvfp4_4over6")),
    {"kv_cache_dtype": "turboquant_k8v4", "block_size": 128},
    {"kv_cache_dtype": "turboquant_k8v4", "pipeline_parallel_size": 3, "tensor_parallel_size": 2},
)


# Attention and a state in every layer, which no model of the snapshot has; Falcon-H1-1.5B's sizes.
BESIDE = {
    "falcon_h1": {
        "architectures": ["FalconH1ForCausalLM"],
        "model_type": "falcon_h1",
        "num_hidden_layers": 24,
        "num_key_value_heads": 2,
        "num_attention_heads": 8,
        "head_dim": 128,
        "hidden_size": 2048,
        "vocab_size": 65537,
        "mamba_d_ssm": 3072,
        "mamba_n_heads": 48,
        "mamba_d_head": 64,
        "mamba_n_groups": 1,
        "mamba_d_state": 256,
        "mamba_d_conv": 4,
        "mamba_expand": 2,
    }
}


@dataclass(frozen=True)
class Case:
    """One planner run: the model, the flags, the bytes on each rank, and the answer.

    ``answer`` is (blocks, tokens, concurrency), or (longest,) where vLLM refuses to start.
    """

    model_id: str
    options: Options
    available: int
    answer: tuple[float, ...]


def cases(path: Path = FILE) -> Iterator[Case]:
    """Every planner run of the record, but those for ranks that vLLM itself refuses."""
    from kvdocs.facts.snapshot import load_all

    found = load(path)
    configs = {model.id: model.config for model in load_all()}
    configs |= {entry["id"]: entry["config"] for entry in found["beside"]}

    def flags(name: str, **given: Any) -> Options:
        state = rank_state(configs[name], given.get("tensor_parallel_size", 1), name)
        return Options(**given, state=state)

    for model in (*found["models"], *found["beside"]):
        name = model["id"]
        for (ranks, dtype, memory, limit), answer in zip(grid(), model["answers"], strict=True):
            if ranks in model["refused"]:
                continue
            given = {"max_model_len": limit, "kv_cache_dtype": dtype, "tensor_parallel_size": ranks}
            yield Case(name, flags(name, **given), memory, tuple(answer))
    for entry in found["variants"]:
        options = flags(entry["id"], **entry["options"])
        yield Case(entry["id"], options, entry["available"], tuple(entry["answer"]))


def load(path: Path = FILE) -> dict[str, Any]:
    """The record as written; sizes in bytes."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def grid() -> Iterator[tuple[int, str, int, int]]:
    """Ranks, dtype, memory and limit of each answer of a model."""
    return product(RANKS, DTYPES, MEMORY, LIMITS)


def made() -> dict[str, Any]:
    """The record's content, planned now. Models whose config vLLM does not read are named, with
    its reason."""
    import datetime
    import platform
    from importlib.metadata import version

    from kvdocs.facts.snapshot import load_all

    read, unread = {}, {}
    for model in load_all():
        try:
            read[model.id] = _geometry(model.config)
        except ValueError as error:
            unread[model.id] = str(error)
    models = [_model(name, found) for name, found in read.items()]
    others = {name: _geometry(config) for name, config in BESIDE.items()}
    beside = [_model(name, found) | {"config": BESIDE[name]} for name, found in others.items()]
    each = len(DTYPES) * len(MEMORY) * len(LIMITS)
    kinds = {**{name: read[name] for name in KINDS}, **others}
    variants = [entry for name, found in kinds.items() for entry in _variants(name, found)]
    return {
        "what": WHAT,
        "date": datetime.date.today().isoformat(),
        **{name: version(name) for name in ("vllm", "torch", "transformers")},
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "flags": {**asdict(Options(1)), "max_model_len": None},
        "ranks": RANKS,
        "dtypes": DTYPES,
        "memory": MEMORY,
        "limits": LIMITS,
        "models_read": len(models),
        "runs": sum(len(RANKS) - len(model["refused"]) for model in (*models, *beside)) * each
        + len(variants),
        "unread": unread,
        "models": models,
        "beside": beside,
        "variants": variants,
    }


def _geometry(config: Mapping[str, Any]) -> Geometry:
    from kvdocs.evidence.vllm.planner import geometry

    return geometry(config)


def _model(name: str, found: Geometry) -> dict[str, Any]:
    from kvdocs.evidence.vllm.planner import refused

    answers = [
        _answer(found, Options(limit, kv_cache_dtype=dtype, tensor_parallel_size=ranks), memory)
        for ranks, dtype, memory, limit in grid()
    ]
    no = [ranks for ranks in RANKS if refused(found, Options(1, tensor_parallel_size=ranks))]
    return {"id": name, "refused": no, "answers": answers}


def _variants(name: str, found: Geometry) -> Iterator[dict[str, Any]]:
    from kvdocs.evidence.vllm.planner import refused

    for flags in VARIANTS:
        options = Options(**{"max_model_len": 32_768, **flags})
        kept = _keeps(found, options.kv_cache_dtype)
        if kept and not refused(found, options) and not _splits_a_window(found, options):
            answer = _answer(found, options, MEMORY[1])
            yield {
                "id": name,
                "options": {"max_model_len": 32_768, **flags},
                "available": MEMORY[1],
                "answer": answer,
            }


def _keeps(found: Geometry, dtype: str) -> bool:
    """Whether vLLM has this format for the model's kind of cache."""
    if found.compresses:  # models/deepseek_v4/attention.py:112
        return dtype == "auto" or dtype.startswith("fp8")
    if not found.arch.is_deepseek_mla:
        slides = "sliding_attention" in found.kinds
        return "ds_mla" not in dtype and not (slides and dtype.startswith("turboquant"))
    if hasattr(found.text, "index_topk"):
        from kvdocs.evidence.vllm.sparse import SPARSE_CARDS, sparse_format

        return any(sparse_format(dtype, found, card) for card in SPARSE_CARDS)
    return "ds_mla" in dtype or not dtype.startswith(("turbo", "ultra", "nvfp4"))


def _splits_a_window(found: Geometry, options: Options) -> bool:
    """vLLM asserts that decode context parallelism meets no sliding layer."""
    return options.decode_context_parallel_size > 1 and "sliding_attention" in found.kinds


def _answer(found: Geometry, options: Options, available: int) -> list[float]:
    from kvdocs.evidence.vllm.planner import planned

    result = planned(found, options, available)
    if result.error:
        longest = re.search(r"maximum model length is (\d+)", result.error)
        return [int(longest[1]) if longest else 0]
    return [result.blocks, result.tokens, result.concurrency]


def _text(content: dict[str, Any]) -> str:
    """One line for each model and each variant, so that a change is a readable difference."""
    listed = ("models", "beside", "variants")
    head = {key: value for key, value in content.items() if key not in listed}
    lists = (
        f' "{key}": [\n' + ",\n".join(f"  {json.dumps(entry)}" for entry in content[key]) + "\n ]"
        for key in listed
    )
    return json.dumps(head, indent=1).removesuffix("\n}") + ",\n" + ",\n".join(lists) + "\n}\n"


def main() -> int:
    """``update``; exit status 2 for bad input, and where vLLM is missing."""
    if stopped := problem("kvdocs.evidence.vllm.planner_record"):
        print(stopped, file=sys.stderr)
        return 2
    FILE.write_text(_text(made()), encoding="utf-8")
    print(f"{FILE}: {sum(1 for _ in cases()):,} planner runs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
