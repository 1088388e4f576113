"""Where what they run is not installed, the commands that make records say so in one sentence."""

import subprocess
import sys

import pytest

NAMES = ("llama_cpp", "records", "scheduling", "vllm_record")


def run(name, *arguments):
    """The command in an interpreter that sees no installed packages."""
    command = [sys.executable, "-S", "-m", f"kvdocs.evidence.{name}", *arguments]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_missing_is_said_in_one_sentence(name):
    found = run(name, "update")
    assert found.returncode == 2
    assert not found.stdout
    assert len(found.stderr.splitlines()) == 1
    assert "needs" in found.stderr


@pytest.mark.parametrize("name", NAMES)
def test_a_word_that_is_no_action_writes_nothing(name):
    found = run(name, "chekc")
    assert found.returncode == 2
    assert "usage" in found.stderr
