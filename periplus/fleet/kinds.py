"""The kinds of jobs there are, and how one is done: the boundary at which whatever goes wrong becomes a trouble.

A kind is one entry and one module with an async function `done(home, job, stop, tell)`.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import socket
from collections.abc import Awaitable, Callable

from pydantic import JsonValue

from agent.engine.stopping import Stop, Stopped
from kb_store import StoreError
from periplus.errors import UserError, write_traceback
from periplus.fleet.home import Home
from periplus.fleet.lives import LetGo
from periplus.fleet.ports import Job, JobEnded, Tell, Trouble

KINDS = {
    "map": "periplus.fleet.mapping",
    "run": "periplus.fleet.running",
    "verify": "periplus.fleet.verifying",
    "walk": "periplus.fleet.walking",
}
"""Kind -> the module that does it, imported when the first one comes."""

Done = Callable[[Home, Job, Stop, Tell], Awaitable[JsonValue]]


def this_worker() -> str:
    """For messages."""
    return f"{socket.gethostname()}/{os.getpid()}"


def _who_does(job: Job) -> Done:
    """Raises `UserError` for a kind that is not known here."""
    module = KINDS.get(job.kind)
    if module is None:
        raise UserError(
            f"no worker knows a job of kind {job.kind!r}", fix="install the same Periplus everywhere"
        )
    done: Done = importlib.import_module(module).done
    return done


async def attempted(home: Home, job: Job, tell: Tell) -> JobEnded:
    """Do a job here. Raises nothing but what cancels it."""
    stop = home.begin()
    try:
        stop.check()
        done = _who_does(job)
        return JobEnded(worker=this_worker(), result=await done(home, job, stop, tell))
    except Stopped as exc:
        trouble = Trouble(kind="stopped", message=f"stopped: {exc.reason}")
    except LetGo as exc:
        trouble = Trouble(kind="lost", message=str(exc))
    except StoreError as exc:
        trouble = Trouble(kind="store" if exc.retriable else "user", message=exc.message, fix=exc.fix)
    except UserError as exc:
        trouble = Trouble(kind="user", message=exc.message, fix=exc.fix)
    except asyncio.CancelledError:
        raise
    except Exception as exc:  # noqa: BLE001 - the outermost boundary of a job: the worker goes on
        path = write_traceback(exc)
        trouble = Trouble(
            kind="defect", message=f"this should not have happened: {type(exc).__name__}",
            fix=f"the details are in {path} of the worker; please report it" if path else "please report it",
        )  # fmt: skip
    finally:
        home.end(stop)
    return JobEnded(worker=this_worker(), trouble=trouble)
