"""The MkDocs adapter: it only calls the modules beside it at the right moments of a build.

Before anything is written, every page is checked; one problem stops the build and all are listed.
Then stated numbers are rendered, tables labelled and downloads added, and ``build.json`` says what
was built from what.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from kvdocs.facts.catalogue import SnapshotDiffers
from kvdocs.facts.reports import load_reports
from kvdocs.formula.layers import plural
from kvdocs.site import fences, notebooks, numbers, places, popover, stacked, tables
from kvdocs.site.pages import pages
from kvdocs.site.scope import forget, scope, scope_of, site_catalogue
from kvdocs.site.values import Scope

_now: dict[str, str] = {}  # the page that is being made, and what is wrong with a block of it
log = logging.getLogger("mkdocs.kvdocs")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Look facts up anew, and fix the date that ends up in files: same inputs, same bytes."""
    forget()
    try:
        scope()
        load_reports()
    except SnapshotDiffers as error:
        moved = [p for path in _sources(config) for p in _problems(path, scope_of(error.models))]
        lines = "\n".join(f"  {problem}" for problem in moved) or "  no number of a page"
        raise PluginError(f"{error}\nWith it would change:\n{lines}") from error
    except ValueError as error:  # a fact that is missing or wrong: the message names the file
        raise PluginError(str(error)) from error
    for warning in site_catalogue().warnings:
        log.info(warning)
    newest = max(model.source.retrieved or "1970-01-01" for model in site_catalogue().models)
    moment = datetime.fromisoformat(newest).replace(tzinfo=UTC)
    os.environ.setdefault("SOURCE_DATE_EPOCH", str(int(moment.timestamp())))
    notebooks.use_templates()
    for fence in config.mdx_configs["pymdownx.superfences"]["custom_fences"]:
        fence["format"] = _printing_something(fence["format"])
    places.say_where(_relative(Path(config.docs_dir)), lambda: Path(_now["page"]))
    return config


def on_page_markdown(markdown: str, page: Page, **_: Any) -> None:
    """Remember which page is being made, for the errors of its blocks."""
    _now["page"] = str(_relative(Path(page.file.abs_src_path or page.file.src_path)))


def _printing_something(run: Callable[..., Any]) -> Callable[..., Any]:
    """An executed block that prints nothing would leave a hole that nobody sees."""

    def checked(source: str, language: str, css: str, options: Any, md: Any, **more: Any) -> Any:
        html = run(source, language, css, options, md, **more)
        shown = re.sub(r"<(?!svg|img)[^>]*>|\s", "", str(html))
        if shown in ("", "None"):
            name = options.get("id", "")
            place = places.of_block(Path(_now["page"]), name)
            _now["empty"] = f"{place}: the block {name!r} printed nothing"
        return html

    return checked


def on_pre_build(config: MkDocsConfig) -> None:
    """Check every page; raise with all problems, each with file, line and column."""
    found = [p for path in _sources(config) for p in _problems(path, scope())]
    if found:
        lines = "\n".join(f"  {problem}" for problem in found)
        raise PluginError(f"{plural(len(found), 'problem')} in the pages:\n{lines}")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the downloads and the build's own record."""
    rows, _ = tables.computed_and_refused(site_catalogue().models)
    generated = {
        "models.csv": tables.as_csv(rows),
        "models.json": tables.as_json(rows),
        "build.json": json.dumps(_record(config), indent=1) + "\n",
    }
    for name, content in generated.items():
        files.append(File.generated(config, name, content=content))
    return files


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn the links behind stated numbers into numbers with their explanation; fit notebooks."""
    path = _relative(Path(page.file.abs_src_path or page.file.src_path))
    rendered: Counter[tuple[str, str, str]] = Counter()

    def lookup(kind: str, text: str, expression: str) -> numbers.Checked:
        rendered[kind, text, expression] += 1
        return numbers.check(numbers.Stated(path, text, kind, expression), scope())

    if empty := _now.pop("empty", None):
        raise PluginError(empty)
    if "exec=" in html:
        raise PluginError(f"{path}: an executed block did not run; check its options")
    if path.suffix == ".ipynb":
        return notebooks.page(html, page.file.src_uri, config.extra["repository"])
    try:
        html = popover.render(html, lookup)
    except ValueError as error:
        raise PluginError(f"{path}: {error}") from error
    for stated in numbers.find(path):
        if not rendered[stated.kind, stated.text, stated.expression]:
            place = f"{path}:{stated.line}:{stated.column}"
            raise PluginError(f'{place}: "{stated.text}" is a link that Markdown does not read')
        rendered[stated.kind, stated.text, stated.expression] -= 1
    return stacked.labelled(html)


def _problems(path: Path, names: Scope) -> list[numbers.Problem]:
    try:
        return numbers.check_page(path, names)
    except ValueError as error:  # a page that is no text
        raise PluginError(str(error)) from error


def _sources(config: MkDocsConfig) -> list[Path]:
    return [_relative(path) for path in pages([Path(config.docs_dir)])]


def _relative(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _record(config: MkDocsConfig) -> dict[str, object]:
    sources = _sources(config)
    return {
        "pages": len(sources) + len(list(Path(config.docs_dir).rglob("*.ipynb"))),
        "blocks_run": sum(fences.count(path.read_text(encoding="utf-8")) for path in sources),
        "numbers_checked": sum(len(numbers.find(path)) for path in sources),
        "models": len(site_catalogue().models),
        "configs_from": site_catalogue().source,
    }
