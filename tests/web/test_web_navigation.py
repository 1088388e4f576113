"""Every page says in which section it is, and every other page can be reached from it."""

from dataclasses import dataclass
from urllib.parse import urljoin

import pytest
from browser import pages

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect

WIDE, BETWEEN, NARROW = 1440, 1024, 390
MENUS = ".md-tabs a:visible, .kv-section a:visible, .md-nav--primary a:visible"
CURRENT = ":is(.kv-section [aria-current=page], .md-nav--primary a.md-nav__link--active)"
IN_NO_SECTION = ("404.html", "index.html")


def links(page, selector=MENUS) -> set[str]:
    """The pages that menus lead to, as paths in the site."""
    hrefs = page.locator(selector).evaluate_all("(all) => all.map((a) => a.href.split('#')[0])")
    root = urljoin(page.url, "/")
    return {href.removeprefix(root) or "index.html" for href in hrefs}


@dataclass(frozen=True)
class Menus:
    """What the menus of one page hold."""

    tabs: int
    active: int
    current: int
    in_section: set[str]
    reached: set[str]


@pytest.fixture(scope="module")
def menus(fresh, site):
    """The menus of every page, on a wide screen."""

    def read(page) -> Menus:
        return Menus(
            page.locator(".md-tabs__item").count(),
            page.locator(".md-tabs__item--active").count(),
            page.locator(f"{CURRENT}:visible").count(),
            links(page, ".md-nav--primary > ul > .md-nav__item--active a"),
            links(page),
        )

    return {name: read(fresh(name, WIDE)) for name in pages(site)}


def test_each_page_says_where_it_is(menus):
    for name, found in menus.items():
        assert found.tabs >= 2, name
        assert found.active == (name != "404.html"), name
        if name not in IN_NO_SECTION:
            # Alone in its section: the tab says it.
            assert found.current == 1 or found.in_section == {name}, name


def test_every_page_is_few_clicks_away(menus):
    """Through menus alone: a tab, a page of the section, a page of a group in it."""
    reached = {"index.html"}
    for _click in range(3):
        reached |= {link for name in reached for link in menus[name].reached}
    assert reached >= menus.keys() - {"404.html"}


@pytest.mark.parametrize("width", [NARROW, BETWEEN])
def test_the_drawer_holds_every_page(fresh, site, width):
    page = fresh("numbers.html", width)
    page.locator(".md-header label[for=__drawer]").click()
    expect(page.locator(".md-nav--primary")).to_be_in_viewport()
    assert links(page, ".md-nav--primary a") >= set(pages(site)) - {"404.html"}
