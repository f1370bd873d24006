"""A list without the option that is to be chosen fails once: no other way to the list has it."""

from __future__ import annotations

import pytest

from agent.execution.task_runner import TaskRunner
from kb_schema import parse_document
from kb_schema.run_records import RunStatus
from tests.support.small_sites import WEBSITE, Answered, running_site, visiting

PLAIN = "<label>Kind <select id=kind name=kind class=kinds><option>Sloop<option>Ketch</select></label>"
WIDGET = """<div><select id=kind name=kind class=kinds style="display:none"><option>Sloop<option>Ketch</select>
<div onclick="drop.hidden = false" style="width:200px"><a role=combobox tabindex=0>Sloop</a></div></div><ul id=drop hidden><li>Sloop<li>Ketch</ul>"""
STRATEGIES = [
    {"type": "css", "value": "#kind"},
    {"type": "css", "value": "select[name=kind]"},
    {"type": "css", "value": "select.kinds"},
    {"type": "xpath-class", "value": "//select[@name='kind']"},
]


def _documents() -> list[object]:
    raw = [
        {"type": "screen", "screen_id": "boats", "name": "Boats", "url": "/", "url_patterns": ["^/"],
         "ui_elements": [{"element_id": "kind", "type": "dropdown", "selector": {"strategies": STRATEGIES}}],
         "state_signature": {"required_indicators": [{"type": "dom_contains", "value": "Boats"}]}},
        {"type": "task", "task_id": "choose", "name": "Choose",
         "steps": [
             {"step_id": "open", "order": 1, "action": {"action_type": "navigate", "target_screen": "boats"}},
             {"step_id": "kind", "order": 2, "action": {"action_type": "select_option", "target": "kind", "value": "Catamaran"}, "critical": True},
         ]},
    ]  # fmt: skip
    return [parse_document({"website_id": WEBSITE, **each}) for each in raw]


@pytest.mark.parametrize("control", [PLAIN, WIDGET], ids=["plain", "widget"])
async def test_a_missing_option_is_tried_once_and_the_reason_names_those_there_are(
    browser, tmp_path, control
):
    def answer(_asked: object) -> Answered:
        return Answered(f"<title>Boats</title><h1>Boats</h1>{control}")

    with running_site(answer) as site:
        async with visiting(browser, site, tmp_path, *_documents()) as session:
            result = await TaskRunner(session).run_task("choose")
    assert result.status is RunStatus.FAILURE
    assert [each.step_id for each in result.steps] == ["open", "kind"]
    assert result.replans == 0
    assert '"Catamaran"' in (result.error or "")
    assert '"Sloop", "Ketch"' in (result.error or "")
    assert "also tried" not in (result.error or "")
