"""What a record needs before it can be measured: packages, and the Python that has them.

In: what is installed. Out: one sentence that says what is missing and where it is, or nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version

from kvdocs.engines.vllm import VERSION


@dataclass(frozen=True)
class Needs:
    """Packages with the version each must have, ``""`` where any will do.

    ``run`` starts the command line with a Python that has them, ``make`` makes that Python, and
    ``environment`` holds the variables that the packages read when they are imported.
    """

    packages: Mapping[str, str]
    run: str
    make: str
    environment: Mapping[str, str] = field(default_factory=dict)

    def missing(self) -> str:
        """What is missing here, as a sentence; empty where nothing is.

        >>> Needs({"no-such-package": "1.0"}, "python -m kvdocs", "make it").missing()
        'needs no-such-package 1.0, and this Python has none; run python -m kvdocs, after make it'
        """
        for name, wanted in self.packages.items():
            found = _installed(name)
            if not found or (wanted and found.partition("+")[0] != wanted):
                package = f"{name} {wanted}".strip()
                where = f"run {self.run}, after {self.make}"
                return f"needs {package}, and this Python has {found or 'none'}; {where}"
        return ""

    def versions(self) -> dict[str, str]:
        """The installed version of each package."""
        return {name: _installed(name) for name in self.packages}

    def prepare(self) -> None:
        """Set the variables that are not set yet; before the packages are imported."""
        for name, value in self.environment.items():
            os.environ.setdefault(name, value)

    def __str__(self) -> str:
        names = [f"{name} {wanted}".strip() for name, wanted in self.packages.items()]
        return ", ".join(names)


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


_ENGINES = ".venv-engines/bin/python -m kvdocs", "make .venv-engines/ok"
# The build whose llama.h ``llama_cpp/library.py`` repeats.
LLAMA_CPP = Needs({"xllamacpp": "2026.10.11549"}, *_ENGINES)
NEEDS = {
    "transformers": Needs({"torch": "", "transformers": ""}, "kvdocs", "make .venv/test.ok"),
    "vllm": Needs(
        {"vllm": VERSION, "torch": "", "transformers": ""},
        *_ENGINES,
        {"VLLM_TARGET_DEVICE": "cpu"},
    ),
    "llama_cpp": LLAMA_CPP,
}
