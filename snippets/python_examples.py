"""The examples of the page on Python, each with what it prints."""

import contextlib
import io
import os
import runpy
from pathlib import Path

from kvdocs.facts.snapshot import FOLDER

asked = os.environ.pop("KVDOCS_HUB", None)  # the examples answer alike in every build
SNIPPETS = Path(FOLDER).parents[2] / "snippets"
for name in ("cost", "fit", "workload", "explain"):
    path = SNIPPETS / f"python_{name}.py"
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        says = runpy.run_path(str(path))["__doc__"]
    code = path.read_text(encoding="utf-8").partition('"""\n\n')[2]
    print(f"### {name}\n\n{says}\n\n```python\n{code}```\n\n```text\n{printed.getvalue()}```\n")
if asked is not None:
    os.environ["KVDOCS_HUB"] = asked
