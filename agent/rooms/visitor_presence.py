"""Tracks who is in a room: whether a visitor came, whether all left, whether the room was closed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from livekit import rtc

from agent.rooms.room_input import is_visitor


class VisitorPresence:
    """Tracks visitors; a short disconnection does not count as leaving."""

    def __init__(self, room: rtc.Room) -> None:
        self._room = room
        self._changed = asyncio.Event()
        self._over = "" if room.isconnected() else "the room was closed"
        self.on_arrival: Callable[[str], None] = lambda _: None
        """Called with the identity of a visitor who joins or rejoins."""
        room.on("participant_connected", self._on_join)
        room.on("participant_disconnected", self._on_leave)
        room.on("disconnected", self._on_disconnect)

    def close(self) -> None:
        """Stop tracking."""
        self._room.off("participant_connected", self._on_join)
        self._room.off("participant_disconnected", self._on_leave)
        self._room.off("disconnected", self._on_disconnect)

    @property
    def visitors(self) -> list[str]:
        """Identities of the present visitors."""
        return [each.identity for each in self._room.remote_participants.values() if is_visitor(each)]

    @property
    def over(self) -> str:
        """Why there are no visitors to wait for; empty: there are."""
        return self._over

    def leave(self, why: str) -> None:
        """End the presence, even if visitors are present."""
        self._over = self._over or why
        self._changed.set()

    async def arrived(self, within_s: float) -> bool:
        """Wait for a visitor; return whether one came in time."""
        came = await self._wait_until(lambda: bool(self.visitors), within_s)
        return came and not self.over

    async def left(self, grace_s: float) -> str:
        """Return the reason when no visitor was present for `grace_s` seconds, or when it has ended."""
        while not self.over:
            await self._wait_until(lambda: not self.visitors, None)
            if not await self._wait_until(lambda: bool(self.visitors), grace_s):
                break
        return self.over or "every visitor left"

    async def _wait_until(self, holds: Callable[[], bool], within_s: float | None) -> bool:
        """Wait for an event or the room's end; False if neither comes in time."""
        try:
            async with asyncio.timeout(within_s):
                while not (self.over or holds()):
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return False
        return True

    def _on_join(self, participant: rtc.RemoteParticipant) -> None:
        self._changed.set()
        if is_visitor(participant):
            self.on_arrival(participant.identity)

    def _on_leave(self, _: rtc.RemoteParticipant) -> None:
        self._changed.set()

    def _on_disconnect(self, *_: Any) -> None:
        self.leave("the room was closed")
