"""On paper: the cheat sheet is one page, and no page prints what only a screen needs."""

import re

import pytest

SCREEN_ONLY = ".md-header, .md-sidebar, .md-footer, .md-code__nav, .kv-pop, .kv-table-tools"


@pytest.mark.parametrize("paper", ["A4", "Letter"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_cheat_sheet_is_one_page(page_with, fresh, paper, scheme):
    page = fresh(page_with('class="kv-sheet"', "a cheat sheet (div.kv-sheet)"), color_scheme=scheme)
    page.evaluate("document.fonts.ready.then(() => true)")
    pdf = page.pdf(format=paper)
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) == 1


def test_only_the_text_is_printed(view):
    view.emulate_media(media="print")
    seen = view.locator(f":is({SCREEN_ONLY}):visible").count()
    ground = view.evaluate("getComputedStyle(document.body).backgroundColor")
    view.emulate_media(media="screen")
    assert not seen
    assert all(int(part) > 200 for part in re.findall(r"\d+", ground)[:3]), ground
