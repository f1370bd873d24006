"""The links there are: made, found by their token, forgotten when their time is over."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import structlog

from kb_schema.presentation import PresentationFlow
from kb_schema.telling import spoken_as
from periplus.errors import UserError
from periplus.service.visiting.ports import RoomOpener, ShowOpener, Wish
from periplus.service.visiting.settings import VisitSettings
from periplus.service.visiting.visit import NotNow, Visit

TOKEN_BYTES = 32
"""Of chance in a link: nobody guesses it."""

_log = structlog.get_logger(__name__)


class Full(Exception):
    """There is no room for one more; `retry_s` seconds later there may be."""

    def __init__(self, what: str, retry_s: int) -> None:
        super().__init__(what)
        self.retry_s = retry_s


class Visits:
    """All of them. What a link's token is, is known only to whoever was given it: its digest is kept."""

    def __init__(
        self, opener: ShowOpener, settings: VisitSettings | None = None, rooms: RoomOpener | None = None
    ) -> None:
        self.settings = settings or VisitSettings()
        self._opener, self._rooms = opener, rooms
        self._by_digest: dict[str, Visit] = {}
        self.draining = False
        """Set when the service ends: no show is started any more."""

    @property
    def in_rooms(self) -> bool:
        """Whether shows are brought into rooms of LiveKit."""
        return self._rooms is not None

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Visits]:
        """For as long as one is inside; what is being shown then ends."""
        try:
            yield self
        finally:
            await self.close()

    async def close(self) -> None:
        """End everything that is shown, and forget it."""
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
    ) -> tuple[Visit, str]:
        """A new link and its token, which is not known afterwards. Raises `UserError`, `Full`."""
        self._tidy()
        if len(self._by_digest) >= self.settings.links:
            raise Full(f"{self.settings.links} links are good already", 3_600)
        named, found = await self._opener.flow(website, flow)
        token, visit_id = secrets.token_urlsafe(TOKEN_BYTES), secrets.token_hex(8)
        visit = Visit(
            visit_id,
            Wish(named, found.flow_id, _language(found, language), speed, voice),
            found,
            expires_at=datetime.now(UTC) + timedelta(hours=hours or self.settings.hours),
            absent_s=self.settings.absent_s,
            longest_s=self.settings.minutes * 60,
            says_per_minute=self.settings.says_per_minute,
            label=label,
        )
        self._by_digest[_digest(token)] = visit
        _log.info("visit_made", visit_id=visit_id, website=named, flow=found.flow_id)
        return visit, token

    def find(self, token: str) -> Visit | None:
        """The visit behind a link; None where there is none, or its time is over and it is not being shown."""
        self._tidy()
        return self._by_digest.get(_digest(token))

    def by_id(self, visit_id: str) -> Visit | None:
        """The visit of that id, for whoever made it."""
        self._tidy()
        return next((each for each in self._by_digest.values() if each.visit_id == visit_id), None)

    def all(self) -> list[Visit]:
        """Every visit whose link is good, the newest last."""
        self._tidy()
        return list(self._by_digest.values())

    async def forget(self, visit: Visit) -> None:
        """The link is good no more; what is being shown ends."""
        self._by_digest = {digest: each for digest, each in self._by_digest.items() if each is not visit}
        await visit.close()

    def start(self, visit: Visit) -> None:
        """Have its show begin. Raises `Full` where there is no room, `NotNow` where it may not be."""
        if self.draining:
            raise Full("the service is about to end", 30)
        if visit.live:
            raise NotNow("it is being shown already")
        if visit.shows >= self.settings.shows:
            raise NotNow(f"it has been shown {visit.shows} times, which is as often as this link may")
        if sum(each.live for each in self._by_digest.values()) >= self.settings.at_once:
            raise Full(f"{self.settings.at_once} demos are being shown already", 60)
        visit.start(self._opener, self._rooms)

    def _tidy(self) -> None:
        now = datetime.now(UTC)
        for digest, visit in list(self._by_digest.items()):
            if visit.expires_at <= now and not visit.live:
                del self._by_digest[digest]
                visit.feed.close()


def _language(flow: PresentationFlow, wanted: str | None) -> str | None:
    """The one of its languages that serves the wanted one; None: its own. Raises `UserError`."""
    if wanted is None or _spoken(wanted) == _spoken(flow.language):
        return None
    found = spoken_as(flow, wanted)
    if found is None:
        raise UserError(f"{flow.flow_id} is not told in {wanted}", fix=f"known: {', '.join(flow.languages)}")
    return found


def _spoken(language: str) -> str:
    """Without the region."""
    return language.partition("-")[0].casefold()


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
