"""A fleet on Dask: worker processes of this machine, or those of a scheduler somewhere (extra `scale`).

Dask brings jobs to workers and notices workers that die; what of their work is done already is for the jobs
to find out (`lives`). Nothing above this module knows Dask.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import dask
from distributed import Client, Future, KilledWorker, LocalCluster
from distributed.comm.core import CommClosedError
from pydantic import JsonValue

from periplus.errors import UserError
from periplus.fleet.ports import LIVES, Job, JobEnded, JobFailed, Tell, Trouble
from periplus.fleet.remote import (
    BEGUN,
    Homes,
    Sealed,
    carry_out,
    leave,
    settled,
    stop_all,
    versions,
)
from periplus.fleet.workers import Workers

SENDINGS = 10
"""How often a job is sent at most, whether or not a worker began it."""
CONNECT_S = 10.0
_HERE = {
    "distributed.scheduler.allowed-failures": LIVES - 1,
    # A worker that was killed is started again; on a busy machine that takes longer than Dask gives it.
    "distributed.deploy.lost-worker-timeout": "10 minutes",
}
"""Dask's settings for workers of this machine."""
_GONE = Trouble(
    kind="lost", message="no worker is left, or the scheduler is gone",
    fix="see that scheduler and workers are up, then carry on: what is finished is not done again",
)  # fmt: skip


@asynccontextmanager
async def cluster_fleet(workers: Workers) -> AsyncIterator[ClusterFleet]:
    """The cluster's workers for as long as one is inside; those of this machine are started and ended.

    Raises `UserError` where there is no scheduler, no worker, or one with another Periplus.
    """
    async with AsyncExitStack() as stack:
        address = workers.address
        if workers.kind == "processes":
            stack.enter_context(dask.config.set(_HERE))
            cluster = await stack.enter_async_context(
                LocalCluster(
                    n_workers=workers.count,
                    threads_per_worker=1,
                    processes=True,
                    host="127.0.0.1",
                    scheduler_port=0,
                    dashboard_address="127.0.0.1:0",
                    worker_dashboard_address="127.0.0.1:0",
                    asynchronous=True,
                    memory_limit=0,
                    preload="periplus.fleet.apart",
                    silence_logs=logging.CRITICAL,
                )
            )
            address = cluster.scheduler_address
        try:
            client = await stack.enter_async_context(
                Client(address, asynchronous=True, set_as_default=False, timeout=CONNECT_S)
            )
        except (OSError, CommClosedError, TimeoutError) as exc:
            raise UserError(
                f"no scheduler answers at {address}",
                fix="start one: `dask scheduler`, then workers: `dask worker ADDRESS`; docs/scale.md",
            ) from exc
        fleet = ClusterFleet(client)
        await fleet.muster()
        try:
            yield fleet
        finally:
            await fleet.leave()


class ClusterFleet:
    """`Fleet` on a Dask cluster."""

    def __init__(self, client: Client) -> None:
        self._client, self._channel = client, f"periplus-{uuid.uuid4().hex}"
        self._tells: dict[str, Tell] = {}
        self._stopped: str | None = None
        self._width = 0

    @property
    def width(self) -> int:
        """Threads of the workers there were at the beginning: each does one job at a time."""
        return self._width

    @property
    def in_this_process(self) -> bool:
        """It never is."""
        return False

    async def _workers(self) -> dict[str, int]:
        """Threads by the worker's address."""
        asked: Any = self._client.nthreads()
        found: dict[str, int] = await asked
        return found

    async def muster(self) -> None:
        """See who is there, and that they are able to do it. Raises `UserError`."""
        if not await self._workers():
            waited: Any = self._client.wait_for_workers
            try:
                await waited(1, timeout=CONNECT_S)
            except TimeoutError as exc:
                raise UserError(
                    "the scheduler has no worker", fix="start some: `dask worker ADDRESS --nthreads 4`"
                ) from exc
        try:
            told = await self._client.run(versions)
            await self._client.register_plugin(Homes())
        except Exception as exc:  # what a worker raises comes as it is: mostly that it has no Periplus
            raise UserError(
                f"the workers cannot do it: {type(exc).__name__}: {exc}",
                fix="install the same Periplus, extra `scale`, wherever a worker runs",
            ) from exc
        others = {worker: version for worker, version in told.items() if version != versions()}
        if others:
            worker, version = next(iter(others.items()))
            raise UserError(
                f"worker {worker} has Periplus {version}, here is {versions()}",
                fix="install the same Periplus wherever a worker runs",
            )
        self._width = sum((await self._workers()).values())
        self._client.subscribe_topic(self._channel, self._heard)

    def _heard(self, event: tuple[float, Any]) -> None:
        said = settled(event[1])
        tell = None if said is None else self._tells.get(said.job)
        if said is not None and tell is not None:
            tell(said.said)

    async def do(self, job: Job, tell: Tell = lambda _: None) -> JsonValue:
        """As often as workers die of it, or let go of it, but it is begun no more than `LIVES` times.

        Dask blames a worker's death on all that waited there as well, so it is sent more often than that.
        """
        avoided: set[str] = set()
        trouble, worker, begun = _GONE, "", 0

        def heard(said: JsonValue) -> None:
            nonlocal begun
            if said == BEGUN:
                begun += 1
            else:
                tell(said)

        for _ in range(SENDINGS):
            if self._stopped is not None:
                raise JobFailed(job, Trouble(kind="stopped", message=f"stopped: {self._stopped}"))
            ended, where = await self._sent(job, heard, avoided)
            if ended.trouble is None:
                return ended.result
            trouble, worker = ended.trouble, ended.worker
            if not trouble.elsewhere or begun >= LIVES or self._client.status != "running":
                break
            avoided |= {where} - {""}
        raise JobFailed(job, trouble, worker=worker)

    async def _sent(self, job: Job, tell: Tell, avoided: set[str]) -> tuple[JobEnded, str]:
        """One sending of a job; how that ended, and at which worker's address."""
        key = f"{job.kind}-{uuid.uuid4().hex}"
        self._tells[key] = tell
        others = sorted((await self._workers()).keys() - avoided) if avoided else []
        only = {"workers": others, "allow_other_workers": True} if others else {}
        future = self._client.submit(
            carry_out, Sealed.of(job), self._channel, key, key=key, pure=False, **only
        )
        try:
            return await self._ended(future)
        finally:
            future.release()
            del self._tells[key]

    async def _ended(self, future: Future[Any]) -> tuple[JobEnded, str]:
        ending: Any = (
            future.exception()
        )  # Dask's own way to wait asks for a client that the whole process shares
        error = await ending
        if future.status == "finished":
            sealed, where = await future
            return JobEnded.model_validate_json(sealed.text), where
        if future.status != "error":
            return JobEnded(worker="", trouble=_GONE), ""
        if isinstance(error, KilledWorker):
            killed = Trouble(
                kind="lost", message="workers died while they were at it", fix="see their logs and memory"
            )
            return JobEnded(worker=str(error.last_worker.address), trouble=killed), ""
        told = Trouble(kind="lost", message=f"the worker failed: {type(error).__name__}: {error}")
        return JobEnded(worker="", trouble=told), ""

    async def stop(self, reason: str) -> None:
        """Those that go on hear it where they are; what waits is not sent on."""
        self._stopped = self._stopped or reason
        await self._everywhere(stop_all, self._channel, reason)

    async def leave(self) -> None:
        """The workers let go of what they kept for this fleet."""
        await self._everywhere(leave, self._channel)

    async def _everywhere(self, function: Any, *arguments: str) -> None:
        if self._client.status != "running":
            return
        try:
            await asyncio.wait_for(self._client.run(function, *arguments, on_error="ignore"), CONNECT_S)
        except (OSError, CommClosedError, TimeoutError):
            return  # who does not hear it is gone, or will be
