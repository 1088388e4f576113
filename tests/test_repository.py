"""The files around the code agree with it: releases, citation, hooks, what a package ships."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import kvdocs

ROOT = Path(__file__).parents[1]


def releases():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    return re.findall(r"^## (.*)$", text, re.MULTILINE)


def test_the_changelog_starts_with_what_is_not_released_yet():
    first, *others = releases()
    assert first == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", other) for other in others)
    assert others[0].startswith(f"[{kvdocs.__version__}]")


def test_the_citation_is_valid_and_names_the_newest_release():
    path = ROOT / "CITATION.cff"
    found = shutil.which("check-jsonschema", path=Path(sys.executable).parent)
    tool = found or pytest.skip("check-jsonschema is not installed")
    command = [tool, "--builtin-schema", "vendor.citation-file-format", path]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    stated = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert f"[{stated['version']}] - {stated['date-released']}" == releases()[1]


def test_hooks_fetch_nothing():
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert [repo["repo"] for repo in config["repos"]] == ["local"]
    hooks = config["repos"][0]["hooks"]
    assert all(hook["language"] == "system" for hook in hooks)
    assert all(hook["entry"].startswith(".venv/bin/") for hook in hooks)


def test_generated_files_are_marked():
    done = subprocess.run(
        ["git", "check-attr", "linguist-generated", "--stdin"],
        input="\n".join(
            ["kvdocs/evidence/records/sweep.json", "kvdocs/README.md", "requirements.lock"]
        ),
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.stdout.count("linguist-generated: set") == 3, done.stderr


def test_type_checkers_read_the_package():
    assert (ROOT / "kvdocs" / "py.typed").exists()
