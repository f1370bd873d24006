"""Where a message says it in other words, the list tells whether it was done: it has the new row now, and had none before."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from kb_schema.run_records import RunStatus
from tests.support.small_sites import Answered, Asked, induced, ran, running_site, visiting

if TYPE_CHECKING:
    from playwright.async_api import Page

    from agent.synthesis.synthesis_pipeline import PipelineResult

GIVEN = (
    {"title": "Oil the winches", "place": "Dock two"},
    {"title": "Patch the sail", "place": "The loft"},
    {"title": "Count the oars", "place": "Shed nine"},
)
NEW = {"title": "Paint the bow", "place": "Slip one"}


@dataclass
class Jobs:
    """Jobs in a table that one comes back to after adding one."""

    said: str = "The job was added."
    keeps: bool = True
    has_place: bool = True
    drawn_after_ms: int = 0
    rows: list[tuple[str, str]] = field(default_factory=list)

    def answer(self, asked: Asked) -> Answered:
        if asked.method == "POST":
            if self.keeps:
                self.rows.append((asked.form["title"], asked.form["place"] if self.has_place else "Anywhere"))
            return Answered(location="/?done=1")
        if asked.path == "/new":
            fields = "".join(
                f"<label>{each} <input name={each.lower()}></label>" for each in ("Title", "Place")
            )
            return Answered(f"<body><h1>New job</h1><form method=post action=/>{fields}<button>Add</button></form></body>")  # fmt: skip
        said = f"<p role=status>{self.said}</p>" if "done" in asked.query else ""
        rows = "".join(
            f"<tr><td><a href=#>{title}</a></td><td>{place}</td></tr>" for title, place in self.rows
        )
        table = f"<table>{rows}</table>"
        if self.drawn_after_ms:
            table = f"<div id=jobs></div><template id=later>{table}</template><script>setTimeout(() => {{jobs.innerHTML = later.innerHTML}}, {self.drawn_after_ms})</script>"  # fmt: skip
        return Answered(f"<body>{said}<h1>Jobs</h1>{table}<a href=/new>New job</a></body>")


async def adds_a_job(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    await page.get_by_text("New job").click()
    await page.get_by_label("Title").fill(given["title"])
    await page.get_by_label("Place").fill(given["place"])
    await page.get_by_role("button", name="Add").click()
    await page.wait_for_url("**/?done=1")


def _begin(jobs: Jobs) -> None:
    jobs.rows = [("Sweep the shed", "Shed one"), ("Sort the ropes", "The loft")]


async def _induced(browser, site, folder, jobs: Jobs) -> PipelineResult:
    return await induced(browser, site, folder / "traces", adds_a_job, GIVEN, prepare=lambda _: _begin(jobs))


async def test_the_list_is_read_at_its_address_for_a_row_with_all_that_it_shows_of_the_inputs(
    browser, tmp_path
):
    jobs = Jobs()
    with running_site(jobs.answer) as site:
        result = await _induced(browser, site, tmp_path, jobs)
    assert result.lowered is not None
    rule = result.lowered.workflow.read_back
    assert rule is not None
    assert rule.url == "/"
    told = rule.model_dump_json()
    assert "{{title}}" in told
    assert "{{place}}" in told


@pytest.mark.parametrize(
    ("change", "before", "ends"),
    [
        ({"said": "Saved (1 record)"}, [], (RunStatus.SUCCESS, "verified")),
        ({"said": "Saved (1 record)", "keeps": False}, [], (RunStatus.FAILURE, "unverified")),
        ({"said": "Saved (1 record)", "has_place": False}, [], (RunStatus.FAILURE, "unverified")),
        ({"said": "Saved (1 record)", "keeps": False}, [tuple(NEW.values())], (RunStatus.FAILURE, "unverified")),
        (
            {"said": "Saved (1 record)", "keeps": False, "drawn_after_ms": 1500},
            [tuple(NEW.values())],
            (RunStatus.FAILURE, "unverified"),
        ),
    ],
    ids=["other-words", "not-kept", "kept-otherwise", "was-there-before", "drawn-late"],
)  # fmt: skip
async def test_a_message_in_other_words_is_made_up_for_by_a_row_that_is_new(
    browser, tmp_path, change, before, ends
):
    jobs = Jobs()
    with running_site(jobs.answer) as site:
        result = await _induced(browser, site, tmp_path, jobs)
        _begin(jobs)
        jobs.rows += before
        for name, value in change.items():
            setattr(jobs, name, value)
        async with visiting(browser, site, tmp_path / "stores") as session:
            done = await ran(session, result, NEW)
            tabs = len(session.page.context.pages)
    assert (done.status, str(done.evidence)) == ends, done.error
    assert (done.hint is not None and "/ does, and did not before" in done.hint) is (
        ends[0] is RunStatus.SUCCESS
    )
    assert tabs == 1, "the tab that it was read in is closed"
    assert len(site.writes) == len(GIVEN) + 1
