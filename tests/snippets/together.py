"""Several runs of a snippet in one process, so that torch and transformers are imported once.

In: variants by name, each with arguments and the edits that make it. Out: what each printed, and
its exit status. Each runs as a script does: ``__main__``, an ``argv`` of its own, an empty folder.
"""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

RUN_ALL = """
import contextlib, io, json, runpy, sys
done = []
for file, arguments in json.load(sys.stdin):
    out, status, sys.argv = io.StringIO(), 0, [file, *arguments]
    with contextlib.redirect_stdout(out):
        try:
            runpy.run_path(file, run_name="__main__")
        except SystemExit as stop:
            status = stop.code
    done.append([out.getvalue(), status])
print(json.dumps(done))
"""


@dataclass(frozen=True)
class Variant:
    """A snippet with arguments, after edits that each change exactly one line."""

    arguments: tuple[str, ...] = ()
    edits: tuple[tuple[str, str], ...] = ()

    def text(self, snippet: Path) -> str:
        text = snippet.read_text(encoding="utf-8")
        for old, new in self.edits:
            assert text.count(old) == 1, f"{old!r} is not one line of {snippet.name}"
            text = text.replace(old, new)
        return text


def run_together(
    snippet: Path, variants: dict[str, Variant], folder: Path, environment: dict[str, str]
) -> dict[str, tuple[str, object]]:
    """What each variant printed, and what it exited with: 0, or the message of ``sys.exit``."""
    jobs = []
    for index, variant in enumerate(variants.values()):
        file = folder / f"{snippet.stem}_{index}.py"
        file.write_text(variant.text(snippet), encoding="utf-8")
        jobs.append([file.name, variant.arguments])
    before = sorted(folder.iterdir())
    command = {"cwd": folder, "env": environment, "input": json.dumps(jobs), "text": True}
    done = subprocess.run(
        [sys.executable, "-c", RUN_ALL], capture_output=True, timeout=600, **command
    )
    assert done.returncode == 0, done.stderr
    assert sorted(folder.iterdir()) == before
    return {name: tuple(x) for name, x in zip(variants, json.loads(done.stdout), strict=True)}
