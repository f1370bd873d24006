"""The kinds of jobs, and the execution of one job: every error becomes a `JobTrouble`.

A kind is an entry in `KINDS` and a module with an async function `do_job(home, job, stop, tell)`.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import socket
from collections.abc import Awaitable, Callable

from pydantic import JsonValue

from agent.execution.stop_request import RunStopped, StopRequest
from kb_store import StoreError
from periplus.errors import UserError, write_traceback
from periplus.fleet.fenced_runs import RunLeaseLost
from periplus.fleet.jobs import Job, JobEnded, JobTrouble, Tell
from periplus.fleet.worker_resources import WorkerResources

KINDS = {
    "map": "periplus.fleet.exploration_jobs",
    "run": "periplus.fleet.run_jobs",
    "verify": "periplus.verification.verification_jobs",
    "walk": "periplus.demos.rehearsal_jobs",
}
"""Kind -> its module, imported with its first job."""

JobFunction = Callable[[WorkerResources, Job, StopRequest, Tell], Awaitable[JsonValue]]


def worker_name() -> str:
    """Return this worker's name for messages."""
    return f"{socket.gethostname()}/{os.getpid()}"


def _load_job_function(job: Job) -> JobFunction:
    """Return the function of the job's kind. Raises `UserError` for an unknown kind."""
    module = KINDS.get(job.kind)
    if module is None:
        raise UserError(
            f"unknown job kind {job.kind!r}", fix="install the same version of Periplus on every worker"
        )
    done: JobFunction = importlib.import_module(module).do_job
    return done


async def attempt_job(home: WorkerResources, job: Job, tell: Tell) -> JobEnded:
    """Execute a job in this process. Raises only `CancelledError`."""
    stop = home.begin()
    try:
        stop.check()
        done = _load_job_function(job)
        return JobEnded(worker=worker_name(), result=await done(home, job, stop, tell))
    except RunStopped as exc:
        trouble = JobTrouble(kind="stopped", message=f"stopped: {exc.reason}")
    except RunLeaseLost as exc:
        trouble = JobTrouble(kind="lost", message=str(exc))
    except StoreError as exc:
        trouble = JobTrouble(kind="store" if exc.retriable else "user", message=exc.message, fix=exc.fix)
    except UserError as exc:
        trouble = JobTrouble(kind="user", message=exc.message, fix=exc.fix)
    except asyncio.CancelledError:
        raise
    except Exception as exc:  # noqa: BLE001 - the outermost boundary of a job: the worker continues
        path = write_traceback(exc)
        trouble = JobTrouble(
            kind="defect",
            message=f"internal error: {type(exc).__name__}",
            fix=f"please report it; the details are in {path} on the worker" if path else "please report it",
        )
    finally:
        home.end(stop)
    return JobEnded(worker=worker_name(), trouble=trouble)
