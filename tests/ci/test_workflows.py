"""The workflows: linted, pinned, with few rights; their scripts run against a stand-in for gh."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SCRIPTS = ROOT / ".github" / "scripts"
MAY_WRITE = {
    "nightly.yml": {"issues"},
    "weekly.yml": {"issues"},
    "pages.yml": {"pages", "id-token"},
}


def tool(name: str) -> str:
    """The path of a program that pip installed beside this Python."""
    found = shutil.which(name, path=Path(sys.executable).parent)
    return found or pytest.skip(f"{name} is not installed")


def test_zizmor_finds_nothing():
    command = [tool("zizmor"), "--offline", "--no-progress", ROOT / ".github" / "workflows"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_every_workflow_has_the_form_of_one():
    command = [tool("check-jsonschema"), "--builtin-schema", "vendor.github-workflows"]
    done = subprocess.run([*command, *WORKFLOWS], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_and_rights_are_few(path):
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {}
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 120
        writes = {what for what, right in job["permissions"].items() if right == "write"}
        assert writes <= MAY_WRITE.get(path.name, set())
        for step in job["steps"]:
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step.get("uses", "a/b@" + 40 * "0"))


def test_the_nightly_runs_what_make_test_leaves_to_it():
    marked = {
        path.parent.relative_to(ROOT).as_posix()
        for path in (ROOT / "tests").rglob("test_*.py")
        if "mark.nightly" in path.read_text(encoding="utf-8")
    }
    nightly = (ROOT / ".github/workflows/nightly.yml").read_text(encoding="utf-8")
    whole = re.search(r"pytest -q -m '' ([\w/ ]+)", nightly)[1].split()
    assert marked <= {*whole, "tests/ci"}
    assert "tests/evidence" in marked


@pytest.fixture
def checks(tmp_path):
    """Run checks.sh; returns its status, the report and what it told the workflow."""

    def checks(*commands: str) -> tuple[int, str, str]:
        report, output = tmp_path / "report.md", tmp_path / "output"
        output.touch()
        done = subprocess.run(
            [SCRIPTS / "checks.sh", report, *commands],
            cwd=tmp_path,
            env=os.environ | {"GITHUB_OUTPUT": str(output)},
            capture_output=True,
            text=True,
        )
        return done.returncode, report.read_text(), output.read_text()

    return checks


def test_nothing_differs(checks):
    assert checks("true", "echo fine") == (0, "", "")


def test_a_difference_is_reported_and_later_checks_still_run(checks):
    status, report, told = checks("echo 4 became 8; exit 1", "true", "echo and this; exit 1")
    assert (status, told) == (1, "differs=true\n")
    assert report.count("## `") == 2
    assert "\n4 became 8\n" in report
    assert "\nand this\n" in report


def test_a_check_that_could_not_be_made_is_no_difference(checks):
    assert checks("echo the Hub is out of reach; exit 2") == (1, "", "")


GH = """\
#!/bin/sh
echo "$@" >>"$GH_LOG"
case "$1 $2" in "issue list") printf '%s' "$GH_OPEN" ;; esac
"""


@pytest.mark.parametrize(
    ("open_issue", "expected"),
    [
        ("", "issue create --title The world has moved --label drift --body-file report.md"),
        ("17", "issue edit 17 --body-file report.md"),
    ],
)
def test_one_issue_is_opened_or_updated(tmp_path, open_issue, expected):
    gh, log = tmp_path / "gh", tmp_path / "log"
    gh.write_text(GH)
    gh.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    subprocess.run(
        [SCRIPTS / "one_issue.sh", "drift", "The world has moved", "report.md"],
        env={"PATH": path, "GH_LOG": str(log), "GH_OPEN": open_issue},
        check=True,
    )
    said = log.read_text().splitlines()
    assert said[0] == "label create drift --force"
    assert said[1].startswith("issue list --label drift --state open")
    assert said[2:] == [expected]
