"""Screenshots of every page, in both schemes, narrow and wide.

python tests/web/look.py OUT [SITE] [PAGE …]
"""

import sys
from pathlib import Path

from browser import SCHEMES, WIDTHS, find_site, launch, pages, serve


def main(out: str, site: str | None = None, *only: str) -> None:
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    root = Path(site) if site else find_site()
    with serve(root) as base, launch() as browser:
        for width in WIDTHS:
            page = browser.new_page(viewport={"width": width, "height": 900})
            for scheme in SCHEMES:
                page.emulate_media(color_scheme=scheme)
                for name in only or pages(root):
                    page.goto(base + name)
                    page.evaluate("document.fonts.ready")
                    stem = name.replace("/", "_").removesuffix(".html")
                    target = folder / f"{stem}-{scheme}-{width}.png"
                    page.screenshot(path=target, full_page=True)
                    print(target)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
