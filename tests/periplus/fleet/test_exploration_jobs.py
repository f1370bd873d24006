"""Parts of an exploration as jobs: what comes of them, and which ends are whose business."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pydantic import JsonValue

from agent.exploration.shared_exploration import PartWorkersLost
from kb_schema.exploration_parts import ExplorationPart, ExplorationPartResult, PartStep
from kb_schema.explorations import Exploration
from periplus.fleet.exploration_jobs import FleetExplorationParts
from periplus.fleet.job_kinds import attempt_job
from periplus.fleet.jobs import Job, JobFailed, JobTrouble, Tell
from periplus.fleet.worker_resources import WorkerResources

AT = "http://127.0.0.1:9"


def part() -> ExplorationPart:
    wanted = Exploration(
        website_id="quay", base_url=AT, starts=(f"{AT}/",), origins=(AT,), started_at=datetime.now(UTC)
    )
    return ExplorationPart(
        exploration=wanted, pages=(), steps=(PartStep(page_id="p1"),), session={"cookies": []}
    )


class Ends:
    """A fleet whose jobs all end in the same way."""

    width = 3
    in_this_process = True

    def __init__(self, end: JsonValue | JobTrouble) -> None:
        self.end, self.jobs, self.stopped = end, list[Job](), ""

    async def do(self, job: Job, tell: Tell = lambda _: None) -> JsonValue:
        del tell
        self.jobs.append(job)
        if isinstance(self.end, JobTrouble):
            raise JobFailed(job, self.end)
        return self.end

    async def stop(self, reason: str) -> None:
        self.stopped = reason


async def test_what_was_found_comes_back_and_the_session_is_in_no_name() -> None:
    fleet = Ends(ExplorationPartResult(lost={"p1": "nothing came"}).model_dump(mode="json"))
    parts = FleetExplorationParts(fleet)
    assert (await parts.do(part())).lost == {"p1": "nothing came"}
    await parts.do(part())
    assert [job.key for job in fleet.jobs] == ["part 1", "part 2"]
    assert "cookies" not in repr(fleet.jobs[0])
    await parts.stop()
    assert (parts.width, fleet.stopped) == (3, "interrupted")


@pytest.mark.parametrize("kind", ["lost", "store"])
async def test_a_part_whose_workers_died_is_for_the_explorer_to_do_otherwise(kind: str) -> None:
    with pytest.raises(PartWorkersLost, match="gone"):
        await FleetExplorationParts(Ends(JobTrouble.model_validate({"kind": kind, "message": "gone"}))).do(
            part()
        )


async def test_a_part_that_was_stopped_before_it_began_found_nothing() -> None:
    stopped = JobTrouble(kind="stopped", message="interrupted")
    assert await FleetExplorationParts(Ends(stopped)).do(part()) == ExplorationPartResult()


async def test_what_a_person_can_put_right_is_told() -> None:
    trouble = JobTrouble(kind="user", message="there is no Chromium here", fix="periplus install")
    with pytest.raises(JobFailed, match="no Chromium") as raised:
        await FleetExplorationParts(Ends(trouble)).do(part())
    assert raised.value.fix == "periplus install"


async def test_a_worker_without_its_pages_does_what_it_can(browser: object) -> None:
    del browser  # so that there is one to be had
    home = WorkerResources()
    try:
        empty = part().model_copy(update={"steps": ()})
        ended = await attempt_job(
            home, Job(kind="map", key="part 1", body=empty.model_dump(mode="json")), lambda _: None
        )
        assert ended.trouble is None, ended
        assert ExplorationPartResult.model_validate(ended.result) == ExplorationPartResult()
    finally:
        await home.close()
