"""Every page, narrow and wide, light and dark: accessible, uncut, loading nothing from outside.

The checks of one view share its tab, so each leaves it as it was.
"""

import re

import pytest
from browser import SCHEMES

Axe = pytest.importorskip(
    "axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed"
).Axe
expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect

WIDE_TABLES = """() => [...document.querySelectorAll("article table")].filter((table) => {
    let scroller = table;
    while (!/auto|scroll/.test(getComputedStyle(scroller).overflowX)) {
        scroller = scroller.parentElement;
        if (scroller.matches("article")) {
            const right = (node) => node.getBoundingClientRect().right;
            return right(table) > right(table.parentElement) + 1;
        }
    }
    const reachable = scroller.tabIndex >= 0 && scroller.getAttribute("aria-label");
    return scroller.scrollWidth > scroller.clientWidth && !reachable;
}).map((table) => table.innerText.slice(0, 80))"""

# A shadow at the edge says that something is hidden there. Where less is hidden than the shadow is
# wide, only so much of it shows.
UNMARKED = """() => [...document.querySelectorAll("article *")].filter((node) => {
    const style = getComputedStyle(node);
    const hidden = node.scrollWidth - node.clientWidth;
    if (!/auto|scroll/.test(style.overflowX) || !hidden || !node.checkVisibility()) return false;
    const shadow = parseFloat(style.backgroundSize);
    const drawn = /^linear-gradient/.test(style.backgroundImage)
        && style.backgroundAttachment === "local, local, scroll, scroll";
    return !(drawn && shadow >= 4 && hidden >= 4);
}).map((node) => [node.scrollWidth - node.clientWidth, node.innerText.slice(0, 80)])"""

SCREEN_ONLY = ".md-header, .md-sidebar, .md-footer, .md-code__nav, .kv-pop, .kv-table-tools"
SHOWN_IN_ARTICLE = "article :is(h1, h2, h3, p, li, table, pre, summary, .kv-number)"
NOT_SHOWN_YET = "details, [hidden], .kv-pop"


# How wide a tab is pulled from there: tabs and sections begin to be shown between these.
WIDTHS_FROM = {390: [390], 1440: [1440, 1221, 1024]}
# Colours are judged at both widths in both schemes; the rest of axe's rules once at each width and
# once in each scheme.
SEEN_WHOLE = {390: "light", 1440: "dark"}
COLOURS = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
THEMES = {"light": "default", "dark": "slate"}


def explain(violations) -> str:
    """What axe found: each rule with the first places that break it."""
    return "\n".join(
        f"{one['id']}: {one['help']}\n    {node['target']} {node['html'][:160]}"
        for one in violations
        for node in one["nodes"][:5]
    )


@pytest.fixture(params=SCHEMES)
def scheme(request, view):
    """The view in either scheme."""
    switch(view, request.param)
    yield request.param
    switch(view, "light")


def switch(view, scheme):
    view.emulate_media(color_scheme=scheme)
    view.wait_for_selector(f"body[data-md-color-scheme={THEMES[scheme]}]")


def test_axe_finds_nothing(view, scheme):
    """Axe judges no contrast over a gradient, so the shadows of what scrolls are off meanwhile."""
    whole = SEEN_WHOLE[view.viewport_size["width"]] == scheme
    options = {"resultTypes": ["violations"]} | ({} if whole else {"runOnly": COLOURS})
    style = view.add_style_tag(content="* { background-image: none !important; }")
    violations = Axe().run(view, options=options).response["violations"]
    style.evaluate("(node) => node.remove()")
    assert not violations, explain(violations)


def test_page_does_not_scroll_sideways(view):
    width = view.viewport_size["width"]
    for pulled in WIDTHS_FROM[width]:
        view.set_viewport_size({"width": pulled, "height": 900})
        wide = view.evaluate("""() => document.documentElement.scrollWidth <= innerWidth ? [] :
            [...document.querySelectorAll("body *")]
                .filter((node) => node.getBoundingClientRect().right > innerWidth + 1)
                .slice(0, 5).map((node) => node.outerHTML.slice(0, 120))""")
        menus = view.evaluate("""() => [
            ...document.querySelectorAll(".md-tabs__list, .kv-section ul")
        ].filter((node) => node.scrollWidth > node.clientWidth).map((node) => node.className)""")
        assert (wide, menus) == ([], []), f"{pulled} wide"
    view.set_viewport_size({"width": width, "height": 900})


def test_only_the_text_is_printed(view, scheme):
    view.emulate_media(media="print")
    seen = view.locator(f":is({SCREEN_ONLY}):visible").count()
    ground = view.evaluate("getComputedStyle(document.body).backgroundColor")
    view.emulate_media(media="screen")
    assert not seen
    assert all(int(part) > 200 for part in re.findall(r"\d+", ground)[:3]), f"{ground} in {scheme}"


def test_tables_fit_or_scroll_in_a_region_of_their_own(view):
    assert not view.evaluate(WIDE_TABLES)


def test_what_scrolls_sideways_shows_it(view):
    assert not view.evaluate(UNMARKED)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("what", ["table", "pre > code"])
def test_the_shadow_is_seen(fresh, page_with, what, scheme):
    """A few pixels too wide, it has another edge than without the shadow."""
    name = page_with('id="the-same-card-in-other-engines"', "the sums of three engines")
    page = fresh(name, 390, color_scheme=scheme)
    scroller = page.locator(".md-typeset__scrollwrap" if what == "table" else what).first
    hidden = scroller.evaluate("""(node) => {
        const wide = document.createElement("div");
        const start = parseFloat(getComputedStyle(node).paddingLeft);
        wide.style.cssText = `width: ${node.clientWidth - start + 9}px; height: 2em`;
        node.replaceChildren(wide);
        return node.scrollWidth - node.clientWidth;
    }""")
    assert 0 < hidden < 25
    scroller.scroll_into_view_if_needed()
    box = scroller.bounding_box()
    edge = {**box, "x": box["x"] + box["width"] - 6, "width": 6}
    marked = page.screenshot(clip=edge)
    scroller.evaluate("(node) => { node.style.backgroundImage = 'none'; }")
    assert page.screenshot(clip=edge) != marked


def test_nothing_is_fetched_from_elsewhere(view, base):
    assert not [url for url in view.requests if not url.startswith((base, "data:", "blob:"))]


def test_is_complete_without_javascript(name, fresh):
    page = fresh(name, java_script_enabled=False, color_scheme="dark")
    expect(page.locator("article h1").first).to_be_visible()
    hidden = page.evaluate(
        """([all, except]) => [...document.querySelectorAll(all)]
        .filter((node) => !node.closest(except) && !node.getClientRects().length)
        .map((node) => node.outerHTML.slice(0, 120))""",
        [SHOWN_IN_ARTICLE, NOT_SHOWN_YET],
    )
    assert not hidden
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert all(int(part) < 128 for part in re.findall(r"\d+", ground)[:3]), "not the dark scheme"


def test_keyboard_focus_is_visible(view):
    focused, bad = view.evaluate("""() => {
        const all = "a[href], button, input, select, summary, [tabindex='0']";
        const reachable = [...document.querySelectorAll(all)]
            .filter((node) => node.checkVisibility({ visibilityProperty: true }))
            .filter((node) => node.tabIndex >= 0)
            .filter((node) => node.type !== "radio" || node.checked);
        const bad = reachable.filter((node) => {
            node.focus({ focusVisible: true });
            if (document.activeElement !== node) return true;
            const ring = node.matches(".md-option") ? node.nextElementSibling : node;
            return getComputedStyle(ring).outlineStyle !== "solid" || !ring.getClientRects().length;
        });
        document.activeElement.blur();
        return [reachable.length, bad.map((node) => node.outerHTML.slice(0, 120))];
    }""")
    assert focused
    assert not bad
