"""Parts of an exploration as jobs: what comes of them, and which ends are whose business."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pydantic import JsonValue

from agent.mapping.sharing import PartLost
from kb_schema.mapping import Exploration
from kb_schema.mapping_parts import Findings, Part, PartStep
from periplus.fleet.home import Home
from periplus.fleet.kinds import attempted
from periplus.fleet.mapping import FleetParts
from periplus.fleet.ports import Job, JobFailed, Tell, Trouble

AT = "http://127.0.0.1:9"


def part() -> Part:
    wanted = Exploration(
        website_id="quay", base_url=AT, starts=(f"{AT}/",), origins=(AT,), started_at=datetime.now(UTC)
    )
    return Part(exploration=wanted, pages=(), steps=(PartStep(page_id="p1"),), session={"cookies": []})


class Ends:
    """A fleet whose jobs all end in the same way."""

    width = 3
    in_this_process = True

    def __init__(self, end: JsonValue | Trouble) -> None:
        self.end, self.jobs, self.stopped = end, list[Job](), ""

    async def do(self, job: Job, tell: Tell = lambda _: None) -> JsonValue:
        del tell
        self.jobs.append(job)
        if isinstance(self.end, Trouble):
            raise JobFailed(job, self.end)
        return self.end

    async def stop(self, reason: str) -> None:
        self.stopped = reason


async def test_what_was_found_comes_back_and_the_session_is_in_no_name() -> None:
    fleet = Ends(Findings(lost={"p1": "nothing came"}).model_dump(mode="json"))
    parts = FleetParts(fleet)
    assert (await parts.do(part())).lost == {"p1": "nothing came"}
    await parts.do(part())
    assert [job.key for job in fleet.jobs] == ["part 1", "part 2"]
    assert "cookies" not in repr(fleet.jobs[0])
    await parts.stop()
    assert (parts.width, fleet.stopped) == (3, "interrupted")


@pytest.mark.parametrize("kind", ["lost", "store"])
async def test_a_part_whose_workers_died_is_for_the_explorer_to_do_otherwise(kind: str) -> None:
    with pytest.raises(PartLost, match="gone"):
        await FleetParts(Ends(Trouble.model_validate({"kind": kind, "message": "gone"}))).do(part())


async def test_a_part_that_was_stopped_before_it_began_found_nothing() -> None:
    stopped = Trouble(kind="stopped", message="interrupted")
    assert await FleetParts(Ends(stopped)).do(part()) == Findings()


async def test_what_a_person_can_put_right_is_told() -> None:
    trouble = Trouble(kind="user", message="there is no Chromium here", fix="periplus install")
    with pytest.raises(JobFailed, match="no Chromium") as raised:
        await FleetParts(Ends(trouble)).do(part())
    assert raised.value.fix == "periplus install"


async def test_a_worker_without_its_pages_does_what_it_can(browser: object) -> None:
    del browser  # so that there is one to be had
    home = Home()
    try:
        empty = part().model_copy(update={"steps": ()})
        ended = await attempted(
            home, Job(kind="map", key="part 1", body=empty.model_dump(mode="json")), lambda _: None
        )
        assert ended.trouble is None, ended
        assert Findings.model_validate(ended.result) == Findings()
    finally:
        await home.close()
