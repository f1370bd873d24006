"""What an element affords is asked before it is used: its options, and conditions of rows that values select (KS 4.1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agent.events import ActionDone
from agent.execution import step_runner
from agent.execution.task_runner import TaskRunner
from agent.session import Session
from kb_schema import parse_document
from kb_schema.documents import Document
from kb_schema.resilience_policy import ResiliencePolicy
from tests.support.small_sites import WEBSITE, Answered, Asked, RunningSite, running_site, visiting

PAGE = """<title>People</title><h1>People</h1>
<form method=post><label>Name <input id=name name=name></label>
<label>Language <select id=language name=language>{options}</select></label><button id=save>Save</button></form>
<table><tr><td>Ann</td><td><button type=button onclick="this.textContent = 'Opened'">Open</button></td></tr>
<tr><td>Bob (locked)</td><td><button type=button onclick="this.textContent = 'Opened'">Open</button></td></tr></table>"""
OPTIONS = "<option value=en>English<option value=hi>Hindi<option value=fr>French"


@pytest.fixture
def site() -> Iterator[RunningSite]:
    def answer(asked: Asked) -> Answered:
        return Answered(location="/") if asked.method == "POST" else Answered(PAGE.format(options=OPTIONS))

    with running_site(answer) as found:
        yield found


def _element(name: str, selector: dict[str, Any], **affordance: Any) -> dict[str, Any]:
    return {
        "element_id": name,
        "type": "any",
        "selector": {"strategies": [selector]},
        "affordances": [affordance],
    }


def _documents(**language: Any) -> list[Document]:
    options = [{"value": "en", "label": "English"}, {"value": "hi", "label": "Hindi"}]
    row = {
        "type": "parameterized_xpath",
        "template": "//tr[contains(., '{{row}}')]//button",
        "parameters": ["row"],
        "required_context": ["row"],
    }
    unlocked = {"type": "none_of", "hard_dependency": True, "conditions": [
        {"type": "dom_contains", "value": "{person} (locked)", "selector": "td"}]}  # fmt: skip
    screen = {
        "type": "screen", "screen_id": "people", "name": "People", "url": "/", "url_patterns": ["^/$"],
        "state_signature": {"required_indicators": [{"type": "dom_element", "selector": "table"}]},
        "ui_elements": [
            _element("name", {"type": "css", "value": "#name"}, action_type="type"),
            _element("language", {"type": "css", "value": "#language"}, action_type="select_option", options=options, **language),
            _element("save", {"type": "css", "value": "#save"}, action_type="click"),
            _element("open_row", row, action_type="click", preconditions=[
                {"type": "element_visible", "element_selector": "{open_row}", "hard_dependency": True}, unlocked]),
        ],
    }  # fmt: skip
    go = {"step_id": "go", "action": {"action_type": "navigate", "target_screen": "people"}}
    add = {
        "type": "task", "task_id": "add", "name": "Add",
        "io_spec": {"inputs": [{"name": "name"}, {"name": "language"}]},
        "steps": [
            go,
            {"step_id": "name", "action": {"action_type": "fill", "target": "name", "value": "{name}"}},
            {"step_id": "language", "action": {"action_type": "select_option", "target": "language", "value": "{language}"}},
            {"step_id": "save", "action": {"action_type": "click", "target": "save"}},
        ],
    }  # fmt: skip
    press = {
        "type": "task", "task_id": "press", "name": "Press", "io_spec": {"inputs": [{"name": "person"}]},
        "steps": [go, {"step_id": "press", "action": {
            "action_type": "click", "target": "open_row", "parameters": {"row": "{person}"}}}],
    }  # fmt: skip
    return [parse_document({"website_id": WEBSITE, **each}) for each in (screen, add, press)]


def _acted(session: Session) -> list[str]:
    done: list[str] = []
    session.bus.listen(lambda e: done.append(e.action_type) if isinstance(e, ActionDone) else None)
    return done


async def test_a_value_that_is_no_option_is_refused_before_anything_is_typed(browser, site, tmp_path):
    async with visiting(browser, site, tmp_path, *_documents()) as session:
        done = _acted(session)
        result = await TaskRunner(session).run_task("add", {"name": "Cid", "language": "fr"})
    assert result.status == "needs_person"
    assert "'language' does not accept 'fr' (options)" in (result.error or "")
    assert result.hint == "use one of: en (English), hi (Hindi); give it with --input language=VALUE"
    assert set(done) <= {"navigate"}, "the name was not typed"
    assert site.writes == []


@pytest.mark.parametrize(
    ("told", "more"), [("hindi", {}), ("fr", {"options_as_seen": True})], ids=["label", "seen"]
)
async def test_a_label_is_an_option_and_a_list_that_was_only_seen_is_left_to_the_page(
    browser, site, tmp_path, told, more
):
    async with visiting(browser, site, tmp_path, *_documents(**more)) as session:
        result = await TaskRunner(session).run_task("add", {"name": "Cid", "language": told})
    assert [each.form["language"] for each in site.writes] == [{"hindi": "hi"}.get(told, told)], result.error


@pytest.mark.parametrize(("person", "pressed"), [("Ann", True), ("Bob", False)])
async def test_the_conditions_of_a_row_that_a_value_selects_are_asked(
    browser, site, tmp_path, monkeypatch, person, pressed
):
    monkeypatch.setattr(step_runner, "PRECONDITION_S", 0.1)
    async with visiting(browser, site, tmp_path, *_documents()) as session:
        session.resilience = ResiliencePolicy(enable_replanning=False, enable_degradation=False)
        result = await TaskRunner(session).run_task("press", {"person": person})
        assert await session.page.get_by_text("Opened").count() == pressed, result.error
    assert ("precondition none_of" in (result.error or "")) is not pressed
