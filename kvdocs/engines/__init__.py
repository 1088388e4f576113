"""How one engine holds one model, under given flags, on a given card.

In: a ``Model``, the engine's own ``Flags``, a card or None where it is not known. Out: a ``Pool``,
which says what a number of bytes has room for; or ``Refused`` with the reason. An engine's ``hold``
is the only way in: whoever needs a pool calls it.

An engine is a module, ``kvdocs.engines.NAME.hold``, with the names that
``protocol.Engine`` lists.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import Any

    from kvdocs.engines.protocol import Engine

ENGINES = ("vllm", "transformers", "llama.cpp")  # as --engine names them


def engine(name: str) -> Engine:
    """The engine of that name.

    Raises:
        ValueError: there is none.

    >>> engine("vllm").TITLE
    'vLLM 0.33.0'
    """
    if name not in ENGINES:
        raise ValueError(f"--engine {name!r} is not known; choose one of {', '.join(ENGINES)}")
    found: Engine = import_module(f"kvdocs.engines.{name.replace('.', '_')}.hold")
    return found


class OfEngine:
    """A class with an ``engine``, which a pickle or a copy holds by its name: a module has none."""

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"engine": vars(self)["engine"].KEY}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, engine=engine(state["engine"]))
