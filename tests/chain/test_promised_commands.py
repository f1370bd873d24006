"""What the source documents promise, through commands alone, with a browser and a site.

Nothing of Periplus is imported, so that the file can be run on an older version: copied there with `site_server.py`, each test fails
on the version before its promise was kept.
"""

from __future__ import annotations

import json
import random
from html import escape
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import warm
from tests.support.people import recorded
from tests.support.site_server import Answered, Asked, RunningSite, running_site

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping
    from pathlib import Path

    from playwright.async_api import Page

pytestmark = [pytest.mark.sampled(0.3), pytest.mark.timeout(400)]

PEOPLE = ("Ann", "Bob", "Cid", "Dora", "Emil")
LATE_MS = 9_000
"""Later than a screen is waited for when nothing is said."""
LATE = f"setTimeout(() => document.body.insertAdjacentHTML('beforeend', '<p id=here>Here</p>'), {LATE_MS})"


class Club:
    """Members with a page for each, a form for orders, and a page that is ready late."""

    def __init__(self) -> None:
        self.gone: list[str] = []
        self.orders: list[tuple[str, str]] = []
        self.late = 0
        """How often the late page was loaded."""
        self.swapped = False
        """Whether the link of a member leads to the member before."""

    def answer(self, asked: Asked) -> Answered:
        if asked.method == "POST":
            return self._write(asked)
        if asked.path.startswith("/member/"):
            name = asked.path.rpartition("/")[2]
            return Answered(f"<title>Member</title><h1>{escape(name)}</h1><p>Joined in 2019</p>")
        if asked.path == "/order":
            return Answered(self._order_form(asked))
        if asked.path == "/late":
            self.late += 1
            return Answered(f"<title>Late</title><body><h1>Late</h1><script>{LATE}</script></body>")
        return Answered(self._list_members(asked))

    def _write(self, asked: Asked) -> Answered:
        if asked.path == "/remove":
            self.gone.append(asked.form["name"])
            return Answered(location=f"/?gone={asked.form['name']}")
        self.orders.append((asked.form["part"], asked.form["size"]))
        return Answered(location="/order?done=1")

    def _list_members(self, asked: Asked) -> str:
        rows = "".join(
            f"<tr><td>{name}</td><td><a href=/member/{PEOPLE[at - self.swapped]}>Open</a></td>"
            f"<td><form method=post action=/remove><input type=hidden name=name value={name}>"
            "<button>Remove</button></form></td></tr>"
            for at, name in enumerate(PEOPLE)
            if name not in self.gone
        )
        said = f"<p role=status>{escape(asked.query['gone'])} was removed</p>" if asked.query else ""
        head = "<thead><tr><th>Name</th><th>Page</th><th>Action</th></tr></thead>"
        links = "<a id=order href=/order>Order</a> <a id=late href=/late>Late</a>"
        return f"<title>Members</title><h1>Members</h1>{links}{said}<table>{head}{rows}</table>"

    def _order_form(self, asked: Asked) -> str:
        said = (
            f"<p role=status>{escape(self.orders[-1][0])} was ordered</p>"
            if asked.query and self.orders
            else ""
        )
        return (
            f"<title>Order</title><h1>Order</h1>{said}<form method=post><label>Part <input id=part name=part></label>"
            "<label>Size <select id=size name=size><option>small<option>large</select></label><button id=send>Send</button></form>"
        )


def screen(name: str, path: str, selector: str, **more: Any) -> dict[str, Any]:
    signature = {"required_indicators": [{"type": "dom_element", "selector": selector}]}
    told = {"type": "screen", "screen_id": name, "name": name, "url_patterns": [f"^{path}$"]}
    return {**told, "state_signature": signature, **more}


def click(target: Any) -> dict[str, Any]:
    return {"action_type": "click", "target": target}


def task(name: str, *actions: dict[str, Any], inputs: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    steps = [{"step_id": f"s{at}", "order": at + 1, "action": each} for at, each in enumerate(actions)]
    spec = {
        "inputs": [
            {"name": each, "type": "string", "description": each, "source": "user_input"} for each in inputs
        ]
    }
    return {"type": "task", "task_id": name, "name": name, "io_spec": spec, "steps": steps, **more}


ROW = {
    "parameterized": True,
    "strategies": [
        {
            "type": "parameterized_xpath",
            "template": "//tr[td[text()='{{name}}']]//button",
            "parameters": ["name"],
        }
    ],
}
REMOVE = task(
    "remove_member", {"action_type": "navigate", "url": "/"}, click(ROW), inputs=("name",),
    success_criteria=[{"type": "dom_contains", "value": "{name} was removed", "selector": "p"}],
)  # fmt: skip
ORDER = task(
    "order", {"action_type": "navigate", "url": "/order"}, {"action_type": "fill", "target": "#part", "value": "{part}"},
    {"action_type": "select_option", "target": "#size", "value": "{size}"}, click("#send"), inputs=("part", "size"),
    success_criteria=[{"type": "dom_contains", "value": "{part} was ordered", "selector": "p"}],
)  # fmt: skip


class Desk:
    """A folder with a knowledge base of the club, in which commands are run."""

    def __init__(self, folder: Path, site: RunningSite, *documents: dict[str, Any]) -> None:
        self.folder = folder
        website = {"type": "website", "name": "Small", "base_url": site.base}
        (folder / "kb").mkdir()
        for number, each in enumerate((website, *documents)):
            (folder / "kb" / f"{number:02}.json").write_text(json.dumps({"website_id": "small", **each}))
        loaded = self.periplus("kb", "load", str(folder / "kb"))
        assert loaded.returncode == 0, loaded.stderr

    def periplus(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return warm.run("periplus", *arguments, cwd=self.folder, env={"COLUMNS": "240"}, timeout=170)

    def run(self, *arguments: str) -> tuple[int, dict[str, Any]]:
        """Return the exit code and result of `periplus run`."""
        done = self.periplus("run", *arguments, "--json")
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)


def test_runs_on_three_rows_are_made_into_a_workflow_that_acts_on_the_row_that_is_meant(tmp_path):
    """MA 4, 5, properties 10 and 14: `collect`, then `synthesize`."""
    club = Club()
    with running_site(club.answer) as site:
        desk = Desk(tmp_path, site, REMOVE)
        (tmp_path / "rows.csv").write_text("name\nBob\nDora\nAnn\n")
        collected = desk.periplus(
            "collect", "remove_member", "--inputs", "rows.csv", "--workers", "1", "--out", "c"
        )
        assert collected.returncode == 0, collected.stdout + collected.stderr
        assert club.gone == ["Bob", "Dora", "Ann"]
        club.gone.clear()
        made = desk.periplus("synthesize", "c/runs", "--name", "Removes", "--publish")
        assert made.returncode == 0, made.stdout + made.stderr
        desk.run("Removes", "-i", "name=Emil")
        assert club.gone == ["Emil"]


async def opens(page: Page, given: Mapping[str, str], _dice: object) -> None:
    row = page.locator("tr").filter(has=page.get_by_role("cell", name=given["name"], exact=True))
    await row.get_by_role("link").click()
    await page.wait_for_url("**/member/*")


async def test_a_workflow_that_does_something_else_than_its_traces_is_not_published(browser, tmp_path):
    """MA 8, property 20: validation compares."""
    club = Club()
    with running_site(club.answer) as site:
        for name in PEOPLE[:3]:
            await recorded(
                browser, site.base, tmp_path / "traces" / name, opens, {"name": name}, random.Random(1),
                asked=True, start="/",
            )  # fmt: skip
        desk = Desk(tmp_path, site)
        club.swapped = True
        made = desk.periplus("synthesize", "traces", "--name", "Opens", "--validate", "3", "--publish")
        assert "0 of 3 runs did what their trace shows" in made.stdout, made.stdout + made.stderr
        assert made.returncode == 1


def test_four_of_five_nodes_of_a_workflow_are_a_partial_result(tmp_path):
    """WR 5, 5.3."""
    club = Club()
    broken = task("broken", click("#no-such-thing"))
    nodes: list[dict[str, Any]] = [
        {
            "type": "task", "node_id": name, "task_id": "remove_member",
            "inputs": {"name": {"source": "hardcoded", "value": name}},
        }
        for name in PEOPLE[:4]
    ]  # fmt: skip
    nodes.append({"type": "task", "node_id": "broken", "task_id": "broken"})
    workflow = {"type": "workflow", "workflow_id": "round", "name": "Round", "nodes": nodes}
    with running_site(club.answer) as site:
        code, result = Desk(tmp_path, site, REMOVE, broken, workflow).run("round")
        assert club.gone == list(PEOPLE[:4])
    assert (result["status"], result["completion_percentage"], code) == ("partial", 80.0, 4)
    assert {each["task_id"] for each in result["tried"] if each["outcome"] == "failed"} == {"broken"}


def test_a_screen_that_is_ready_late_is_waited_for_as_long_as_the_step_allows(tmp_path):
    """KS 4.3 `validation.timeout`."""
    club = Club()
    edge = {
        "type": "transition", "transition_id": "to_late", "from_screen": "home", "to_screen": "late",
        "triggered_by": click("#late"),
    }  # fmt: skip
    visit = task(
        "visit", {"action_type": "navigate", "target_screen": "late"},
        success_criteria=[{"type": "dom_element", "selector": "#here"}],
    )  # fmt: skip
    visit["steps"][0]["validation"] = {"type": "on_screen", "screen_id": "late", "timeout": 20}
    documents = (screen("home", "/", "table", url="/"), screen("late", "/late", "#here"), edge, visit)
    with running_site(club.answer) as site:
        code, result = Desk(tmp_path, site, *documents).run("visit")
    assert (code, result["status"], club.late) == (0, "success", 1), result


def test_a_transition_with_a_parameter_is_taken_with_the_value_of_the_task(tmp_path):
    """KS 4.4, 9.4."""
    club = Club()
    link = {
        "parameterized": True,
        "strategies": [
            {
                "type": "parameterized_xpath",
                "template": "//tr[td[text()='{{name}}']]//a",
                "parameters": ["name"],
            }
        ],
    }
    edge = {
        "type": "transition", "transition_id": "open", "from_screen": "home", "to_screen": "member",
        "triggered_by": click(link),
    }  # fmt: skip
    look = task(
        "look", {"action_type": "navigate", "target_screen": "member"}, inputs=("name",),
        success_criteria=[{"type": "dom_contains", "value": "{name}", "selector": "h1"}],
    )  # fmt: skip
    documents = (screen("home", "/", "table", url="/"), screen("member", "/member/.*", "p"), edge, look)
    with running_site(club.answer) as site:
        code, result = Desk(tmp_path, site, *documents).run("look", "-i", "name=Cid")
    assert (code, result["status"]) == (0, "success"), result


def test_the_task_that_another_depends_on_runs_first(tmp_path):
    """KS 3, 9.1, 10.1 option A."""
    club = Club()
    needs = {"type": "depends_on", "_from": "task/remove_member", "_to": "task/order"}
    with running_site(club.answer) as site:
        desk = Desk(tmp_path, site, REMOVE, ORDER, needs)
        desk.run("remove_member", "-i", "name=Bob", "-i", "part=Bolt", "-i", "size=small")
        assert [each.path for each in site.writes] == ["/order", "/remove"]


def test_collect_makes_its_own_inputs_and_more_traces_refine_the_workflow(tmp_path):
    """MA 1, 10, 11."""
    club = Club()
    with running_site(club.answer) as site:
        desk = Desk(tmp_path, site, ORDER)
        made = ("collect", "order", "--make", "size=small|large", "--workers", "1")
        first = desk.periplus(
            *made, "--runs", "3", "--seed", "one", "--out", "c", "--synthesize", "Orders", "--publish"
        )
        assert first.returncode == 0, first.stdout + first.stderr
        assert len(set(club.orders)) == 3
        assert {size for _, size in club.orders} == {"small", "large"}
        assert desk.periplus(*made, "--runs", "1", "--seed", "two", "--out", "d").returncode == 0
        refined = desk.periplus("refine", "Orders", "d/runs", "--publish")
        assert refined.returncode == 0, refined.stdout + refined.stderr
        desk.run("Orders", "-i", "part=Hinge", "-i", "size=large")
        assert club.orders[4:] == [("Hinge", "large")]


def test_a_flow_of_a_website_takes_inputs(tmp_path):
    """KS 4.5, 8.3: a flow is played from the store with the values of a person."""
    club = Club()
    flow = {
        "type": "presentation_flow", "flow_id": "tour", "name": "Tour", "duration": {"estimated": 20, "max": 60},
        "segments": [
            {"segment_id": "order", "type": "task_execution", "task_id": "order", "required": True,
             "narration_template": "We order {part}."}
        ],
    }  # fmt: skip
    with running_site(club.answer) as site:
        desk = Desk(tmp_path, site, screen("order", "/order", "#part", url="/order"), ORDER, flow)
        played = desk.periplus(
            "demo", "--website", "small", "--flow", "tour", "-i", "part=Bolt", "-i", "size=large", "--headless",
            "--speed", "0", "--out", "film",
        )  # fmt: skip
        assert club.orders == [("Bolt", "large")], played.stdout + played.stderr
        assert played.returncode == 0
