"""On paper: the cheat sheet is one page, and no page prints what only a screen needs."""

import re
import shutil
import subprocess

import pytest


@pytest.mark.parametrize("paper", ["A4", "Letter"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_cheat_sheet_is_one_page(page_with, fresh, paper, scheme):
    page = fresh(page_with('class="kv-sheet"', "a cheat sheet (div.kv-sheet)"), color_scheme=scheme)
    page.evaluate("document.fonts.ready.then(() => true)")
    pdf = page.pdf(format=paper)
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) == 1


A4_TEXT = 658  # CSS pixels: 210 mm less the margins of print.css

BROKEN_WORDS = """() => {
    const links = [...document.querySelectorAll("[data-kv-table] tbody th a")];
    return links.map((link) => link.textContent).filter((text, index) => {
        const range = document.createRange();
        range.selectNodeContents(links[index]);
        return range.getClientRects().length > text.split(/[-/]/).length;
    });
}"""


def test_the_ledger_fits_its_paper(page_with, fresh):
    page = fresh(page_with('data-kv-table="numbers"', "the ledger"), A4_TEXT)
    page.emulate_media(media="print")
    box = page.locator("[data-kv-table]")
    assert box.evaluate("(box) => box.scrollWidth <= box.clientWidth")
    assert box.evaluate("(box) => getComputedStyle(box).maxHeight === 'none'"), "rows are cut off"
    assert not page.evaluate(BROKEN_WORDS)


def test_every_sheet_of_the_ledger_names_its_columns(page_with, fresh, tmp_path):
    if not shutil.which("pdftotext"):
        pytest.skip("pdftotext (poppler-utils) is not installed, so the paper cannot be read")
    page = fresh(page_with('data-kv-table="numbers"', "the ledger"))
    page.locator("[data-kv-table] .kv-sort").first.wait_for()
    file = tmp_path / "ledger.pdf"
    page.pdf(format="A4", path=file)
    text = subprocess.run(["pdftotext", "-layout", file, "-"], capture_output=True, text=True)
    sheets = text.stdout.strip("\f\n").split("\f")
    assert len(sheets) > 2
    assert [sheet.split()[:3] for sheet in sheets[1:]] == [["Page", "Stated", "Kind"]] * (
        len(sheets) - 1
    )
