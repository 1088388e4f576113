"""Imports put off until they are used, so that the command line answers in milliseconds.

In: the name of a module that others import and hardly ever use. Out: a stand-in in its place that
turns into the module at the first use. For the command line only: who imports ``kvdocs`` gets what
they import themselves.
"""

from __future__ import annotations

import sys
from types import ModuleType


def put_off(name: str) -> None:
    """Let the next imports of ``name`` get a stand-in, unless it is loaded already."""
    if name not in sys.modules:
        sys.modules[name] = _StandIn(name)


class _StandIn(ModuleType):
    def __getattr__(self, attribute: str) -> object:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        module = __import__(self.__name__)
        self.__dict__.update(vars(module))
        return getattr(module, attribute)
