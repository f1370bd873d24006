"""A kind of job for measurements of fleets: it computes and waits for given times, and returns its number.

Workers learn the kind by Dask's preload (`preload="benchmarks.simulated_jobs"`).
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from periplus.fleet.job_kinds import KINDS
from periplus.fleet.jobs import Job, Tell

if TYPE_CHECKING:
    from distributed import Worker
    from pydantic import JsonValue

    from agent.execution.stop_request import StopRequest
    from periplus.fleet.worker_resources import WorkerResources

KIND = "simulated"


def build_job(number: int, *, compute_s: float, wait_s: float) -> Job:
    """Return a job that takes `compute_s` of CPU time and waits `wait_s` beside it, both in seconds."""
    return Job(
        kind=KIND, key=f"job {number}", body={"number": number, "compute_s": compute_s, "wait_s": wait_s}
    )


async def do_job(_home: WorkerResources, job: Job, _stop: StopRequest, _tell: Tell) -> JsonValue:
    """Compute, wait, return the job's number."""
    spend(float(str(job.body["compute_s"])))
    await asyncio.sleep(float(str(job.body["wait_s"])))
    return job.body["number"]


def spend(seconds: float) -> None:
    """Use that much CPU time of this thread."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        sum(range(1_000))


def register() -> None:
    """Make the kind known in this process."""
    KINDS[KIND] = "benchmarks.simulated_jobs"


def dask_setup(worker: Worker) -> None:
    """Dask calls this when a worker starts."""
    del worker
    register()
