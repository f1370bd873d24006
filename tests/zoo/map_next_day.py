"""Measures whether the screens of a map are known again in another copy of the application with other data, and how long it
takes to open the addresses of the map one after the other.

The other copy is seeded anew and runs at another port; a person does jobs in it before, so that its data differ.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.async_api import Browser, Page
from playwright.async_api import Error as PlaywrightError

from agent.exploration.requests.page_idle import PageIdleWait
from agent.page import in_page_library
from agent.page.snapshot_capture import take_snapshot
from kb_schema.url_patterns import origin_of
from loaders.exploration_import.explored_pages import OUTSIDE
from mcp_server.identification.screen_identification import identify
from mcp_server.knowledge.compiled_view import compile_view
from periplus.exploration.sign_in_methods import sign_in_with_form
from tests.support.mapping_rates import MappedSite
from tests.zoo.zoo_jobs import Application, NoNoise, RunningApplication
from tests.zoo.zoo_measurement import do_by_hand
from web_pages.stored_pages import answer_probes

if TYPE_CHECKING:
    from tests.zoo.map_measurement import MapTruth

MOST_JOBS = 3
"""Jobs that a person does in the other copy before it is looked at."""
CHANGING = frozenset({"create", "edit"})
PAGE_S = 20.0
_BAD = 400


@dataclass(slots=True)
class NextDayFigures:
    """How many of the addresses of a map were known again."""

    pages: int = 0
    known: int = 0
    unknown: list[str] = field(default_factory=list)
    taken_for_another: list[str] = field(default_factory=list)
    jobs: int = 0
    """What a person did in the other copy before."""


def list_addresses(made: MappedSite, *, signed_in: bool) -> list[str]:
    """Return the addresses of the pages that a map has, without what lies on pages, in the order in which they were seen."""
    base = origin_of(made.seen.exploration.base_url)
    return list(
        dict.fromkeys(
            page.url
            for page in made.seen.pages()
            if page.page_id.startswith(OUTSIDE) is not signed_in
            and not page.layer
            and (page.status or 200) < _BAD
            and origin_of(page.url) == base
        )
    )


@asynccontextmanager
async def open_visitor(browser: Browser, url: str, account: Mapping[str, str]) -> AsyncIterator[Page]:
    """Open a page in a fresh context, signed in with the form at an address if there is an account."""
    state = (await sign_in_with_form(browser, url, account)).state if account else None
    context = await browser.new_context(viewport={"width": 1280, "height": 720}, storage_state=state)
    try:
        await in_page_library.install(context)
        yield await context.new_page()
    finally:
        await context.close()


async def visit(page: Page, url: str) -> int:
    """Open an address and wait until the page has settled; return its status, 0 if it cannot be opened."""
    with PageIdleWait(page, set()) as wait:
        try:
            answer = await page.goto(url, wait_until="commit")
        except PlaywrightError:
            return 0
        await wait.done(PAGE_S)
    return 200 if answer is None else answer.status


async def time_visits(browser: Browser, made: MappedSite, url: str, account: Mapping[str, str]) -> float:
    """Return how many seconds it takes to open every address of a map, one after the other, with those opened signed out."""
    began = time.monotonic()
    async with open_visitor(browser, url, account) as page:
        for address in list_addresses(made, signed_in=True):
            await visit(page, address)
    if account:
        async with open_visitor(browser, url, {}) as page:
            for address in list_addresses(made, signed_in=False):
                await visit(page, address)
    return round(time.monotonic() - began, 1)


async def measure_next_day(
    browser: Browser,
    application: Application,
    made: MappedSite,
    truth: MapTruth,
    account: Mapping[str, str],
    folder: Path,
) -> NextDayFigures:
    """Start another copy in a folder, change its data, open the addresses of the map and identify their screens."""
    folder.mkdir(parents=True, exist_ok=True)
    found = NextDayFigures()
    meanings = defaultdict(set)
    pages = {page.page_id: page for page in made.seen.pages()}
    for page_id, screen_id in made.labels.items():
        meanings[screen_id].add(truth.screen_of(pages[page_id].url))
    base = origin_of(made.seen.exploration.base_url)
    view = compile_view(made.knowledge, "g")
    async with application.start(folder) as running:
        found.jobs = await _change_data(browser, application, running)
        async with open_visitor(browser, f"{running.base_url}{truth.start}", account) as page:
            for address in list_addresses(made, signed_in=True):
                status = await visit(page, address.replace(base, running.base_url, 1))
                wanted = truth.screen_of(address)
                if not 0 < status < _BAD or truth.screen_of(page.url) != wanted:
                    continue  # it is not there in this copy
                snapshot = await take_snapshot(page)
                shown = identify(view, snapshot, answer_probes, base_url=running.base_url).screen_id
                found.pages += 1
                if shown is None:
                    found.unknown.append(wanted)
                elif wanted in meanings[shown]:
                    found.known += 1
                else:
                    found.taken_for_another.append(f"{wanted}: {shown}")
    return found


async def _change_data(browser: Browser, application: Application, running: RunningApplication) -> int:
    """Let a person do some jobs; return how many."""
    done = 0
    for job in (each for each in application.jobs if each.action in CHANGING):
        plain = next((each for each in job.unseen if each.kind == "plain"), None)
        if plain is None or done == MOST_JOBS:
            continue
        with suppress(PlaywrightError):
            await do_by_hand(browser, running, job, plain.given, NoNoise())
            done += 1
    return done


def format_next_day(figures: NextDayFigures) -> Iterator[str]:
    """Yield the figures as lines."""
    yield (
        f"    known again next day: {figures.known} of {figures.pages} after {figures.jobs} jobs,"
        f" taken for another: {', '.join(figures.taken_for_another) or '-'}"
    )
    unknown = Counter(figures.unknown)
    if unknown:
        yield f"    not known next day: {', '.join(f'{name} ({count})' for name, count in unknown.items())}"
