"""What lets the command line answer in milliseconds: imports put off until they are used, and
dataclasses whose methods are shared.

In: the name of a module that others import and hardly ever use; a class. Out: a stand-in in the
module's place that turns into it at the first use; the class as a dataclass.
"""

from __future__ import annotations

import sys
from operator import attrgetter
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


put_off("inspect")  # dataclasses imports it and hardly ever uses it

import dataclasses  # noqa: E402

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, kw_only=False):
        """As ``dataclasses.dataclass``, in a quarter of the time: of all its methods only
        ``__init__`` is compiled for each class. A field of a frozen one can be set once."""
        if cls is None:
            return lambda found: dataclass(found, frozen=frozen, kw_only=kw_only)
        own = set(vars(cls))
        made = dataclasses.dataclass(repr=False, eq=False, kw_only=kw_only)(cls)
        compared = [one.name for one in dataclasses.fields(made) if one.compare]
        made._compared = attrgetter(*compared) if compared else type
        shared = {"__repr__": _repr, "__eq__": _eq, "__hash__": _hash if frozen else None}
        if frozen:
            shared |= {"__setattr__": _set_once, "__delattr__": _keep}
        for name, method in shared.items():
            if name not in own:
                setattr(made, name, method)
        return made

    def _repr(self):
        shown = (one.name for one in dataclasses.fields(self) if one.repr)
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{type(self).__qualname__}({values})"

    def _eq(self, other):
        kind = type(self)
        if other.__class__ is not kind:
            return NotImplemented
        return self is other or kind._compared(self) == kind._compared(other)

    def _hash(self):
        return hash(type(self)._compared(self))

    def _set_once(self, name, value):
        if name in self.__dict__ or name not in self.__dataclass_fields__:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        self.__dict__[name] = value

    def _keep(self, name):
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
