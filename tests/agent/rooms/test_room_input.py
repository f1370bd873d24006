"""What is taken for a visitor's wish in a room, and what is not."""

from __future__ import annotations

import asyncio
import math
import struct
import wave
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from livekit import rtc

from agent.events import EventBus
from agent.media.voice import EspeakVoice
from agent.presentation.turn_manager import Heard, TurnManager
from agent.presentation.visitor_rate import VisitorRate
from agent.rooms.room_input import LONGEST_TEXT, RoomInput
from agent.rooms.room_topics import BUTTONS, CHAT
from agent.rooms.visitor_presence import VisitorPresence
from periplus.rooms.room_settings import RoomSettings
from periplus.rooms.room_tickets import new_ticket
from tests.support.room_visitor import RoomVisitor, entered

pytestmark = pytest.mark.timeout(120)


class Nobody:
    async def stop_speaking(self) -> None:
        """Nobody speaks."""


@dataclass
class Listening:
    """A room with ears, and what they told the floor."""

    settings: RoomSettings
    name: str
    room: rtc.Room
    turns: TurnManager
    heard: list[Heard] = field(default_factory=list)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def note(self, event: object) -> None:
        if isinstance(event, Heard):
            self.heard.append(event)
            self._changed.set()

    async def until(self, count: int) -> None:
        async with asyncio.timeout(30):
            while len(self.heard) < count:
                self._changed.clear()
                await self._changed.wait()

    @asynccontextmanager
    async def visited(self) -> AsyncIterator[RoomVisitor]:
        """Somebody who sees us here."""
        async with entered(new_ticket(self.settings, room=self.name)) as visitor:
            await visitor.until(lambda: visitor.room.remote_participants, "us")
            yield visitor


@asynccontextmanager
async def listening(server, request) -> AsyncIterator[Listening]:
    settings = RoomSettings(
        url=server.url, api_key=server.api_key, api_secret=server.api_secret, agent="nobody"
    )
    name = f"ears-{request.node.name}"
    ticket, room, bus = new_ticket(settings, room=name), rtc.Room(), EventBus()
    await room.connect(ticket.url, ticket.token, rtc.RoomOptions(auto_subscribe=False))
    turns = TurnManager(Nobody(), asyncio.get_running_loop().time, bus)
    found = Listening(settings, name, room, turns)
    bus.listen(found.note)
    ears = RoomInput(room, turns)
    ears.open()
    try:
        yield found
    finally:
        await ears.close()
        await room.disconnect()


async def test_words_and_buttons_are_heard_and_what_is_neither_is_not(livekit_server, request):
    async with listening(livekit_server, request) as here, here.visited() as visitor:
        send = visitor.room.local_participant
        await visitor.type("  go \n back ")
        await here.until(1)
        await visitor.press("skip")
        await here.until(2)
        await visitor.press("no such button")
        await send.publish_data(b"skip", topic="another.topic")
        await send.publish_data(b"\xff\xfe", topic=BUTTONS)
        await send.send_text("hello", topic="another.topic")
        await visitor.type("   ")
        await visitor.type("x" * 5_000)
        await here.until(3)
    assert [(each.text, each.by) for each in here.heard[:2]] == [("go back", "text"), ("skip", "button")]
    assert [each.text for each in here.heard[2:]] == ["x" * LONGEST_TEXT]


async def test_the_button_ask_makes_silence_without_words(livekit_server, request):
    async with listening(livekit_server, request) as here, here.visited() as visitor:
        await visitor.press("ask")
        async with asyncio.timeout(30):
            await here.turns.interrupted()
    assert here.heard == []


async def test_a_flood_is_not_read_but_who_stops_is_heard_again(livekit_server, request):
    async with listening(livekit_server, request) as here, here.visited() as visitor:
        writers = [
            await visitor.room.local_participant.stream_text(topic=CHAT) for _ in range(20)
        ]  # begun, and never ended
        for writer in writers:
            await writer.write("x")
        for writer in writers:
            await writer.aclose()
        await visitor.type("now in earnest")
        async with asyncio.timeout(30):
            while not any(each.text == "now in earnest" for each in here.heard):
                await here.until(len(here.heard) + 1)
    assert len(here.heard) < 20


async def test_messages_and_presses_of_a_room_are_counted_together(livekit_server, request):
    async with listening(livekit_server, request) as here, here.visited() as visitor:
        now, asked, all_asked = 0.0, 0, asyncio.Event()

        def clock() -> float:
            nonlocal asked
            asked += 1
            if asked == 21:
                all_asked.set()
            return now

        here.turns.rate = VisitorRate(3, clock=clock)
        for _ in range(20):
            await visitor.press("skip")
        await visitor.type("and this")
        async with asyncio.timeout(60):
            await all_asked.wait()
        now = 61.0
        await visitor.type("now in earnest")
        async with asyncio.timeout(30):
            while not any(each.text == "now in earnest" for each in here.heard):
                await here.until(len(here.heard) + 1)
    assert len(here.heard) == 4


@pytest.mark.usefixtures("espeak")
async def test_a_voice_interrupts_and_a_tone_does_not(livekit_server, request, tmp_path):
    tone = tmp_path / "tone.wav"
    with wave.open(str(tone), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(16_000)
        samples = [int(8_000 * math.sin(2 * math.pi * 300 * i / 16_000)) for i in range(32_000)]
        sound.writeframes(struct.pack(f"<{len(samples)}h", *samples))
    voice = await EspeakVoice(tmp_path / "voice", voice="en-us").synthesize(
        "Excuse me, please wait a moment."
    )
    async with listening(livekit_server, request) as here:
        async with here.visited() as visitor:
            await visitor.speak(tone)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(4):
                    await here.turns.interrupted()
        async with here.visited() as visitor:
            await visitor.speak(voice.wav)
            async with asyncio.timeout(30):
                await here.turns.interrupted()


async def test_a_broken_connection_is_no_leaving_and_an_empty_room_is(livekit_server, request):
    async with listening(livekit_server, request) as here:
        presence = VisitorPresence(here.room)
        came: list[str] = []
        presence.on_arrival = came.append
        async with here.visited() as visitor:
            assert await presence.arrived(30)
            leaving = asyncio.create_task(presence.left(1.0))
            await visitor.room.simulate_scenario(rtc.SimulateScenarioKind.SIMULATE_SIGNAL_RECONNECT)
            await visitor.type("still here")
            await here.until(1)
            assert not leaving.done()
        async with asyncio.timeout(30):
            assert await leaving == "every visitor left"
        presence.leave("that is all")
        assert await presence.left(0) == "that is all"
        presence.close()
    assert visitor.room.local_participant.identity in came
