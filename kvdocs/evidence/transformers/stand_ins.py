"""Answers for code that reads a value from a tensor on the meta device, which has none.

A flag reads as true (no token is padding), a number as zero, a search for nonzero elements finds
none (no expert is chosen), and a mask used as an index selects everything. None of these decides
the shape of a cache; small real models on the CPU are held against the same formula in the tests.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from typing import Any


def stand_ins() -> AbstractContextManager[Any]:
    """A context in which meta tensors answer when their value is read."""
    import torch
    import torch.fx.experimental._config as shapes
    from torch.utils._python_dispatch import TorchDispatchMode

    class StandIns(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(
            self, operation: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            name = operation.overloadpacket.__name__
            if name == "_local_scalar_dense" and args[0].is_meta:
                return args[0].dtype is torch.bool or args[0].new_zeros((), device="cpu").item()
            if name == "nonzero" and args[0].is_meta:
                return args[0].new_empty((0, args[0].dim()), dtype=torch.long)
            return operation(*args, **(kwargs or {}))

    both = ExitStack()
    both.enter_context(shapes.patch(meta_nonzero_assume_all_nonzero=True))
    both.enter_context(StandIns())
    return both
