"""What is worth trying next, and why the rest is not: pure decisions over the `Book`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from agent.mapping.book import SHARED, Book
from agent.mapping.looking import leads_elsewhere
from agent.mapping.places import kind_of, path_of_place
from kb_schema.mapping import Offer, SeenPage, Unexplored

TRIES = 2
"""How often the same control is tried, on this page and on others like it."""
TRIES_OF_ROWS = 3
MOST_TRIES = 8
"""The same of a control that leads elsewhere each time."""
USUAL = 4
"""So often a link of one name to one known place is tried, wherever it stands."""
VAIN = 3
"""So often a control may do nothing, on different pages; then it is left."""
MORE_OF_THE_SAME = 3
"""So often a kind of address may show another page like those that are kept; then it is left."""
MOST_UNEXPLORED = 2_000

URGENT, ELSEWHERE, NEW, CHANGING, REPEATED, WAY_OUT = range(6)
"""In this order things are done: what changes something when all that is new was looked at, but before what is only
done once more, for which there may be no time."""

SAME = "others like it are known"
TRIED = "tried on other pages"


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do next."""

    page: SeenPage
    offer: Offer | None
    """None: the way out `address`, to the first start page."""
    rank: tuple[int, ...] = ()


def steps(
    book: Book,
    at: str | None,
    lost: Collection[str],
    may_open: Callable[[str], bool],
    urgent: Collection[tuple[str, str]] = (),
) -> Iterator[Step]:
    """Everything that is to be done as far as is known now; the smallest `rank` is next.

    `at` is the page the browser is on, `lost` are pages nothing leads back to, `urgent` are offers by page that
    put away what is in the way of others.
    """
    for number, page in enumerate(book.pages.values()):
        if page.page_id in lost or page.page_id in book.covered:
            continue
        here = page.page_id != at
        way = (path_of_place(page.url), "address")
        if way not in book.ways and not page.start:
            yield Step(page, None, (WAY_OUT, page.depth, here, number, 0))
        for place, offer in enumerate(page.offers):
            if (page.page_id, offer.offer_id) in book.closed:
                continue
            if skipped(book, page, offer, may_open) is not None:
                book.closed.add((page.page_id, offer.offer_id))  # what speaks against it only grows
            else:
                first = URGENT if (page.page_id, offer.offer_id) in urgent else _class(book, page, offer)
                yield Step(page, offer, (first, page.depth, here, number, place))


def next_step(
    book: Book,
    at: str | None,
    lost: Collection[str],
    may_open: Callable[[str], bool],
    urgent: Collection[tuple[str, str]] = (),
) -> tuple[Step | None, int]:
    """What to do next, and about how much there is to do: the same control is not tried everywhere."""
    found = list(steps(book, at, lost, may_open, urgent))
    keys = Counter(
        book.key_of(step.page, step.offer) if step.offer else (step.page.page_id,) for step in found
    )
    left = sum(min(count, TRIES) for count in keys.values())
    return min(found, key=lambda step: step.rank, default=None), left


def skipped(book: Book, page: SeenPage, offer: Offer, may_open: Callable[[str], bool]) -> str | None:
    """Why an offer is not tried; None: it is. An empty text: there is nothing to try."""
    tried = (page.page_id, offer.offer_id) in book.tried and (offer.danger is None or bool(offer.allowed_by))
    if tried or offer.action_type != "click":
        return ""
    link = leads_elsewhere(offer, page.url)
    refused = not_permitted(offer, may_open)
    if refused is None and page.depth >= book.limits.depth:
        refused = f"it is {page.depth} passages from a start page"
    if refused is None and offer.why and not offer.allowed_by and (not link or offer.selector is not None):
        refused = offer.why
    if refused is not None:
        return refused
    tries = book.tries[book.key_of(page, offer)]
    if link and offer.href and not offer.allowed_by:
        return _skipped_link(book, offer, offer.href, tries)
    shared = offer.region.partition(":")[0] in SHARED
    led = 0 if shared else len(book.led[book.key_of(page, offer)])
    most = 1 if offer.allowed_by else min(TRIES + led, MOST_TRIES)
    return TRIED if tries >= most or (not offer.allowed_by and book.in_vain(offer, VAIN)) else None


def not_permitted(offer: Offer, may_open: Callable[[str], bool]) -> str | None:
    """Why an offer may not be tried whatever is known; None: it may."""
    if offer.danger is not None and not offer.allowed_by:
        return f"{offer.danger}: {offer.why}"
    if offer.href and offer.href.startswith(("http://", "https://")) and not may_open(offer.href):
        return "robots.txt asks not to"
    return None


def unexplored(book: Book, lost: Collection[str], may_open: Callable[[str], bool]) -> tuple[Unexplored, ...]:
    """What was found and not tried, with the reason; not what others stand for."""
    found: list[Unexplored] = []
    for page in book.pages.values():
        if page.page_id in book.covered:
            continue
        if page.page_id in lost:
            found.append(Unexplored(page_id=page.page_id, reason="nothing leads back to it"))
        for offer in page.offers:
            reason = skipped(book, page, offer, may_open)
            if reason is None:
                reason = "there was no time for it, or pages enough" if page.page_id not in lost else ""
            if reason and reason not in (SAME, TRIED):
                found.append(Unexplored(page_id=page.page_id, offer_id=offer.offer_id, reason=reason[:1_000]))
            if len(found) >= MOST_UNEXPLORED:
                return tuple(found)
    return tuple(found)


def _skipped_link(book: Book, offer: Offer, href: str, tries: int) -> str | None:
    if not book.seen_address(href):
        if (
            book.full(href)
            or book.more[kind_of(href)] >= MORE_OF_THE_SAME
            or _has_like_siblings(book, offer, href)
        ):
            return SAME
        if book.alike_on(href) >= book.limits.pages_per_place:
            return SAME
        if not book.seen_place(href):
            return None
    if not offer.in_row and book.is_usual(offer, USUAL):
        return TRIED
    return TRIED if tries >= (TRIES_OF_ROWS if offer.in_row else TRIES) else None


def _has_like_siblings(book: Book, offer: Offer, href: str) -> bool:
    """Whether it is one of a list of things whose pages are all built alike: articles under names of words."""
    landmark = offer.region.partition(":")[0]
    regions = offer.fingerprint.region if offer.fingerprint else ()
    if landmark in SHARED or not any(each.startswith(("row", "item", "group")) for each in regions):
        return False
    return book.alike_under(href) >= book.limits.pages_per_place


def _class(book: Book, page: SeenPage, offer: Offer) -> int:
    """What leads to other paths first, then what is new otherwise, then what was allowed to change something."""
    if offer.allowed_by:
        return CHANGING
    if leads_elsewhere(offer, page.url) and offer.href:
        return REPEATED if book.seen_place(offer.href) else NEW if book.seen_path(offer.href) else ELSEWHERE
    return REPEATED if book.tries[book.key_of(page, offer)] else NEW
