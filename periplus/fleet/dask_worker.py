"""The code on a Dask worker: an event loop with `WorkerResources` for each fleet, and the encoding of jobs.

The jobs have their own event loop, so that a busy page never delays the worker's heartbeat.
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
from periplus.fleet.job_kinds import attempt_job
from periplus.fleet.jobs import Job
from periplus.fleet.worker_resources import WorkerResources

IDLE_S = 600.0
"""Resources of a fleet that has disappeared are closed after this time, when another fleet connects."""
CLOSING_S = 20.0
NAME = "periplus-homes"


BEGUN = "begun"
"""The message when a worker starts a job; it counts the starts of jobs whose workers die."""


class SealedJson:
    """JSON with a hidden `repr`, because Dask logs the arguments of functions."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    @classmethod
    def of(cls, model: Model) -> SealedJson:
        """Return a model as sealed JSON."""
        return cls(model.model_dump_json())

    def __repr__(self) -> str:
        return "<sealed>"

    def __reduce__(self) -> tuple[type[SealedJson], tuple[str]]:
        return type(self), (self.text,)


class JobMessage(Model):
    """A progress message of a job."""

    job: str
    """The key of the sent job."""
    said: JsonValue
    """`BEGUN`, or the job's message."""


def parse_message(message: Any) -> JobMessage | None:
    """Parse a received message; None if it is not one of ours."""
    try:
        return JobMessage.model_validate({name: message[name] for name in ("job", "said")})
    except (ValidationError, KeyError, TypeError):
        return None


def report_versions() -> str:
    """Return the version of Periplus on this worker."""
    return __version__


class WorkerResourcesPlugin(WorkerPlugin):
    """The resources of one worker process, by fleet, with their own event loop."""

    name = NAME

    def setup(self, worker: Worker) -> None:
        """Start the event loop."""
        del worker
        self._homes: dict[str, tuple[WorkerResources, float]] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="periplus", daemon=True)
        self._thread.start()

    async def teardown(self, worker: Worker) -> None:
        """Close browsers and stores when the worker ends."""
        del worker
        for channel in list(self._homes):
            await self.leave(channel)
        self._loop.call_soon_threadsafe(self._loop.stop)

    def done(self, worker: Worker, channel: str, job: Job, key: str) -> SealedJson:
        """Execute a job; called in one of the worker's threads."""

        def tell(said: JsonValue) -> None:
            worker.log_event(channel, {"job": key, "said": said})

        async def work() -> SealedJson:
            tell(BEGUN)
            home = await self._home(channel)
            return SealedJson.of(await attempt_job(home, job, tell))

        return asyncio.run_coroutine_threadsafe(work(), self._loop).result()

    def stop(self, channel: str, reason: str) -> None:
        """Stop a fleet's jobs on this worker after their current step."""

        def stop() -> None:
            home, _ = self._homes.setdefault(channel, (WorkerResources(), time.monotonic()))
            home.stop(reason)

        self._loop.call_soon_threadsafe(stop)

    async def leave(self, channel: str) -> None:
        """Close a fleet's resources on this worker."""

        async def close() -> None:
            home, _ = self._homes.pop(channel, (None, 0.0))
            if home is not None:
                await home.close()

        closing = asyncio.run_coroutine_threadsafe(close(), self._loop)
        await asyncio.wait([asyncio.wrap_future(closing)], timeout=CLOSING_S)

    async def _home(self, channel: str) -> WorkerResources:
        now = time.monotonic()
        home = self._homes[channel][0] if channel in self._homes else WorkerResources()
        self._homes[channel] = (home, now)
        for other, (left, used) in list(self._homes.items()):
            if other != channel and not left.busy and now - used > IDLE_S:
                del self._homes[other]
                await left.close()
        return home


def run_sealed_job(sealed: SealedJson, channel: str, key: str) -> tuple[SealedJson, str]:
    """Execute a job on the worker that Dask chose; return its end and the worker's address."""
    worker = get_worker()
    job = Job.model_validate_json(sealed.text)
    return _homes(worker).done(worker, channel, job, key), str(worker.address)


def stop_jobs(channel: str, reason: str, dask_worker: Worker) -> None:
    """Stop a fleet's jobs; called on every worker."""
    _homes(dask_worker).stop(channel, reason)


async def close_channel(channel: str, dask_worker: Worker) -> None:
    """Close a fleet's resources; called on every worker."""
    await _homes(dask_worker).leave(channel)


def _homes(worker: Worker) -> WorkerResourcesPlugin:
    return cast("WorkerResourcesPlugin", worker.plugins[NAME])
