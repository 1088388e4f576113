"""Renew the hashes of the lock files: make lock, or python -m tests.lock where uv is installed.

In: pins, one NAME==VERSION a line; comments and ``-r`` lines before them are kept. Out: the same
pins, each with the SHA-256 of every file that the registry lists for it, whatever the platform, and
of the file that pip picks on this machine, which can be a build from a local folder.
"""

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main() -> None:
    for path in sorted(ROOT.glob("requirements*.lock")):
        head, pins = parts(path.read_text(encoding="utf-8"))
        text = with_local(hashed(pins), picked_here(pins))
        path.write_text(head + text, encoding="utf-8")
        print(f"{path.name}: {len(pins)} pins, {text.count('--hash=')} hashes")


def parts(lock: str) -> tuple[str, list[str]]:
    """What stands before the pins, and the pins without their hashes."""
    lines = lock.splitlines()
    head = [line for line in lines if line.startswith(("#", "-r "))]
    return "\n".join([*head, ""]), [line.split()[0] for line in lines if re.match(r"\w.*==", line)]


def hashed(pins: list[str]) -> str:
    """The pins with the hashes of the registry's files, in the form of a requirements file."""
    command = "uv pip compile --no-config --no-deps --generate-hashes --no-annotate --no-header"
    return _output([*command.split(), "--quiet", "--no-emit-find-links", "-"], pins)


def picked_here(pins: list[str]) -> dict[str, str]:
    """Name to hash of what pip would install on this machine from a file of its own."""
    command = "install --dry-run --ignore-installed --no-deps --quiet --report - -r /dev/stdin"
    report = _output([sys.executable, "-m", "pip", *command.split()], pins)
    return {
        _plain(item["metadata"]["name"]): item["download_info"]["archive_info"]["hashes"]["sha256"]
        for item in json.loads(report)["install"]
        if item["download_info"]["url"].startswith("file:")
    }


def with_local(text: str, local: Mapping[str, str]) -> str:
    """The pins and their hashes, with the local file's added where it is another one."""
    lines = []
    for line in text.splitlines():
        lines.append(line)
        own = local.get(_plain(line.partition("==")[0])) if "==" in line else None
        if own and own not in text:
            lines.append(f"    --hash=sha256:{own} \\")
    return "\n".join([*lines, ""])


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _output(command: list[str], lines: list[str]) -> str:
    done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr.strip())
    return done.stdout


if __name__ == "__main__":
    main()
