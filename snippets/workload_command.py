"""What `kvdocs workload` prints for the example, written to a file as a server logs it."""

import contextlib
import io
import json
import tempfile
from pathlib import Path

from kvdocs.cli import main
from kvdocs.site.example_workload import LIMIT, MODEL, example

with tempfile.TemporaryDirectory() as folder:
    log = Path(folder) / "requests.jsonl"
    with log.open("w", encoding="utf-8") as file:
        for request in example().requests:
            usage = {"prompt_tokens": request.prompt, "completion_tokens": request.output}
            file.write(json.dumps({"usage": usage}) + "\n")
    pool = ["--model", MODEL, "--available", "6.6GB", "--max-model-len", str(LIMIT)]
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        main(["workload", str(log), *pool])

print("```text")
print("$ kvdocs workload", log.name, *pool[:2], "\\\n   ", *pool[2:], end="\n\n")
print(shown.getvalue().replace(str(log), log.name).rstrip())
print("```")
