"""The registry of links: creates them, finds them by token, removes expired ones."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import structlog

from kb_schema.flow_translations import find_translation
from kb_schema.presentation_flows import PresentationFlow
from kb_store.audit.audit_recorder import record_async
from periplus.errors import UserError
from periplus.service.visits.visit import VisitActionUnavailable, VisitorVisit
from periplus.service.visits.visit_ports import PresentationOpener, RoomOpener, VisitWish
from periplus.service.visits.visit_settings import VisitSettings

TOKEN_BYTES = 32
"""Random bytes of a token."""

_log = structlog.get_logger(__name__)


class TooManyVisits(Exception):
    """A limit was reached; retry after `retry_s` seconds."""

    def __init__(self, what: str, retry_s: int) -> None:
        super().__init__(what)
        self.retry_s = retry_s


class VisitRegistry:
    """All links. Tokens are not stored, only their digests."""

    def __init__(
        self,
        opener: PresentationOpener,
        settings: VisitSettings | None = None,
        rooms: RoomOpener | None = None,
    ) -> None:
        self.settings = settings or VisitSettings()
        self._opener, self._rooms = opener, rooms
        self._by_digest: dict[str, VisitorVisit] = {}
        self.draining = False
        """Set when the service ends: no presentation starts any more."""

    @property
    def in_rooms(self) -> bool:
        """Whether presentations use LiveKit rooms."""
        return self._rooms is not None

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[VisitRegistry]:
        """Context manager that ends all presentations."""
        try:
            yield self
        finally:
            await self.close()

    async def close(self) -> None:
        """End and remove all visits."""
        self.draining = True
        visits, self._by_digest = list(self._by_digest.values()), {}
        for visit in visits:
            visit.end("closed")
        for visit in visits:
            await visit.close()

    async def make(
        self,
        website: str | None,
        flow: str | None,
        *,
        language: str | None = None,
        speed: float = 1.0,
        voice: bool = True,
        hours: float | None = None,
        label: str = "",
    ) -> tuple[VisitorVisit, str]:
        """Return a new link and its token, which cannot be read later. Raises `UserError` and
        `TooManyVisits`.
        """
        self._remove_expired()
        if len(self._by_digest) >= self.settings.links:
            raise TooManyVisits(f"there are already {self.settings.links} valid links", 3_600)
        named, found = await self._opener.flow(website, flow)
        token, visit_id = secrets.token_urlsafe(TOKEN_BYTES), secrets.token_hex(8)
        visit = VisitorVisit(
            visit_id,
            VisitWish(named, found.flow_id, _language(found, language), speed, voice),
            found,
            expires_at=datetime.now(UTC) + timedelta(hours=hours or self.settings.hours),
            absent_s=self.settings.absent_s,
            longest_s=self.settings.minutes * 60,
            says_per_minute=self.settings.says_per_minute,
            label=label,
        )
        self._by_digest[_digest(token)] = visit
        await record_async("visit_link_made", f"visit {visit_id} of flow {found.flow_id}", website=named)
        _log.info("visit_made", visit_id=visit_id, website=named, flow=found.flow_id)
        return visit, token

    def find(self, token: str) -> VisitorVisit | None:
        """Return the visit of a token; None if there is none, or if it has expired and is not running."""
        self._remove_expired()
        return self._by_digest.get(_digest(token))

    def by_id(self, visit_id: str) -> VisitorVisit | None:
        """Return the visit with that id, for the creator of the link."""
        self._remove_expired()
        return next((each for each in self._by_digest.values() if each.visit_id == visit_id), None)

    def all(self) -> list[VisitorVisit]:
        """Return all visits with valid links, newest last."""
        self._remove_expired()
        return list(self._by_digest.values())

    async def forget(self, visit: VisitorVisit) -> None:
        """Revoke a link; a running presentation ends."""
        self._by_digest = {digest: each for digest, each in self._by_digest.items() if each is not visit}
        await visit.close()
        await record_async("visit_link_revoked", f"visit {visit.visit_id}", website=visit.wish.website)

    def start(self, visit: VisitorVisit) -> None:
        """Start its presentation. Raises `TooManyVisits` at the limit, and `VisitActionUnavailable` if it may
        not start.
        """
        if self.draining:
            raise TooManyVisits("the service is shutting down", 30)
        if visit.live:
            raise VisitActionUnavailable("the demo is already running")
        if visit.shows >= self.settings.shows:
            raise VisitActionUnavailable(f"this link was started {visit.shows} times, which is its limit")
        if sum(each.live for each in self._by_digest.values()) >= self.settings.at_once:
            raise TooManyVisits(f"{self.settings.at_once} demos are already running", 60)
        visit.start(self._opener, self._rooms)

    def _remove_expired(self) -> None:
        now = datetime.now(UTC)
        for digest, visit in list(self._by_digest.items()):
            if visit.expires_at <= now and not visit.live:
                del self._by_digest[digest]
                visit.feed.close()


def _language(flow: PresentationFlow, wanted: str | None) -> str | None:
    """Return the flow's language that matches the wanted one; None: its own. Raises `UserError`."""
    if wanted is None or _strip_region(wanted) == _strip_region(flow.language):
        return None
    found = find_translation(flow, wanted)
    if found is None:
        raise UserError(f"{flow.flow_id} has no texts in {wanted}", fix=f"known: {', '.join(flow.languages)}")
    return found


def _strip_region(language: str) -> str:
    """Return the language without its region."""
    return language.partition("-")[0].casefold()


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
