"""What the files themselves would load, read without a browser."""

import re
from html.parser import HTMLParser

import pytest
from browser import find_site

LOADS = {"src", "srcset", "poster", "data", "xlink:href"}
LOADING_LINKS = {
    "dns-prefetch",
    "icon",
    "manifest",
    "modulepreload",
    "preconnect",
    "prefetch",
    "preload",
    "stylesheet",
}
CSS_LOADS = re.compile(r"""(?:url\(|@import)\s*["']?([^"')\s;]+)""")
ELSEWHERE = re.compile(r"^(?:[a-z][a-z0-9+.-]*:)?//", re.I)


class Loads(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.found += [attrs[key] or "" for key in LOADS & attrs.keys()]
        rel = set((attrs.get("rel") or "").split())
        if tag == "use" or (tag == "link" and LOADING_LINKS & rel):
            self.found.append(attrs.get("href") or "")
        self.found += CSS_LOADS.findall(attrs.get("style") or "")

    handle_startendtag = handle_starttag


@pytest.fixture(scope="module")
def root():
    if not (find_site() / "index.html").is_file():
        pytest.skip(f"no built site at {find_site()}: run mkdocs build, or set KVDOCS_SITE")
    return find_site()


def test_no_page_loads_from_elsewhere(root):
    bad = []
    for file in sorted(root.rglob("*.html")):
        parser = Loads()
        parser.feed(file.read_text(encoding="utf-8"))
        bad += [f"{file.relative_to(root)}: {url}" for url in parser.found if ELSEWHERE.match(url)]
    assert not bad


def test_no_style_loads_from_elsewhere(root):
    bad = []
    for file in sorted(root.rglob("*.css")):
        urls = CSS_LOADS.findall(file.read_text(encoding="utf-8"))
        bad += [f"{file.relative_to(root)}: {url}" for url in urls if ELSEWHERE.match(url)]
    assert not bad
