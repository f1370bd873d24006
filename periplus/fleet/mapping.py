"""The kind `map`: a part of an exploration. It needs neither a store nor a folder that is shared.

Nothing is changed on the site in a part, so one that is done twice (its worker died) has happened to nobody.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Error as DriverError
from pydantic import JsonValue

from agent.engine.stopping import Stop
from agent.mapping.parts import do_part
from agent.mapping.permitting import Permission
from agent.mapping.sharing import PartLost
from kb_schema.mapping import Exploration
from kb_schema.mapping_parts import Findings, Part
from periplus.fleet.home import Home
from periplus.fleet.lives import LetGo
from periplus.fleet.ports import Fleet, Job, JobFailed, Tell
from periplus.fleet.running import DIED


class FleetParts:
    """Has parts done by a fleet (`agent.mapping.sharing.Workers`)."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._sent = 0

    @property
    def width(self) -> int:
        """How many at the same time."""
        return self._fleet.width

    async def do(self, part: Part) -> Findings:
        """What came of it. Raises `PartLost`, and `JobFailed` where a person can put it right."""
        self._sent += 1
        job = Job(kind="map", key=f"part {self._sent}", body=part.model_dump(mode="json"))
        try:
            return Findings.model_validate(await self._fleet.do(job))
        except JobFailed as exc:
            if exc.trouble.kind == "stopped":
                return Findings()
            if exc.trouble.elsewhere:
                raise PartLost(str(exc)) from exc
            raise

    async def stop(self) -> None:
        """What goes on ends after its step."""
        await self._fleet.stop("interrupted")


async def done(home: Home, job: Job, stop: Stop, tell: Tell) -> JsonValue:
    """Do it. Raises `LetGo` where the browser died."""
    del tell
    part = Part.model_validate(job.body)
    permission = await home.keep(("robots", *_named(part.exploration)), lambda: _permission(part.exploration))
    browser = await home.browser()
    try:
        findings = await do_part(browser, part, permission, lambda: stop.reason is not None)
    except (DriverError, TimeoutError) as exc:
        if browser.is_connected():
            raise
        raise LetGo(job.key, DIED) from exc
    return findings.model_dump(mode="json")


def _named(exploration: Exploration) -> tuple[str, ...]:
    """What one exploration's rules are kept by."""
    begun = exploration.started_at.isoformat()
    return (exploration.website_id, begun, str(exploration.robots), *exploration.origins)


@asynccontextmanager
async def _permission(exploration: Exploration) -> AsyncIterator[Permission]:
    yield Permission(exploration.origins, respected=exploration.robots)
