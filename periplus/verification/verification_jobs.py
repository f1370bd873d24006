"""The job kind `verify`: one requirement on a worker, and the verifier that uses a fleet.

Each worker has one verifier per batch, with its own browser, stores and sign-in. Reports, tests and screenshots are in
one folder that all workers see.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import cast

from pydantic import Field, JsonValue, TypeAdapter

from agent.browser.browser_profile import BrowserProfile
from agent.events import Event
from agent.execution.stop_request import RunStopped, StopRequest
from agent.verification.graph.verification_events import Healed, PhaseBegan, StepVerified, VerdictGiven
from agent.verification.reports import read_verdict
from kb_schema.base import Model
from kb_schema.verification import Requirement, VerdictReport
from kb_store.runs.run_store import RunStore
from periplus.fleet.fenced_runs import run_with_lease
from periplus.fleet.fleet_setup import check_folder_mark
from periplus.fleet.jobs import Fleet, Job, JobFailed, Tell
from periplus.fleet.worker_resources import StoreAddresses, WorkerResources
from periplus.language_model import load_inferencer
from periplus.verification.generated_test_proof import ProofChoice
from periplus.verification.requirement_verifier import RequirementVerifier, open_verifier
from periplus.verification.verifier_settings import VerifierSettings

_EVENTS: dict[str, TypeAdapter[Event]] = {
    kind.__name__: cast("TypeAdapter[Event]", TypeAdapter(kind))
    for kind in (PhaseBegan, StepVerified, Healed, VerdictGiven)
}
_REQUIREMENTS = TypeAdapter(tuple[Requirement, ...])


class VerificationJobBatch(Model):
    """The common data of all requirements of a batch."""

    store_addresses: StoreAddresses
    mark: str
    """A file in the reports' folder with all requirements of the batch."""
    base_url: str | None = None
    origins: tuple[str, ...] = ()
    website_id: str | None = None
    login: str | None = None
    values: dict[str, JsonValue] = Field(default_factory=dict, repr=False)
    secrets: dict[str, str] = Field(default_factory=dict, repr=False)
    profile: BrowserProfile = Field(default_factory=BrowserProfile)
    max_heal_rounds: int | None = None
    timeout_s: float | None = None
    requirement_s: float | None = None
    tests: bool = True
    prove: ProofChoice = "never"
    rediscover: bool = False
    title: str = ""
    model: str | None = None

    @property
    def out(self) -> Path:
        """Return the folder for reports."""
        return Path(self.mark).parent


class VerificationJobBody(Model):
    """The body of the job."""

    work: VerificationJobBatch
    requirement: Requirement
    run_id: str


def requirements_to_json(requirements: tuple[Requirement, ...]) -> str:
    """Return the requirements as JSON for the mark file."""
    return _REQUIREMENTS.dump_json(requirements, by_alias=True).decode()


class FleetVerifier:
    """Verifies requirements on a fleet (`periplus.verifier_ports.VerifierPort`)."""

    def __init__(self, fleet: Fleet, work: VerificationJobBatch) -> None:
        self._fleet, self._work = fleet, work

    async def verify(
        self, requirement: Requirement, *, run_id: str, tell: Callable[[Event], None], stop: StopRequest
    ) -> VerdictReport:
        """Verify on a free worker. Raises `RunStopped` if it was not started, `JobFailed` without a report."""
        stop.check()
        body = VerificationJobBody(work=self._work, requirement=requirement, run_id=run_id)
        job = Job(
            kind="verify", key=requirement.req_id[:200], body=body.model_dump(mode="json", by_alias=True)
        )

        def heard(said: JsonValue) -> None:
            if isinstance(said, dict):
                for name, told in said.items():
                    if name in _EVENTS:
                        tell(_EVENTS[name].validate_python(told))

        try:
            report = await self._fleet.do(job, heard)
        except JobFailed as exc:
            if exc.trouble.kind == "stopped":
                raise RunStopped(exc.trouble.message) from exc
            raise
        return VerdictReport.model_validate(report)


async def do_job(home: WorkerResources, job: Job, stop: StopRequest, tell: Tell) -> JsonValue:
    """Verify or resume the requirement; an existing report is returned."""
    body = VerificationJobBody.model_validate(job.body)
    work = body.work
    check_folder_mark(work.mark)
    verifier = await home.keep(("verify", work.mark), lambda: _open_verifier(work))

    def heard(event: Event) -> None:
        name = type(event).__name__
        if name in _EVENTS:
            tell({name: _EVENTS[name].dump_python(event, mode="json")})

    async def life(_own: RunStore) -> VerdictReport:
        known = read_verdict(work.out, body.requirement.req_id)
        if known is not None and known.run_id == body.run_id and known.verdict != "partial":
            return known
        return await verifier.verify(body.requirement, run_id=body.run_id, tell=heard, stop=stop)

    report = await run_with_lease(verifier.runs, body.run_id, stop, life)
    return report.model_dump(mode="json", by_alias=True)


def _open_verifier(work: VerificationJobBatch) -> AbstractAsyncContextManager[RequirementVerifier]:
    requirements = _REQUIREMENTS.validate_json(Path(work.mark).read_bytes())
    return open_verifier(
        VerifierSettings(
            out=work.out,
            base_url=work.base_url,
            origins=work.origins,
            website_id=work.website_id,
            login=work.login,
            requirements=requirements,
            values=work.values,
            secrets=work.secrets,
            profile=work.profile,
            max_heal_rounds=work.max_heal_rounds,
            timeout_s=work.timeout_s,
            requirement_s=work.requirement_s,
            tests=work.tests,
            prove=work.prove,
            rediscover=work.rediscover,
            title=work.title,
            inferencer=load_inferencer("judge", work.model),
            data_dir=Path(work.store_addresses.data_dir),
            mongodb_url=work.store_addresses.mongodb_url,
        )
    )
