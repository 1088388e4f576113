"""Dataclasses whose methods are shared, so that the command line answers in milliseconds.

In: a class. Out: the class as a dataclass.
"""

from __future__ import annotations

import dataclasses
from operator import attrgetter

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
