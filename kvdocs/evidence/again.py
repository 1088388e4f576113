"""The commands that run vLLM again and write a record anew: what stops them before they start.

In: the words after the command, and what is installed. Out: one sentence, or nothing.
"""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version

from kvdocs.engines.vllm import VERSION


def problem(module: str) -> str:
    """Why ``python -m module update`` cannot run as it was called; empty where it can."""
    if sys.argv[1:] != ["update"]:
        return f"usage: .venv-engines/bin/python -m {module} update"
    try:
        found = version("vllm")
    except PackageNotFoundError:
        found = "no version"
    if found.partition("+")[0] == VERSION:
        return ""
    return (
        f"needs vLLM {VERSION}, found {found}: make test-engines makes .venv-engines, which "
        "has it; run this with .venv-engines/bin/python"
    )
