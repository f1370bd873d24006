"""Wiring demos for visitors: whose site, whose stores, which browser; opened and closed in order."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from kb_store import Stores
from kb_store.runs import RunStore
from periplus.errors import UserError
from periplus.presenting.venue import VenueSettings, open_venue
from periplus.rooms.settings import load_room_settings
from periplus.seeds import find_seed
from periplus.service.visiting.book import Visits
from periplus.service.visiting.client import livekit_client
from periplus.service.visiting.ports import RoomOpener
from periplus.service.visiting.settings import VisitSettings, load_visit_settings
from periplus.service.visiting.shows import Shows
from periplus.service.visiting.visit import SIZE

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Place:
    """Where demos are shown."""

    data_dir: Path
    demo: str | None = None
    """A seed whose site runs beside the service; None: only websites of the stores, where they are."""
    base_urls: Mapping[str, str] = field(default_factory=dict)
    mongodb_url: str | None = field(default=None, repr=False)
    arangodb_url: str | None = field(default=None, repr=False)


@asynccontextmanager
async def open_visits(
    place: Place,
    stores: Stores,
    runs: RunStore,
    *,
    settings: VisitSettings | None = None,
    rooms: RoomOpener | None = None,
) -> AsyncIterator[Visits]:
    """For as long as one is inside; then every show ends, and the site. Raises `UserError`.

    `rooms`: None is those of the environment (`PERIPLUS_LIVEKIT_URL`), where there are any.
    """
    settings = settings or load_visit_settings()
    async with AsyncExitStack() as stack:
        venue = None
        if place.demo is not None:
            seed = find_seed(place.demo)
            where = VenueSettings(
                place.data_dir,
                mongodb_url=place.mongodb_url,
                arangodb_url=place.arangodb_url,
                headed=False,
            )
            venue = await stack.enter_async_context(
                open_venue(seed, where, tell=lambda said: _log.info("venue", said=said))
            )
        rooms = rooms or _rooms()
        shows = Shows(stores, runs, place.data_dir, base_urls=place.base_urls, venue=venue)
        await stack.enter_async_context(shows.opened())
        yield await stack.enter_async_context(Visits(shows, settings, rooms).opened())


def _rooms() -> RoomOpener | None:
    """Where LiveKit is set up: with the extra, and the client for pages that `make setup` bundles."""
    settings = load_room_settings()
    if settings.url is None:
        return None
    if livekit_client() is None:
        _log.warning("no_rooms_for_visitors", reason="LiveKit's JavaScript client is not here: make setup")
        return None
    try:
        from periplus.service.visiting.rooms import Rooms  # noqa: PLC0415 - an optional extra
    except ModuleNotFoundError as exc:
        raise UserError(f"{exc.name} is not installed", fix="pip install 'periplus[livekit]'") from exc
    return Rooms(settings, SIZE)
