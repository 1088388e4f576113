"""A notebook's page: what the templates in ``notebook/`` leave to do.

In: the HTML that mkdocs-jupyter makes, the file, the repository's name. Out: HTML without its
style sheet, with this site's anchors, and with links that open or download the notebook.
"""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs_jupyter.config import settings

TEMPLATES = Path(__file__).with_name("notebook")
COLAB = "https://colab.research.google.com/"


def use_templates() -> None:
    """Let mkdocs-jupyter render with the templates beside this file."""
    settings.templates_dir = str(TEMPLATES)


def page(html: str, source: str, repository: str) -> str:
    """The notebook's HTML as a page of the site; ``source`` is its path under docs/."""
    html = re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)  # appended by the plugin
    html = re.sub(r'(<h[1-6] id="|href="#)([^"]+)', _as_in_the_contents, html)
    html = html.replace(">¶<", ' title="Link to this section">¶<')
    return html.replace("</h1>", f"</h1>\n{links(source, repository)}", 1)


def links(source: str, repository: str) -> str:
    """Open in Colab, and download; Colab can open by itself what it finds in a public repository.

    >>> "/github/owner/name/blob/main/docs/a.ipynb" in links("a.ipynb", "owner/name")
    True
    """
    download = f'<a href="{Path(source).name}" download>Download the notebook</a>'
    if not repository:
        return f'<p>{download}, then <a href="{COLAB}">Open in Colab</a>: upload it there</p>'
    address = f"{COLAB}github/{repository}/blob/main/docs/{source}"
    return f'<p><a href="{address}">Open in Colab</a> · {download}</p>'


def _as_in_the_contents(match: re.Match[str]) -> str:
    """An anchor, or a link to one, as the table of contents spells it."""
    return match[1] + re.sub(r"[^\w-]", "", match[2].lower())
