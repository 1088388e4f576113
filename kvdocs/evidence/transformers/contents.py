"""What a cache holds, whatever its class: a list of layers, each a list of tensors.

In: what a model returned and the model itself. Out: the decoder's layers, the layers over the
encoder's output, and what belongs to no layer. Counters are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kvdocs.evidence.transformers.caches import tensors


@dataclass(frozen=True)
class Contents:
    """Bytes that tensors show: per layer, per layer over the encoder's output, and outside."""

    kind: str
    own: tuple[int, ...]
    cross: tuple[int, ...]
    outside: int
    classes: tuple[str, ...]
    windows: tuple[int, ...]

    @property
    def total(self) -> int:
        """All bytes held."""
        return sum(self.own) + sum(self.cross) + self.outside


NOTHING = Contents("", (), (), 0, (), ())


def contents(kept: Any, layers: int) -> Contents:
    """What an object returned by a model holds; ``layers`` is the model's layer count."""
    kind = type(kept).__name__
    if hasattr(kept, "self_attention_cache"):
        own, cross = kept.self_attention_cache, kept.cross_attention_cache
        outside = _outside(own) + _outside(cross)
        return _contents(kind, own.layers, cross.layers, outside)
    if hasattr(kept, "layers"):
        return _contents(kind, kept.layers, [], _outside(kept))
    if isinstance(kept, (list, tuple)) and len(kept) == layers:
        return Contents(kind, tuple(shown([item]) for item in kept), (), 0, (kind,), ())
    return Contents(kind, (), (), shown([kept]), (kind,), ())


def in_modules(model: Any) -> int:
    """Bytes that modules keep in plain attributes, neither parameters nor buffers."""
    registered = {"_parameters", "_buffers", "_modules"}
    return shown(
        value
        for module in model.modules()
        for name, value in vars(module).items()
        if name not in registered
    )


def shown(values: Iterable[Any]) -> int:
    """Bytes that the tensors in ``values`` show, objects opened, counters left out.

    A tensor under two names counts once: DeepSeek V4's keys are its values.
    """
    found = [
        tensor for value in values for tensor in tensors(_opened(value)) if not _counts(tensor)
    ]
    once = {id(tensor): tensor for tensor in found}.values()
    return sum(tensor.numel() * tensor.element_size() for tensor in once)


def _contents(kind: str, own: list[Any], cross: list[Any], outside: int) -> Contents:
    classes = dict.fromkeys(type(layer).__name__ for layer in [*own, *cross])
    windows = {int(x.sliding_window) for x in own if getattr(x, "sliding_window", None)}
    return Contents(
        kind,
        tuple(shown([layer]) for layer in own),
        tuple(shown([layer]) for layer in cross),
        outside,
        tuple(classes),
        tuple(sorted(windows)),
    )


def _outside(cache: Any) -> int:
    return shown(value for name, value in vars(cache).items() if name != "layers")


def _counts(tensor: Any) -> bool:
    """Whether a tensor is a counter: no dimension, or one whole number (xLSTM)."""
    return tensor.dim() == 0 or (tensor.numel() == 1 and not tensor.is_floating_point())


def _opened(value: Any) -> Any:
    if isinstance(value, (Mapping, list, tuple)) or not hasattr(value, "__dict__"):
        return value
    if hasattr(value, "dim"):
        return value
    return vars(value)
