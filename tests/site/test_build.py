"""The whole build, as readers run it: the same files twice, and a clear stop for every fault."""

import filecmp
import html
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kvdocs.facts import snapshot
from kvdocs.site.build import problems

ROOT = Path(__file__).parents[2]
WANTED = ["12 KiB", "56 KiB", "48 MiB", "224 MiB", "20 conversations", "65 conversations"]
WANTED += ["2.52 GB", "11.74 GB", "392 KiB", "384 KiB"]
WRONG = [
    r"\b85 conv",
    r"\b67 conv",
    r"\babout 85\b(?!%)",
    r"\babout 67\b",
    r"\b2\.46\b",
    r"11\.47(?! GiB)",
]


def project(folder: Path) -> Path:
    """What a build reads, in a folder of its own."""
    for name in ("docs", "snippets", "kvdocs"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("mkdocs.yml", "requirements.lock", "requirements-torch.lock"):
        shutil.copy(ROOT / name, folder)
    return folder


def build(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the build in ``folder``, with the package of that folder."""
    pytest.importorskip("mkdocs_jupyter", reason="the site's packages are not installed")
    variables = {"KVDOCS_HUB": "snapshot", "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, "-m", "kvdocs.site.build"],
        cwd=folder,
        env=os.environ | variables | environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A project whose site was built, and a copy of the first site beside the second."""
    folder = project(tmp_path_factory.mktemp("built"))
    for name in ("first", "second"):
        done = build(folder)
        assert done.returncode == 0, done.stderr
        (folder / "site").rename(folder / name)
    return folder


def files(folder: Path) -> list[Path]:
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


def words(page: Path) -> str:
    source = page.read_text(encoding="utf-8")
    text = re.sub(r"<(script|style|svg)\b.*?</\1>", " ", source, flags=re.S)
    return html.unescape(" ".join(re.sub(r"<[^>]+>", " ", text).split()))


def test_two_builds_are_the_same_to_the_byte(built):
    names = files(built / "first")
    assert names == files(built / "second")
    _, different, failed = filecmp.cmpfiles(built / "first", built / "second", names, shallow=False)
    assert different == failed == []


def test_the_article_shows_its_figures(built):
    shown = words(built / "second/kv-cache.html")
    assert [figure for figure in WANTED if figure not in shown] == []


def test_wrong_figures_stand_where_they_are_corrected_and_nowhere_else(built):
    pages = {
        str(path.relative_to(built / "second"))
        for path in (built / "second").rglob("*.html")
        if any(re.search(pattern, words(path)) for pattern in WRONG)
    }
    assert pages == {"corrections.html"}


def test_nothing_is_wrong_with_what_was_built(built):
    assert problems(built / "second", built / "docs") == []


def test_what_loads_from_another_host_or_was_not_built_is_named(tmp_path):
    docs, site = tmp_path / "docs", tmp_path / "site"
    docs.mkdir()
    site.mkdir()
    (docs / "a.md").write_text("# A\n")
    (site / "b.html").write_text('<script src="//cdn.example/x.js"></script><p>```</p>')
    (site / "c.html").write_text("<p><code>text 2 × 28 layers</code></p>")
    assert problems(site, docs) == [
        "a.html was not built",
        "b.html loads //cdn.example/x.js",
        "b.html holds a code fence that was not rendered",
        "c.html holds a code fence that was not rendered",
    ]


def after_title(text: str) -> tuple[str, str, str]:
    """A paragraph more on the models page."""
    return "docs/models.md", "\n# Models\n", f"\n# Models\n\n{text}\n"


LINK = '[56 KiB](kv: "qwen2_5_7b.slope()")'
COVERAGE = '```python exec="1" html="1" id="coverage"\n--8<-- "coverage_table.py"\n```'
# Each fault, and what is said of it; faults that one build reports together are made together.
FAULTS = {
    "what is written": [
        ("docs/models.md", "4,096 tokens](kv", "4,097 tokens](kv", 'models.md:15:257: says "4,097'),
        (*after_title("It takes 7 GiB."), 'number "7 GiB'),
        (*after_title("It takes seventeen GiB."), 'the number "seventeen GiB'),
    ],
    "an escaped link": [
        (*after_title(f"\\{LINK}"), '"56 KiB" is a link that Markdown does not read')
    ],
    "a link in HTML": [
        (*after_title(f"<p>{LINK}</p>"), '"56 KiB" is a link that Markdown does not read')
    ],
    "a block in a comment": [
        ("docs/coverage.md", COVERAGE, f"<!--\n{COVERAGE}\n-->", "executed block is in a comment")
    ],
    "what is run and linked": [
        ("mkdocs.yml", "      - Coverage: coverage.md\n", "", "coverage.md"),
        (
            "docs/corrections.md",
            "#the-problem)",
            "#the-problemm)",
            "corrections.md:39:187: contains",
        ),
        (
            "snippets/models_table.py",
            "print(",
            "print(1 / 0, ",
            "models.md:17:1: the block 'models' failed in line 7",
        ),
    ],
    "a snippet that prints nothing": [
        (
            "snippets/coverage_table.py",
            "print(",
            "str(",
            "coverage.md:24:1: the block 'coverage' printed nothing",
        )
    ],
    "a report that is no TOML": [("kvdocs/facts/reports.toml", "[", "", "reports.toml: not TOML")],
    "a record that is no JSON": [
        ("kvdocs/evidence/records/sweep.json", "{", "", "records/sweep.json: ")
    ],
    "claims that are no TOML": [
        ("kvdocs/facts/claims.toml", "[vllm", "vllm", "claims.toml: line 10: is")
    ],
}


@pytest.mark.parametrize("place", FAULTS)
def test_a_fault_stops_the_build_and_is_named(tmp_path, place):
    folder = project(tmp_path)
    for file, old, new, _ in FAULTS[place]:
        text = (folder / file).read_text(encoding="utf-8")
        assert old in text
        (folder / file).write_text(text.replace(old, new, 1), encoding="utf-8")
    done = build(folder)
    assert done.returncode != 0
    for *_, said in FAULTS[place]:
        assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert not (folder / "site").exists()


def test_a_changed_value_of_the_snapshot_names_every_number_that_depends_on_it(tmp_path):
    folder = project(tmp_path)
    path = Path(snapshot.path_of("Qwen/Qwen2.5-7B-Instruct", folder / "kvdocs/facts/snapshot"))
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"num_hidden_layers": 28', '"num_hidden_layers": 29'))
    done = build(folder)
    assert done.returncode != 0
    named = re.findall(r'docs/kv-cache\.md:\d+:\d+: says "([^"]+)"', done.stderr)
    assert {"28 layers", "56 KiB", "224 MiB", "11.74 GB", "392 KiB"} <= set(named)


def test_a_broken_entry_of_the_snapshot_is_named(tmp_path):
    folder = project(tmp_path)
    path = folder / "kvdocs/facts/snapshot/openai--gpt-oss-20b.json"
    path.write_text('{"id": ', encoding="utf-8")
    done = build(folder)
    assert done.returncode != 0
    assert "openai--gpt-oss-20b.json: not an entry of the snapshot" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_misspelt_mode_is_named_without_a_traceback(tmp_path):
    done = build(project(tmp_path), KVDOCS_HUB="bogus")
    assert done.returncode != 0
    assert "KVDOCS_HUB: 'bogus' is not one of its values" in done.stderr
    assert "Traceback" not in done.stderr
