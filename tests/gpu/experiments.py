"""What only a device's memory shows, as functions of the device: the CUDA suite and its CPU twin.

In: a device, a model's config, a length. Out: figures in bytes, asserted exactly where a rule
gives them. On CUDA the allocator counts; on a CPU ``CpuMemory`` counts the same requests, so that
this code runs, and is wrong or right, on every machine.
"""

from __future__ import annotations

import copy
import gc
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

from kvdocs.evidence.transformers.caches import (
    build_decoder,
    cache_after_each_step,
    held,
    parameters,
    tensors,
)
from kvdocs.formula import layout_of
from kvdocs.formula.dtypes import element_bytes


class CpuMemory(TorchDispatchMode):
    """Counts the bytes of tensors that operations make, while they live; nothing is rounded."""

    counters = 0  # a layer's counter is made on the CPU, by no operation

    def __init__(self) -> None:
        super().__init__()
        self._alive: dict[int, tuple[StorageWeakRef, int]] = {}
        self._peak = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        given = {tensor.untyped_storage()._cdata for tensor in tensors([args, kwargs])}
        for storage in (tensor.untyped_storage() for tensor in tensors(out)):
            if storage._cdata not in given:  # a view of what was there is nothing new
                self._alive[storage._cdata] = (StorageWeakRef(storage), storage.nbytes())
        self._peak = max(self._peak, self.requested())
        return out

    def requested(self) -> int:
        self._alive = {k: v for k, v in self._alive.items() if not v[0].expired()}
        return sum(size for _, size in self._alive.values())

    allocated = requested

    def peak(self) -> int:
        return self._peak

    def forget_peak(self) -> None:
        self._peak = self.requested()


class CudaMemory:
    """The caching allocator's own figures: what was asked for, and what it handed out."""

    counters = 1  # a layer's counter is moved to the GPU, and takes 8 bytes there

    def requested(self) -> int:
        return int(self._stats()["requested_bytes.all.current"])

    def allocated(self) -> int:
        return int(torch.cuda.memory_allocated())

    def peak(self) -> int:
        return int(self._stats()["requested_bytes.all.peak"])

    def forget_peak(self) -> None:
        torch.cuda.reset_peak_memory_stats()

    def _stats(self) -> dict[str, Any]:
        torch.cuda.synchronize()
        return torch.cuda.memory_stats()


@contextmanager
def memory(device: str) -> Iterator[CpuMemory | CudaMemory]:
    """A meter for what is allocated on ``device`` while the block runs."""
    gc.collect()
    if device == "cuda":
        torch.cuda.empty_cache()
        yield CudaMemory()
    else:
        with CpuMemory() as meter:
            yield meter


def fitted(config: Mapping[str, Any], source: str, room: int) -> Mapping[str, Any]:
    """``config``, with fewer layers where its weights in 16 bits exceed ``room`` bytes."""
    while parameters(build_decoder(config, source, "meta", "bfloat16")) * 2 > room:
        config = with_layers(config, len(layout_of(config, source).layers) // 2)
    return config


def with_layers(config: Mapping[str, Any], count: int) -> dict[str, Any]:
    """``config`` with its first ``count`` layers."""
    assert count > 0, "not even one layer fits"
    cut = copy.deepcopy(dict(config))
    text = cut.get("text_config") or cut
    text["num_hidden_layers"] = count
    if text.get("layer_types"):
        text["layer_types"] = text["layer_types"][:count]
    return cut


def cache_against_allocator(
    config: Mapping[str, Any], source: str, device: str, tokens: int, decoded: int
) -> dict[str, Any]:
    """The allocator's count before and after, and after each decoded token.

    What was asked for must be the cache's tensors to the byte; ``rounding_bytes`` is what the
    allocator handed out on top.
    """
    model = build_decoder(config, source, device, "bfloat16")
    steps = []
    with memory(device) as meter:
        # Libraries take their workspaces at first use; nothing of this first run may stay.
        deque(cache_after_each_step(model, source, tokens - decoded, 1), maxlen=0)
        requested, allocated = meter.requested(), meter.allocated()
        cache = None
        for _, cache in cache_after_each_step(model, source, tokens - decoded, decoded):
            stored = sum(size for _, size in held(cache, source))
            counters = meter.counters * sum(t.nbytes for t in _all(cache, device) if not t.dim())
            asked = meter.requested() - requested
            assert asked == stored + counters, f"{source}: {asked} bytes asked for, {stored} stored"
            steps.append((stored, meter.allocated() - allocated - counters))
        count = len([t for t in _all(cache, device) if t.dim()])
    (first, _), (last, handed_out) = steps[0], steps[-1]
    layout = layout_of(config, source)
    assert last == layout.bytes(tokens), f"{source}: {last} bytes held"
    assert handed_out >= last
    return {
        "model": source,
        "layers": len(layout.layers),
        "tokens": tokens,
        "formula_bytes": layout.bytes(tokens),
        "held_bytes": last,
        "allocated_bytes": handed_out,
        "rounding_bytes": handed_out - last,
        "tensors": count,
        "held_after_prompt_bytes": first,
        "growth_bytes": [after - before for (before, _), (after, _) in pairwise(steps)],
    }


def peak_of_one_more_token(
    device: str, layers: int, kv_heads: int, head_dim: int, tokens: int
) -> dict[str, Any]:
    """The most that is allocated while each layer's K and V grow by concatenation.

    Growing makes a new tensor of tokens + 1 beside the old one, and then lets the old one go: so
    the peak holds a second copy of one tensor, K or V of one layer, and never of the whole cache.
    """
    from transformers import DynamicCache

    def state(count: int) -> torch.Tensor:
        return torch.zeros(1, kv_heads, count, head_dim, dtype=torch.bfloat16, device=device)

    token = kv_heads * head_dim * 2
    with memory(device) as meter:
        cache = DynamicCache()
        for index in range(layers):
            cache.update(state(tokens), state(tokens), index)
        key, value = state(1), state(1)
        before = meter.requested()
        meter.forget_peak()
        for index in range(layers):
            cache.update(key, value, index)
        after, peak = meter.requested(), meter.peak()
        del cache
    assert after - before == 2 * layers * token
    # At the last layer's V: every other tensor has grown, and its old and new copies both live.
    assert peak - before == (2 * layers - 1) * token + (tokens + 1) * token
    return {
        "layers": layers,
        "tokens": tokens,
        "cache_bytes": 2 * layers * tokens * token,
        "growth_bytes": after - before,
        "peak_above_cache_bytes": peak - before,
    }


def half_in_fp8(device: str, layers: int, kv_heads: int, head_dim: int, tokens: int) -> dict:
    """A cache in 16 bits, and the same one stored in float8_e4m3fn: exactly half."""
    from transformers import DynamicCache

    sizes = {}
    for dtype in (torch.bfloat16, torch.float8_e4m3fn):
        with memory(device) as meter:
            before = meter.requested()
            cache = DynamicCache()
            for index in range(layers):
                state = torch.zeros(1, kv_heads, tokens, head_dim, device=device).to(dtype)
                cache.update(state, state, index)
                del state
            sizes[dtype] = meter.requested() - before
            assert {layer.keys.dtype for layer in cache.layers} == {dtype}
            del cache
    elements = 2 * layers * kv_heads * head_dim * tokens
    assert sizes[torch.bfloat16] == elements * element_bytes("bfloat16")
    assert sizes[torch.float8_e4m3fn] == elements * element_bytes("fp8_e4m3")
    return {
        "layers": layers,
        "tokens": tokens,
        "bfloat16_bytes": sizes[torch.bfloat16],
        "fp8_bytes": sizes[torch.float8_e4m3fn],
    }


def _all(cache: Any, device: str) -> list[torch.Tensor]:
    """Every tensor of the cache on ``device``, its counters included."""
    found = [tensor for layer in cache.layers for tensor in tensors(vars(layer))]
    return [tensor for tensor in found if tensor.device.type == device]
