"""``make site``: build strictly, look at what came out, say what was done.

In: docs/ and mkdocs.yml. Out: site/, replaced only by a build that passed, and a summary. An
executed block that ends the interpreter would otherwise leave an empty site and status 0.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from kvdocs.site.pages import pages

_LOADS = re.compile(
    r"""(?:<(?:script|img|iframe|source|audio|video|embed)\b[^>]*\ssrc=|<link\b[^>]*\shref=|url\()
        ["']?(?P<address>(?:https?:)?//[^"')\s>]+)""",
    re.VERBOSE,
)
# A fence that printed on one line: markdown-exec's print knows no ``sep``.
_RUN_TOGETHER = re.compile(r"<p><code>(?:text|json|toml|console|\{) ?\S")
_HARMLESS = re.compile(r'<link[^>]*rel="(?:canonical|license)"')


def main() -> int:
    """Build into ``site/``; returns the exit status."""
    target = Path("site")
    with tempfile.TemporaryDirectory(prefix="kvdocs-", dir=".") as folder:
        built = Path(folder) / "site"
        command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(built)]
        if status := subprocess.run(command, check=False).returncode:
            print("site: the build failed; site/ is unchanged", file=sys.stderr)
            return status
        if found := problems(built, Path("docs")):
            print("\n".join(f"site: {problem}" for problem in found), file=sys.stderr)
            return 1
        shutil.rmtree(target, ignore_errors=True)
        built.replace(target)
    print(summary(target))
    return 0


def problems(site: Path, docs: Path) -> list[str]:
    """What is wrong with a built site: pages missing, blocks not run, loads from other hosts."""
    sources = [*pages([docs]), *sorted(docs.rglob("*.ipynb"))]
    expected = [path.relative_to(docs).with_suffix(".html") for path in sources]
    found = [f"{page} was not built" for page in expected if not (site / page).is_file()]
    for path in sorted([*site.rglob("*.html"), *site.rglob("*.css")]):
        text = path.read_text(encoding="utf-8")
        found += [f"{path.name} loads {m['address']}" for m in _loads(text)]
        prose = re.sub(r"<(?:pre|code)\b.*?</(?:pre|code)>", "", text, flags=re.DOTALL)
        if "```" in prose or _RUN_TOGETHER.search(text):
            found.append(f"{path.name} holds a code fence that was not rendered")
    return found


def summary(site: Path) -> str:
    """What was built, from what, and where to open it."""
    record = json.loads((site / "build.json").read_text(encoding="utf-8"))
    return "\n".join(
        [
            "",
            f"pages             {record['pages']}",
            f"tables & figures  {record['blocks_run']} regenerated",
            f"numbers           {record['numbers_checked']} checked",
            f"configs           {record['models']} models, {record['configs_from']}",
            f"open              {(site / 'index.html').resolve()}",
        ]
    )


def _loads(text: str) -> list[re.Match[str]]:
    return [m for m in _LOADS.finditer(text) if not _HARMLESS.match(m[0])]


if __name__ == "__main__":
    raise SystemExit(main())
