"""The README's picture: the article with the explanation of one number open.

python tests/web/picture.py [SITE]
"""

import sys
from pathlib import Path

from browser import find_site, launch, serve

PICTURE = Path(__file__).parents[2] / "docs/assets/img/page.png"
SECTION = "#two-models-step-by-step"
NUMBER = "button.kv-number:has-text('224 MiB')"


def main(site: str | None = None) -> None:
    root = Path(site) if site else find_site()
    with serve(root) as base, launch() as browser:
        page = browser.new_page(viewport={"width": 1240, "height": 900})
        page.goto(f"{base}kv-cache.html{SECTION}")
        page.evaluate("document.fonts.ready")
        number = page.locator(NUMBER).first
        number.click()
        page.mouse.move(0, 0)
        page.screenshot(path=PICTURE)
    print(PICTURE)


if __name__ == "__main__":
    main(*sys.argv[1:])
