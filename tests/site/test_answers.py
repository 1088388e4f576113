"""Numbers tied to answers and to snippets: what `kvdocs fit` says, and what a snippet writes."""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kvdocs.cli import main
from kvdocs.literal import Literal
from kvdocs.site import numbers
from kvdocs.site.expressions import evaluate
from kvdocs.site.fact_values import constants
from kvdocs.site.pages import pages
from kvdocs.site.scope import scope
from kvdocs.site.words import Written

ROOT = Path(__file__).parents[2]
SNIPPETS = ROOT / "snippets"
DOCS = pages([ROOT / "docs"])
NAMED = sorted(
    {
        tuple(name.split("."))
        for path in DOCS
        for stated in numbers.find(path)
        for name in re.findall(r"snippet\.(\w+\.\w+)", stated.expression)
    }
)

FLAGS = [
    ("gpu.rtx_4090, tokens=4096", "--gpu rtx_4090 --tokens 4096"),
    ("gpu.rtx_4090, users=30", "--gpu rtx_4090 --users 30"),
    ("gpu.a100_80gb, kv_dtype=fp8, tp=2", "--gpu a100_80gb --kv-dtype fp8 --tp 2"),
    ("available=cited.vllm.planner.setup.pool", "--available 10GiB"),
    ("vram=gpu.l4, utilization=0.9", "--vram 23034MiB --utilization 0.9"),
    (
        "gpu.l4, engine=transformers, overhead=1024 * 1024",
        "--gpu l4 --engine transformers --overhead 1MiB",
    ),
    (
        "gpu.l4, engine=llama.cpp, overhead=0, kv_dtype=(q8_0, q4_0)",
        "--gpu l4 --engine llama.cpp --overhead 0bytes --kv-dtype q8_0,q4_0",
    ),
]


@pytest.mark.parametrize(("asked", "flags"), FLAGS)
def test_an_answer_is_what_the_command_prints(asked, flags, capsys):
    main(["fit", "Qwen/Qwen2.5-7B-Instruct", *flags.split(), "--json"])
    said = json.loads(capsys.readouterr().out)
    best = {f"best.{key}": value for key, value in said["best"].items()}
    for key, value in (said | best).items():
        if type(value) in (int, float):
            found = evaluate(f"fit(qwen2_5_7b, {asked}).{key}", scope())
            assert found.value == pytest.approx(value, rel=1e-12), key
    sure = evaluate(f"fit(qwen2_5_7b, {asked}).sure.sequences", scope())
    assert sure.value == said["sequences"]
    for term in said["terms"]:
        name = re.sub(r"\W+", "_", term["name"].partition(":")[0])
        found = evaluate(f"fit(qwen2_5_7b, {asked}).terms.{name}.bytes", scope())
        assert found.value == term["bytes"]
        assert any(term["name"] in line for line in found.how)


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("fit(qwen2_5_7b, gpu.rtx_4090)", "names an answer"),
        ("fit(qwen2_5_7b)", "state the card"),
        ("fit(qwen2_5_7b, 24).sequences", "is no card"),
        ("fit(qwen2_5_7b, gpu.abacus).sequences", "abacus"),
        ("fit(qwen2_5_7b, gpu.l4, speed=3).sequences", "unknown option 'speed'"),
        ("fit(qwen2_5_7b, gpu.l4, tokens=0).sequences", "tokens"),
        ("fit(qwen2_5_7b, gpu.l4, tokens=1.5).sequences", "no whole number"),
        ("fit(qwen2_5_7b, gpu.l4, engine=abacus).sequences", "abacus"),
        ("fit(qwen2_5_7b, gpu.t4, kv_dtype=fp8).sequences", "refuses a cache in fp8"),
        ("fit(qwen2_5_7b, gpu.l4).seats", "no figure is called seats; it has model"),
        ("fit(qwen2_5_7b, gpu.l4).terms.nothing.bytes", "no figure is called terms.nothing"),
        ("fit(qwen2_5_7b, gpu.l4).terms.bytes()", "is not a model"),
        ("fit(gpu.l4).sequences", "is not a model"),
        ("snippet.nothing.TOKENS", "there is no file"),
        ("snippet.fit_cards.NOTHING", "writes no number called 'NOTHING'"),
        ("snippet.fit_cards.rows", "writes no number called 'rows'"),
        ("code.site.tables.NOTHING", "writes no number called 'NOTHING'"),
        ("code.no.such.NAME", "there is no file"),
        ("example.steps.nothing", "has no figure"),
        ("example.steps", "has no figure"),
    ],
)
def test_what_no_answer_or_snippet_gives_is_refused_with_the_reason(expression, says):
    here = replace(scope(), snippets=SNIPPETS)
    with pytest.raises(ValueError, match=re.escape(says)):
        evaluate(expression, here)


def test_a_wider_range_of_working_memory_is_seen_and_fixed_on_will_it_fit(tmp_path):
    """In a copy vLLM may take 5.05 GiB for itself, not 3.05: the page says 18, and 9 is right."""
    for name in ("kvdocs", "snippets"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    page = tmp_path / "docs/will-it-fit.md"
    page.parent.mkdir()
    shutil.copy(ROOT / "docs/will-it-fit.md", page)
    claims = tmp_path / "kvdocs/facts/claims.toml"
    text = claims.read_text(encoding="utf-8")
    head, most = text.split("[vllm.other_memory.small_card.most]")
    assert most.startswith('\nvalue = "3.05 GiB"')
    wider = most.replace("3.05 GiB", "5.05 GiB", 2)  # the value, and where it is said
    claims.write_text(f"{head}[vllm.other_memory.small_card.most]{wider}", encoding="utf-8")

    def kvdocs(*arguments):
        variables = {"PYTHONPATH": str(tmp_path), "KVDOCS_HUB": "snapshot"}
        return subprocess.run(
            [sys.executable, "-m", "kvdocs", *arguments],
            cwd=tmp_path,
            env=os.environ | variables,
            capture_output=True,
            text=True,
            check=False,
        )

    asked = "Qwen/Qwen2.5-7B-Instruct", "--gpu", "4090", "--tokens", "4096", "--json"
    right = json.loads(kvdocs("fit", *asked).stdout)
    assert right["sequences"] < 18
    checked = kvdocs("numbers", "check", "docs/will-it-fit.md")
    assert checked.returncode == 1
    assert re.search(
        rf'docs/will-it-fit\.md:\d+:\d+: says "18 sequences", but .* "{right["sequences"]} seq',
        checked.stderr,
    )
    assert kvdocs("numbers", "fix", "docs/will-it-fit.md").returncode == 0
    fixed = page.read_text(encoding="utf-8")
    assert f"[{right['sequences']} sequences](kv:" in fixed
    assert f"[{right['blocks']:,} blocks](kv:" in fixed
    assert "[18 sequences]" not in fixed
    assert "[33 sequences](kv:" in fixed  # the better end is as it was


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_changed_constant_of_a_snippet_fails_the_page_beside_it(tmp_path, file, name):
    for path in SNIPPETS.glob("*.py"):
        shutil.copy(path, tmp_path)
    path = tmp_path / f"{file}.py"
    value = constants(path)[name]
    text = path.read_text(encoding="utf-8")
    digits = str(value).split()[0]
    text = text.replace(f"{int(digits):_}", digits)
    path.write_text(re.sub(rf"\b{digits}\b", str(int(digits) + 1), text), encoding="utf-8")
    assert constants(path)[name] != value
    changed = replace(scope(), snippets=tmp_path)
    of_page = [page for page in DOCS if f"snippet.{file}.{name}" in page.read_text("utf-8")]
    assert of_page
    for page in of_page:
        assert any("says" in problem.what for problem in numbers.check_page(page, changed)), page


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_no_illustration_repeats_what_a_snippet_of_the_page_writes(path):
    """Such a number is the snippet's; with the snippet it would change."""
    text = path.read_text(encoding="utf-8")
    written = {
        value if type(value) is int else Literal.parse(value).number
        for file in re.findall(r'--8<-- "(\w+)\.py"', text)
        for name, value in constants(SNIPPETS / f"{file}.py").items()
        if name in ("TOKENS", "USERS", "OVERHEAD")
    }
    chosen = {
        stated.text: Written.read(stated.text)
        for stated in numbers.find(path)
        if stated.kind == "illustration"
    }
    repeated = [text for text, one in chosen.items() if one.unit and one.number in written]
    assert repeated == []


def test_every_snippet_is_named_by_a_page_that_shows_it():
    """Its constant stands beside the number, so it is that page's own."""
    for path in DOCS:
        text = path.read_text(encoding="utf-8")
        for file in set(re.findall(r"snippet\.(\w+)\.\w+", text)):
            assert f'--8<-- "{file}.py"' in text, (path, file)
