"""A login that asks for the name on one page and for the password on the next: mapped, its task signs in."""

from __future__ import annotations

import io
from pathlib import Path

from playwright.async_api import Browser
from rich.console import Console

from agent.execution.task_runner import TaskRunner
from kb_schema.explorations import MapLimits
from kb_schema.run_records import RunResult, RunStatus, StepStatus
from kb_schema.tasks import Task
from kb_store import load_knowledge, open_stores
from loaders import read_knowledge_folder
from periplus.exploration.map_folder import MapFolder
from periplus.exploration.map_run import MapRunPlan, map_website
from periplus.exploration.map_view import MapView
from periplus.exploration.sign_in_methods import sign_in_with_form
from periplus.session_setup import open_fresh_context, open_session
from tests.agent.exploration.small_site import Answer, Page, SmallSite, small_site
from tests.support.small_sites import Answered, running_site, visiting

ACCOUNT = {"username": "ann", "password": "maple"}
LOGIN = """<!doctype html><title>The quay</title><main></main><script>
const main = document.querySelector("main");
const say = (html) => { main.innerHTML = html; };
say("<h1>Welcome</h1><label>Username <input id=who></label><button id=on>Next</button>");
const ask = () => {
  const name = who.value;
  say("<h1>Welcome</h1><form method=post action=/in><label>Password <input type=password name=word></label><button>Sign in</button></form>");
};
on.onclick = ask;
</script>"""
"""One page with two states; no page that somebody sees without a name asks for a password."""


def _site(login: str) -> dict[str, Page]:
    def inside(body: str) -> Page:
        def answer(_path: str, cookies: str) -> str | Answer:
            if "session=1" in cookies:
                return f"<!doctype html><title>The quay</title><nav><a href=/>Boats</a><a href=/crew>Crew</a><a href=/out>Sign out</a></nav>{body}"
            return Answer(status=302, headers={"Location": "/enter"})

        return answer

    signed_in = Answer(status=303, headers={"Location": "/", "Set-Cookie": "session=1; Path=/"})
    return {
        "/": inside("<main><h1>Boats</h1><p>Skua lies here</p></main>"),
        "/crew": inside("<main><h1>Crew</h1><p>Bo is aboard</p></main>"),
        "/enter": login,
        "/in": signed_in,
    }


async def _signed_in_by_its_task(browser: Browser, site: SmallSite, folder: Path) -> RunResult:
    map_folder = MapFolder(folder / "map")
    plan = MapRunPlan(
        "quay", f"{site.url}/", map_folder, MapLimits(per_second=100.0, seconds=60.0), robots=False
    )
    view = MapView(Console(file=io.StringIO()), "a map")
    await map_website(browser, plan, lambda each: sign_in_with_form(each, f"{site.url}/", ACCOUNT), view)
    async with open_stores(folder / "data") as stores:
        knowledge, _ = read_knowledge_folder(map_folder.knowledge)
        await load_knowledge(stores.documents, stores.graph, knowledge)
        async with (
            open_fresh_context(browser) as context,
            open_session(stores, context, "quay", base_url=site.url) as session,
        ):
            result = await TaskRunner(session).run_task("sign_in", ACCOUNT)
            assert await session.page.locator("h1").inner_text() == "Boats", result.error
    return result


async def test_a_login_in_two_steps_has_a_task_that_signs_in(browser: Browser, tmp_path: Path) -> None:
    with small_site(_site(LOGIN)) as site:
        result = await _signed_in_by_its_task(browser, site, tmp_path)
    assert result.status is RunStatus.SUCCESS
    assert [each.status for each in result.steps] == [StepStatus.DONE] * len(result.steps)


NEXT = """<h1>Welcome</h1><label id=secret hidden>Password <input type=password></label>
<button id=next onmouseover="next.textContent = 'Sign in'; secret.hidden = false" onclick="fetch('/in', { method: 'POST' })">Next</button>"""
"""A page that goes on by itself while its button is reached."""
TASK = {
    "task_id": "go_on",
    "steps": [
        {"step_id": "open", "order": 1, "action": {"action_type": "navigate", "url": "/"}},
        {
            "step_id": "next",
            "order": 2,
            "type": "navigation",
            "action": {"action_type": "click", "target": "#next"},
            "skip_when": [{"type": "element_visible", "selector": "#secret"}],
        },
    ],
}


async def test_a_step_is_skipped_if_that_comes_about_while_it_is_tried(
    browser: Browser, tmp_path: Path
) -> None:
    with running_site(lambda _asked: Answered(NEXT)) as site:
        async with visiting(browser, site, tmp_path) as session:
            session.knowledge.know(Task.model_validate(TASK))
            result = await TaskRunner(session).run_task("go_on", {})
    assert [(each.step_id, each.status) for each in result.steps][-1] == ("next", StepStatus.SKIPPED)
    assert not site.writes
