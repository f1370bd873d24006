"""Starts applications that `scripts/setup.sh zoo` installed, and puts their seed back."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page

from tests.zoo.zoo_jobs import Given, Instance, Kind

INSTALLED = Path(__file__).parents[3] / ".tools" / "zoo"
PASSWORD = "Larch-40-copper"
"""Of everybody who signs in to an application of the zoo."""
LONG = " ".join(f"part {number} of a long story," for number in range(1, 17))
"""More than 300 characters."""
_STARTED_S = 60.0
_ANSWERED_S = 60.0
"""On a busy machine, with much to write."""
_PR_SET_PDEATHSIG = 1


def installed(name: str, version: str) -> Path:
    """Return the folder of an installed application. Skips if it is not there."""
    folder = INSTALLED / f"{name}-{version}"
    if not (folder / ".installed").exists():
        pytest.skip(f"{name} {version} is not installed: scripts/setup.sh zoo {name}-{version}")
    return folder


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


class ServedApplication:
    """An application that runs in a process of its own."""

    def __init__(self, base_url: str, reset: Callable[[], None], state: Callable[[], Any]) -> None:
        """`reset`, `state`: called in a thread."""
        self.base_url = base_url
        self.secrets: Mapping[str, str] = {"password": PASSWORD}
        self._reset, self._state = reset, state

    async def reset(self) -> None:
        """Restore the seed."""
        await asyncio.to_thread(self._reset)

    async def state(self) -> Any:
        """Return what the application keeps."""
        return await asyncio.to_thread(self._state)


@asynccontextmanager
async def work_folder(parent: Path) -> AsyncIterator[Path]:
    """Yield a folder that is removed afterwards."""
    with tempfile.TemporaryDirectory(dir=parent, prefix="app-", ignore_cleanup_errors=True) as made:
        yield Path(made).resolve()


@asynccontextmanager
async def serve(
    command: Sequence[str | Path],
    folder: Path,
    url: str,
    environment: Mapping[str, str] | None = None,
    *,
    started_s: float = _STARTED_S,
) -> AsyncIterator[None]:
    """Run a server in a folder until the end of the block, at the latest until this process ends.

    It is up when the URL answers, within `started_s` seconds. Raises `RuntimeError` with its last words if it does not come up.
    """
    log = folder / "server.log"
    with log.open("wb") as lines:
        process = subprocess.Popen(  # noqa: ASYNC220 # it is there at once
            [str(each) for each in command], cwd=folder, stdin=subprocess.DEVNULL, stdout=lines, stderr=lines,
            env=surroundings() | (environment or {}), preexec_fn=_die_with(os.getpid()), start_new_session=True,  # noqa: PLW1509 # no lock is taken
        )  # fmt: skip
    try:
        ends = time.monotonic() + started_s
        while not await asyncio.to_thread(_answers, url):
            if process.poll() is not None or time.monotonic() > ends:
                raise RuntimeError(
                    f"{command[0]} does not come up: {log.read_text(errors='replace')[-2000:]}"
                )
            await asyncio.sleep(0.1)
        yield
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            process.kill()
        process.wait()


def surroundings() -> dict[str, str]:
    """Return the environment variables for a process of an application: nothing of this project's Python."""
    return {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV", "DJANGO"))
    } | {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}  # fmt: skip


def run(command: Sequence[str | Path], folder: Path, environment: Mapping[str, str] | None = None) -> str:
    """Run a command in a folder to its end; return what it printed. Raises `RuntimeError` if it fails."""
    done = subprocess.run(
        [str(each) for each in command], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        env=surroundings() | (environment or {}), timeout=180, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed: {(done.stdout + done.stderr)[-3000:]}")
    return done.stdout


def _die_with(parent: int) -> Callable[[], None]:
    """Run in the child: the kernel kills it when its parent's thread ends, even by SIGKILL (prctl(2))."""
    libc = ctypes.CDLL(None)

    def before_exec() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before we asked
            os._exit(1)

    return before_exec


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except urllib.error.HTTPError as refusal:
        return refusal.code < 500
    except OSError:
        return False


def copy_database(source: Path, target: Path, counters: str = "sqlite_sequence") -> None:
    """Copy a SQLite database into one that may be in use.

    The target's counters (a table of names and numbers) go on: what is made anew has a number of its own each time,
    as in life.
    """
    with closing(sqlite3.connect(source)) as read, closing(sqlite3.connect(target, timeout=10)) as write:
        reached = _read_counters(write, counters)
        read.backup(write)
        if reached:
            name, number = [column[1] for column in write.execute(f"pragma table_info({counters})")]
            for values in reached:
                write.execute(
                    f"update {counters} set {number} = max({number}, ?) where {name} = ?", values[::-1]
                )
            write.commit()


def _read_counters(connection: sqlite3.Connection, table: str) -> list[tuple[str, int]]:
    if not connection.execute("select 1 from sqlite_master where name = ?", (table,)).fetchone():
        return []
    return connection.execute(f"select * from {table}").fetchall()


def copy_files(source: Path, target: Path) -> None:
    """Make a folder's content that of another folder."""
    for each in list(target.iterdir()) if target.exists() else ():
        shutil.rmtree(each) if each.is_dir() and not each.is_symlink() else each.unlink()
    shutil.copytree(source, target, dirs_exist_ok=True)


def read_rows(database: Path, query: str) -> list[dict[str, Any]]:
    """Return the rows of a query as dictionaries."""
    with closing(sqlite3.connect(database, timeout=10)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(query)]


def request_json(
    url: str, method: str = "GET", body: Any = None, headers: Mapping[str, str] | None = None
) -> Any:
    """Send a request with a JSON body; return the JSON of the answer."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        url, data, {"Content-Type": "application/json"} | dict(headers or {}), method=method
    )
    with urllib.request.urlopen(request, timeout=_ANSWERED_S) as answer:
        text = answer.read()
    return json.loads(text) if text else None


async def choose(page: Page, field: str, label: str) -> None:
    """Choose an option of a select with the keyboard: its first letters, else the arrows.

    (`Page.select_option` makes events that no person makes; recorders leave them out.)
    """
    await page.focus(field)
    options = page.locator(f"{field} option")
    labels = [" ".join(text.split()) for text in await options.all_inner_texts()]
    if label not in labels:
        raise PlaywrightError(f"{field} has no option {label!r}")
    here = await page.locator(field).evaluate("select => select.selectedIndex")
    if here == labels.index(label):
        return
    if label.isascii():  # other letters go to the text field that had the focus last
        await page.keyboard.type(label)
    here = await page.locator(field).evaluate("select => select.selectedIndex")
    away = labels.index(label) - here
    for _ in range(abs(away)):
        await page.keyboard.press("ArrowDown" if away > 0 else "ArrowUp")


def instances(*kinds: tuple[Kind, Given]) -> list[Instance]:
    """Return instances, named after their kinds and numbered."""
    counted: dict[str, int] = {}
    made = []
    for kind, given in kinds:
        counted[kind] = counted.get(kind, 0) + 1
        made.append(Instance(f"{kind}_{counted[kind]}", given, kind))
    return made
