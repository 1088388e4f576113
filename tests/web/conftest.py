"""The built site (KVDOCS_SITE, else site/), served here and read in one browser.

Making a tab takes five times as long as loading a page into one, so tabs are shared: a view is
loaded once for all that is checked of it, and ``fresh`` loads a page anew into a tab of its kind.
"""

import re

import pytest
from browser import WIDTHS, find_browser, find_site, launch, pages, serve


def missing() -> str | None:
    """Why these checks cannot run here, if they cannot."""
    if not (find_site() / "index.html").is_file():
        return f"no built site at {find_site()}: run mkdocs build, or set KVDOCS_SITE"
    if not find_browser():
        return "no Chromium found: install one, or set KVDOCS_BROWSER to its path"
    try:
        import axe_playwright_python  # noqa: F401
        import playwright  # noqa: F401
    except ImportError as error:
        return f"the package {error.name} is not installed"
    return None


def pytest_generate_tests(metafunc):
    if reason := missing():
        names = views = [pytest.param(None, marks=pytest.mark.skip(reason=reason), id="none")]
    else:
        names = pages(find_site())
        views = [
            pytest.param((name, width), id=f"{name}-{width}") for name in names for width in WIDTHS
        ]
    if "name" in metafunc.fixturenames:
        metafunc.parametrize("name", names, scope="session")
    if "view" in metafunc.fixturenames:
        metafunc.parametrize("view", views, indirect=True, scope="session")


@pytest.fixture(scope="session")
def site():
    if reason := missing():
        pytest.skip(reason)
    return find_site()


@pytest.fixture(scope="session")
def base(site):
    with serve(site) as url:
        yield url


@pytest.fixture(scope="session")
def browser(site):
    with launch() as chromium:
        yield chromium


@pytest.fixture(scope="session")
def one_page(browser):
    """The page that all views share, and the requests that the present view made."""
    page = browser.new_page()
    page.requests = []
    page.on("request", lambda request: page.requests.append(request.url))
    return page


@pytest.fixture(scope="session")
def view(request, base, one_page):
    """One page of the site at one width, light, with everything unfolded."""
    name, width = request.param
    one_page.requests.clear()
    one_page.set_viewport_size({"width": width, "height": 900})
    one_page.emulate_media(color_scheme="light", reduced_motion="reduce")
    one_page.goto(base + name)
    one_page.wait_for_selector("body[data-md-color-scheme=default]")
    one_page.evaluate("""() => {
        document.querySelectorAll("details").forEach((details) => { details.open = true; });
        return document.fonts.ready.then(() => true);
    }""")
    return one_page


@pytest.fixture(scope="session")
def tabs():
    """The tabs that ``fresh`` has opened, by their options."""
    return {}


@pytest.fixture(scope="session")
def fresh(browser, base, tabs):
    """Load a page anew, nothing stored: fresh(name, width=1440, **context options)."""

    def load(name, width=1440, color_scheme=None, reduced_motion=None, **options):
        kind = tuple(sorted(options.items()))
        if kind not in tabs:
            tabs[kind] = browser.new_context(**options).new_page()
        page = tabs[kind]
        if page.url.startswith(base):
            page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
        page.mouse.move(0, 0)
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(
            media="null",
            color_scheme=color_scheme or "null",
            reduced_motion=reduced_motion or "null",
        )
        page.goto(base + name)
        return page

    return load


@pytest.fixture(scope="session")
def page_with(site):
    """The first page whose HTML matches a pattern, or a skip that says what was missing."""

    def find(pattern: str, what: str) -> str:
        for name in pages(site):
            if re.search(pattern, (site / name).read_text(encoding="utf-8"), re.S):
                return name
        pytest.skip(f"no page of the site has {what}")

    return find
