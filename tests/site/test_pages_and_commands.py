"""What the pages say about the commands is what the commands do."""

import json
import re
import runpy
from pathlib import Path

import pytest

from kvdocs import formula
from kvdocs.cli import main
from kvdocs.formula.layers import Layer

DOCS, SNIPPETS = Path("docs"), Path("snippets")


def printed(capsys, *arguments):
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("snippet", "arguments"),
    [
        ("cost_table", ["cost", "Qwen/Qwen2.5-7B-Instruct"]),
        ("cost_json", ["cost", "google/gemma-3-4b-it", "--tokens", "2048", "--json"]),
    ],
)
def test_an_example_is_what_the_reader_sees_whatever_the_build_asked(
    snippet, arguments, capsys, monkeypatch
):
    """The commands answer from the snapshot; a build may have asked the Hub, or tried to."""
    monkeypatch.delenv("KVDOCS_HUB")
    command = printed(capsys, *arguments)
    monkeypatch.setattr("kvdocs.site.scope.site_catalogue", None)  # what the build has read
    runpy.run_path(str(SNIPPETS / f"{snippet}.py"))
    _, *shown, _ = capsys.readouterr().out.splitlines()
    assert shown == command.splitlines()


def kinds(of=Layer):
    """The kinds of all layers there are, but for those joined from several."""
    for each in of.__subclasses__():
        if isinstance(each.kind, str) and each.kind:
            yield each.kind
        yield from kinds(each)


def test_the_coverage_page_explains_every_kind_of_layer():
    assert formula.layout_of  # with it every module of layers is loaded
    rows = re.findall(r"^\| (`.*?) \|", (DOCS / "coverage.md").read_text(encoding="utf-8"), re.M)
    explained = [name for row in rows for name in re.findall(r"`([^`]+)`", row)]
    assert sorted(explained) == sorted(set(kinds()))


@pytest.mark.parametrize("command", ["cost", "fit", "workload", "explain"])
def test_the_page_explains_every_key_of_the_json(command, capsys):
    """The schemas are held against the answers in tests/test_answers.py."""
    schema = json.loads((DOCS / f"assets/schema/{command}.json").read_text(encoding="utf-8"))
    runpy.run_path(str(SNIPPETS / "json_keys.py"))
    section = (
        capsys.readouterr().out.partition(f"### kvdocs {command} --json")[2].partition("\n### ")[0]
    )
    objects = [schema, *schema["$defs"].values()]
    for key, what in (pair for one in objects for pair in one["properties"].items()):
        row = next(row for row in section.splitlines() if row.strip("| *").startswith(f"`{key}`"))
        assert row.rstrip(" |").rpartition("| ")[2] != "", f"{key} is not explained"
        assert what["description"] in section
