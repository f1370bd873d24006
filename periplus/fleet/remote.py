"""What runs on a Dask worker: a loop of its own with a `Home` for each fleet, and how a job gets there and back.

The loop is not the worker's, so that a busy page never keeps the worker from telling that it lives.
"""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any, cast

from distributed import Worker, WorkerPlugin, get_worker
from pydantic import JsonValue, ValidationError

from kb_schema.base import Model
from periplus import __version__
from periplus.fleet.home import Home
from periplus.fleet.kinds import attempted
from periplus.fleet.ports import Job

IDLE_S = 600.0
"""What a fleet that was never heard of again kept on a worker is closed after this time, when another one comes."""
CLOSING_S = 20.0
NAME = "periplus-homes"


BEGUN = "begun"
"""What is said of each job that a worker begins: how many it took along is counted by this."""


class Sealed:
    """JSON on its way. Dask writes what functions are called with into logs; this shows nothing there."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    @classmethod
    def of(cls, model: Model) -> Sealed:
        """A model."""
        return cls(model.model_dump_json())

    def __repr__(self) -> str:
        return "<sealed>"

    def __reduce__(self) -> tuple[type[Sealed], tuple[str]]:
        return type(self), (self.text,)


class Said(Model):
    """What a job says while it goes on."""

    job: str
    """The sending's key."""
    said: JsonValue
    """`BEGUN`, then what the job says."""


def settled(message: Any) -> Said | None:
    """What came over the wire; None where it is not ours."""
    try:
        return Said.model_validate({name: message[name] for name in ("job", "said")})
    except (ValidationError, KeyError, TypeError):
        return None


def versions() -> str:
    """Of Periplus, on whichever worker is asked."""
    return __version__


class Homes(WorkerPlugin):
    """The homes of one worker process, by fleet, on a loop of their own."""

    name = NAME

    def setup(self, worker: Worker) -> None:
        """The worker begins."""
        del worker
        self._homes: dict[str, tuple[Home, float]] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="periplus", daemon=True)
        self._thread.start()

    async def teardown(self, worker: Worker) -> None:
        """The worker ends: browsers and stores are closed."""
        del worker
        for channel in list(self._homes):
            await self.leave(channel)
        self._loop.call_soon_threadsafe(self._loop.stop)

    def done(self, worker: Worker, channel: str, job: Job, key: str) -> Sealed:
        """Do a job, from one of the worker's threads."""

        def tell(said: JsonValue) -> None:
            worker.log_event(channel, {"job": key, "said": said})

        async def work() -> Sealed:
            tell(BEGUN)
            home = await self._home(channel)
            return Sealed.of(await attempted(home, job, tell))

        return asyncio.run_coroutine_threadsafe(work(), self._loop).result()

    def stop(self, channel: str, reason: str) -> None:
        """What a fleet has here ends after its step."""

        def stop() -> None:
            home, _ = self._homes.setdefault(channel, (Home(), time.monotonic()))
            home.stop(reason)

        self._loop.call_soon_threadsafe(stop)

    async def leave(self, channel: str) -> None:
        """Close what is kept for a fleet."""

        async def close() -> None:
            home, _ = self._homes.pop(channel, (None, 0.0))
            if home is not None:
                await home.close()

        closing = asyncio.run_coroutine_threadsafe(close(), self._loop)
        await asyncio.wait([asyncio.wrap_future(closing)], timeout=CLOSING_S)

    async def _home(self, channel: str) -> Home:
        now = time.monotonic()
        home = self._homes[channel][0] if channel in self._homes else Home()
        self._homes[channel] = (home, now)
        for other, (left, used) in list(self._homes.items()):
            if other != channel and not left.busy and now - used > IDLE_S:
                del self._homes[other]
                await left.close()
        return home


def carry_out(sealed: Sealed, channel: str, key: str) -> tuple[Sealed, str]:
    """A job on the worker that Dask chose; how it ended, and the worker's address."""
    worker = get_worker()
    job = Job.model_validate_json(sealed.text)
    return _homes(worker).done(worker, channel, job, key), str(worker.address)


def stop_all(channel: str, reason: str, dask_worker: Worker) -> None:
    """Told to every worker."""
    _homes(dask_worker).stop(channel, reason)


async def leave(channel: str, dask_worker: Worker) -> None:
    """Told to every worker."""
    await _homes(dask_worker).leave(channel)


def _homes(worker: Worker) -> Homes:
    return cast("Homes", worker.plugins[NAME])
