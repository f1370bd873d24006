"""The kind `verify`: one requirement on a worker, and the `Verifier` that has it done by a fleet.

Each worker has one verifier, with a browser, stores and a sign-in of its own, for all it is given of a batch.
Reports, tests and pictures are in one folder that all workers see.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import cast

from pydantic import Field, JsonValue, TypeAdapter

from agent.engine.stopping import Stop, Stopped
from agent.events import Event
from agent.inferring import ModelInferencer
from agent.verifying.flow.events import Healed, PhaseBegan, StepVerified, VerdictGiven
from agent.verifying.reporting import read_verdict
from kb_schema.base import Model
from kb_schema.verification import Requirement, VerdictReport
from kb_store.runs import RunStore
from periplus.fleet.home import Home, Shelf
from periplus.fleet.lives import held_life
from periplus.fleet.opening import see_mark
from periplus.fleet.ports import Fleet, Job, JobFailed, Tell
from periplus.verifying.verifier import Verifier, VerifySettings, open_verifier

_EVENTS: dict[str, TypeAdapter[Event]] = {
    kind.__name__: cast("TypeAdapter[Event]", TypeAdapter(kind))
    for kind in (PhaseBegan, StepVerified, Healed, VerdictGiven)
}
_REQUIREMENTS = TypeAdapter(tuple[Requirement, ...])


class VerifyWork(Model):
    """What all requirements of a batch have in common."""

    shelf: Shelf
    mark: str
    """A file in the folder of the reports, with all requirements of the batch."""
    base_url: str | None = None
    website_id: str | None = None
    login: str | None = None
    values: dict[str, JsonValue] = Field(default_factory=dict, repr=False)
    secrets: dict[str, str] = Field(default_factory=dict, repr=False)
    max_heal_rounds: int | None = None
    tests: bool = True
    rediscover: bool = False
    title: str = ""
    model: str | None = None

    @property
    def out(self) -> Path:
        """Where reports go."""
        return Path(self.mark).parent


class VerifyBody(Model):
    """What a worker needs to know."""

    work: VerifyWork
    requirement: Requirement
    run_id: str


def all_of(requirements: tuple[Requirement, ...]) -> str:
    """What the mark's file says."""
    return _REQUIREMENTS.dump_json(requirements, by_alias=True).decode()


class FleetVerifier:
    """Has requirements verified by a fleet (`periplus.service.ports.Verifier`)."""

    def __init__(self, fleet: Fleet, work: VerifyWork) -> None:
        self._fleet, self._work = fleet, work

    async def verify(
        self, requirement: Requirement, *, run_id: str, tell: Callable[[Event], None], stop: Stop
    ) -> VerdictReport:
        """Wherever there is room. Raises `Stopped` where it did not begin, `JobFailed` where there is no report."""
        stop.check()
        body = VerifyBody(work=self._work, requirement=requirement, run_id=run_id)
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
                raise Stopped(exc.trouble.message) from exc
            raise
        return VerdictReport.model_validate(report)


async def done(home: Home, job: Job, stop: Stop, tell: Tell) -> JsonValue:
    """Verify it, or carry on where another worker was; a report that is there is taken."""
    body = VerifyBody.model_validate(job.body)
    work = body.work
    see_mark(work.mark)
    verifier = await home.keep(("verify", work.mark), lambda: _opened(work))

    def heard(event: Event) -> None:
        name = type(event).__name__
        if name in _EVENTS:
            tell({name: _EVENTS[name].dump_python(event, mode="json")})

    async def life(_own: RunStore) -> VerdictReport:
        known = read_verdict(work.out, body.requirement.req_id)
        if known is not None and known.run_id == body.run_id and known.verdict != "partial":
            return known
        return await verifier.verify(body.requirement, run_id=body.run_id, tell=heard, stop=stop)

    report = await held_life(verifier.runs, body.run_id, stop, life)
    return report.model_dump(mode="json", by_alias=True)


def _opened(work: VerifyWork) -> AbstractAsyncContextManager[Verifier]:
    requirements = _REQUIREMENTS.validate_json(Path(work.mark).read_bytes())
    return open_verifier(
        VerifySettings(
            out=work.out,
            base_url=work.base_url,
            website_id=work.website_id,
            login=work.login,
            requirements=requirements,
            values=work.values,
            secrets=work.secrets,
            max_heal_rounds=work.max_heal_rounds,
            tests=work.tests,
            rediscover=work.rediscover,
            title=work.title,
            inferencer=ModelInferencer(work.model) if work.model else None,
            data_dir=Path(work.shelf.data_dir),
            mongodb_url=work.shelf.mongodb_url,
        )
    )
