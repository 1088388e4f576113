"""kvdocs: how much memory a language model's KV cache takes, exactly, from its published config.

The floors; each imports only floors that come before it:

    units, formula, facts, logs, engines, fit | workload | explain, evidence, site, cli

From Python you ask ``kvdocs.cost``, ``kvdocs.fit``, ``kvdocs.workload`` and ``kvdocs.explain``.
Each loads when you first name it; ``__init__.pyi`` tells type checkers what it takes and returns.
"""

__version__ = "0.1.0"
__all__ = ["cost", "explain", "fit", "workload"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'kvdocs' has no attribute {name!r}")
    from importlib import import_module

    return import_module(f"kvdocs.{name}")
