"""The built site (KVDOCS_SITE, else site/), served here and read in one browser."""

import re

import pytest
from browser import SCHEMES, WIDTHS, find_browser, find_site, launch, pages, serve


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
            pytest.param((name, width, scheme), id=f"{name}-{width}-{scheme}")
            for name in names
            for width in WIDTHS
            for scheme in SCHEMES
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
    """One page of the site at one width, in one scheme, with everything unfolded."""
    name, width, scheme = request.param
    one_page.requests.clear()
    one_page.set_viewport_size({"width": width, "height": 900})
    one_page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    one_page.goto(base + name)
    wanted = {"light": "default", "dark": "slate"}[scheme]
    one_page.wait_for_selector(f"body[data-md-color-scheme={wanted}]")
    one_page.evaluate("""() => {
        document.querySelectorAll("details").forEach((details) => { details.open = true; });
        return document.fonts.ready.then(() => true);
    }""")
    return one_page


@pytest.fixture
def fresh(browser, base):
    """A page of its own: fresh(name, width=1440, **context options)."""
    contexts = []

    def open_page(name, width=1440, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.goto(base + name)
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def page_with(site):
    """The first page whose HTML matches a pattern, or a skip that says what was missing."""

    def find(pattern: str, what: str) -> str:
        for name in pages(site):
            if re.search(pattern, (site / name).read_text(encoding="utf-8"), re.S):
                return name
        pytest.skip(f"no page of the site has {what}")

    return find
