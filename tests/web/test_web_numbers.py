"""A stated number shows how it was got: by keyboard, tap and hover, unscripted, on the screen."""

import pytest
from browser import SCHEMES, WIDTHS

Axe = pytest.importorskip(
    "axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed"
).Axe
expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect

IN_CELL = (r"<td[^>]*>(?:(?!</td>).)*kv-number", "a stated number in a table cell")
IN_TEXT = (r"<p(?: [^>]*)?>(?:(?!</p>).)*kv-number", "a stated number in a paragraph")


def number_in_cell(page):
    return page.locator("article td .kv-number").last


def number_at_the_edge(page):
    """The number in a paragraph that ends furthest to the right."""
    page.evaluate("document.querySelectorAll('details').forEach((node) => { node.open = true; })")
    numbers = page.locator("article p .kv-number")
    rights = numbers.evaluate_all("(all) => all.map((node) => node.getBoundingClientRect().right)")
    return numbers.nth(rights.index(max(rights)))


PLACES = {"cell": (number_in_cell, IN_CELL), "edge": (number_at_the_edge, IN_TEXT)}


@pytest.fixture(
    params=[(place, width) for place in PLACES for width in WIDTHS],
    ids=lambda param: f"{param[0]}-{param[1]}",
)
def case(request, page_with, fresh):
    """case(**context options) -> page, number, its card."""
    place, width = request.param
    find, (pattern, what) = PLACES[place]

    def open_case(**options):
        motion = "reduce" if place == "cell" else "no-preference"
        page = fresh(page_with(pattern, what), width, reduced_motion=motion, **options)
        number = find(page)
        number.scroll_into_view_if_needed()
        return page, number, page.locator("#" + number.get_attribute("popovertarget"))

    return open_case


def assert_inside(page, card):
    expect(card).to_be_visible()
    left, top, right, bottom = card.evaluate("""(node) => {
        const { left, top, right, bottom } = node.getBoundingClientRect();
        return [left, top, right, bottom];
    }""")
    width, height = page.viewport_size["width"], page.viewport_size["height"]
    assert 0 <= left < right <= width + 0.5
    assert 0 <= top < bottom <= height + 0.5
    assert card.evaluate("(node) => node.scrollWidth <= node.clientWidth"), "does not wrap"


def tab_to(page, number):
    number.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    expect(number).to_be_focused()


def test_by_keyboard(case):
    page, number, card = case()
    expect(card).to_be_hidden()
    tab_to(page, number)
    assert_inside(page, card)
    page.keyboard.press("Enter")
    assert card.evaluate("(node) => node.matches(':popover-open')")
    assert_inside(page, card)
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()
    expect(number).to_be_focused()
    page.keyboard.press("Tab")
    tab_to(page, number)
    assert_inside(page, card)


def test_by_tap(case):
    page, number, card = case(has_touch=True)
    number.tap()
    assert card.evaluate("(node) => node.matches(':popover-open')")
    assert_inside(page, card)
    page.touchscreen.tap(5, 5)
    expect(card).to_be_hidden()


def test_on_hover(case):
    page, number, card = case()
    number.hover()
    assert_inside(page, card)
    page.mouse.move(0, 0)
    expect(card).to_be_hidden()


def test_by_click_without_javascript(case):
    page, number, card = case(java_script_enabled=False)
    number.click()
    assert_inside(page, card)
    page.keyboard.press("Escape")
    page.mouse.move(0, 0)
    expect(card).to_be_hidden()


def test_escape_closes_what_hover_shows(case):
    page, number, card = case()
    number.hover()
    expect(card).to_be_visible()
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()
    page.mouse.move(0, 0)
    number.hover()
    expect(card).to_be_visible()


def test_escape_closes_what_focus_shows(case):
    page, number, card = case()
    tab_to(page, number)
    expect(card).to_be_visible()
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()
    expect(number).to_be_focused()
    page.keyboard.press("Tab")
    tab_to(page, number)
    expect(card).to_be_visible()


def test_escape_closes_for_pointer_and_focus_together(case):
    page, number, card = case()
    tab_to(page, number)
    number.hover()
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()
    page.mouse.move(0, 0)
    expect(card).to_be_hidden()  # the focus is still there
    number.hover()
    expect(card).to_be_hidden()


def test_enter_pins_a_card_again_after_escape(case):
    page, number, card = case()
    tab_to(page, number)
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    assert_inside(page, card)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scripted", [True, False])
def test_one_card_at_a_time(fresh, width, scripted):
    page = fresh("index.html", width, java_script_enabled=scripted)
    numbers = page.locator("article > p:has(.kv ~ .kv)").first.locator(".kv-number")
    focused, hovered = (numbers.nth(index) for index in (0, 1))
    cards = [page.locator("#" + it.get_attribute("popovertarget")) for it in (focused, hovered)]
    tab_to(page, focused)
    expect(cards[0]).to_be_visible()
    hovered.hover()
    expect(cards[1]).to_be_visible()
    expect(cards[0]).to_be_hidden()
    page.mouse.move(0, 0)
    expect(cards[0]).to_be_visible()
    expect(cards[1]).to_be_hidden()
    page.keyboard.press("Enter")  # pinned
    hovered.hover()
    expect(cards[0]).to_be_visible()
    expect(cards[1]).to_be_hidden()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_card_is_accessible(page_with, fresh, scheme):
    page = fresh(page_with(*IN_TEXT), color_scheme=scheme)
    number_at_the_edge(page).click()
    violations = Axe().run(page, context=".kv:has(:popover-open)").response["violations"]
    assert not violations, [(v["id"], v["nodes"][0]["html"]) for v in violations]


def test_number_stays_in_its_line(page_with, fresh):
    page = fresh(page_with(*IN_TEXT))
    number = number_at_the_edge(page)
    styles = ("font-size", "font-weight", "font-family", "line-height", "color")
    assert (
        number.evaluate(
            """(node, styles) => {
        const [own, around] = [getComputedStyle(node), getComputedStyle(node.parentElement)];
        return styles.filter((it) => own.getPropertyValue(it) !== around.getPropertyValue(it));
    }""",
            styles,
        )
        == []
    )
    assert number.evaluate("(node) => getComputedStyle(node).whiteSpace") == "nowrap"
