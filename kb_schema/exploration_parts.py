"""A part of an exploration that another process does, and its result, as JSON.

The coordinator owns the exploration's folder, assigns parts, and adds their results to the folder; a worker
has only the part. A step that may change the site is never in a part: the coordinator does it, once.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Base64Bytes, Field, JsonValue

from kb_schema.base import LocalId, Model
from kb_schema.explorations import (
    AttemptedTransition,
    Danger,
    Exploration,
    ExplorationPage,
    ShortText,
    UrlText,
)
from kb_schema.page_snapshots import PageSnapshot


class PartStep(Model):
    """Something to try on a page."""

    page_id: LocalId
    offer_id: LocalId | None = None
    """None: open the page's address."""


class UsualRequest(Model):
    """A request that every visit of the website sends by itself when a page opens."""

    method: str
    url: UrlText
    """Without its query."""
    query: Annotated[str, Field(repr=False)] = ""
    """It may hold a token; secret."""
    body: Annotated[str, Field(repr=False)] = ""
    """A character for each byte (Latin-1). It may hold a token; secret."""
    headers: tuple[tuple[str, str], ...] = Field(default=(), repr=False)
    """Those that a script of a page can set, sorted; names in small letters. Of a token, its digest."""


class ExplorationPart(Model):
    """Some steps of an exploration, with what a worker must know to do them."""

    exploration: Exploration
    """`limits.seconds` applies to the part, `limits.per_second` to all workers on the site together."""
    workers: int = Field(default=1, ge=1)
    """How many workers explore the site at the same time."""
    pages: tuple[ExplorationPage, ...]
    """All known pages; with their offers if steps or paths use them."""
    passages: tuple[AttemptedTransition, ...] = ()
    """Paths to the pages of the steps."""
    ways_out: tuple[tuple[str, str], ...] = ()
    """Path of a place, and the way out that was tried there. These are not tried again."""
    steps: tuple[PartStep, ...]
    signed_in: bool = False
    session: Annotated[JsonValue, Field(repr=False)] = None
    """A storage state in Playwright's format; secret."""
    usual: tuple[UsualRequest, ...] = ()


class FoundPage(Model):
    """A page that was unknown when the part was assigned."""

    page: ExplorationPage
    """Its id is unique within the part."""
    snapshot: PageSnapshot
    picture: Base64Bytes | None = None
    """JPEG."""


class DangerousOffer(Model):
    """An offer that turned out to be dangerous when it was tried."""

    step: PartStep
    danger: Danger
    why: ShortText


class ExplorationPartResult(Model):
    """The result of a part."""

    pages: tuple[FoundPage, ...] = ()
    passages: tuple[AttemptedTransition, ...] = ()
    openable: dict[LocalId, bool] = Field(default_factory=dict)
    """For known pages: whether their address opens them."""
    marked: tuple[DangerousOffer, ...] = ()
    lost: dict[LocalId, str] = Field(default_factory=dict)
    """Pages that no path leads back to, with the page that came instead."""
    urgent: tuple[PartStep, ...] = ()
    """Steps that close what blocks others."""
    alike: tuple[UrlText, ...] = ()
    """Addresses of pages that are like pages already kept."""
    remembered: tuple[tuple[str, ...], ...] = ()
    """Controls whose effect the site remembers, as the explorer records them."""
    signed_out: UrlText | None = None
    """The address at which the site had signed us out; the rest of the part is not done."""
    suspect: PartStep | None = None
    """The step just before that."""
