"""A pytest plugin: the fixture `site` goes to screens and runs tasks inside your own tests (docs/pytest.md).

Tests are synchronous, as those of pytest-playwright are. The agent works in an event loop of its own; `site.page` is the same
page for Playwright's synchronous API. Nothing is imported or started before a test asks for `site`.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from anyio.from_thread import BlockingPortal
    from playwright.async_api import Browser
    from playwright.sync_api import Page

    from kb_schema.run_records import RunResult
    from kb_schema.tool_answers import Identification, PathSearchResult
    from periplus.python_api.open_sites import Site, Store

T = TypeVar("T")

OPTIONS = {
    "website": "the website's id; default: the only one in the store",
    "base_url": "where the site runs; default: pytest-base-url's, else what the knowledge base says",
    "data_dir": "the folder of the embedded store; default: PERIPLUS_DATA_DIR, or the databases of the settings",
}
"""Each is `--periplus-NAME`, and `periplus_NAME` in the ini file."""


class SiteUnderTest:
    """The website of the fixture `site`, on a page of its own. What goes wrong fails the test with reason and fix."""

    def __init__(self, portal: BlockingPortal, site: Site, connect: Callable[[], Page]) -> None:
        self._portal, self._site, self._connect = portal, site, connect
        self._page: Page | None = None

    @property
    def page(self) -> Page:
        """The page, for Playwright's synchronous API."""
        if self._page is None:
            self._page = self._connect()
        return self._page

    @property
    def base_url(self) -> str:
        """Where the site runs."""
        return self._site.base_url

    def identify(self) -> Identification:
        """Return which screen the page shows, with the evidence."""
        return self._do(self._site.identify)

    def find_path(self, screen: str, *, start: str | None = None) -> PathSearchResult:
        """Return the best paths to a screen; `start` None: from the one that the page shows."""
        return self._do(lambda: self._site.find_path(screen, start=start))

    def go_to(self, screen: str, *, check: bool = True, **inputs: object) -> RunResult:
        """Go to a screen, signing in where it is necessary. `check`: fail the test if it was not reached."""
        return self._judge(f"going to {screen}", self._do(lambda: self._site.go_to(screen, **inputs)), check)

    def run(self, task: str, *, goal: str | None = None, check: bool = True, **inputs: object) -> RunResult:
        """Run a task or workflow; `goal`: the screen to end on. `check`: fail the test unless every step was done, with or
        without evidence.
        """
        return self._judge(task, self._do(lambda: self._site.run(task, goal=goal, **inputs)), check)

    def _do(self, work: Callable[[], Awaitable[T]]) -> T:
        return _failing(lambda: self._portal.call(work))

    @staticmethod
    def _judge(what: str, result: RunResult, check: bool) -> RunResult:
        if check and not result.complete:
            fix = f"\n  -> {result.hint}" if result.hint else ""
            pytest.fail(f"{what}: {result.status}: {result.error or 'no reason given'}{fix}", pytrace=False)
        return result


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options and their ini names."""
    group = parser.getgroup("periplus", "Periplus: the fixture `site`")
    for name, text in OPTIONS.items():
        group.addoption(f"--periplus-{name.replace('_', '-')}", dest=f"periplus_{name}", help=text)
        parser.addini(f"periplus_{name}", text)


@pytest.fixture(scope="session")
def periplus_values() -> Mapping[str, object]:
    """Return inputs of every run, such as the account to sign in with. Override it in your conftest.py."""
    return {}


@pytest.fixture(scope="session")
def _periplus_portal() -> Iterator[BlockingPortal]:
    from anyio.from_thread import start_blocking_portal  # noqa: PLC0415 - nothing is imported for other tests

    with start_blocking_portal() as portal:
        yield portal


@pytest.fixture(scope="session")
def _periplus_store(pytestconfig: pytest.Config, _periplus_portal: BlockingPortal) -> Iterator[Store]:
    from periplus import open_store  # noqa: PLC0415

    opening = open_store(_option(pytestconfig, "data_dir"))
    with ExitStack() as stack:
        yield _failing(lambda: stack.enter_context(_periplus_portal.wrap_async_context_manager(opening)))


@pytest.fixture(scope="session")
def _periplus_browser(_periplus_portal: BlockingPortal) -> Iterator[tuple[Browser, int]]:
    """Yield a browser and the port of this machine at which Playwright's synchronous API reaches it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    with ExitStack() as stack:
        opening = _periplus_portal.wrap_async_context_manager(_open_browser(port))
        yield _failing(lambda: stack.enter_context(opening)), port


@pytest.fixture
def site(
    request: pytest.FixtureRequest,
    periplus_values: Mapping[str, object],
    _periplus_portal: BlockingPortal,
    _periplus_store: Store,
    _periplus_browser: tuple[Browser, int],
) -> Iterator[SiteUnderTest]:
    """Yield the website of the options on a new page in a browser context of its own."""
    browser, port = _periplus_browser
    website, base_url = _option(request.config, "website"), _option(request.config, "base_url")
    base_url = base_url or request.config.getoption("base_url", None) or None
    opening = _open_site(_periplus_store, browser, website, base_url, periplus_values)
    with ExitStack() as stack:
        opened = _failing(lambda: stack.enter_context(_periplus_portal.wrap_async_context_manager(opening)))
        yield SiteUnderTest(_periplus_portal, opened, lambda: stack.enter_context(_connect(request, port)))


@asynccontextmanager
async def _open_browser(port: int) -> AsyncIterator[Browser]:
    from periplus.session_setup import start_browser  # noqa: PLC0415

    async with start_browser(headed=False, debugging_port=port) as browser:
        yield browser


@asynccontextmanager
async def _open_site(
    store: Store, browser: Browser, website: str | None, base_url: str | None, values: Mapping[str, object]
) -> AsyncIterator[Site]:
    from periplus import open_site  # noqa: PLC0415
    from periplus.session_setup import open_fresh_context  # noqa: PLC0415

    async with open_fresh_context(browser) as context:
        page = await context.new_page()
        async with open_site(store, website, page=page, base_url=base_url, values=values) as site:
            yield site


@contextmanager
def _connect(request: pytest.FixtureRequest, port: int) -> Iterator[Page]:
    """Yield the page of the test in Playwright's synchronous API: that of pytest-playwright where it is installed."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    with ExitStack() as stack:
        if request.config.pluginmanager.hasplugin("playwright"):
            playwright = request.getfixturevalue("playwright")
        else:
            playwright = stack.enter_context(sync_playwright())
        browser = playwright.chromium.connect_over_cdp(f"http://127.0.0.1:{port}")
        stack.callback(browser.close)  # ends the connection; the browser goes on
        yield next(page for context in browser.contexts for page in context.pages)


def _option(config: pytest.Config, name: str) -> str | None:
    found: Any = config.getoption(f"periplus_{name}") or config.getini(f"periplus_{name}")
    return str(found) if found else None


def _failing(work: Callable[[], T]) -> T:
    """Return what it returns; what the user can correct fails the test with the fix."""
    from kb_store import StoreError  # noqa: PLC0415
    from periplus.errors import UserError  # noqa: PLC0415

    try:
        return work()
    except (UserError, StoreError) as exc:
        fix = f"\n  -> {exc.fix}" if exc.fix else ""
        pytest.fail(f"{exc.message}{fix}", pytrace=False)
