"""Every page says in which section it is, and every other page can be reached from it."""

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


def test_says_where_it_is(name, fresh):
    page = fresh(name, WIDE)
    sections = page.locator(".md-tabs__item")
    assert sections.count() >= 2
    active = page.locator(".md-tabs__item--active")
    assert active.count() == (name != "404.html")
    if name in IN_NO_SECTION:
        return
    in_section = links(page, ".md-nav--primary > ul > .md-nav__item--active a")
    current = page.locator(f"{CURRENT}:visible")
    assert current.count() == 1 or in_section == {name}  # alone in its section: the tab says it


def test_every_page_is_few_clicks_away(fresh, site):
    """Through menus alone: a tab, a page of the section, a page of a group in it."""
    page = fresh("index.html", WIDE)
    reached, new = {"index.html"}, {"index.html"}
    for _click in range(3):
        found = set()
        for name in sorted(new):
            page.goto(urljoin(page.url, "/" + name))
            found |= links(page)
        new = found - reached
        reached |= new
    assert reached >= set(pages(site)) - {"404.html"}


@pytest.mark.parametrize("width", [NARROW, BETWEEN])
def test_the_drawer_holds_every_page(fresh, site, width):
    page = fresh("numbers.html", width)
    page.locator(".md-header label[for=__drawer]").click()
    expect(page.locator(".md-nav--primary")).to_be_in_viewport()
    assert links(page, ".md-nav--primary a") >= set(pages(site)) - {"404.html"}


@pytest.mark.parametrize("width", [NARROW, BETWEEN, 1221, WIDE])
def test_nothing_overflows(fresh, site, width):
    page = fresh("index.html", width)
    for name in pages(site):
        page.goto(urljoin(page.url, "/" + name))
        too_wide = page.evaluate("""() => [
            document.documentElement, ...document.querySelectorAll(".md-tabs__list, .kv-section ul")
        ].filter((node) => node.scrollWidth > node.clientWidth).map((node) => node.className)""")
        assert not too_wide, name
