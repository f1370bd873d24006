"""A demonstration that the application refused shows no success; one that was corrected afterwards does."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kb_schema.execution_traces import ExecutionTrace
from kb_schema.run_records import RunStatus
from periplus.errors import UserError
from periplus.synthesis.workflow_synthesis import (
    SynthesisJudgement,
    induce_workflow,
    list_shown_values,
    read_traces,
)
from tests.support.people import recorded
from tests.support.small_sites import Answered, Asked, induced, ran, running_site, visiting

if TYPE_CHECKING:
    from playwright.async_api import Page

SHOWN = (
    {"title": "Lamp", "place": "Pier 3"},
    {"title": "Gate", "place": "Hall"},
    {"title": "Crane", "place": "Quay"},
)
TAKEN = "Buoy"
SILENT = f"""<script>document.forms[0].addEventListener("submit", event => {{
  if (document.getElementById("title").value !== "{TAKEN}") return;
  event.preventDefault();
  document.getElementById("told").textContent = "Another one, please";
}});</script>"""


class Titles:
    """A form that refuses a title that is taken with HTTP 400, and one without a place in the browser."""

    def __init__(self, *, silent: bool = False) -> None:
        """`silent`: its script refuses a title that is taken; it sends and marks nothing."""
        self.titles = [TAKEN]
        self._script = SILENT if silent else ""

    def answer(self, asked: Asked) -> Answered:
        if asked.method == "POST":
            return self._added(asked.form)
        rows = "".join(f"<li>{escape(each)}</li>" for each in self.titles)
        if asked.path == "/titles":
            return Answered(f"<body><p role=status>Title added</p><h1>Titles</h1><ul>{rows}</ul></body>")
        return Answered(self._form("", {}))

    def _added(self, form: Mapping[str, str]) -> Answered:
        if form["title"] in self.titles:
            told = "<div class='alert alert-danger' role=alert>This title is taken.</div>"
            return Answered(self._form(told, form), status=400)
        self.titles.append(form["title"])
        return Answered(location="/titles")

    def _form(self, told: str, given: Mapping[str, str]) -> str:
        values = {name: escape(given.get(name, "")) for name in ("title", "place")}
        return (
            f"<body><h1>New title</h1>{told}<form method=post action=/add>"
            f"<label for=title>Title</label><input id=title name=title value='{values['title']}'>"
            f"<label for=place>Place</label><input id=place name=place required value='{values['place']}'>"
            f"<button id=save>Save</button></form><p id=told></p>{self._script}</body>"
        )


async def adds_a_title(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    await page.fill("#title", given["title"])
    await page.fill("#place", given["place"])
    await page.click("#save")
    await page.wait_for_url("**/titles")


async def is_refused(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    await page.fill("#title", TAKEN)
    await page.fill("#place", given["place"])
    await page.click("#save")
    await page.wait_for_selector("[role=alert]")


async def corrects_a_title(page: Page, given: Mapping[str, str], dice: random.Random) -> None:
    await is_refused(page, given, dice)
    await page.fill("#title", given["title"])
    await page.click("#save")
    await page.wait_for_url("**/titles")


async def forgets_the_place(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    await page.fill("#title", given["title"])
    await page.click("#save")
    await page.wait_for_timeout(600)
    await page.fill("#place", given["place"])
    await page.click("#save")
    await page.wait_for_url("**/titles")


def _metadata(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "turn_001" / "session.jsonl").read_text(encoding="utf-8").splitlines()
    told = [json.loads(line) for line in lines]
    return [each["metadata"] for each in told if each.get("action_type") == "click"]


async def test_a_recording_notes_how_its_writes_were_answered_and_what_refused_them(browser, tmp_path):
    titles = Titles()
    with running_site(titles.answer) as site:
        await recorded(
            browser,
            site.base,
            tmp_path / "one",
            corrects_a_title,
            SHOWN[0],
            random.Random(1),
            asked=True,
            start="/",
        )
    refused, accepted = _metadata(tmp_path / "one")
    assert refused["answers"] == [{"method": "POST", "url": f"{site.base}/add", "status": 400}]
    assert refused["refusal"] == "HTTP 400: This title is taken."
    assert accepted["answers"] == [{"method": "POST", "url": f"{site.base}/add", "status": 303}]
    assert "refusal" not in accepted


async def test_a_demonstration_that_ends_with_http_400_is_disqualified_with_a_question(browser, tmp_path):
    titles = Titles()
    with running_site(titles.answer) as site, pytest.raises(UserError) as raised:
        await induced(browser, site, tmp_path / "traces", is_refused, SHOWN[:1])
    asked = "the application refused \"button 'Save'\" (HTTP 400: This title is taken.): was this demonstration meant"
    assert asked in str(raised.value)


async def test_one_refused_demonstration_among_good_ones_is_left_out(browser, tmp_path):
    titles = Titles()

    async def sometimes(page: Page, given: Mapping[str, str], dice: random.Random) -> None:
        await (is_refused if given is SHOWN[1] else adds_a_title)(page, given, dice)

    with running_site(titles.answer) as site:
        result = await induced(browser, site, tmp_path / "traces", sometimes, SHOWN)
    assert [each.passed for each in result.evaluation_results].count(False) == 1
    assert result.lowered is not None
    assert sorted(sorted(each.values()) for each in list_shown_values(result)) == [
        sorted(SHOWN[2].values()),
        sorted(SHOWN[0].values()),
    ], "a workflow is tried with the values of the others"


class Notes(Titles):
    """The same, with a note beside the form that is sent by a script and refused if it is empty."""

    def answer(self, asked: Asked) -> Answered:
        if asked.path == "/note":
            return Answered("", status=200 if asked.form["note"] else 422)
        return super().answer(asked)

    def _form(self, told: str, given: Mapping[str, str]) -> str:
        note = (
            "<label for=note>Note</label><input id=note><button id=keep type=button>Keep note</button>"
            "<script>document.getElementById('keep').addEventListener('click', () => "
            "fetch('/note', {method: 'POST', body: new URLSearchParams({note: document.getElementById('note').value})}));"
            "</script>"
        )
        return super()._form(told, given).replace("</body>", f"{note}</body>")


async def test_a_refused_write_in_the_middle_is_asked_about_and_the_question_can_be_answered(
    browser, tmp_path
):
    async def keeps_a_note(page: Page, given: Mapping[str, str], dice: random.Random) -> None:
        if given is not SHOWN[1]:
            await page.fill("#note", f"See {given['place']}")
        async with page.expect_response("**/note"):
            await page.click("#keep")
        await adds_a_title(page, given, dice)

    with running_site(Notes().answer) as site:
        result = await induced(browser, site, tmp_path / "traces", keeps_a_note, SHOWN)
    (left_out,) = [each for each in result.evaluation_results if not each.passed]
    assert left_out.metadata["error"] == (
        "the application refused \"button 'Keep note'\" (HTTP 422), and it was not repeated: "
        "was it meant to show a refusal?"
    )
    accepted = SynthesisJudgement(accepted_traces=frozenset({left_out.trace_id}))
    answered = await induce_workflow(read_traces([tmp_path / "traces"]), "Title", "", accepted)
    assert all(each.passed for each in answered.evaluation_results)
    (folder,) = {
        Path(each.session_dir or "").name for each in answered.traces if each.trace_id == left_out.trace_id
    }
    by_folder = SynthesisJudgement(accepted_traces=frozenset({folder}))
    answered = await induce_workflow(read_traces([tmp_path / "traces"]), "Title", "", by_folder)
    assert all(each.passed for each in answered.evaluation_results)
    with pytest.raises(UserError, match="there is no trace 'another' to accept"):
        await induce_workflow(
            read_traces([tmp_path / "traces"]),
            "Title",
            "",
            SynthesisJudgement(accepted_traces=frozenset({"another"})),
        )


async def test_what_every_demonstration_has_refused_is_no_question(browser, tmp_path):
    async def keeps_no_note(page: Page, given: Mapping[str, str], dice: random.Random) -> None:
        async with page.expect_response("**/note"):
            await page.click("#keep")
        await adds_a_title(page, given, dice)

    with running_site(Notes().answer) as site:
        result = await induced(browser, site, tmp_path / "traces", keeps_no_note, SHOWN)
    assert all(each.passed for each in result.evaluation_results)


async def test_a_trace_that_is_not_there_cannot_be_accepted():
    traces = [ExecutionTrace(trace_id="one", success=True)]
    with pytest.raises(UserError, match="no trace 'two' to accept"):
        await induce_workflow(traces, "Title", "", SynthesisJudgement(accepted_traces=frozenset({"two"})))


async def test_a_demonstration_that_sent_nothing_where_all_others_did_is_left_out_with_a_question(
    browser, tmp_path
):
    titles = Titles(silent=True)

    async def sometimes(page: Page, given: Mapping[str, str], dice: random.Random) -> None:
        if given is not SHOWN[1]:
            await adds_a_title(page, given, dice)
            return
        await page.fill("#title", TAKEN)
        await page.fill("#place", given["place"])
        await page.click("#save")
        await page.wait_for_selector("text=Another one, please")

    with running_site(titles.answer) as site:
        result = await induced(browser, site, tmp_path / "traces", sometimes, SHOWN)
    (left_out,) = [each for each in result.evaluation_results if not each.passed]
    asked = (
        "sent something in the other demonstrations and nothing in this one: was it meant to show a refusal?"
    )
    assert left_out.metadata["error"] == f"\"button 'Save'\" {asked}"
    assert result.lowered is not None
    assert result.lowered.workflow.success_criteria


async def test_a_demonstration_after_which_the_application_warned_is_left_out_with_a_question(
    browser, tmp_path
):
    titles = Titles()

    def answer(asked: Asked) -> Answered:
        if asked.path == "/titles":
            kind, told = (
                ("warning", "Nothing was changed.")
                if TAKEN in titles.titles[-1:]
                else ("notice", "Title added.")
            )
            return Answered(
                f"<body><h1>Titles</h1><div class={kind}>{told} <a href='#'>close</a></div></body>"
            )
        if asked.path == "/add":
            titles.titles.append(asked.form["title"])
            return Answered(location="/titles")
        return titles.answer(asked)

    shown = [{**each, "title": TAKEN} if each is SHOWN[1] else each for each in SHOWN]
    with running_site(answer) as site:
        result = await induced(browser, site, tmp_path / "traces", adds_a_title, shown)
    (left_out,) = [each for each in result.evaluation_results if not each.passed]
    assert left_out.metadata["error"] == (
        "the application warned after \"button 'Save'\" (Nothing was changed.), and not in the other demonstrations: "
        "was it meant to show a refusal?"
    )
    assert result.lowered is not None
    criteria = str(result.lowered.workflow.success_criteria)
    assert "Title added" in criteria
    assert "close" not in criteria


@pytest.mark.parametrize("corrects", [corrects_a_title, forgets_the_place])
async def test_a_demonstration_that_was_corrected_after_a_refusal_is_usable(browser, tmp_path, corrects):
    titles = Titles()

    async def sometimes(page: Page, given: Mapping[str, str], dice: random.Random) -> None:
        await (corrects if given is SHOWN[1] else adds_a_title)(page, given, dice)

    with running_site(titles.answer) as site:
        result = await induced(browser, site, tmp_path / "traces", sometimes, SHOWN)
        assert all(each.passed for each in result.evaluation_results)
        assert result.lowered is not None
        steps = [step for task in result.lowered.tasks for step in task.steps]
        assert sorted(each.action.action_type for each in steps) == ["click", "fill", "fill", "navigate"]
        async with visiting(browser, site, tmp_path / "stores") as session:
            await session.page.goto(f"{site.base}/")
            inputs = {
                spec.name: f"New {number}"
                for number, spec in enumerate(result.lowered.workflow.io_spec.inputs)
            }
            done = await ran(session, result, inputs)
            assert done.status in (RunStatus.SUCCESS, RunStatus.UNVERIFIED), done.error
            assert titles.titles[-1].startswith("New ")
            await session.page.goto(f"{site.base}/")
            again = await ran(session, result, inputs)  # now the title is taken
    assert again.status is RunStatus.FAILURE
    assert "HTTP 400: This title is taken." in (again.error or "")
    assert site.writes[-1].form == site.writes[-2].form  # and was sent once
