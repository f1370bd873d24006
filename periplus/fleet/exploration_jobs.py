"""The job kind `map`: a part of an exploration. It needs neither a store nor a shared folder.

A part changes nothing on the site, so it can be repeated if its worker dies.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Error as DriverError
from pydantic import JsonValue

from agent.browser.browser_life import is_alive
from agent.execution.stop_request import StopRequest
from agent.exploration.part_exploration import explore_part
from agent.exploration.requests.robots_permissions import RobotsPermissions
from agent.exploration.shared_exploration import PartWorkersLost
from kb_schema.exploration_parts import ExplorationPart, ExplorationPartResult
from kb_schema.explorations import Exploration
from periplus.fleet.fenced_runs import RunLeaseLost
from periplus.fleet.jobs import Fleet, Job, JobFailed, Tell
from periplus.fleet.run_jobs import DIED
from periplus.fleet.worker_resources import WorkerResources


class FleetExplorationParts:
    """Executes parts on a fleet (`agent.exploration.shared_exploration.ExplorationWorkers`)."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._sent = 0

    @property
    def width(self) -> int:
        """Return the number of parallel parts."""
        return self._fleet.width

    async def do(self, part: ExplorationPart) -> ExplorationPartResult:
        """Return the result of a part. Raises `PartWorkersLost`, or `JobFailed` for errors the user can correct."""
        self._sent += 1
        job = Job(kind="map", key=f"part {self._sent}", body=part.model_dump(mode="json"))
        try:
            return ExplorationPartResult.model_validate(await self._fleet.do(job))
        except JobFailed as exc:
            if exc.trouble.kind == "stopped":
                return ExplorationPartResult()
            if exc.trouble.elsewhere:
                raise PartWorkersLost(str(exc)) from exc
            raise

    async def stop(self) -> None:
        """Stop running parts after their current step."""
        await self._fleet.stop("interrupted")


async def do_job(home: WorkerResources, job: Job, stop: StopRequest, tell: Tell) -> JsonValue:
    """Execute the job. Raises `RunLeaseLost` if the browser crashed."""
    del tell
    part = ExplorationPart.model_validate(job.body)
    permission = await home.keep(
        ("robots", *_list_rule_keys(part.exploration)), lambda: _permission(part.exploration)
    )
    browser = await home.browser()
    try:
        findings = await explore_part(browser, part, permission, lambda: stop.reason is not None)
    except (DriverError, TimeoutError) as exc:
        if is_alive(browser):
            raise
        raise RunLeaseLost(job.key, DIED) from exc
    return findings.model_dump(mode="json")


def _list_rule_keys(exploration: Exploration) -> tuple[str, ...]:
    """Return the key of an exploration's robots rules."""
    begun = exploration.started_at.isoformat()
    return (exploration.website_id, begun, str(exploration.robots), *exploration.origins)


@asynccontextmanager
async def _permission(exploration: Exploration) -> AsyncIterator[RobotsPermissions]:
    yield RobotsPermissions(exploration.origins, respected=exploration.robots)
