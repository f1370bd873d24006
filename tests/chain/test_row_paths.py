"""A path over a row of a list: the row comes from the run's values, or from the task's; without it nothing is pressed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from agent.events import TransitionTaken
from agent.execution.navigation_tasks import reach_screen
from agent.execution.task_runner import TaskRunner
from kb_schema import parse_document
from kb_schema.documents import Document
from tests.support.small_sites import WEBSITE, Answered, Asked, RunningSite, running_site, visiting

ROW = {"type": "context_equals", "name": "row_person", "reason": "The row must be given by its text"}
PEOPLE = {"1": "Ann", "2": "Bob", "3": "Cid"}


def _answer(asked: Asked) -> Answered:
    if asked.path == "/":
        rows = "".join(
            f"<tr><td>{name}</td><td><a href='/person/{key}'>Open</a></td></tr>"
            for key, name in PEOPLE.items()
        )
        return Answered(f"<title>People</title><h1>People</h1><table>{rows}</table>")
    name = PEOPLE.get(asked.path.removeprefix("/person/"))
    if name is None:
        return Answered("<title>Nothing</title><h1>Nothing here</h1>", status=404)
    return Answered(f"<title>Person</title><h1>Person</h1><p>{name}</p>")


@pytest.fixture
def site() -> Iterator[RunningSite]:
    with running_site(_answer) as found:
        yield found


def _documents(*conditions: dict[str, object]) -> list[Document]:
    raw = [
        {
            "type": "screen",
            "screen_id": "people",
            "name": "People",
            "url": "/",
            "url_patterns": ["^/$"],
            "state_signature": {"required_indicators": [{"type": "dom_element", "selector": "table"}]},
            "ui_elements": [
                {
                    "element_id": "open_row",
                    "type": "link",
                    "selector": {
                        "strategies": [
                            {
                                "type": "parameterized_xpath",
                                "template": "//tr[contains(., '{{row}}')]//a",
                                "parameters": ["row"],
                                "required_context": ["row"],
                            }
                        ]
                    },
                }
            ],
        },
        {
            "type": "screen",
            "screen_id": "person",
            "name": "Person",
            "url_patterns": [r"^/person/\d+$"],
            "state_signature": {"required_indicators": [{"type": "dom_element", "selector": "h1 + p"}]},
        },
        {
            "type": "transition",
            "transition_id": "to_person",
            "from_screen": "people",
            "to_screen": "person",
            "triggered_by": {
                "action_type": "click",
                "target": "open_row",
                "parameters": {"row": "{row_person}"},
            },
            "conditions": {
                "required": [
                    *(conditions or (ROW,)),
                ]
            },
        },
        {
            "type": "task",
            "task_id": "visit",
            "name": "Visit",
            "io_spec": {"inputs": [{"name": "row_person", "required": True, "source": "user_input"}]},
            "steps": [
                {
                    "step_id": "go",
                    "order": 1,
                    "type": "navigation",
                    "action": {"action_type": "navigate", "target_screen": "person"},
                }
            ],
        },
    ]
    return [parse_document({"website_id": WEBSITE, **each}) for each in raw]


async def test_a_row_said_in_advance_is_pressed_on_the_way(browser, site, tmp_path):
    async with visiting(browser, site, tmp_path, *_documents()) as session:
        session.context.said = {"row_person": "Bob"}
        result = await reach_screen(TaskRunner(session), "person")
        assert result.succeeded, result.error
        assert session.page.url.endswith("/person/2")


async def test_the_tasks_own_row_goes_before_the_runs(browser, site, tmp_path):
    async with visiting(browser, site, tmp_path, *_documents()) as session:
        session.context.global_values["row_person"] = "Ann"
        result = await TaskRunner(session).run_task("visit", {"row_person": "Cid"})
        assert result.complete, result.error
        assert session.page.url.endswith("/person/3")


async def test_without_a_row_the_value_is_named_and_nothing_is_pressed(browser, site, tmp_path):
    async with visiting(browser, site, tmp_path, *_documents()) as session:
        result = await reach_screen(TaskRunner(session), "person")
        assert not result.complete
        assert "'row_person' (The row must be given by its text)" in (result.error or "")
        assert result.hint == "give it with --input row_person=VALUE"
        assert session.page.url == f"{site.base}/"


async def test_a_transition_that_was_not_tried_is_not_reported(browser, site, tmp_path):
    told: list[TransitionTaken] = []
    async with visiting(
        browser, site, tmp_path, *_documents({"type": "dom_element", "selector": "#never"})
    ) as session:
        session.bus.listen(lambda event: told.append(event) if isinstance(event, TransitionTaken) else None)
        session.context.said = {"row_person": "Bob"}
        result = await reach_screen(TaskRunner(session), "person")
        assert "to_person requires dom_element" in (result.error or "")
        assert session.page.url == f"{site.base}/"
    assert told == [], "its reliability would sink for what it is not to blame for"


async def test_a_row_that_is_not_there_is_not_held_against_the_transition(browser, site, tmp_path):
    told: list[TransitionTaken] = []
    async with visiting(browser, site, tmp_path, *_documents()) as session:
        session.bus.listen(lambda event: told.append(event) if isinstance(event, TransitionTaken) else None)
        session.context.said = {"row_person": "Nobody"}
        session.healing = replace(session.healing, max_rounds=0, gate_s=0.4)
        result = await reach_screen(TaskRunner(session), "person")
        assert not result.complete
        assert session.page.url == f"{site.base}/"
    assert told == [], "the value was wrong, not the transition"


async def test_a_row_without_a_condition_is_named_all_the_same_and_nothing_is_pressed(
    browser, site, tmp_path
):
    """The path search itself names the value: no author has to write a condition for it (KS 9.4)."""
    documents = _documents({"type": "on_screen", "screen_id": "people"})
    async with visiting(browser, site, tmp_path, *documents) as session:
        answer = await session.knowledge.paths("people", "person")
        assert [each.needs for each in answer.paths[0].steps] == [("row_person",)]
        known = await session.knowledge.paths("people", "person", facts={"row_person": "Bob"})
        assert [each.needs for each in known.paths[0].steps] == [()]
        result = await reach_screen(TaskRunner(session), "person")
        assert result.hint == "give it with --input row_person=VALUE"
        assert "no path from people to person without a value for 'row_person'" in (result.error or "")
        assert session.page.url == f"{site.base}/"
