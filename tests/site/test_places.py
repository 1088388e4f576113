"""What MkDocs and markdown-exec say of a page, given its line and column."""

import logging
from pathlib import Path

import pytest

from kvdocs.site.places import Placed, of_block

TEXT = 'One\n\n  see [there](b.md#gone), and on\n\n```python exec="1" id="made"\nx\n```\n'
TRACE = """Execution of python code block 'made' exited with errors

Code block is:

  print(1 / 0)

Output is:

  Traceback (most recent call last):
    File "<code block: id made>", line 7, in <module>
      print(1 / 0)
  ZeroDivisionError: division by zero
"""


@pytest.fixture
def docs(tmp_path):
    (tmp_path / "a.md").write_text(TEXT, encoding="utf-8")
    return tmp_path


def placed(docs: Path, said: str) -> str:
    record = logging.LogRecord("mkdocs", logging.WARNING, "", 0, said, (), None)
    assert Placed(docs, lambda: docs / "a.md").filter(record)
    return record.getMessage()


@pytest.mark.parametrize(
    "what",
    [
        "contains a link 'b.md#gone', but the doc 'b.md' does not contain an anchor '#gone'.",
        "contains a link 'b.md#gone', but the target is not found among documentation files.",
        "contains an unrecognized relative link 'b.md#gone', it was left as is.",
    ],
)
def test_a_dead_link_is_named_with_line_and_column(docs, what):
    assert placed(docs, f"Doc file 'a.md' {what}") == f"{docs}/a.md:3:14: {what}"


def test_a_block_that_fails_is_one_paragraph_with_its_place(docs):
    assert placed(docs, TRACE) == (
        f"{docs}/a.md:5:1: the block 'made' failed in line 7 of its snippet: "
        "ZeroDivisionError: division by zero"
    )
    assert of_block(docs / "a.md", "made") == f"{docs}/a.md:5:1"


@pytest.mark.parametrize(
    "said",
    [
        "Doc file 'a.md' contains a link 'c.md', but nobody wrote it like that.",
        "Doc file 'made.ipynb' contains a link 'c.md', but there is no such file.",
        "Template skipped: 'sitemap.xml' generated empty output.",
    ],
)
def test_what_has_no_place_is_left_as_it_is(docs, said):
    assert placed(docs, said) == said
