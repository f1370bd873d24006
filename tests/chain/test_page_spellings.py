"""A value that the page writes in other capital letters, and one of which that cannot be said."""

from __future__ import annotations

from typing import Any

import pytest

from agent.execution.task_runner import TaskRunner
from kb_schema import parse_document
from kb_schema.tasks import Task
from tests.support.small_sites import Answered, Asked, running_site, visiting

PAGE = """<body><h1>How often</h1><p class=chosen></p><ul><li>ITEMS</ul><select name=often>OPTIONS</select>
<table><tr><td>Alpha<td><button class=delete>Delete</button></table>
<script>
const say = (words) => { document.querySelector(".chosen").textContent = "chosen: " + words };
for (const each of document.querySelectorAll("li, button")) each.onclick = () => say(each.textContent);
document.querySelector("select").onchange = (event) => say(event.target.value);
</script></body>"""


def _clicks(template: str) -> dict[str, Any]:
    strategy = {"type": "parameterized_xpath", "template": template, "parameters": ["often"]}
    return {"action_type": "click", "target": {"strategies": [strategy], "parameterized": True}}


CLICKS = _clicks("//li[normalize-space()='{{often}}']")
DELETES = _clicks("//tr[td[normalize-space()='{{often}}']]//button")
INPUTS = {"inputs": [{"name": "often", "source": "task_context"}]}
CHOOSES = {"action_type": "select_option", "target": "select[name=often]", "value": "{often}"}


@pytest.mark.parametrize(
    ("action", "written", "told", "chosen"),
    [
        (CLICKS, ["Monthly", "Fortnightly"], "fortnightly", "Fortnightly"),
        (CLICKS, ["Monthly", "FORTNIGHTLY", "Fortnightly"], "fortnightly", None),
        (CLICKS, ["FORTNIGHTLY", "Fortnightly"], "Fortnightly", "Fortnightly"),
        (CLICKS, ["Monthly"], "fortnightly", None),
        (CHOOSES, ["Monthly", "Fortnightly"], "fortnightly", "Fortnightly"),
        (CHOOSES, ["Monthly", "FORTNIGHTLY", "Fortnightly"], "fortnightly", None),
        (DELETES, ["Monthly"], "Alpha", "Delete"),
        (DELETES, ["Monthly"], "alpha", None),
    ],
)
async def test_a_value_in_other_capital_letters_is_the_one_of_the_page_if_one_alone_is(
    browser, tmp_path, action, written, told, chosen
):
    step = {"step_id": "s1", "order": 1, "action": action}
    task = parse_document(
        {"type": "task", "task_id": "choose", "name": "choose", "io_spec": INPUTS, "steps": [step]}
    )
    assert isinstance(task, Task)

    def answer(_: Asked) -> Answered:
        options = "".join(f"<option>{each}</option>" for each in ["", *written])
        return Answered(PAGE.replace("ITEMS", "<li>".join(written)).replace("OPTIONS", options))

    with running_site(answer) as site:
        async with visiting(browser, site, tmp_path) as session:
            session.knowledge.know(task)
            await session.page.goto(f"{site.base}/")
            done = await TaskRunner(session).run_task("choose", {"often": told})
            said = await session.page.locator(".chosen").text_content()
    assert (done.complete, said) == ((True, f"chosen: {chosen}") if chosen else (False, "")), done.error
