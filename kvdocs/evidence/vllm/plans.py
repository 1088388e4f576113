"""Pools that vLLM 0.33.0's planner plans for every snapshot model: the record ``vllm``.

In: the snapshot, and vLLM. Out: the record's content. Everybody else reads it, without vLLM, as
``Case``s: each is one planner run with what it answered.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

from kvdocs.evidence.known import recorded
from kvdocs.evidence.vllm.geometry import Geometry, geometry
from kvdocs.evidence.vllm.planner import Flags, planned, refused
from kvdocs.evidence.vllm.sparse_latents import SPARSE_CARDS, sparse_format
from kvdocs.facts.snapshot import load_all

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
# kinds, one model each; variants, every flag that the grid leaves alone; beside, by name the
# fields of models that the snapshot has not: attention and a state in every layer (Falcon-H1-1.5B).
MORE: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("plans.toml").read_text(encoding="utf-8")
)


@dataclass(frozen=True)
class Case:
    """One planner run: the model, the flags, the bytes on each rank, and the answer.

    ``answer`` is (blocks, tokens, concurrency), or (longest,) where vLLM refuses to start.
    """

    model_id: str
    flags: Flags
    available: int
    answer: tuple[float, ...]


def cases() -> Iterator[Case]:
    """Every planner run of the record, but those for ranks that vLLM itself refuses."""
    found = recorded("vllm")
    for model in (*found["models"], *found["beside"]):
        for (flags, memory), answer in zip(grid(), model["answers"], strict=True):
            if flags.tensor_parallel_size not in model["refused"]:
                yield Case(model["id"], flags, memory, tuple(answer))
    for entry in found["variants"]:
        flags = Flags(**entry["options"])
        yield Case(entry["id"], flags, entry["available"], tuple(entry["answer"]))


def grid() -> Iterator[tuple[Flags, int]]:
    """Flags and memory of each answer of a model; of the flags, ranks, dtype and limit change."""
    for ranks, dtype, memory, limit in product(RANKS, DTYPES, MEMORY, LIMITS):
        yield Flags(limit, dtype, tensor_parallel_size=ranks), memory


def measured() -> dict[str, Any]:
    """The record's content. A model whose config vLLM does not read is named, with its reason."""
    read, unread = {}, {}
    for model in load_all():
        try:
            read[model.id] = geometry(model.config)
        except ValueError as error:
            unread[model.id] = str(error)
    models = [_model(name, found) for name, found in read.items()]
    others = {name: geometry(config) for name, config in MORE["beside"].items()}
    beside = [
        _model(name, found) | {"config": MORE["beside"][name]} for name, found in others.items()
    ]
    each = len(DTYPES) * len(MEMORY) * len(LIMITS)
    kinds = {**{name: read[name] for name in MORE["kinds"]}, **others}
    variants = [entry for name, found in kinds.items() for entry in _variants(name, found)]
    ranks_run = sum(len(RANKS) - len(model["refused"]) for model in (*models, *beside))
    return {
        "flags": asdict(Flags()) | {"max_model_len": None},
        "ranks": RANKS,
        "dtypes": DTYPES,
        "memory": MEMORY,
        "limits": LIMITS,
        "models_read": len(models),
        "runs": ranks_run * each + len(variants),
        "unread": unread,
        "models": models,
        "beside": beside,
        "variants": variants,
    }


def _model(name: str, found: Geometry) -> dict[str, Any]:
    answers = [_answer(found, flags, memory) for flags, memory in grid()]
    no = [ranks for ranks in RANKS if refused(found, Flags(tensor_parallel_size=ranks))]
    return {"id": name, "refused": no, "answers": answers}


def _variants(name: str, found: Geometry) -> Iterator[dict[str, Any]]:
    for changed in MORE["variants"]:
        flags = Flags(**changed)
        kept = _keeps(found, flags.kv_cache_dtype)
        if kept and not refused(found, flags) and not _splits_a_window(found, flags):
            yield {
                "id": name,
                "options": {"max_model_len": flags.max_model_len, **changed},
                "available": MEMORY[1],
                "answer": _answer(found, flags, MEMORY[1]),
            }


def _keeps(found: Geometry, dtype: str) -> bool:
    """Whether vLLM has this format for the model's kind of cache."""
    if found.compresses:  # models/deepseek_v4/attention.py:112
        return dtype == "auto" or dtype.startswith("fp8")
    if not found.arch.is_deepseek_mla:
        slides = "sliding_attention" in found.kinds
        return "ds_mla" not in dtype and not (slides and dtype.startswith("turboquant"))
    if hasattr(found.text, "index_topk"):
        return any(sparse_format(dtype, found, card) for card in SPARSE_CARDS)
    return "ds_mla" in dtype or not dtype.startswith(("turbo", "ultra", "nvfp4"))


def _splits_a_window(found: Geometry, flags: Flags) -> bool:
    """vLLM asserts that decode context parallelism meets no sliding layer."""
    return flags.decode_context_parallel_size > 1 and "sliding_attention" in found.kinds


def _answer(found: Geometry, flags: Flags, available: int) -> list[float]:
    result = planned(found, flags, available)
    if result.error:
        longest = re.search(r"maximum model length is (\d+)", result.error)
        return [int(longest[1]) if longest else 0]
    return [result.blocks, result.tokens, result.concurrency]
