"""Models of an exploration of a website: its pages, their offers, and the outcome of each attempt.

An exploration is a folder, written continuously so that it can be resumed after any end:

    exploration.json      `Exploration`: settings and ending
    pages/NAME.html .json one snapshot per page, NAME as in `ExplorationPage.page_id`
    pages/NAME.jpg        its picture
    pages.jsonl           one `ExplorationPage` per line
    passages.jsonl        one `AttemptedTransition` per line
    begun.jsonl           one `AttemptStart` per line, written before an attempt that may change the site
    revisits.jsonl        one `PageRevisit` per line, if it updates an earlier exploration

`agent/exploration` writes it (`exploration_folder` has the format), `loaders/exploration_import` makes a
knowledge base of it, and `loaders/screen_learner` groups its pages into screens.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from kb_schema.base import LocalId, Milliseconds, Model, Seconds
from kb_schema.fingerprints import Fingerprint
from kb_schema.screens import FieldValidation, Option
from kb_schema.selectors import Selector

ShortText = Annotated[str, Field(max_length=1_000)]
UrlText = Annotated[str, Field(max_length=8_000)]

Danger = Literal["submits", "deletes", "pays", "sends", "signs_out", "uploads", "leaves", "unknown_method"]
"""Why the exploration does not try something on a site that it must not change (`leaves`: another origin)."""

AttemptOutcome = Literal[
    "arrived", "stayed", "popup", "download", "dialog", "external", "refused", "error", "vanished", "timeout"
]
"""The outcome of an attempt.

`arrived`: at a page, `to_page`; `stayed`: nothing changed; `popup`: a new tab, its page is `to_page`;
`refused`: the gate refused the click; `vanished`: the element was gone; `error`: an HTTP error or a page of
the browser itself.
"""


LayerKind = Literal["", "dialog", "menu", "panel"]
"""What lies on a page: a dialog (it covers the page, or floats and has fields), a menu (it floats), a panel (it was added)."""


class MapLimits(Model):
    """Where an exploration ends, whatever the site does. The defaults suit a site of a few hundred pages."""

    depth: int = Field(default=8, ge=0)
    """The most transitions from a start page."""
    states: int = Field(default=400, ge=1)
    """The most pages to keep."""
    seconds: Seconds = 1_800.0
    pages_per_place: int = Field(default=5, ge=1)
    """The most pages to keep of addresses that differ in ids or queries only: table rows, calendar days."""
    offers_per_page: int = Field(default=60, ge=1)
    per_second: float = Field(default=4.0, gt=0)
    """The mean number of document requests per second."""
    page_s: Seconds = 15.0
    """The most time for one page."""


WENT_BACK = "the application went back from its address: it may have changed something"
"""Why a link that was followed is not followed again, no other to its place either, and leads nowhere in the knowledge."""
ENTER = "\n"
"""The Enter key, at the end of what was typed."""
FAMILY = 12
"""The number of pages below one path, linked outside of menus, from which they are taken for articles."""
SHARED = frozenset({"navigation", "banner", "contentinfo", "complementary", "menu", "menubar", "tablist"})
"""Landmarks whose controls are usually the same on many pages."""


class Offer(Model):
    """A control or field that a page offers."""

    offer_id: LocalId
    """Unique within its page."""
    action_type: str
    """The canonical type: `click`, `fill`, `select`, `check`, ..."""
    role: ShortText = ""
    name: ShortText = ""
    """Accessible name."""
    tag: ShortText = ""
    kind: ShortText = ""
    """The `type` of an input; empty for other elements."""
    label: ShortText = ""
    selector: Selector | None = None
    """Stable and unique on the page. None if there is none; the offer is then not tried."""
    fingerprint: Fingerprint | None = None
    region: ShortText = ""
    """The landmark that contains it: `navigation`, `main`, `banner`, ..., with its name after a colon."""
    in_row: bool = False
    """Whether it is in a row or item that has others like it."""
    href: UrlText | None = None
    form: ShortText | None = None
    """`METHOD action` of its form."""
    form_number: int | None = None
    """Which form of the page that is; None: none, or not known."""
    required: bool = False
    options: tuple[Option, ...] = ()
    validation: FieldValidation | None = None
    danger: Danger | None = None
    """None: it may be tried."""
    why: ShortText = ""
    """The reason for `danger`, for people."""
    allowed_by: ShortText = ""
    """The name by which the user allowed it nevertheless."""

    @property
    def first_class(self) -> str:
        """The first class of its element: further ones may say its state, `mail unread`. Empty: none, or not known."""
        classes = self.fingerprint.attributes.get("class", "") if self.fingerprint else ""
        return next(iter(classes.split()), "")


class ToolInput(Model):
    """One input of a tool that a page offers."""

    name: ShortText
    type: Literal["string", "number", "integer", "boolean", "object", "array"] = "string"
    required: bool = False
    description: ShortText = ""
    allowed: tuple[ShortText, ...] = ()
    """The values that it takes; empty: any."""


class OfferedTool(Model):
    """A tool that a page offers itself (WebMCP). Names and descriptions are the page's words."""

    name: ShortText
    description: ShortText = ""
    inputs: tuple[ToolInput, ...] = ()
    sends: bool = True
    """False: a form that is only filled."""


class ExplorationPage(Model):
    """A page in one state. Similar pages are separate here; another module groups them."""

    page_id: LocalId
    url: UrlText
    title: ShortText = ""
    state: str
    """A digest of the page's structure."""
    depth: int = Field(ge=0)
    seen_at: AwareDatetime
    status: int | None = None
    """The HTTP status, if there was a response."""
    signed_in: bool = False
    """Whether the exploration was signed in at the time."""
    start: bool = False
    """Whether it is a start page, opened by its address."""
    openable: bool | None = None
    """Whether opening its address leads to it again; None: not tried."""
    picture: bool = False
    layer: LayerKind = ""
    """What lies on it; `offers` are then those of the layer."""
    behind: LocalId | None = None
    """The page on which the layer appeared."""
    held_back: tuple[ShortText, ...] = ()
    """Requests that the page made and that were not sent: `POST /api/views`."""
    reads: tuple[ShortText, ...] = ()
    """Requests by POST that the page made and that were sent, because they read."""
    left_out: int = 0
    """How many controls it has besides `offers`, without those that rows repeat."""
    offers: tuple[Offer, ...] = ()
    tools: tuple[OfferedTool, ...] = ()
    """The tools that it offers. None is called."""


class AttemptedTransition(Model):
    """One attempt on a page, and its outcome."""

    from_page: LocalId
    offer_id: LocalId | None = None
    """None: the address was opened, the page reloaded, or the browser went back (`way`)."""
    way: Literal["offer", "address", "back", "reload", "escape"] = "offer"
    """How it was left. All but `offer` are ways out that recovery edges are made of; with an offer, `address` means that the address of
    a link was opened, because one of its kind had been clicked."""
    filled: dict[LocalId, ShortText] = Field(default_factory=dict)
    """Offers of the same page that were filled before, with synthetic data; never secrets."""
    typed: ShortText = ""
    """What was typed into the offer, a field that searches, to see what it finds; with a line break if Enter was pressed."""
    to_page: LocalId | None = None
    outcome: AttemptOutcome
    duration_ms: Milliseconds = 0.0
    status: int | None = None
    message: ShortText = ""
    """The text of a dialog, an error, or the address at another origin."""
    at: AwareDatetime


class PageRevisit(Model):
    """A page of an earlier exploration that was opened again."""

    page_id: LocalId
    outcome: Literal["found", "gone", "not_found"]
    """`found`: its record is the new one; `gone`: its address answers that there is no such page (404 or 410);
    `not_found`: anything else was there, or it could not be opened.
    """
    status: int | None = None
    message: ShortText = ""
    """What was there instead; for a page that was found, empty."""
    at: AwareDatetime


class AttemptStart(Model):
    """The start of an attempt that the user allowed and that may change something. It is made once at most."""

    page_id: LocalId
    offer_id: LocalId


class SentSignInForm(Model):
    """A form that was sent to sign in, without what was entered."""

    url: UrlText
    fields: tuple[tuple[ShortText, Offer], ...]
    """The name of the input that was entered, and its field."""
    button: Offer


class UnexploredItem(Model):
    """Something found but not tried, because a limit was reached or it might change something."""

    page_id: LocalId
    offer_id: LocalId | None = None
    reason: ShortText


class Exploration(Model):
    """One exploration: its settings and its progress."""

    format: int = 1
    website_id: LocalId
    base_url: UrlText
    starts: tuple[UrlText, ...]
    hints: tuple[UrlText, ...] = ()
    """Addresses (of a sitemap, say) to open when nothing else is left and no page of their place was found.
    """
    origins: tuple[UrlText, ...]
    """The origins it may visit."""
    limits: MapLimits = MapLimits()
    allowed: tuple[ShortText, ...] = ()
    """Names of dangerous controls that may be used nevertheless."""
    reads: tuple[ShortText, ...] = ()
    """Paths of requests that read, by whatever method but DELETE: `/api/*/views`."""
    confirmations: bool = True
    """Whether controls that may ask before they change something are pressed where nothing can be sent."""
    signed_in_by: ShortText = ""
    """How it signed in: `task LOGIN`, `storage state`, or empty."""
    sign_in_forms: tuple[SentSignInForm, ...] = ()
    """The forms with which it signed in, in their order."""
    robots: bool = True
    """Whether robots.txt is respected."""
    seed: int = 0
    """The seed of the synthetic data."""
    started_at: AwareDatetime
    ended_at: AwareDatetime | None = None
    ended_by: Literal["done", "states", "depth", "time", "stopped", "signed_out"] | None = None
    """Why it ended; None: it is going on, or was killed."""
    pages: int = 0
    passages: int = 0
    usual: tuple[ShortText, ...] = ()
    """Requests that were sent although they may change something, as every visit sends them: `PUT /api/session`."""
    unexplored: tuple[UnexploredItem, ...] = ()


def list_asking_pages(pages: Iterable[ExplorationPage], passages: Iterable[AttemptedTransition]) -> set[str]:
    """Return the ids of the pages to which only controls led that would change something: dialogs that ask before."""
    known = {page.page_id: page for page in pages}
    offers = {(page.page_id, offer.offer_id): offer for page in known.values() for offer in page.offers}
    led: dict[str, bool] = {}
    for each in passages:
        offer = offers.get((each.from_page, each.offer_id or ""))
        if each.to_page is not None and each.to_page != each.from_page:
            asks = offer is not None and offer.danger is not None and not offer.allowed_by
            led[each.to_page] = led.get(each.to_page, True) and asks
    return {page_id for page_id, asks in led.items() if asks and page_id in known and known[page_id].layer}
