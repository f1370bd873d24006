"""A fleet on Dask: worker processes of this machine, or of a scheduler (extra `scale`).

Dask sends jobs to workers and detects workers that die. The jobs themselves find out which part is already done
(`fenced_runs`). Only this package imports Dask.
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
from periplus.fleet.dask_worker import (
    BEGUN,
    SealedJson,
    WorkerResourcesPlugin,
    close_channel,
    parse_message,
    report_versions,
    run_sealed_job,
    stop_jobs,
)
from periplus.fleet.jobs import LIVES, Job, JobEnded, JobFailed, JobTrouble, Tell
from periplus.fleet.workers_option import WorkerSelection

SENDINGS = 10
"""Maximum number of times a job is sent, whether or not a worker has started it."""
CONNECT_S = 10.0
WORKERS_HERE = {
    "distributed.scheduler.allowed-failures": LIVES - 1,
    # Restarting a killed worker takes longer on a busy machine than Dask's default timeout.
    "distributed.deploy.lost-worker-timeout": "10 minutes",
    # Only for Dask's dashboard: a worker looked at its threads 100 times a second, at its event loop 50 times, at its process twice.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
}
"""Dask's settings for workers of this machine."""
_GONE = JobTrouble(
    kind="lost",
    message="there are no workers any more, or the scheduler does not answer",
    fix="check that scheduler and workers run, then resume; finished work is not repeated",
)


@asynccontextmanager
async def open_cluster_fleet(workers: WorkerSelection) -> AsyncIterator[ClusterFleet]:
    """Connect to a cluster, or start workers on this machine and stop them at the end.

    Raises `UserError` without a scheduler or workers, or for workers with another version of Periplus.
    """
    async with AsyncExitStack() as stack:
        address = workers.address
        if workers.kind == "processes":
            stack.enter_context(dask.config.set(WORKERS_HERE))
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
                    preload="periplus.fleet.dask_preload",
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
                f"no Dask scheduler answers at {address}",
                fix="start one with `dask scheduler`, and workers with `dask worker ADDRESS`; see docs/scale.md",
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
        """Return the number of worker threads at the start; each executes one job at a time."""
        return self._width

    @property
    def in_this_process(self) -> bool:
        """Return False."""
        return False

    async def _workers(self) -> dict[str, int]:
        """Return the number of threads by worker address."""
        asked: Any = self._client.nthreads()
        found: dict[str, int] = await asked
        return found

    async def muster(self) -> None:
        """Check that there are workers with the same version of Periplus. Raises `UserError`."""
        if not await self._workers():
            waited: Any = self._client.wait_for_workers
            try:
                await waited(1, timeout=CONNECT_S)
            except TimeoutError as exc:
                raise UserError(
                    "the scheduler has no workers",
                    fix="start workers with `dask worker ADDRESS --nthreads 4`",
                ) from exc
        try:
            told = await self._client.run(report_versions)
            await self._client.register_plugin(WorkerResourcesPlugin())
        except Exception as exc:  # a worker's error is raised unchanged: usually it has no Periplus
            raise UserError(
                f"the workers cannot execute jobs: {type(exc).__name__}: {exc}",
                fix="install the same version of Periplus, with the extra `scale`, on every worker",
            ) from exc
        others = {worker: version for worker, version in told.items() if version != report_versions()}
        if others:
            worker, version = next(iter(others.items()))
            raise UserError(
                f"worker {worker}: expected Periplus {report_versions()}, found {version}",
                fix="install the same version of Periplus on every worker",
            )
        self._width = sum((await self._workers()).values())
        self._client.subscribe_topic(self._channel, self._heard)

    def _heard(self, event: tuple[float, Any]) -> None:
        said = parse_message(event[1])
        tell = None if said is None else self._tells.get(said.job)
        if said is not None and tell is not None:
            tell(said.said)

    async def do(self, job: Job, tell: Tell = lambda _: None) -> JsonValue:
        """Execute a job; retry it when its worker dies or loses its lease, but start it at most `LIVES` times.

        Dask also reports waiting jobs of a dead worker as failed, so a job may be sent more often.
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
                raise JobFailed(job, JobTrouble(kind="stopped", message=f"stopped: {self._stopped}"))
            ended, where = await self._sent(job, heard, avoided)
            if ended.trouble is None:
                return ended.result
            trouble, worker = ended.trouble, ended.worker
            if not trouble.elsewhere or begun >= LIVES or self._client.status != "running":
                break
            avoided |= {where} - {""}
        raise JobFailed(job, trouble, worker=worker)

    async def _sent(self, job: Job, tell: Tell, avoided: set[str]) -> tuple[JobEnded, str]:
        """Send a job once; return its end and the worker's address."""
        key = f"{job.kind}-{uuid.uuid4().hex}"
        self._tells[key] = tell
        others = sorted((await self._workers()).keys() - avoided) if avoided else []
        only = {"workers": others, "allow_other_workers": True} if others else {}
        future = self._client.submit(
            run_sealed_job, SealedJson.of(job), self._channel, key, key=key, pure=False, **only
        )
        try:
            return await self._ended(future)
        finally:
            future.release()
            del self._tells[key]

    async def _ended(self, future: Future[Any]) -> tuple[JobEnded, str]:
        ending: Any = future.exception()  # Dask's own wait needs a global client
        error = await ending
        if future.status == "finished":
            sealed, where = await future
            return JobEnded.model_validate_json(sealed.text), where
        if future.status != "error":
            return JobEnded(worker="", trouble=_GONE), ""
        if isinstance(error, KilledWorker):
            killed = JobTrouble(
                kind="lost", message="the workers died during the job", fix="check their logs and memory"
            )
            return JobEnded(worker=str(error.last_worker.address), trouble=killed), ""
        told = JobTrouble(kind="lost", message=f"the worker failed: {type(error).__name__}: {error}")
        return JobEnded(worker="", trouble=told), ""

    async def stop(self, reason: str) -> None:
        """Stop running jobs after their current step; waiting jobs are not sent."""
        self._stopped = self._stopped or reason
        await self._everywhere(stop_jobs, self._channel, reason)

    async def leave(self) -> None:
        """Close the resources of this fleet on all workers."""
        await self._everywhere(close_channel, self._channel)

    async def _everywhere(self, function: Any, *arguments: str) -> None:
        if self._client.status != "running":
            return
        try:
            await asyncio.wait_for(self._client.run(function, *arguments, on_error="ignore"), CONNECT_S)
        except (OSError, CommClosedError, TimeoutError):
            return  # an unreachable worker has ended or will end
