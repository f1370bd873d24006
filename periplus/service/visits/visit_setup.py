"""Sets up demos for visitors: site, stores, browser and rooms; closes them in reverse order."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from kb_store import Stores
from kb_store.runs.run_store import RunStore
from periplus.demos.demo_environment import DemoEnvironmentSettings, open_demo_environment
from periplus.errors import UserError
from periplus.rooms.room_settings import load_room_settings
from periplus.seed_sites.seed_manifests import find_seed
from periplus.service.visits.visit import SIZE
from periplus.service.visits.visit_ports import RoomOpener
from periplus.service.visits.visit_presentations import VisitPresentations
from periplus.service.visits.visit_registry import VisitRegistry
from periplus.service.visits.visit_settings import VisitSettings, find_livekit_client, load_visit_settings

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class VisitSite:
    """What the demos run on."""

    data_dir: Path
    demo: str | None = None
    """A seed whose site is started with the service; None: only websites of the stores."""
    base_urls: Mapping[str, str] = field(default_factory=dict)
    mongodb_url: str | None = field(default=None, repr=False)
    arangodb_url: str | None = field(default=None, repr=False)


@asynccontextmanager
async def open_visit_registry(
    place: VisitSite,
    stores: Stores,
    runs: RunStore,
    *,
    settings: VisitSettings | None = None,
    rooms: RoomOpener | None = None,
) -> AsyncIterator[VisitRegistry]:
    """Context manager; at its end every presentation and the site are closed. Raises `UserError`.

    `rooms`: None reads the settings from the environment (`PERIPLUS_LIVEKIT_URL`), if set.
    """
    settings = settings or load_visit_settings()
    async with AsyncExitStack() as stack:
        environment = None
        if place.demo is not None:
            seed = find_seed(place.demo)
            where = DemoEnvironmentSettings(
                place.data_dir,
                mongodb_url=place.mongodb_url,
                arangodb_url=place.arangodb_url,
                headed=False,
            )
            environment = await stack.enter_async_context(
                open_demo_environment(seed, where, tell=lambda said: _log.info("venue", said=said))
            )
        rooms = rooms or _open_rooms()
        shows = VisitPresentations(
            stores, runs, place.data_dir, base_urls=place.base_urls, environment=environment
        )
        await stack.enter_async_context(shows.opened())
        yield await stack.enter_async_context(VisitRegistry(shows, settings, rooms).opened())


def _open_rooms() -> RoomOpener | None:
    """Return the room opener if LiveKit is configured; needs the extra and the client bundled by `make
    setup`.
    """
    settings = load_room_settings()
    if settings.url is None:
        return None
    if find_livekit_client() is None:
        _log.warning("no_rooms_for_visitors", reason="LiveKit's JavaScript client is missing: run make setup")
        return None
    try:
        from periplus.service.visits.visit_rooms import LivekitRooms  # noqa: PLC0415 - an optional extra
    except ModuleNotFoundError as exc:
        raise UserError(f"{exc.name} is not installed", fix="pip install 'periplus[livekit]'") from exc
    return LivekitRooms(settings, SIZE)
