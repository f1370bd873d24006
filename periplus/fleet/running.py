"""The kind `run`: a task in a browser, whoever began it.

Under the run's lease, first what is known of it: it may be over, or somebody may have come half way.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from playwright.async_api import Browser, BrowserContext
from pydantic import Field, JsonValue

from agent.engine.stopping import Stop
from agent.events import Event, StepEnded
from kb_schema.base import Model
from kb_schema.runs import EvidenceLevel, RunEnding, RunResult, RunStatus, StoredRun
from kb_store import Stores
from kb_store.run_leases import RUN_LEASE_SECONDS
from kb_store.runs import RunStore
from periplus.errands import Errand, Gear, carry_out
from periplus.errors import UserError
from periplus.fleet.home import Home, Shelf
from periplus.fleet.lives import LetGo, NotOurs, held_life
from periplus.fleet.opening import see_mark
from periplus.fleet.ports import Job, Tell
from periplus.outputs import output_folder
from periplus.voyage import fresh_context

if TYPE_CHECKING:
    from playwright.async_api import StorageState

DIED = "the browser died"
INTERRUPTED = "interrupted"
"""How a run's record says that it was cut off in good order (`agent.run_log`)."""


class RunBody(Model):
    """What a worker needs to know."""

    shelf: Shelf
    website_id: str
    task_id: str
    run_id: str
    values: dict[str, JsonValue] = Field(default_factory=dict, repr=False)
    base_url: str | None = None
    folder: str
    """Where result and trace go: one folder in it for each life of the run."""
    mark: str
    """The file by which a worker sees that it is the right one."""
    lease_s: float = Field(default=RUN_LEASE_SECONDS, gt=0)


class Ran(Model):
    """How a run came out."""

    run_id: str
    status: RunStatus
    evidence: EvidenceLevel
    how: Literal["begun", "carried_on", "found"]
    """By the worker that tells: begun and ended, carried on after another one, or found ended."""
    duration_ms: float
    outputs: dict[str, JsonValue] = Field(default_factory=dict)
    error: str | None = None
    hint: str | None = None
    folder: str | None = None
    """With result and trace; None: where the worker is that ended it."""


async def done(home: Home, job: Job, stop: Stop, tell: Tell) -> JsonValue:
    """Do the run, or what is left of it."""
    body = RunBody.model_validate(job.body)
    see_mark(body.mark)
    stores, runs = await home.shelves(body.shelf)

    async def life(own: RunStore) -> Ran:
        return await _lived(home, body, stores, own, stop, tell)

    ran = await held_life(runs, body.run_id, stop, life, ttl=body.lease_s)
    return ran.model_dump(mode="json")


async def _lived(home: Home, body: RunBody, stores: Stores, runs: RunStore, stop: Stop, tell: Tell) -> Ran:
    known = await runs.run(body.run_id)
    over = None if known is None else _over(known)
    if over is not None:
        return over
    begun = known is not None and (
        await runs.checkpoint(body.run_id) is not None or bool(await runs.journal(body.run_id))
    )
    folder = _fresh(Path(body.folder))
    errand = Errand(
        body.website_id, body.task_id, base_url=body.base_url, values=body.values, run_id=body.run_id,
        carries_on=begun,
    )  # fmt: skip

    browser = _Browser(home)

    def heard(event: Event) -> None:
        if isinstance(event, StepEnded):
            tell({"step": f"{event.task_id}.{event.step_id}", "status": str(event.status)})

    kept = cast("RunStore", _WhileItLives(runs, browser))
    gear = Gear(stores, kept, browser.context, output_folder(folder), stop=stop, listeners=[heard])
    try:
        result = await carry_out(errand, gear)
    except UserError as exc:
        if browser.died:
            raise LetGo(body.run_id, DIED) from exc
        raise
    if browser.died and result.status is not RunStatus.SUCCESS:
        raise LetGo(body.run_id, DIED)
    return _ran(result, "carried_on" if begun else "begun", folder)


class _Browser:
    """The browser that one life of a run has, which others may share."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._browser: Browser | None = None

    @property
    def died(self) -> bool:
        """Whether it is gone: that is none of the run's fault."""
        return self._browser is not None and not self._browser.is_connected()

    @asynccontextmanager
    async def context(self, storage: StorageState | None) -> AsyncIterator[BrowserContext]:
        """A context in it."""
        self._browser = await self._home.browser()
        async with fresh_context(self._browser, storage) as opened:
            yield opened


class _WhileItLives:
    """A run store in which a run does not end as failed because its browser died: it is carried on instead."""

    def __init__(self, runs: RunStore, browser: _Browser) -> None:
        self._runs, self._browser = runs, browser

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runs, name)

    async def finish_run(self, run_id: str, ending: RunEnding) -> bool:
        """Raises `NotOurs`."""
        if self._browser.died and ending.status is not RunStatus.SUCCESS:
            raise NotOurs(run_id)
        return await self._runs.finish_run(run_id, ending)


def _over(run: StoredRun) -> Ran | None:
    """A run that came to an end of its own, as its record has it; None where it is to be gone on with."""
    if run.finished_at is None or run.status is None or run.error == INTERRUPTED:
        return None
    return Ran(
        run_id=run.run_id, status=run.status, evidence=run.evidence or EvidenceLevel.UNVERIFIED, how="found",
        duration_ms=run.duration_ms or 0.0, outputs=run.outputs, error=run.error, hint=run.hint,
    )  # fmt: skip


def _ran(result: RunResult, how: Literal["begun", "carried_on"], folder: Path) -> Ran:
    return Ran(
        run_id=result.run_id, status=result.status, evidence=result.evidence, how=how,
        duration_ms=result.duration_ms, outputs=result.outputs, error=result.error, hint=result.hint,
        folder=str(folder),
    )  # fmt: skip


def _fresh(folder: Path) -> Path:
    """A folder for this life of the run: earlier ones left theirs."""
    number, found = 1, folder
    while found.exists():
        number += 1
        found = folder.with_name(f"{folder.name}.{number}")
    return found
