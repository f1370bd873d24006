"""How soon a visitor of a room hears silence after interrupting, and how several rooms at once keep up.

`make bench`, or `python -m benchmarks.bench_rooms [--rounds 12] [--rooms 5] [--seconds 20]`. A real LiveKit
server, presenters and visitors in this process: what is measured is what a visitor's own client hears and sees.
The first is the time from the first loud sample of a voice (or from sending a chat message, or a button) until the last loud
frame that is heard; it holds the way to the server and back, and the detection of the voice. The second says for
each room which share of the narration was heard when it was to be, and how many different pictures a second came.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
import wave
from contextlib import AsyncExitStack
from pathlib import Path

import numpy as np
import pytest

from agent.media.voice import EspeakVoice
from agent.presentation.turn_manager import SpeechStopped
from periplus.demos.demo_environment import DemoEnvironment, DemoEnvironmentSettings, open_demo_environment
from periplus.seed_sites.seed_manifests import find_seed
from tests.support.livekit_server import LiveKitServer, livekit_running
from tests.support.room_house import House, open_house
from tests.support.room_visitor import RoomVisitor, entered

LOUD, QUIET = 400.0, 60.0
SPEAKING_S = 0.6
SILENT_S = 0.15
ANSWERED_S = 0.05
"""As `SILENT_S` where an answer is spoken at once: what comes after it is no longer what was stopped."""
LATEST_S = 10.0
"""What lasts longer after an interruption than this was not stopped by it."""
LATE_S = 0.5
"""A room may be so late and is still said to keep up."""


async def talking(visitor: RoomVisitor) -> None:
    """Wait until the presenter has been heard for a while."""
    await visitor.until(
        lambda: visitor.loudness and visitor.loud(time.monotonic() - SPEAKING_S, time.monotonic()) > LOUD,
        "a presenter who speaks",
    )


async def silence_after(visitor: RoomVisitor, stops: list[float], since: float, silent_s: float) -> float:
    """Seconds from a time until the last loud frame of what was stopped after it."""
    stopped = float(
        await visitor.until(lambda: next((at for at in stops if at >= since), 0.0), "a stop", LATEST_S)
    )

    def last_loud() -> float:
        last = stopped
        for at, level in visitor.loudness:
            if at > stopped and at - last > silent_s:
                return last
            if at > stopped and level > QUIET:
                last = at
        return 0.0

    return float(await visitor.until(last_loud, "silence", LATEST_S)) - since


def first_loud_s(wav: Path) -> float:
    """When a recording begins to be heard, in seconds."""
    with wave.open(str(wav), "rb") as sound:
        samples = np.frombuffer(sound.readframes(sound.getnframes()), dtype=np.int16)
        return float(np.argmax(np.abs(samples) > 500)) / sound.getframerate()


async def interruptions(house: House, rounds: int, folder: Path) -> dict[str, list[float]]:
    """How long the presenter was still heard, by voice, by chat and by the button."""
    voice = await EspeakVoice(folder / "visitor", voice="en-us").synthesize("Excuse me, one moment please.")
    assert voice.wav is not None
    found: dict[str, list[float]] = {"voice": [], "chat": [], "button": []}
    missed = 0
    while min(len(times) for times in found.values()) < rounds:
        ticket = house.ticket(flow="spadeworks_demo")
        async with entered(ticket) as visitor:
            show, stops = await house.show_in(ticket), list[float]()
            show.bus.listen(
                lambda event, stops=stops: (
                    stops.append(time.monotonic()) if isinstance(event, SpeechStopped) else None
                )
            )
            for way in (*found, *found):
                await talking(visitor)
                if way == "voice":
                    since = await visitor.speak(voice.wav) + first_loud_s(voice.wav)
                else:
                    since = time.monotonic()
                    await (visitor.type("thank you") if way == "chat" else visitor.press("ask"))
                try:
                    silent_s = ANSWERED_S if way == "chat" else SILENT_S
                    found[way].append(await silence_after(visitor, stops, since, silent_s))
                except AssertionError:
                    missed += 1
            await visitor.press("stop")
            await visitor.event("ended")
    print(f"interruptions that were not heard: {missed}")
    return found


async def kept_up(house: House, seconds: float) -> tuple[float, float, float]:
    """One room's share of narration heard in time, pictures a second, and seconds until its first word."""
    asked = time.monotonic()
    ticket = house.ticket(flow="spadeworks_demo")
    async with entered(ticket) as visitor:
        show = await house.show_in(ticket)
        began = time.monotonic() - show.clock()
        await visitor.until(lambda: any(each.text for each in visitor.said), "a word")
        first = time.monotonic() - asked
        end = time.monotonic() + seconds
        await visitor.until(lambda: time.monotonic() > end, "the end", seconds + 30)
        heard, wanted = 0, 0
        for each in show.narrator.spoken:
            start, over = began + each.start_s + LATE_S, began + each.start_s + each.duration_s
            for at in np.arange(start, min(over, time.monotonic() - 0.25), 0.25):
                wanted += 1
                heard += visitor.loud(at - LATE_S, at + 0.25) > QUIET
        different = sum(
            a != b for (_, a), (_, b) in zip(visitor.pictures, visitor.pictures[1:], strict=False)
        )
        await visitor.press("stop")
        await visitor.event("ended")
    return heard / max(1, wanted), different / seconds, first


def told(times: list[float]) -> str:
    """Median and 95th percentile in milliseconds."""
    ordered = sorted(times)
    high = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    return f"median {statistics.median(ordered) * 1000:.0f} ms, p95 {high * 1000:.0f} ms ({len(ordered)})"


async def measure(
    server: LiveKitServer, environment: DemoEnvironment, folder: Path, rounds: int, rooms: int, seconds: float
) -> None:
    """Print both tables."""
    async with open_house(server, environment) as house:
        for way, times in (await interruptions(house, rounds, folder)).items():
            print(f"silence in the room after an interruption by {way}: {told(times)}")
    async with open_house(server, environment, max_rooms=rooms) as house:
        found = await asyncio.gather(*(kept_up(house, seconds) for _ in range(rooms)), return_exceptions=True)
    print(f"{rooms} rooms at once, {seconds:g} s each:")
    for one in found:
        if isinstance(one, BaseException):
            print(f"  failed: {str(one).splitlines()[0]}")
            continue
        heard, pictures, first = one
        print(
            f"  narration heard in time {heard:.0%}, {pictures:.1f} new pictures/s, first word after {first:.1f} s"
        )


async def run(rounds: int, rooms: int, seconds: float) -> None:
    """Everything, in a folder of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        with livekit_running(folder) as server:
            async with AsyncExitStack() as stack:
                environment = await stack.enter_async_context(
                    open_demo_environment(
                        find_seed("spadeworks"), DemoEnvironmentSettings(folder / "data", headed=False)
                    )
                )
                await measure(server, environment, folder, rounds, rooms, seconds)


@pytest.mark.bench
def test_a_visitor_is_given_the_floor_soon() -> None:
    """Smaller than from the command line."""
    asyncio.run(run(rounds=3, rooms=2, seconds=10))


def main() -> None:
    """From the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--rooms", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=20.0)
    wanted = parser.parse_args()
    asyncio.run(run(wanted.rounds, wanted.rooms, wanted.seconds))


if __name__ == "__main__":
    main()
