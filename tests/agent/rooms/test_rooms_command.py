"""`periplus rooms`, as its user starts it: a process of its own, a visitor, and a good end."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from periplus.errors import UserError
from periplus.rooms import room_worker
from periplus.rooms.room_tickets import RoomTicket
from tests.support.livekit_server import LiveKitServer
from tests.support.processes import descendants, process_is_alive
from tests.support.room_house import open_house
from tests.support.room_visitor import entered

pytestmark = pytest.mark.timeout(240)


def test_without_a_server_it_says_what_to_set():
    clean = {name: value for name, value in os.environ.items() if "LIVEKIT" not in name}
    done = subprocess.run(
        [sys.executable, "-m", "periplus", "rooms"], env=clean, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "PERIPLUS_LIVEKIT_URL" in done.stderr
    assert "docs/livekit.md" in done.stderr


async def test_a_server_that_is_not_there_is_told_and_what_was_started_is_closed(environment, monkeypatch):
    monkeypatch.setattr(room_worker, "REGISTERED_S", 0.5)
    nowhere = LiveKitServer("ws://127.0.0.1:9", "key", "s" * 40, Path(), 0)
    with pytest.raises(UserError, match=r"ws://127\.0\.0\.1:9 cannot be reached"):
        async with open_house(nowhere, environment):
            pytest.fail("it was reached")
    assert [task.get_name() for task in asyncio.all_tasks() if task.get_name() == "rooms"] == []


@pytest.mark.sampled(0.3)
async def test_a_visitor_is_invited_and_sigterm_ends_everything_in_good_order(livekit_server, tmp_path):
    environment = {
        **os.environ,
        **livekit_server.environment,
        "PERIPLUS_DATA_DIR": str(tmp_path),
        "PERIPLUS_LIVEKIT_AGENT": "of-the-command",
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "periplus", "rooms", "--invite", "--max-rooms", "1"),
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(60):
            url, token = [(await process.stdout.readline()).decode().strip() for _ in range(2)]
        async with entered(RoomTicket(url, token, "", "")) as visitor:
            await visitor.until(lambda: any(each.text for each in visitor.said), "a word")
            await visitor.until(lambda: visitor.pictures, "a picture")
            children = descendants(process.pid)
            process.send_signal(signal.SIGTERM)
            await visitor.until(lambda: not visitor.room.remote_participants, "the presenter's leaving")
        async with asyncio.timeout(60):
            _, said = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, said.decode()
    assert "stopping the demos" in said.decode()
    assert livekit_server.api_secret not in said.decode()
    assert [child for child in children if process_is_alive(child)] == []
