"""Who is in a room: whether a visitor has come, whether all have left, whether the room itself is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from livekit import rtc

from agent.rooms.ears import is_visitor


class Presence:
    """Watches who comes and goes; a short disconnection is no leaving."""

    def __init__(self, room: rtc.Room) -> None:
        self._room = room
        self._changed = asyncio.Event()
        self._over = "" if room.isconnected() else "the room is gone"
        self.on_arrival: Callable[[str], None] = lambda _: None
        """Called with the identity of a visitor who comes, also of one who comes back."""
        room.on("participant_connected", self._came)
        room.on("participant_disconnected", self._left)
        room.on("disconnected", self._ended)

    def close(self) -> None:
        """Watch no longer."""
        self._room.off("participant_connected", self._came)
        self._room.off("participant_disconnected", self._left)
        self._room.off("disconnected", self._ended)

    @property
    def visitors(self) -> list[str]:
        """Identities of those who are there."""
        return [each.identity for each in self._room.remote_participants.values() if is_visitor(each)]

    @property
    def over(self) -> str:
        """Why nobody is to be waited for any more; empty: somebody is."""
        return self._over

    def leave(self, why: str) -> None:
        """It is over for us, whoever is there."""
        self._over = self._over or why
        self._changed.set()

    async def arrived(self, within_s: float) -> bool:
        """Wait for a visitor; whether one came in time."""
        came = await self._until(lambda: bool(self.visitors), within_s)
        return came and not self.over

    async def left(self, grace_s: float) -> str:
        """Return, saying why, once nobody has been there for `grace_s`, or it is over."""
        while not self.over:
            await self._until(lambda: not self.visitors, None)
            if not await self._until(lambda: bool(self.visitors), grace_s):
                break
        return self.over or "every visitor left"

    async def _until(self, holds: Callable[[], bool], within_s: float | None) -> bool:
        """Wait for something, or for the room's end; False where neither comes in time."""
        try:
            async with asyncio.timeout(within_s):
                while not (self.over or holds()):
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return False
        return True

    def _came(self, participant: rtc.RemoteParticipant) -> None:
        self._changed.set()
        if is_visitor(participant):
            self.on_arrival(participant.identity)

    def _left(self, _: rtc.RemoteParticipant) -> None:
        self._changed.set()

    def _ended(self, *_: Any) -> None:
        self.leave("the room is gone")
