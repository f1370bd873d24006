"""A loop over a list that is still being searched: its former rows are not those that are meant."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from agent.execution.task_runner import TaskRunner
from agent.execution.workflow_runner import run_workflow
from kb_schema import parse_document
from kb_schema.tasks import Task
from kb_schema.workflows import Workflow
from tests.support.small_sites import Answered, Asked, induced, ran, running_site, visiting

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

    from playwright.async_api import Page

    from agent.session import Session

NAMES = ("Beans", "Lentils", "Rye one", "Rye two", "Roses")
PAGE = """<body><h1>Books</h1><input type=search aria-label=Search><table><tbody></tbody></table><script>
let typed;
const draw = async (words) => {
  const names = await (await fetch(`/names?${new URLSearchParams({ words })}`)).json();
  document.querySelector("tbody").innerHTML =
    names.map((name) => `<tr><td>${name}</td><td><button>Keep</button></td></tr>`).join("");
};
document.querySelector("input").oninput = (event) => {
  clearTimeout(typed);
  typed = setTimeout(draw, WAITS, event.target.value);
};
onclick = (event) => {
  if (event.target.localName !== "button") return;
  fetch(`/keep?${new URLSearchParams({ name: event.target.closest("tr").cells[0].textContent })}`, { method: "POST" });
};
draw("");
</script></body>"""
TEMPLATE = "//tr[td[normalize-space()='{{item}}']]//button"
KEEP = {
    "strategies": [{"type": "parameterized_xpath", "template": TEMPLATE, "parameters": ["item"]}],
    "parameterized": True,
}
STEPS = {
    "search": {"action_type": "fill", "target": "input[type=search]", "value": "{words}"},
    "keep": {"action_type": "click", "target": KEEP},
}
INPUTS = {"search": "words", "keep": "item"}
LOOP = {
    "type": "collection_processing",
    "collection_selector": "tbody > tr > td:first-child",
    "item_action": {"task_id": "keep", "inputs": {"item": "{item}"}},
}
TOLD = {
    "type": "workflow", "workflow_id": "keeps", "name": "Keeps", "unverified": True,
    "io_spec": {"inputs": [{"name": "words", "source": "task_context"}]},
    "nodes": [
        {"type": "task", "node_id": "n1", "task_id": "search",
         "inputs": {"words": {"source": ["task_context"], "key": "words"}}},
        {"type": "task", "node_id": "n2", "task_id": "keep", "iterator_spec": LOOP},
    ],
}  # fmt: skip


def _know(session: Session) -> Workflow:
    for name, action in STEPS.items():
        io_spec = {"inputs": [{"name": INPUTS[name], "source": "task_context"}]}
        steps = [{"step_id": name, "order": 1, "action": action}]
        task = parse_document(
            {"type": "task", "task_id": name, "name": name, "io_spec": io_spec, "steps": steps}
        )
        assert isinstance(task, Task)
        session.knowledge.know(task)
    workflow = parse_document(TOLD)
    assert isinstance(workflow, Workflow)
    return workflow


@pytest.mark.parametrize(("waits_ms", "answers_in_s"), [(0, 1.0), (300, 0.0), (300, 2.5), (1200, 0.2)])
async def test_a_loop_begins_with_the_rows_that_were_searched_for(browser, tmp_path, waits_ms, answers_in_s):
    kept: list[str] = []

    def answer(asked: Asked) -> Answered:
        if asked.path == "/keep":
            kept.append(asked.query["name"])
        if asked.path != "/names":
            return Answered(PAGE.replace("WAITS", str(waits_ms)))
        if words := asked.query.get("words", ""):
            time.sleep(answers_in_s)
        return Answered(json.dumps([each for each in NAMES if words in each]))

    with running_site(answer) as site:
        async with visiting(browser, site, tmp_path) as session:
            workflow = _know(session)
            await session.page.goto(f"{site.base}/")
            await session.page.get_by_text("Beans").wait_for()
            done = await run_workflow(TaskRunner(session), workflow, {"words": "Rye"})
            await session.page.wait_for_load_state("networkidle")
    assert (done.complete, kept) == (True, ["Rye one", "Rye two"]), done.error


SERIES = {
    "Dawn": "Night Boats", "Dusk": "Night Boats", "Fog": "Harbour", "Keel": "Harbour", "Oar": "Sea Letters",
    "Sail": "Sea Letters", "Tide": "Field Notes", "Wind": "Field Notes",
}  # fmt: skip


async def marks(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    await page.get_by_label("Search").fill(given["series"])
    await page.get_by_role("button", name="Find").click()
    await page.wait_for_url("**words=**")
    for box in await page.locator("tbody").get_by_role("checkbox").all():
        await box.check()
    await page.get_by_role("button", name="Mark").click()
    await page.wait_for_url("**/done")


@pytest.mark.parametrize(("series", "expected"), [("Field Notes", ["Tide", "Wind"]), ("Field", [])])
async def test_rows_that_have_what_is_searched_for_in_part_are_others(browser, tmp_path, series, expected):
    marked: list[str] = []

    def answer(asked: Asked) -> Answered:
        if asked.method == "POST":
            marked[:] = sorted(asked.form)
            return Answered(location="/done")
        if asked.path == "/done":
            return Answered(f"<body><p role=status>{len(marked)} books have been marked.</p></body>")
        rows = "".join(
            f"<tr><td><input type=checkbox name={title}><td>{title}<td>{its}</tr>"
            for title, its in SERIES.items()
            if asked.query.get("words", "") in its
        )
        return Answered(
            "<body><h1>Books</h1><form><label>Search <input name=words></label><button>Find</button></form>"
            f"<form method=post><table><thead><tr><th><th>Title<th>Series</thead><tbody>{rows}</table>"
            "<button>Mark</button></form></body>"
        )

    with running_site(answer) as site:
        given = [{"series": each} for each in ("Night Boats", "Harbour", "Sea Letters")]
        result = await induced(browser, site, tmp_path / "traces", marks, given)
        marked.clear()
        async with visiting(browser, site, tmp_path / "run") as session:
            (name,) = [each.name for each in result.lowered.workflow.io_spec.inputs]
            done = await ran(session, result, {name: series})
    assert (done.complete, marked) == (bool(expected), expected), done.error


PROJECTS = ("Hotel reviews", "Harbour news", "Support", "Letters of 1890", "Rare birds")


async def deletes(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    await page.get_by_label("Search").fill(given["project"])
    await page.get_by_role("button", name="Find").click()
    await page.wait_for_url("**words=**")
    await page.locator("i.box").click()
    await page.get_by_role("button", name="Delete").click()
    await page.wait_for_url("**/done")


@pytest.mark.parametrize(("project", "expected"), [("Rare birds", ["Rare birds"]), ("Letters", [])])
async def test_the_only_row_of_a_search_is_told_by_its_whole_name(browser, tmp_path, project, expected):
    deleted: list[str] = []

    def answer(asked: Asked) -> Answered:
        if asked.method == "POST":
            deleted.append(asked.form["chosen"])
            return Answered(location="/done")
        if asked.path == "/done":
            return Answered("<body><p role=status>The project has been deleted.</p></body>")
        rows = "".join(
            f"<tr><td><i class=box style='display:block;width:9px;height:9px' onclick=\"chosen.value = '{each}'\"></i>"
            f"<td><a href=/one><span>{each}</span></a></tr>"
            for each in PROJECTS
            if asked.query.get("words", "") in each
        )
        return Answered(
            "<body><h1>Projects</h1><form><label>Search <input name=words></label><button>Find</button></form>"
            f"<form method=post><table>{rows}</table><input type=hidden name=chosen id=chosen><button>Delete</button></form></body>"
        )

    with running_site(answer) as site:
        given = [{"project": each} for each in ("Hotel reviews", "Harbour news", "Support")]
        result = await induced(browser, site, tmp_path / "traces", deletes, given)
        deleted.clear()
        async with visiting(browser, site, tmp_path / "run") as session:
            (name,) = [each.name for each in result.lowered.workflow.io_spec.inputs]
            done = await ran(session, result, {name: project})
    assert (done.complete, deleted) == (bool(expected), expected), done.error


TICKETS = {"1": "Swans block the gate", "2": "Gate squeaks", "3": "Path is wet", "4": "Clean the pond"}
HELP = {"Clean the pond": "Upgrading: clean the pond first", "Music": "About the music room"}


async def closes(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    await page.get_by_label("Search").fill(given["ticket"])
    await page.get_by_role("button", name="Find").click()
    await page.locator("a.found").click()
    await page.get_by_label("Note").fill(given["note"])
    await page.get_by_role("button", name="Close").click()
    await page.wait_for_url("**/ticket/*?closed=1")


@pytest.mark.parametrize(
    ("ticket", "note", "expected"),
    [("Clean the pond", "Done", ["4"]), ("Music", "Done", []), ("Clean the pond", "", ["4"])],
)
async def test_the_result_of_a_search_is_the_one_that_says_what_was_searched_for(
    browser, tmp_path, ticket, note, expected
):
    closed: dict[str, str] = {}

    def answer(asked: Asked) -> Answered:
        number = asked.path.removeprefix("/ticket/")
        if number != asked.path:
            if asked.method == "POST":
                closed[number] = asked.form["note"]
                return Answered(location=f"{asked.path}?closed=1")
            state = f"<p class=note>{closed[number]}</p>" if number in closed else "<form method=post>"
            return Answered(
                f"<body><h1>{TICKETS.get(number, 'Help')}</h1><p class=state>{'closed' if number in closed else 'new'}"
                f"</p>{state}<label>Note <input name=note></label><button>Close</button></form></body>"
            )
        words = asked.query.get("words", "")
        found = [
            f'<dt><a class=found href="/ticket/{each}"><span>#{each}</span>: task: <b>{name}</b> (new)</a></dt>'
            for each, name in TICKETS.items()
            if name == words
        ]
        helps = [f"<dt><a class=found href=/ticket/9>{HELP[words]}</a></dt>"] if words in HELP else []
        return Answered(
            "<body><h1>Tickets</h1><form><label>Search <input name=words></label><button>Find</button></form>"
            f"<dl>{''.join([*helps, *found])}</dl></body>"
        )

    with running_site(answer) as site:
        given = [{"ticket": TICKETS[str(each)], "note": f"It is done, {each} times"} for each in (1, 2, 3)]
        result = await induced(browser, site, tmp_path / "traces", closes, given)
        closed.clear()
        async with visiting(browser, site, tmp_path / "run") as session:
            asked_for = {"search": ticket, "note": note}
            inputs = {each.name: asked_for[each.name] for each in result.lowered.workflow.io_spec.inputs}
            done = await ran(session, result, inputs)
    assert ([*closed], done.complete, done.evidence) == (
        expected,
        bool(expected),
        "verified" if expected else "unverified",
    )
