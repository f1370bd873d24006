"""Opens a page of an earlier exploration again and compares it: found, gone, or something else in its place.

The record of a page that is found becomes the new one, in which controls that are the same keep their ids
(`matching_offers`). What has changed is told by comparing the two records (`loaders.map_updates`).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from playwright.async_api import Error as DriverError
from pydantic import ValidationError

from agent.browser.browser_life import is_alive
from agent.exploration.exploration_record import PageContent
from agent.exploration.exploration_steps import ExplorationStepRunner
from agent.exploration.pages.matching_offers import is_known_page, keep_offer_ids
from agent.exploration.pages.page_addresses import normalize_address
from agent.exploration.pages.page_layers import NO_LAYER, PageLayer, find_layer
from agent.exploration.pages.page_observation import PageObservation, clean_text
from agent.exploration.return_paths import find_return_paths, is_same_page
from agent.exploration.tab.exploration_tab import AttemptResult
from agent.page.errors import PageError
from kb_schema.address_secrets import mask_address_secrets
from kb_schema.explorations import AttemptedTransition, ExplorationPage, PageRevisit

GONE = frozenset({404, 410})
"""The HTTP statuses that say that there is no such page."""
BAD = 400


class _NotThere(Exception):
    """The page was not reached. The text says what was found instead."""


async def revisit_page(hands: ExplorationStepRunner, page: ExplorationPage) -> PageRevisit:
    """Open a known page once, by its address or by one way to it, and return what became of it.

    Raises `SignInLost`, and the driver's error if the browser has closed.
    """
    hands.at, hands.look = None, None
    status: int | None = None
    try:
        arrival, before = await _come(hands, page)
        status = arrival.status
        if not page.layer and status in GONE:
            return _told(page, "gone", status, f"HTTP {status}")
        return await _compare(hands, page, arrival, before)
    except _NotThere as reason:
        return _told(page, "not_found", status, str(reason))
    except (PageError, DriverError, TimeoutError, ValidationError) as error:
        tab = await hands.tab.page()
        if tab.context.browser is not None and not is_alive(tab.context.browser):
            raise
        await hands.tab.close()
        return _told(page, "not_found", status, str(error) or "the page did not respond")


def _told(page: ExplorationPage, outcome: str, status: int | None, message: str) -> PageRevisit:
    return PageRevisit.model_validate(
        {
            "page_id": page.page_id,
            "outcome": outcome,
            "status": status,
            "message": clean_text(message),
            "at": datetime.now(UTC),
        }
    )


async def _come(
    hands: ExplorationStepRunner, page: ExplorationPage
) -> tuple[AttemptResult, PageObservation | None]:
    """Return the arrival at a page, and the page before it at the same address. Raises `_NotThere`."""
    if page.openable is not False and not page.layer:
        return await _open(hands, page.url), None
    way = next((each for each in find_return_paths(hands.book, page) if each), None)
    if way is None:
        raise _NotThere("no way to it is known")
    first = hands.book.pages[way[0].from_page]
    arrival = await _open(hands, first.url)
    if arrival.look is None or not is_same_page(arrival.look, first):
        raise _NotThere(f"the page from which it opens has changed: {first.title or first.url}")
    look = arrival.look
    for passage in way[:-1]:
        _, look = await _follow(hands, passage, look)
    arrival, _ = await _follow(hands, way[-1], look)
    return arrival, look


async def _open(hands: ExplorationStepRunner, url: str) -> AttemptResult:
    await hands.rules.pace.turn()
    arrival = await hands.tab.open(url)
    if arrival.outcome == "timeout":  # the previous page may have blocked it; retry in a new tab
        arrival = await hands.tab.open(url)
    await hands.check_signed_in(arrival)
    return arrival


async def _follow(
    hands: ExplorationStepRunner, passage: AttemptedTransition, before: PageObservation
) -> tuple[AttemptResult, PageObservation]:
    """Use the control of one transition again; return where it led. Raises `_NotThere`."""
    offer = hands.find_offer(passage)
    if offer is None or offer.selector is None:
        raise _NotThere("the control that opens it is gone")
    await hands.rules.pace.turn()
    arrival = await hands.tab.use(offer, before)
    await hands.check_signed_in(arrival)
    if arrival.look is None or not arrival.came:
        raise _NotThere(f"{offer.name or offer.role} did not open it: {arrival.message or arrival.outcome}")
    return arrival, arrival.look


async def _compare(
    hands: ExplorationStepRunner,
    page: ExplorationPage,
    arrival: AttemptResult,
    before: PageObservation | None,
) -> PageRevisit:
    """Renew the record of the page if this is it. Raises `_NotThere`."""
    look, status = arrival.look, arrival.status
    if look is None or not arrival.came:
        raise _NotThere(arrival.message or arrival.outcome)
    if not page.layer and (status or 0) >= BAD:
        raise _NotThere(f"HTTP {status}")
    if mask_address_secrets(look.address) != mask_address_secrets(
        normalize_address(page.url)
    ):  # as it is stored
        raise _NotThere(f"its address leads to {look.url}")
    layer = find_layer(look, before) if page.layer else NO_LAYER
    content = await _read(hands, page, arrival, look, layer)
    hands.ledger.renew(page, arrival, look, content)
    hands.at, hands.look = page.page_id, look
    return _told(page, "found", status, "")


async def _read(
    hands: ExplorationStepRunner,
    page: ExplorationPage,
    arrival: AttemptResult,
    look: PageObservation,
    layer: PageLayer,
) -> PageContent:
    """Return the content of a known page, whose controls keep their ids. Raises `_NotThere` if it is another page."""
    if page.layer and not layer.kind:
        raise _NotThere(f"no {page.layer} lies on the page")
    content = await hands.ledger.read(arrival, look, layer)
    used = {offer for at, offer in hands.book.tried if at == page.page_id}
    offers = keep_offer_ids(page.offers, content.offers, used)
    known = is_same_page(look, page) or is_known_page(page.offers, offers)
    if not known and not (not page.layer and look.title == page.title and hands.book.names_alone(page)):
        raise _NotThere("its address shows other contents")
    return replace(content, offers=offers)
