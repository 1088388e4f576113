"""Modules that answer when they are called: ``kvdocs.fit(…)`` is ``kvdocs.fit.answer.fit(…)``.

In: a module's name, and the function that answers for it. Out: a module that can be called.

A question's folder and the function that answers it share a name, and Python binds the folder to
that name as soon as anything in the folder is imported. So the folder takes the call itself, and
both orders of import give the same object. A module's class may be set; the chapter "Customizing
module attribute access" of Python's reference says so. The function loads at the first call.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Called(type(sys)):  # type: ignore[misc]  # ModuleType, which mypy knows under its name only
    """A module that hands its call to the function ``answers`` named."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self.function(*args, **options)

    @property
    def function(self) -> Callable[..., Any]:
        """The function itself."""
        from importlib import import_module

        module, name = self.answered_by
        found: Callable[..., Any] = getattr(import_module(module), name)
        return found

    @property
    def __signature__(self) -> object:
        """The function's signature, for ``inspect.signature`` and ``help``."""
        from inspect import signature

        return signature(self.function)


def answers(called: str, module: str, name: str) -> None:
    """Let the module ``called`` be called: the function ``name`` of ``module`` answers."""
    sys.modules[called].__class__ = Called
    sys.modules[called].answered_by = (module, name)  # type: ignore[attr-defined]
