"""The kind `walk`: one walk of a rehearsal, on a site, with a browser and a session of its own.

Nothing is shared between walks, so one that is done twice (its worker died) has happened to nobody.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import JsonValue

from agent.engine.stopping import Stop
from kb_schema.base import Model
from periplus.errors import UserError
from periplus.fleet.home import Home, Shelf
from periplus.fleet.ports import Fleet, Job, Tell
from periplus.rehearsing import WALKED, RehearsalSettings, Walked, walk_alone
from periplus.seeds import MANIFEST, Seed, find_seed


class WalkBody(Model):
    """What a worker needs to know."""

    shelf: Shelf
    seed: str
    """Its name, where it comes with Periplus."""
    folder: str
    """Its folder, where it does not."""
    number: int
    flow: str | None = None
    speed: float = 0.0
    language: str | None = None


class FleetWalks:
    """Has walks done by a fleet (`periplus.rehearsing.Walker`)."""

    def __init__(self, fleet: Fleet, seed: Seed, settings: RehearsalSettings, shelf: Shelf) -> None:
        self._fleet, self._seed, self._settings, self._shelf = fleet, seed, settings, shelf

    async def walk(self, number: int) -> Walked:
        """The walk of that number, from 0. Raises `JobFailed`."""
        body = WalkBody(
            shelf=self._shelf, seed=self._seed.name, folder=str(self._seed.folder), number=number,
            flow=self._settings.flow, speed=self._settings.speed, language=self._settings.language,
        )  # fmt: skip
        job = Job(kind="walk", key=f"walk {number + 1}", body=body.model_dump(mode="json"))
        return WALKED.validate_python(await self._fleet.do(job))


async def done(home: Home, job: Job, stop: Stop, tell: Tell) -> JsonValue:
    """Walk it."""
    del home, tell
    body = WalkBody.model_validate(job.body)
    stop.check()
    settings = RehearsalSettings(
        body.flow, body.speed, headed=False, mongodb_url=body.shelf.mongodb_url,
        arangodb_url=body.shelf.arangodb_url, language=body.language,
    )  # fmt: skip
    walked = await walk_alone(_seed(body), settings, data_dir=Path(body.shelf.data_dir), number=body.number)
    told: JsonValue = WALKED.dump_python(walked, mode="json")
    return told


def _seed(body: WalkBody) -> Seed:
    folder = Path(body.folder)
    if (folder / MANIFEST).is_file():
        return find_seed(str(folder))
    try:
        return find_seed(body.seed)
    except UserError as exc:
        raise UserError(
            f"the demo {body.seed!r} is not on this worker",
            fix="one that comes with Periplus, or the same folder everywhere",
        ) from exc
