"""Presenters who wait to be called to rooms, and what becomes of each call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from periplus.presenting.show import Show
from periplus.presenting.venue import Venue
from periplus.rooms.hosting import Stay
from periplus.rooms.plugins import Plugins
from periplus.rooms.settings import RoomSettings
from periplus.rooms.tickets import Ticket, new_ticket
from periplus.rooms.wishes import Wishes
from periplus.rooms.worker import Presenters, serving_rooms
from tests.support.livekit_server import LiveKitServer


@dataclass
class House:
    """A worker, and what is known of the rooms it was called to."""

    settings: RoomSettings
    presenters: Presenters = field(init=False)
    shows: dict[str, Show] = field(default_factory=dict)
    stays: dict[str, Stay] = field(default_factory=dict)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def ticket(self, **wishes: Any) -> Ticket:
        return new_ticket(self.settings, Wishes(**wishes))

    def opened(self, room: str, show: Show) -> None:
        self.shows[room] = show
        self._changed.set()

    def ended(self, stay: Stay) -> None:
        self.stays[stay.room] = stay
        self._changed.set()

    async def show_in(self, ticket: Ticket) -> Show:
        return await self._until(lambda: self.shows.get(ticket.room))

    async def stay_in(self, ticket: Ticket) -> Stay:
        return await self._until(lambda: self.stays.get(ticket.room))

    async def changed(self) -> None:
        """Wait for the next show to be opened or ended."""
        self._changed.clear()
        await self._changed.wait()

    async def _until(self, found: Callable[[], Any]) -> Any:
        async with asyncio.timeout(60):
            while not (result := found()):
                await self.changed()
            return result


@asynccontextmanager
async def open_house(
    server: LiveKitServer, venue: Venue, plugins: Plugins | None = None, **settings: Any
) -> AsyncIterator[House]:
    """A worker that is registered."""
    wanted = RoomSettings(
        url=server.url, api_key=server.api_key, api_secret=server.api_secret, **{"grace_s": 2.0, **settings}
    )
    house = House(wanted)
    presenters = Presenters(venue, wanted, plugins=plugins, opened=house.opened, ended=house.ended)
    house.presenters = presenters
    async with serving_rooms(presenters, wanted):
        yield house
