"""What was shown survives a release: the elements of a published workflow are known by more than their selectors."""

from __future__ import annotations

import random
from collections.abc import Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent.events import HealTried
from agent.execution.task_runner import TaskRunner
from agent.execution.workflow_runner import run_workflow
from kb_schema import SourcedDocument, assemble
from kb_schema.proposals import CONFIRMED_BY
from kb_schema.run_records import RunResult
from kb_schema.websites import Website
from kb_store import load_knowledge, open_stores, read_knowledge
from kb_store.proposals.review_decisions import accept
from periplus.session_setup import open_fresh_context, open_session
from periplus.synthesis.published_versions import roll_back
from periplus.synthesis.workflow_synthesis import SynthesisSite, publish_workflow
from tests.support.small_sites import WEBSITE, Answered, Asked, RunningSite, induced, running_site

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

SHOWN = ({"name": "Argo", "kind": "Yawl"}, {"name": "Bounty", "kind": "Ketch"})
NEW = {"name": "O'Brien & Co", "kind": "Sloop"}
KINDS = "".join(f"<option>{each}</option>" for each in ("", "Yawl", "Ketch", "Sloop"))
OLD_FORM = (
    "<h1>New boat</h1><form method=post action=/boats id=boat-form class=form>"
    "<div class=row><label for=boat-name>Name</label><input id=boat-name name=name></div>"
    f"<div class=row><label for=boat-kind>Kind</label><select id=boat-kind name=kind>{KINDS}</select></div>"
    "<div class=buttons><input id=go type=submit class=primary value=Save>"
    "<button id=stop type=button class=plain>Cancel</button></div></form>"
)
NEW_FORM = (
    "<h2>Register</h2><section class=card><p>All fields are required</p>"
    "<form method=post action=/boats id=f1 class=stack>"
    f"<p><label>Kind <i>*</i> <select class=wide name=a>{KINDS}</select></label></p>"
    "<p><label>Name <i>*</i> <input class=wide name=b></label></p>"
    "<footer><button type=button class=plain>Cancel</button>"
    "<button class=accent><span>Save</span></button></footer></form></section>"
)


@dataclass
class Boats:
    """A list of boats and a form for a new one; `form` and `first` are what a release changes."""

    form: str = OLD_FORM
    first: str = (
        "<h1>Boats</h1><nav id=menu><a id=add class=btn href=/new>New boat</a><a href=/>List</a></nav>"
    )
    boats: list[tuple[str, str]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    """What was asked for besides."""

    def answer(self, asked: Asked) -> Answered:
        if asked.method == "POST" and asked.path == "/boats":
            told = dict(asked.form)
            self.boats.append((told.get("name") or told.get("b", ""), told.get("kind") or told.get("a", "")))
            return Answered(location=f"/?saved={len(self.boats)}")
        if asked.method == "POST":
            self.wrong.append(asked.path)
            return Answered(location="/")
        if asked.path == "/new":
            return Answered(f"<body>{self.form}</body>")
        rows = "".join(f"<li>{name}</li>" for name, _ in self.boats)
        said = "<p role=status>Boat saved</p>" if "saved" in asked.query else ""
        return Answered(f"<body>{self.first}{said}<ul>{rows}</ul></body>")


async def creates_a_boat(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    await page.get_by_text("New boat").click()
    await page.wait_for_url("**/new")
    await page.get_by_label("Name").fill(given["name"])
    await page.get_by_label("Kind").focus()
    await page.keyboard.type(given["kind"])
    await page.get_by_role("button", name="Save").click()
    await page.wait_for_url("**/?saved=*")


@asynccontextmanager
async def stores_of(folder: Path, knowledge):
    async with open_stores(folder) as stores:
        await load_knowledge(stores.documents, stores.graph, knowledge)
        yield stores


async def published(browser: Browser, site: RunningSite, folder: Path, person=creates_a_boat, given=SHOWN):
    """The knowledge base that contains the workflow of these recordings."""
    result = await induced(browser, site, folder / "traces", person, given)
    assert result.lowered is not None
    website = Website(type="website", website_id=WEBSITE, name="Small", base_url=site.base)
    async with stores_of(folder / "kb", assemble([SourcedDocument(website)])[0]) as stores:
        place = SynthesisSite(stores, WEBSITE, site.base, allow_unverified=True)
        await publish_workflow(place, result.lowered, replace=False)
        knowledge, _ = await read_knowledge(stores.documents, stores.graph, WEBSITE)
    return knowledge


async def ran_next_day(
    browser: Browser, knowledge, base: str, folder: Path, inputs: Mapping[str, str] = NEW
) -> RunResult:
    """The result in a store that has the knowledge base and nothing else: no cache, no runs."""
    (workflow,) = knowledge.workflows.values()
    async with (
        stores_of(folder / "next day", knowledge) as stores,
        open_fresh_context(browser) as context,
        open_session(stores, context, WEBSITE, base_url=base) as session,
    ):
        read = await session.knowledge.workflow(workflow.workflow_id)
        await session.page.goto(f"{base}/")
        return await run_workflow(TaskRunner(session), read, dict(inputs))


NEW_FIRST = "<p>Fleet</p><h1>Boats</h1><header class=top><a href=/>List</a><a class=link-7 href=/new>New boat</a></header>"


@pytest.mark.parametrize("elsewhere", [False, True], ids=["next day", "at another address"])
async def test_what_was_shown_runs_after_a_change_of_release(browser, tmp_path, elsewhere):
    boats, other = Boats(), Boats()
    with running_site(boats.answer) as site, running_site(other.answer) as staging:
        knowledge = await published(browser, site, tmp_path)
        boats.boats.clear()
        for each in (boats, other):
            each.form, each.first = NEW_FORM, NEW_FIRST
        base = staging.base if elsewhere else site.base
        result = await ran_next_day(browser, knowledge, base, tmp_path)
    assert result.complete, result.error
    here, there = (other, boats) if elsewhere else (boats, other)
    assert (here.boats, there.boats) == ([(NEW["name"], NEW["kind"])], [])


NOTICE = "<form method=post action=/seen id=notice><p>Storm warning</p><button id=ok class=note>Understood</button></form>"
NEW_NOTICE = "<form method=post action=/seen class=box><p>Storm warning</p><input type=submit class=b9 value=Understood></form>"


@dataclass
class NoticedBoats(Boats):
    """A list that may begin with a notice."""

    notice: str = ""
    seen: int = 0

    def answer(self, asked: Asked) -> Answered:
        if asked.path == "/seen":
            self.seen, self.notice = self.seen + 1, ""
            return Answered(location="/")
        answered = super().answer(asked)
        if asked.path == "/" and self.notice:
            return Answered(answered.html.replace("<body>", f"<body>{self.notice}"))
        return answered


@pytest.mark.parametrize("notice", [NOTICE, NEW_NOTICE, "", NOTICE.replace("Understood", "Delete the boats")])
async def test_an_optional_step_is_done_also_where_its_selector_is_another_one_now(browser, tmp_path, notice):
    boats = NoticedBoats()

    async def person(page: Page, given: Mapping[str, str], dice: random.Random) -> None:
        boats.notice = NOTICE if given["name"] == "Argo" else ""
        await page.reload()
        if boats.notice:
            await page.get_by_role("button", name="Understood").click()
            await page.wait_for_load_state()
        await creates_a_boat(page, given, dice)

    with running_site(boats.answer) as site:
        knowledge = await published(browser, site, tmp_path, person)
        boats.boats.clear()
        boats.seen, boats.notice = 0, notice
        result = await ran_next_day(browser, knowledge, site.base, tmp_path)
    assert result.complete, result.error
    assert boats.boats == [(NEW["name"], NEW["kind"])]
    assert boats.seen == ("Understood" in notice)


async def test_selectors_by_which_steps_were_healed_are_proposed_and_an_accepted_one_is_part_of_the_workflow(
    browser, tmp_path
):
    boats = Boats()
    with running_site(boats.answer) as site:
        knowledge = await published(browser, site, tmp_path)
        (workflow,) = knowledge.workflows.values()
        boats.form, boats.first = NEW_FORM, NEW_FIRST
        async with stores_of(tmp_path / "kb", knowledge) as stores:

            async def run() -> tuple[RunResult, list[str]]:
                async with (
                    open_fresh_context(browser) as context,
                    open_session(stores, context, WEBSITE, base_url=site.base) as session,
                ):
                    heals: list[str] = []
                    session.bus.listen(
                        lambda e: heals.append(e.element) if isinstance(e, HealTried) else None
                    )
                    read = await session.knowledge.workflow(workflow.workflow_id)
                    await session.page.goto(f"{site.base}/")
                    return await run_workflow(TaskRunner(session), read, dict(NEW)), heals

            first, healed = await run()
            assert first.complete, first.error
            assert healed
            for _ in range(CONFIRMED_BY - 1):
                assert (await run())[0].complete
            proposals = [p for p in await stores.proposals.proposals(WEBSITE) if p.status == "proposed"]
            assert {each.change.type for each in proposals} == {"step_target"}
            assert all(each.confirmed for each in proposals), [each.change.about for each in proposals]
            for each in proposals:
                await accept(stores, each)
            result, healed = await run()
            assert result.complete, result.error
            assert healed == []
            assert result.workflow_version != first.workflow_version

            await roll_back(SynthesisSite(stores, WEBSITE, site.base), workflow.workflow_id)
            assert (await run())[0].workflow_version == first.workflow_version
            decided = {each.status for each in await stores.proposals.proposals(WEBSITE)}
            assert decided >= {"replaced"}


# -- the words of the element that a selector leads to

SAVE = "<input id=go type=submit class=primary value=Save>"
NAME = "<label for=boat-name>Name</label><input id=boat-name name=name>"
WRONG = "<button id=go class=primary formaction=/wrong>"


@pytest.fixture(scope="module")
async def shown(browser, tmp_path_factory):
    """The knowledge base that contains the workflow, recorded once."""
    with running_site(Boats().answer) as site:
        yield await published(browser, site, tmp_path_factory.mktemp("shown"))


async def _ran_on(browser, shown, folder: Path, old: str, new: str) -> tuple[Boats, RunResult]:
    assert old in OLD_FORM
    boats = Boats(form=OLD_FORM.replace(old, new))
    with running_site(boats.answer) as site:
        return boats, await ran_next_day(browser, shown, site.base, folder)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (SAVE, f"{WRONG}Save as draft</button> <button>Save</button>"),
        (SAVE, f"{WRONG}Report</button> <button>Save</button>"),
        (SAVE, f"{WRONG}Submit New Entry</button> <button id=go>Save</button>"),
        (NAME, ("<label for=boat-name>Owner</label><input id=boat-name name=owner> "
         "<label for=boat-2>Name</label><input id=boat-2 name=name>")),
        (SAVE, "<button id=go class=primary>Save changes</button>"),
        (SAVE, "<button id=go class=primary><svg width=20 height=20></svg></button>"),
    ],
    ids=["words added", "other words", "two buttons of one id", "a field", "reworded", "an icon"],
)  # fmt: skip
async def test_the_element_with_the_recorded_words_is_used(browser, shown, tmp_path, old, new):
    boats, result = await _ran_on(browser, shown, tmp_path, old, new)
    assert boats.wrong == []
    assert boats.boats == [(NEW["name"], NEW["kind"])], result.error


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("words", ["Delete account", "Konto löschen", "Archive", "Submit and pay now"])
async def test_a_button_whose_words_contradict_the_recorded_ones_is_never_pressed(
    browser, shown, tmp_path, words
):
    boats, result = await _ran_on(browser, shown, tmp_path, SAVE, f"{WRONG}{words}</button>")
    assert (boats.wrong, boats.boats) == ([], [])
    assert not result.complete
    assert "'Save'" in str(result.error), result.error
    assert words in str(result.error), result.error
