"""Faults while `periplus run` works in a browser: Chromium is killed, or the network is cut.

After each fault the run is resumed until it ends. The site says how often the boat was moored: once, or never with an
explanation.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

from kb_schema import parse_document
from kb_store import load_knowledge, open_stores
from loaders.files.folder_reader import read_knowledge_folder
from periplus.seed_sites.seed_manifests import find_seed
from periplus.seed_sites.site_process import start_seed_site
from tests.faults.fault_kinds import fault_kind
from tests.faults.store_faults import UNEXPLAINED
from tests.support import warm
from tests.support.harbour import moors_a_boat

HARBOUR = Path(__file__).parents[1] / "data" / "harbour"
LIVES = 4
BOAT = "Petrel"


@fault_kind("chromium_killed", "Chromium is killed at a random moment of a run")
async def kill_chromium(folder: Path, dice: random.Random) -> None:
    """Kill the browser after a random number of requests and steps."""
    async with start_seed_site(find_seed(str(HARBOUR))) as url, _Wire.open(url) as wire:
        doomed = dice.randrange(1, 9)
        process = await _start(folder, wire.url, "register", "-i", f"boat_name={BOAT}")
        ending = asyncio.create_task(process.ended())
        reached = asyncio.create_task(wire.reached(doomed))
        await asyncio.wait({ending, reached}, return_when=asyncio.FIRST_COMPLETED)
        reached.cancel()
        for pid in _find_browsers(process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        await ending
        await _complete(folder, process, url)


def _cut(name: str, doomed: tuple[int, ...]) -> None:
    @fault_kind(f"network_cut_{name}", f"the network is cut during {name}: before a request arrives, or before its answer")
    async def cut(folder: Path, dice: random.Random) -> None:
        async with start_seed_site(find_seed(str(HARBOUR))) as url, _Wire.open(url) as wire:
            wire.cut_at, wire.before = dice.choice(doomed), dice.random() < 0.5
            wire.cuts = dice.randrange(1, 4)
            process = await _start(folder, wire.url, "register", "-i", f"boat_name={BOAT}")
            await process.ended()
            await _complete(folder, process, url)


for _name, _requests in (("opening", (1, 2)), ("navigating", (2, 3)), ("acting", (3, 4, 5)), ("reading_back", (5, 6, 7))):
    _cut(_name, _requests)


async def _start(folder: Path, url: str, *arguments: str) -> warm.Started:
    knowledge, _ = read_knowledge_folder(HARBOUR / "kb")
    tasks = {**knowledge.by_kind["task"], "register": parse_document(moors_a_boat("register"))}
    async with open_stores(folder) as stores:
        knowledge = replace(knowledge, by_kind={**knowledge.by_kind, "task": tasks})
        await load_knowledge(stores.documents, stores.graph, knowledge)
    return _run(folder, *arguments, "--base-url", url)


def _run(folder: Path, *arguments: str) -> warm.Started:
    env = {"PERIPLUS_DATA_DIR": str(folder), "COLUMNS": "200"}
    out = ["--headless", "--out", str(folder / f"out-{len(list(folder.glob('out-*')))}")]
    return warm.start("periplus", "run", *arguments, *out, cwd=folder, env=env)


async def _complete(folder: Path, process: warm.Started, url: str) -> None:
    """Resume the run until it ends. Raises `AssertionError` for a boat that is moored twice, or an end without reason."""
    said = "".join(process.communicate())
    codes = [process.wait()]
    for _ in range(LIVES):
        _check_explained(codes[-1], said)
        if codes[-1] == 0:
            break
        again = _run(folder, "--resume", "last")
        codes.append(await again.ended())
        told = "".join(again.communicate())
        if "has already ended" in told:
            codes.pop()
            break
        said = told
    boats = [boat["name"] for boat in (await asyncio.to_thread(_read_state, url))["boats"]]
    assert boats.count(BOAT) <= 1, f"moored {boats.count(BOAT)} times, {codes}: {said}"
    assert codes[-1] != 0 or boats == [BOAT], f"success without a boat: {said}"


def _check_explained(code: int, said: str) -> None:
    assert code in range(4), f"ended with {code}: {said}"
    assert not any(each in said for each in UNEXPLAINED), said
    assert said.strip(), f"ended with {code} and said nothing"


def _read_state(url: str) -> dict[str, list[dict[str, str]]]:
    with urllib.request.urlopen(f"{url}/state") as answer:  # noqa: S310 - our own site
        found: dict[str, list[dict[str, str]]] = json.load(answer)
        return found


def _find_browsers(pid: int) -> list[int]:
    """Return the processes that descend from a process and are Chromium."""
    children: dict[int, list[int]] = {}
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            with suppress(OSError, IndexError, ValueError):
                parent = int((each / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(each.name))
    family, found = [pid], list[int]()
    while family:
        for child in children.get(family.pop(), ()):
            family.append(child)
            with suppress(OSError):
                if b"chrom" in (Path("/proc") / str(child) / "cmdline").read_bytes().split(b"\0")[0].lower():
                    found.append(child)
    return found


class _Wire:
    """A connection to the site that can be cut. Each connection carries one request."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self.url, self.requests = "", 0
        self.cut_at, self.before, self.cuts = 0, False, 0
        self._arrived = asyncio.Condition()

    @classmethod
    @asynccontextmanager
    async def open(cls, url: str) -> AsyncIterator[_Wire]:
        """Listen, and carry what comes to the site."""
        host, _, port = url.removeprefix("http://").partition(":")
        wire = cls(host, int(port))
        server = await asyncio.start_server(wire._carry, "127.0.0.1", 0)
        wire.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield wire
        finally:
            server.close()

    async def reached(self, number: int) -> None:
        """Wait for the request of that number."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: self.requests >= number)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            body = b""
            for line in head.lower().split(b"\r\n"):
                if line.startswith(b"content-length:"):
                    body = await reader.readexactly(int(line.partition(b":")[2]))
            if b"/favicon" not in head:
                async with self._arrived:
                    self.requests += 1
                    self._arrived.notify_all()
            cut = self.cuts > 0 and self.requests >= self.cut_at > 0
            self.cuts -= cut
            if cut and self.before:
                return
            lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
            there, back = await asyncio.open_connection(self._host, self._port)
            back.write(b"\r\n".join([*lines[:-2], b"Connection: close", b"", b""]) + body)
            answer = await there.read()
            back.close()
            if not cut:
                writer.write(answer)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass  # the browser went away
        finally:
            writer.close()
