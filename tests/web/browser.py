"""A browser and a server for a built site; nothing here reaches beyond this machine."""

import functools
import http.server
import os
import shutil
import threading
from contextlib import contextmanager
from pathlib import Path

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SCHEMES = ("light", "dark")
WIDTHS = (390, 1440)


def find_browser() -> str | None:
    names = (os.environ.get("KVDOCS_BROWSER"), "chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if name and (path := shutil.which(name))), None)


def find_site() -> Path:
    return Path(os.environ.get("KVDOCS_SITE") or Path(__file__).parents[2] / "site").resolve()


def pages(site: Path) -> list[str]:
    found = (path.relative_to(site) for path in site.rglob("*.html"))
    return sorted(path.as_posix() for path in found if "assets" not in path.parts)


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@contextmanager
def serve(site: Path):
    """The site at http://127.0.0.1:<free port>/."""
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(_Quiet, directory=str(site))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def launch():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()
