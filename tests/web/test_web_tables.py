"""The models table: searched, filtered and sorted with the keyboard alone."""

import re

import pytest

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect


@pytest.fixture(params=[390, 1440])
def page(request, page_with, fresh):
    return fresh(page_with('data-kv-table="models"', "the models table"), request.param)


def shown(page) -> int:
    return page.locator("[data-kv-table] tbody tr:visible").count()


def test_search(page):
    total = shown(page)
    status = page.locator(".kv-table-tools [role=status]")
    expect(status).to_have_text(re.compile(rf"^{total} \w+$"))
    wanted = page.locator("[data-kv-table] tbody tr").last.locator("td, th").first.inner_text()
    page.get_by_role("searchbox", name=re.compile("^Search (?!$)")).focus()
    page.keyboard.type(wanted.upper())
    expect(status).to_have_text(re.compile(rf"^\d+ of {total} \w+$"))
    assert 0 < shown(page) < total
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("no model is called this")
    expect(status).to_have_text(re.compile(rf"^0 of {total} "))
    assert shown(page) == 0


def test_filter(page):
    selects = page.locator(".kv-table-tools select")
    if not selects.count():
        pytest.skip("the table has no th[data-filter]")
    total = shown(page)
    selects.first.focus()
    page.keyboard.press("ArrowDown")
    value = selects.first.input_value()
    assert value
    assert 0 < shown(page) <= total
    rows = page.locator("[data-kv-table] tbody tr:visible").all_inner_texts()
    assert all(value in row for row in rows)


def test_sort(page):
    head = page.locator("[data-kv-table] th[data-sort=number]").first
    column = head.evaluate("(node) => node.cellIndex")

    def values():
        texts = page.locator(f"[data-kv-table] tbody tr > :nth-child({column + 1})").evaluate_all(
            "(cells) => cells.map((cell) => parseFloat(cell.dataset.value ?? cell.textContent))"
        )
        return [value for value in texts if value == value]

    head.get_by_role("button").focus()
    page.keyboard.press("Enter")
    expect(head).to_have_attribute("aria-sort", "ascending")
    assert values() == sorted(values())
    page.keyboard.press("Space")
    expect(head).to_have_attribute("aria-sort", "descending")
    assert values() == sorted(values(), reverse=True)
    assert page.locator("[data-kv-table] [aria-sort]").count() == 1


def test_head_and_first_column_stay(page):
    box = page.locator("[data-kv-table]")
    before, after = box.evaluate("""(box) => {
        const place = () => {
            const { x, y } = box.querySelector("th").getBoundingClientRect();
            return [Math.round(x), Math.round(y)];
        };
        const before = place();
        box.scrollTo(200, 200);
        return [before, place()];
    }""")
    assert before == after


@pytest.mark.parametrize("width", [1221, 1440])
@pytest.mark.parametrize("table", ["models", "numbers"])
def test_stands_whole_in_a_wide_page(page_with, fresh, table, width):
    page = fresh(page_with(f'data-kv-table="{table}"', f"the table of {table}"), width)
    box = page.locator("[data-kv-table]")
    assert box.evaluate("""(box) => {
        const cut = box.scrollHeight > box.clientHeight || box.scrollWidth > box.clientWidth;
        const right = (node) => node.getBoundingClientRect().right;
        const [table, article] = [box.querySelector("table"), box.closest("article")];
        return !cut && right(table) <= right(article);
    }""")


def test_from_a_file(site, page_with, browser):
    name = page_with("data-kv-table", "a sortable table")
    context = browser.new_context()
    page = context.new_page()
    page.goto((site / name).as_uri())
    expect(page.locator(".kv-table-tools [role=status]")).not_to_be_empty()
    context.close()


def test_a_report_is_a_card_on_a_narrow_screen(page_with, fresh):
    """All of it is in view: nothing scrolls sideways, and each value has its column's title."""
    page = fresh(page_with('data-kv-table="reports"', "the table of reports"), 390)
    box = page.locator('[data-kv-table="reports"]')
    assert box.evaluate("(box) => box.scrollWidth <= box.clientWidth")
    lesson = box.locator("tbody tr").first.locator("td").last
    left, width = lesson.evaluate(
        "(cell) => { const b = cell.getBoundingClientRect(); return [b.left, b.width]; }"
    )
    assert left >= 0
    assert left + width <= 390
    assert lesson.get_attribute("data-label") == "Lesson"
    page.get_by_role("searchbox").first.fill("no report is called this")
    expect(box.locator("tbody tr:visible")).to_have_count(0)
