"""The notebook is the snippets, and its stored outputs are what running it gives."""

import json

import pytest

pytest.importorskip("nbclient", reason="nbclient is not installed")
pytest.importorskip("ipykernel", reason="ipykernel is not installed")

from kvdocs.facts.snapshot import load
from tests import smollm2
from tests.installed import version
from tests.notebooks.notebook import NOTEBOOK, as_text, blank, run, snippet


@pytest.fixture(scope="module")
def stored():
    return json.loads(NOTEBOOK.read_text(encoding="utf-8"))


def sources(notebook) -> list[str]:
    return ["".join(cell["source"]) for cell in notebook["cells"]]


def printed(notebook) -> list[str]:
    """What each cell that prints anything printed."""
    outputs = [out for cell in notebook["cells"] for out in cell.get("outputs", [])]
    assert {(out["output_type"], out.get("name")) for out in outputs} == {("stream", "stdout")}
    return ["".join(out["text"]) for out in outputs]


def test_the_code_is_the_snippets_letter_for_letter(stored):
    found = sources(stored)
    assert found.count(snippet("kv_cost.py")) == 1
    assert found.count(snippet("kv_measure.py")) == 1
    assert found == sources(blank())


def test_the_outputs_are_those_the_article_shows(stored):
    cost, _, measured = printed(stored)
    folder = NOTEBOOK.parents[2] / "snippets" / "output"
    assert cost == (folder / "kv_cost.txt").read_text()
    first, _, _ = (folder / "kv_measure.txt").read_text().partition("\n\n")
    assert measured == first.partition("\n")[2] + "\n"


def test_the_table_is_the_formulas(stored):
    """Each cell of the table, in GiB, against the published config of Qwen2.5-7B."""
    layout = load("Qwen/Qwen2.5-7B-Instruct").layout
    head, _, *rows = printed(stored)[1].splitlines()
    counts = [int(count) for count in head.split()[1:]]
    assert len(rows) == 3
    for tokens, *cells in map(str.split, rows):
        sizes = [count * layout.bytes(int(tokens)) / 2**30 for count in counts]
        assert cells == [f"{size:.2f}" for size in sizes]


def test_running_it_again_changes_nothing(tmp_path):
    smollm2.weights()
    if version() < (5, 0):
        pytest.skip("before transformers 5 this tokenizer begins with one more token")
    assert as_text(run(blank(), tmp_path)) == NOTEBOOK.read_text(encoding="utf-8")
