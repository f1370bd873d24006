"""Decides which step to try next and which controls to skip, from the `ExplorationState`."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from agent.exploration.exploration_state import ExplorationState
from agent.exploration.offer_keys import kind_of
from agent.exploration.pages.page_addresses import (
    build_address_kind,
    build_parent_path,
)
from agent.exploration.pages.page_observation import is_anchor, leads_to_other_address
from agent.exploration.requests.robots_permissions import DISALLOWED
from kb_schema.explorations import SHARED, WENT_BACK, Danger, ExplorationPage, Offer, UnexploredItem
from kb_schema.search_fields import is_search_field
from kb_schema.url_patterns import path_of

TRIES = 2
"""How often the same control is tried, on this page and similar pages."""
TRIES_OF_ROWS = 3
MOST_TRIES = 20
"""How often a control is tried that leads to a different page each time."""
USUAL = 4
"""How often a link with one name to one known place is tried, on all pages together, and a control at one spot that opens the same."""
VAIN = 3
"""How often a control may have no effect, on different pages, before it is skipped."""
MORE_OF_THE_SAME = 3
"""How many pages that resemble kept pages a kind of address may show before it is skipped."""
MOST_OF_KIND = 6
"""So many pages below one path count for the order; further ones make no difference."""
BANDS_OF_LINKS, BANDS_OF_CONTROLS = (0, 2, 5), (2, 5)
"""Up to each of these numbers the order makes no difference: every kind comes before any comes a sixth time, but the steps on one
page are taken together, as to come back takes a load, too."""
MOST_UNEXPLORED = 2_000

MOST_FRUITLESS = 2
"""How many entries of a menu are tried that lead nowhere, such as the options of a field."""
MOST_OPTIONS = 5
"""How many options of a list are chosen that lead to no other address, whatever they show."""
URGENT, ON_TOP, ELSEWHERE, DELETING, NEW, CHANGING, ASKING, REPEATED, WAY_OUT = range(9)
"""Order of steps: what lies on top of a page comes before the page, since it is hard to return to; allowed changes follow new controls, but precede repetitions, for which time may not suffice. Of what may ask before it changes something, what deletes asks most often."""
_ASKED: tuple[Danger, ...] = ("deletes", "pays", "sends", "submits")
"""Dangers before which applications ask."""

SAME_AS_KNOWN = "similar pages are known"
SAME_AS_KNOWN_BELOW = "similar pages below {path} are known, for example {example} was not opened"
TRIED_ELSEWHERE = "tried on other pages"
FAILED = "its address could not be opened from other pages"
LIKE_OTHERS = "others of its kind in the menu led nowhere"


@dataclass(frozen=True, slots=True)
class ExplorationStep:
    """One step to perform."""

    page: ExplorationPage
    offer: Offer | None
    """None: the exit action `address`, to the first start page."""
    rank: tuple[int, ...] = ()


def list_steps(
    book: ExplorationState,
    at: str | None,
    lost: Collection[str],
    may_open: Callable[[str], bool],
    urgent: Collection[tuple[str, str]] = (),
) -> Iterator[ExplorationStep]:
    """Yield all steps that are to be performed, as far as is known; the smallest `rank` is next.

    `at` is the current page, `lost` are pages that cannot be reached again, and `urgent` are the controls by page
    that dismiss overlays.
    """
    for number, page in enumerate(book.pages.values()):
        if page.page_id in lost or page.page_id in book.covered or book.is_guarded(page.page_id):
            continue
        here = page.page_id != at
        if not page.start and book.exits.wants(page, "address"):
            yield ExplorationStep(page, None, (WAY_OUT, 0, here, page.depth, number, 0))
        for place, offer in enumerate(page.offers):
            if (page.page_id, offer.offer_id) in book.closed:
                continue
            if explain_skip(book, page, offer, may_open) is not None:
                book.closed.add((page.page_id, offer.offer_id))  # reasons to skip it never disappear
            else:
                first = URGENT if (page.page_id, offer.offer_id) in urgent else _class(book, page, offer)
                kept = _count_of_kind(book, page, offer, first)
                bands = BANDS_OF_LINKS if first == ELSEWHERE else BANDS_OF_CONTROLS
                near = (
                    (page.depth, here) if is_search(offer) else (here, page.depth)
                )  # a search: at the start
                yield ExplorationStep(page, offer, (first, bisect_left(bands, kept), *near, number, place))


def choose_next_step(
    book: ExplorationState,
    at: str | None,
    lost: Collection[str],
    may_open: Callable[[str], bool],
    urgent: Collection[tuple[str, str]] = (),
) -> tuple[ExplorationStep | None, int]:
    """Return the next step, and the estimated number of steps; equal controls count once."""
    found = list(list_steps(book, at, lost, may_open, urgent))
    keys = Counter(
        book.key_of(step.page, step.offer) if step.offer else (step.page.page_id,) for step in found
    )
    left = sum(min(count, TRIES) for count in keys.values())
    best = min(found, key=lambda step: step.rank, default=None)
    return None if best is None else _without_return(book, best, at, found), left


def _without_return(
    book: ExplorationState, best: ExplorationStep, at: str | None, found: Collection[ExplorationStep]
) -> ExplorationStep:
    """Return the same link on the current page, if it has it, instead of going back to the page of the best step: the entries of a
    menu are on all pages.
    """
    offer = best.offer
    if best.page.page_id == at or offer is None or not leads_to_other_address(offer, best.page.url):
        return best
    key = book.key_of(best.page, offer)
    here = (
        step
        for step in found
        if step.page.page_id == at
        and step.offer is not None
        and step.rank[0] == best.rank[0]
        and book.key_of(step.page, step.offer) == key
    )
    same = min(here, key=lambda step: step.rank, default=None)
    return best if same is None else same


def explain_skip(
    book: ExplorationState, page: ExplorationPage, offer: Offer, may_open: Callable[[str], bool]
) -> str | None:
    """Return why a control is not tried; None if it is tried, "" if there is nothing to try."""
    tried = (page.page_id, offer.offer_id) in book.tried and (offer.danger is None or bool(offer.allowed_by))
    if tried or not (offer.action_type == "click" or is_choice_of_row(offer) or is_search(offer)):
        return ""
    link = leads_to_other_address(offer, page.url)
    refused = explain_prohibition(offer, may_open)
    if refused is None and page.depth >= book.limits.depth:
        refused = f"it is {page.depth} transition{'' if page.depth == 1 else 's'} from a start page"
    if refused is None and offer.why and not offer.allowed_by and (not link or offer.selector is not None):
        refused = offer.why
    if refused is None and not offer.allowed_by and book.followed.acts(offer):
        refused = WENT_BACK
    if refused is None and not offer.allowed_by and book.followed.fails(offer, TRIES):
        refused = FAILED
    if refused is None and not offer.allowed_by and book.followed.opens_the_same(page, offer, USUAL):
        refused = TRIED_ELSEWHERE  # a link, too: scripts open a menu where its address would be opened
    if refused is not None:
        asks = book.confirmations and is_asking(page, offer) and page.depth < book.limits.depth
        return None if asks and not book.has_asked(page, offer, TRIES_OF_ROWS) else refused
    tries = book.tries[book.key_of(page, offer)]
    if link and offer.href and not offer.allowed_by:
        known = _skipped_new_link if not book.seen_place(offer.href) else _skipped_known_link
        return known(book, page, offer, offer.href)
    if not offer.allowed_by and book.followed.leads_to_more(page, offer, MORE_OF_THE_SAME):
        return TRIED_ELSEWHERE
    kind = kind_of(page, offer)
    fruitless = page.layer == "menu" and book.fruitless[kind] >= MOST_FRUITLESS
    chosen = offer.role == "option" and book.chosen[kind] >= MOST_OPTIONS
    if (fruitless or chosen) and not offer.allowed_by:
        return LIKE_OTHERS
    shared = offer.region.partition(":")[0] in SHARED and not is_search(offer)
    led = 0 if shared else len(book.led[book.key_of(page, offer)])
    once = offer.allowed_by or offer.action_type == "check" or (is_search(offer) and led)
    most = 1 if once else min(TRIES + led, MOST_TRIES)
    return (
        TRIED_ELSEWHERE
        if tries >= most or (not offer.allowed_by and book.has_no_effect(offer, VAIN))
        else None
    )


def is_choice_of_row(offer: Offer) -> bool:
    """Whether it is a check box that chooses a row: applications show what can be done with chosen rows only then."""
    return (
        offer.action_type == "check"
        and offer.in_row
        and offer.form is None
        and offer.role in ("", "checkbox")
    )


def is_search(offer: Offer) -> bool:
    """Whether it is a field that searches, as it says or as a list to type in: many show what they find while one types."""
    attributes = offer.fingerprint.attributes if offer.fingerprint else {}
    texts = (offer.name, offer.label, attributes.get("placeholder"), attributes.get("name"))
    return (
        offer.action_type == "fill"
        and offer.selector is not None
        and not offer.in_row
        and offer.kind != "password"
        and (offer.role == "combobox" or is_search_field(offer.role, offer.kind, texts))
    )


def is_asking(page: ExplorationPage, offer: Offer) -> bool:
    """Whether a control may ask before it changes something, so that it is pressed where nothing can be sent.

    Not the buttons of forms, which send what was entered, nor links: their addresses would be opened.
    """
    return (
        offer.danger in _ASKED
        and not offer.allowed_by
        and offer.action_type == "click"
        and offer.selector is not None
        and offer.form is None
        and offer.role not in ("switch", "checkbox", "radio")
        and (offer.href is None or is_anchor(offer, page.url))
    )


def explain_prohibition(offer: Offer, may_open: Callable[[str], bool]) -> str | None:
    """Return why a control must not be tried; None if it may."""
    if offer.danger is not None and not offer.allowed_by:
        return f"{offer.danger}: {offer.why}"
    if offer.href and offer.href.startswith(("http://", "https://")) and not may_open(offer.href):
        return DISALLOWED
    return None


def list_unexplored_items(
    book: ExplorationState,
    lost: Collection[str],
    may_open: Callable[[str], bool],
    *,
    signed_out: bool = False,
) -> tuple[UnexploredItem, ...]:
    """Return the items that were found and not tried, with the reason; omits items that others represent.

    `signed_out`: the exploration ended since it could not sign in again. Of links to places that nobody saw, because their lists and siblings are known, the reason has an example.
    """
    limit = "the website signed out" if signed_out else "the time or page limit was reached"
    found: list[UnexploredItem] = []
    examples: dict[str, str] = {}
    for page in book.pages.values():
        if page.page_id in book.covered or book.is_guarded(page.page_id):
            continue
        if page.page_id in lost:
            found.append(UnexploredItem(page_id=page.page_id, reason="it cannot be reached again"))
        for offer in page.offers:
            reason = explain_skip(book, page, offer, may_open)
            if reason is None:
                reason = limit if page.page_id not in lost else ""
            if reason == SAME_AS_KNOWN and offer.href and not book.seen_place(offer.href):
                parent = build_parent_path(offer.href)
                reason = SAME_AS_KNOWN_BELOW.format(
                    path=path_of(parent), example=path_of(examples.setdefault(parent, offer.href))
                )
            if reason and reason not in (SAME_AS_KNOWN, TRIED_ELSEWHERE):
                found.append(
                    UnexploredItem(page_id=page.page_id, offer_id=offer.offer_id, reason=reason[:1_000])
                )
            if len(found) >= MOST_UNEXPLORED:
                return tuple(found)
    return tuple(found)


def _skipped_new_link(book: ExplorationState, page: ExplorationPage, offer: Offer, href: str) -> str | None:
    """Return why a link to a place of which no page is kept is not tried."""
    if _is_one_more(book, page, offer, href) or book.followed.leads_to_more(page, offer, MORE_OF_THE_SAME):
        return SAME_AS_KNOWN
    return None


def _skipped_known_link(book: ExplorationState, page: ExplorationPage, offer: Offer, href: str) -> str | None:
    """Return why a link to a place of which a page is kept is not tried."""
    seen = book.seen_address(href)
    if not seen and _is_one_more(book, page, offer, href):
        return SAME_AS_KNOWN
    done = seen and book.followed.has_used(page, offer)
    usual = not offer.in_row and book.followed.is_usual(offer, USUAL)
    tries = book.tries[book.key_of(page, offer)]
    many = tries >= (TRIES_OF_ROWS if offer.in_row else TRIES)
    return TRIED_ELSEWHERE if not book.repeats or done or usual or many else None


def _is_one_more(book: ExplorationState, page: ExplorationPage, offer: Offer, href: str) -> bool:
    """Whether an address that was not opened is one more of those of which enough pages are kept."""
    return (
        book.full(href)
        or book.more[build_address_kind(href)] >= MORE_OF_THE_SAME
        or _has_like_siblings(book, page, offer, href)
        or book.alike_on(href) >= book.limits.pages_per_place
    )


def _has_like_siblings(book: ExplorationState, page: ExplorationPage, offer: Offer, href: str) -> bool:
    """Whether the other links of its list led to pages of equal structure, or it is one of many articles."""
    landmark = offer.region.partition(":")[0]
    regions = offer.fingerprint.region if offer.fingerprint else ()
    if landmark in SHARED:
        return False
    most = book.limits.pages_per_place
    if book.is_family(href) and book.alike_under(href) >= most:
        return True
    listed = any(each.startswith(("row", "item", "group")) for each in regions)
    return listed and book.alike_in_list(page, offer) >= most


def _count_of_kind(book: ExplorationState, page: ExplorationPage, offer: Offer, first: int) -> int:
    """Return how much of a control's kind is known: pages kept beside the one that a link leads to (menus come first), siblings of
    equal structure, or how often controls of its kind led nowhere. `first`: its class.
    """
    link = leads_to_other_address(offer, page.url)
    if first == ELSEWHERE or (first == NEW and link and offer.href and not book.seen_path(offer.href)):
        shared = offer.href is None or offer.region.partition(":")[0] in SHARED
        if offer.href is not None and book.followed.knows_part(offer.href):
            return MOST_OF_KIND
        return 0 if shared or offer.href is None else min(book.kept_under(offer.href), MOST_OF_KIND)
    if is_search(offer):
        return MOST_OF_KIND  # what is typed into a search comes from the rows of other pages
    return min(book.fruitless[kind_of(page, offer)], MOST_OF_KIND)


def _class(book: ExplorationState, page: ExplorationPage, offer: Offer) -> int:
    """Return the class of a step: what lies on top, links to other paths of whose siblings few are alike, other new controls, then
    allowed changes.
    """
    if offer.allowed_by:
        return CHANGING
    if is_asking(page, offer):
        return DELETING if offer.danger == "deletes" else ASKING
    if (
        page.layer
        and not book.tries[book.key_of(page, offer)]
        and book.fruitless[kind_of(page, offer)] < MOST_FRUITLESS
    ):
        return ON_TOP
    if leads_to_other_address(offer, page.url) and offer.href:
        if book.seen_place(offer.href):
            return REPEATED
        shared = offer.region.partition(":")[0] in SHARED
        one_more = book.followed.knows_part(offer.href) or (
            not shared and book.alike_under(offer.href) >= MORE_OF_THE_SAME
        )
        return NEW if one_more or book.seen_path(offer.href) else ELSEWHERE
    return REPEATED if book.tries[book.key_of(page, offer)] else NEW
