"""The lock files: every requirement is pinned, every pin has hashes, nothing names an address."""

import re
import tomllib

import pytest

from tests import lock

LOCKS = sorted(lock.ROOT.glob("requirements*.lock"))


def plain(name):
    return re.sub(r"[-_.]+", "-", re.split(r"[\[=<> ]", name)[0]).lower()


def extras():
    project = tomllib.loads((lock.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project["optional-dependencies"]


def pinned(*names):
    texts = [(lock.ROOT / name).read_text(encoding="utf-8") for name in names]
    return {plain(pin) for text in texts for pin in lock.parts(text)[1]}


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_a_lock_holds_pins_with_hashes_and_no_address(path):
    body = path.read_text(encoding="utf-8").replace(" \\\n    ", " ")
    for line in body.splitlines():
        if not line.startswith(("# ", "-r requirements-")):
            assert re.fullmatch(r"[\w.-]+==[\w.+]+( --hash=sha256:[0-9a-f]{64})+", line), line


def test_each_extra_is_in_its_lock():
    site = pinned("requirements-site.lock")
    tests = site | pinned("requirements.lock", "requirements-torch.lock")
    assert {plain(name) for name in extras()["site"] + extras()["hub"]} - {"kvdocs"} <= site
    assert {plain(name) for name in extras()["test"]} - {"kvdocs"} <= tests
    assert "flit-core" in site  # pip builds the package without asking for it


def test_the_site_needs_no_pytorch():
    assert not pinned("requirements-site.lock") & {"torch", "transformers", "numba"}


def test_renewing_keeps_the_pins_and_adds_the_local_file():
    head = "# why\n-r requirements-site.lock\n"
    torch, other = "torch==2.13.0 \\\n", "x_y==1 \\\n    --hash=sha256:bb\n"
    old = f"{torch}    --hash=sha256:aa\n{other}"
    assert lock.parts(head + old) == (head, ["torch==2.13.0", "x_y==1"])
    new = f"{torch}    --hash=sha256:cc \\\n    --hash=sha256:aa\n{other}"
    assert lock.with_local(old, {"torch": "cc", "x-y": "bb"}) == new
