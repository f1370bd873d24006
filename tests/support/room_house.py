"""Presenters who wait to be called to rooms, and what becomes of each call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from periplus.demos.demo_environment import DemoEnvironment
from periplus.demos.live_presentation import LivePresentation
from periplus.rooms.livekit_plugins import LivekitPlugins
from periplus.rooms.room_presentation import RoomStay
from periplus.rooms.room_settings import RoomSettings
from periplus.rooms.room_tickets import DispatchMetadata, RoomTicket, new_ticket
from periplus.rooms.room_worker import RoomPresenters, run_room_worker
from tests.support.livekit_server import LiveKitServer


@dataclass
class House:
    """A worker, and what is known of the rooms it was called to."""

    settings: RoomSettings
    presenters: RoomPresenters = field(init=False)
    shows: dict[str, LivePresentation] = field(default_factory=dict)
    stays: dict[str, RoomStay] = field(default_factory=dict)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def ticket(self, **wishes: Any) -> RoomTicket:
        return new_ticket(self.settings, DispatchMetadata(**wishes))

    def opened(self, room: str, show: LivePresentation) -> None:
        self.shows[room] = show
        self._changed.set()

    def ended(self, stay: RoomStay) -> None:
        self.stays[stay.room] = stay
        self._changed.set()

    async def show_in(self, ticket: RoomTicket) -> LivePresentation:
        return await self._until(lambda: self.shows.get(ticket.room))

    async def stay_in(self, ticket: RoomTicket) -> RoomStay:
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
    server: LiveKitServer,
    environment: DemoEnvironment,
    plugins: LivekitPlugins | None = None,
    **settings: Any,
) -> AsyncIterator[House]:
    """A worker that is registered."""
    wanted = RoomSettings(
        url=server.url, api_key=server.api_key, api_secret=server.api_secret, **{"grace_s": 2.0, **settings}
    )
    house = House(wanted)
    presenters = RoomPresenters(environment, wanted, plugins=plugins, opened=house.opened, ended=house.ended)
    house.presenters = presenters
    async with run_room_worker(presenters, wanted):
        yield house
