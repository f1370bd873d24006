"""What an exploration of a website saw: its pages, what they offer, where each thing that was tried led.

An exploration is a folder, written as it goes on so that it can be resumed after any end:

    exploration.json      `Exploration`: what was asked, and how it ended
    pages/NAME.html .json one snapshot for each page (DESIGN 11), NAME as in `SeenPage.page_id`
    pages/NAME.jpg        its picture
    pages.jsonl           a `SeenPage` a line
    passages.jsonl        a `Passage` a line
    begun.jsonl           a `Begun` a line, written before what may change something is done

Who writes it is `agent/mapping`; `loaders/cartography` makes a knowledge base of it. What groups pages into
screens is `loaders/signatures`. Not here: reading and writing the folder (`mapping_folder`).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from kb_schema.base import LocalId, Milliseconds, Model, Seconds
from kb_schema.fingerprints import Fingerprint
from kb_schema.screens import FieldValidation, Option
from kb_schema.selectors import Selector

Line = Annotated[str, Field(max_length=1_000)]
Address = Annotated[str, Field(max_length=8_000)]

Danger = Literal["submits", "deletes", "pays", "sends", "signs_out", "uploads", "leaves", "unknown_method"]
"""Why something is not tried on a site that is only to be looked at (`leaves`: another origin)."""

Outcome = Literal[
    "arrived", "stayed", "popup", "download", "dialog", "external", "refused", "error", "vanished", "timeout"
]
"""`arrived`: at a page, `to_page`; `stayed`: nothing changed; `popup`: a new tab, its page is `to_page`;
`refused`: the gate did not let it be clicked; `vanished`: it was there no more; `error`: an HTTP error or a
page of the browser's own."""


class MapLimits(Model):
    """Where an exploration ends, whatever the site does. Defaults suit a site of a few hundred pages."""

    depth: int = Field(default=8, ge=0)
    """Passages from a start page."""
    states: int = Field(default=400, ge=1)
    """Pages that are kept."""
    seconds: Seconds = 1_800.0
    pages_per_place: int = Field(default=5, ge=1)
    """Pages kept of addresses that differ in ids or queries only: rows of a list, days of a calendar."""
    offers_per_page: int = Field(default=60, ge=1)
    per_second: float = Field(default=4.0, gt=0)
    """Requests for documents, on the mean."""
    page_s: Seconds = 15.0
    """How long one page may take."""


class Offer(Model):
    """A control or field that a page offers."""

    offer_id: LocalId
    """Within its page."""
    action_type: str
    """Canonical: `click`, `fill`, `select`, `check`, ..."""
    role: Line = ""
    name: Line = ""
    """Accessible name."""
    tag: Line = ""
    kind: Line = ""
    """An input's `type`; nothing for the rest."""
    label: Line = ""
    selector: Selector | None = None
    """Stable, unique on the page; None where there is none (it is then not tried)."""
    fingerprint: Fingerprint | None = None
    region: Line = ""
    """The landmark it stands in: `navigation`, `main`, `banner`, ..., with its name behind a colon."""
    in_row: bool = False
    """Whether it stands in a row or item that has others like it."""
    href: Address | None = None
    form: Line | None = None
    """`METHOD action` of the form it belongs to."""
    required: bool = False
    options: tuple[Option, ...] = ()
    validation: FieldValidation | None = None
    danger: Danger | None = None
    """None: it may be tried."""
    why: Line = ""
    """What made it dangerous, for people."""
    allowed_by: Line = ""
    """The name under which it was allowed all the same."""


class SeenPage(Model):
    """A page, one state of it. Pages that look alike are kept apart here; grouping them is not done here."""

    page_id: LocalId
    url: Address
    title: Line = ""
    state: str
    """A digest of its structure: the same page seen again has the same."""
    depth: int = Field(ge=0)
    seen_at: AwareDatetime
    status: int | None = None
    """Of the HTTP answer, where there was one."""
    signed_in: bool = False
    """Whether the exploration was signed in when it saw it."""
    start: bool = False
    """Whether it is opened by its address: a start page."""
    openable: bool | None = None
    """Whether opening its address leads to it again; None: not tried."""
    picture: bool = False
    offers: tuple[Offer, ...] = ()


class Passage(Model):
    """One thing that was tried on a page, and what came of it."""

    from_page: LocalId
    offer_id: LocalId | None = None
    """None: the address was opened, the page reloaded, or the browser went back (`way`)."""
    way: Literal["offer", "address", "back", "reload", "escape"] = "offer"
    """All but `offer` are ways out that recovery edges are made of."""
    filled: dict[LocalId, Line] = Field(default_factory=dict)
    """Offers of the same page that were filled before, with synthetic data. Never secrets."""
    to_page: LocalId | None = None
    outcome: Outcome
    duration_ms: Milliseconds = 0.0
    status: int | None = None
    message: Line = ""
    """A dialog's words, an error, the address of another origin."""
    at: AwareDatetime


class Begun(Model):
    """Something that was allowed by name, and may have changed something: it is done once, whatever happens."""

    page_id: LocalId
    offer_id: LocalId


class Unexplored(Model):
    """What was found and not tried any more, because a bound was reached or it might change something."""

    page_id: LocalId
    offer_id: LocalId | None = None
    reason: Line


class Exploration(Model):
    """One exploration: what was asked, how far it came."""

    format: int = 1
    website_id: LocalId
    base_url: Address
    starts: tuple[Address, ...]
    hints: tuple[Address, ...] = ()
    """Opened when nothing else is left, where no page of their place was found: of a sitemap, say."""
    origins: tuple[Address, ...]
    """Where it may go."""
    limits: MapLimits = MapLimits()
    allowed: tuple[Line, ...] = ()
    """Names of dangerous controls that may be used all the same."""
    signed_in_by: Line = ""
    """`task LOGIN`, `storage state`, or nothing."""
    robots: bool = True
    """Whether robots.txt is respected."""
    seed: int = 0
    """Of synthetic data."""
    started_at: AwareDatetime
    ended_at: AwareDatetime | None = None
    ended_by: Literal["done", "states", "depth", "time", "stopped"] | None = None
    """None: it is going on, or was killed."""
    pages: int = 0
    passages: int = 0
    unexplored: tuple[Unexplored, ...] = ()
