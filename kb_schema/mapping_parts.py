"""A part of an exploration that is done elsewhere, and what comes back: JSON, so that it may travel.

Whoever has the exploration's folder (`mapping`) cuts parts off, and takes what was found into it; who does a part
has nothing but this. What changes something on the site is never part of one: it is done once, by whoever has
the folder.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Base64Bytes, Field, JsonValue

from kb_schema.base import LocalId, Model
from kb_schema.mapping import Address, Danger, Exploration, Line, Passage, SeenPage
from kb_schema.snapshots import PageSnapshot


class PartStep(Model):
    """Something to try on a page."""

    page_id: LocalId
    offer_id: LocalId | None = None
    """None: the way out `address`."""


class Part(Model):
    """Some steps of an exploration, with what must be known to do them."""

    exploration: Exploration
    """`limits.seconds` is for the part, `limits.per_second` for all that explore the site at the same time."""
    workers: int = Field(default=1, ge=1)
    """How many explore it at the same time."""
    pages: tuple[SeenPage, ...]
    """All that are known; with their offers those that steps are on, or ways lead over."""
    passages: tuple[Passage, ...] = ()
    """Ways to the pages of the steps."""
    ways_out: tuple[tuple[str, str], ...] = ()
    """Path of a place, and which way out of it was tried: none of them is tried again."""
    steps: tuple[PartStep, ...]
    signed_in: bool = False
    session: Annotated[JsonValue, Field(repr=False)] = None
    """A storage state as Playwright keeps it; a secret."""


class FoundPage(Model):
    """A page that nobody knew when the part was cut off."""

    page: SeenPage
    """Its id is the part's own."""
    snapshot: PageSnapshot
    picture: Base64Bytes | None = None
    """JPEG."""


class Marked(Model):
    """An offer that trying has shown to be dangerous."""

    step: PartStep
    danger: Danger
    why: Line


class Findings(Model):
    """What came of a part."""

    pages: tuple[FoundPage, ...] = ()
    passages: tuple[Passage, ...] = ()
    openable: dict[LocalId, bool] = Field(default_factory=dict)
    """Of pages that were known: whether their address leads to them."""
    marked: tuple[Marked, ...] = ()
    lost: dict[LocalId, str] = Field(default_factory=dict)
    """Pages that nothing leads back to, with what came instead."""
    urgent: tuple[PartStep, ...] = ()
    """What puts away what is in the way of others."""
    alike: tuple[Address, ...] = ()
    """Where pages were seen that are like those that are kept."""
    remembered: tuple[tuple[str, ...], ...] = ()
    """Controls whose effect the site remembers, as the explorer's book keeps them."""
    signed_out: Address | None = None
    """Where the site no longer knew us; the rest of the part is not done."""
    suspect: PartStep | None = None
    """What was done just before that."""
