"""The job kind `walk`: one pass of a rehearsal, with its own site, browser and session.

Passes share nothing, so a pass can be repeated if its worker dies.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import JsonValue

from agent.execution.stop_request import StopRequest
from kb_schema.base import Model
from periplus.demos.demo_rehearsal import (
    REHEARSED_PASS_ADAPTER,
    RehearsalSettings,
    RehearsedPass,
    rehearse_one_pass,
)
from periplus.errors import UserError
from periplus.fleet.jobs import Fleet, Job, Tell
from periplus.fleet.worker_resources import StoreAddresses, WorkerResources
from periplus.seed_sites.seed_manifests import MANIFEST, Seed, find_seed


class RehearsalJobBody(Model):
    """The body of the job."""

    store_addresses: StoreAddresses
    seed: str
    """The name of a built-in seed."""
    folder: str
    """The folder of another seed."""
    number: int
    flow: str | None = None
    speed: float = 0.0
    language: str | None = None


class FleetRehearsalWorkers:
    """Runs passes on a fleet (`periplus.demos.demo_rehearsal.RehearsalWorkers`)."""

    def __init__(
        self, fleet: Fleet, seed: Seed, settings: RehearsalSettings, store_addresses: StoreAddresses
    ) -> None:
        self._fleet, self._seed, self._settings, self._store_addresses = (
            fleet,
            seed,
            settings,
            store_addresses,
        )

    async def run_pass(self, number: int) -> RehearsedPass:
        """Run the pass with that number, from 0. Raises `JobFailed`."""
        body = RehearsalJobBody(
            store_addresses=self._store_addresses,
            seed=self._seed.name,
            folder=str(self._seed.folder),
            number=number,
            flow=self._settings.flow,
            speed=self._settings.speed,
            language=self._settings.language,
        )
        job = Job(kind="walk", key=f"walk {number + 1}", body=body.model_dump(mode="json"))
        return REHEARSED_PASS_ADAPTER.validate_python(await self._fleet.do(job))


async def do_job(home: WorkerResources, job: Job, stop: StopRequest, tell: Tell) -> JsonValue:
    """Execute the pass."""
    del home, tell
    body = RehearsalJobBody.model_validate(job.body)
    stop.check()
    settings = RehearsalSettings(
        body.flow,
        body.speed,
        headed=False,
        mongodb_url=body.store_addresses.mongodb_url,
        arangodb_url=body.store_addresses.arangodb_url,
        language=body.language,
    )
    completed = await rehearse_one_pass(
        _find_job_seed(body), settings, data_dir=Path(body.store_addresses.data_dir), number=body.number
    )
    told: JsonValue = REHEARSED_PASS_ADAPTER.dump_python(completed, mode="json")
    return told


def _find_job_seed(body: RehearsalJobBody) -> Seed:
    folder = Path(body.folder)
    if (folder / MANIFEST).is_file():
        return find_seed(str(folder))
    try:
        return find_seed(body.seed)
    except UserError as exc:
        raise UserError(
            f"this worker does not have the demo {body.seed!r}",
            fix="use a built-in demo, or a folder that every worker sees at the same path",
        ) from exc
