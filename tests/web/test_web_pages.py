"""Every page, narrow and wide, light and dark: accessible, nothing cut off, nothing fetched from elsewhere."""

import pytest

Axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed").Axe
expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect

WIDE_TABLES = """() => [...document.querySelectorAll("article table")].flatMap((table) => {
    let scroller = table;
    while (scroller && !/auto|scroll/.test(getComputedStyle(scroller).overflowX)) scroller = scroller.parentElement;
    const inside = scroller && scroller.closest("article");
    const room = (inside ? scroller : table.parentElement).getBoundingClientRect().right;
    const wide = inside ? scroller.scrollWidth > scroller.clientWidth : table.getBoundingClientRect().right > room + 1;
    const reachable = inside && scroller.tabIndex >= 0 && scroller.getAttribute("aria-label");
    return wide && !reachable ? [table.innerText.slice(0, 80)] : [];
})"""


def explain(violations) -> str:
    return "\n".join(f"{v['id']}: {v['help']}\n" + "\n".join(
        f"    {node['target']} {node['html'][:160]}\n      {node['failureSummary']}" for node in v["nodes"][:5])
        for v in violations)


def test_axe_finds_nothing(view):
    violations = Axe().run(view).response["violations"]
    assert not violations, explain(violations)


def test_page_does_not_scroll_sideways(view):
    wide = view.evaluate("""() => document.documentElement.scrollWidth <= innerWidth ? [] :
        [...document.querySelectorAll("body *")].filter((node) => node.getBoundingClientRect().right > innerWidth + 1)
            .slice(0, 5).map((node) => node.outerHTML.slice(0, 120))""")
    assert not wide


def test_tables_fit_or_scroll_in_a_region_of_their_own(view):
    assert not view.evaluate(WIDE_TABLES)


def test_nothing_is_fetched_from_elsewhere(view, base):
    assert not [url for url in view.requests if not url.startswith((base, "data:", "blob:"))]


def test_is_complete_without_javascript(name, fresh):
    page = fresh(name, java_script_enabled=False, color_scheme="dark")
    expect(page.locator("article h1").first).to_be_visible()
    hidden = page.evaluate("""() => [...document.querySelectorAll("article :is(h1, h2, h3, p, li, table, pre, summary, .kv-number)")]
        .filter((node) => !node.closest("details, [hidden], .kv-pop, .md-source-file") && !node.getClientRects().length)
        .map((node) => node.outerHTML.slice(0, 120))""")
    assert not hidden
    light = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).every((part) => part > 127)")
    assert not light, "without JavaScript the page does not follow the system's dark scheme"


def test_keyboard_focus_is_visible(name, fresh):
    focused, bad = fresh(name).evaluate("""() => {
        const reachable = [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")]
            .filter((node) => node.checkVisibility({ visibilityProperty: true }) && node.tabIndex >= 0)
            .filter((node) => node.type !== "radio" || node.checked);
        const bad = reachable.filter((node) => {
            node.focus({ focusVisible: true });
            if (document.activeElement !== node) return true;
            const ring = node.matches(".md-option") ? node.nextElementSibling : node;
            return getComputedStyle(ring).outlineStyle !== "solid" || !ring.getClientRects().length;
        });
        return [reachable.length, bad.map((node) => node.outerHTML.slice(0, 120))];
    }""")
    assert focused and not bad
