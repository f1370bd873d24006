"""Prefect, which runs and watches workflows: React with Radix components and CodeMirror, in front of FastAPI.

Licence: Apache 2.0. Version 3.9.1, in the user interface that it opens by itself (`/v2`). Lists are searched while one
types, menus and dialogs are drawn at the end of the page, and a new pool is made in three steps.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from playwright.async_api import Locator, Page

from tests.support.people import Noise
from tests.zoo.registry.serving import (
    LONG,
    ServedApplication,
    copy_database,
    free_port,
    installed,
    instances,
    read_rows,
    request_json,
    run,
    serve,
    work_folder,
)
from tests.zoo.zoo_jobs import Application, Given, Job, RunningApplication, add_invalid

VERSIONS = ("3.9.1",)

_DATABASE = "flows:memory:.sqlite"
"""A file as any other, but Prefect uses one connection at a time for what is called so.

With several, it refuses all but one of the removals that its page sends at once ("Service Unavailable").
"""

_POOLS = (
    ("night-shift", "process", "Runs what can wait until midnight", None),
    ("day-shift", "process", "Runs what people wait for", 4),
    ("harbour-office", "docker", "The machine in the harbour", 2),
    ("Žofie's laptop", "process", "Only for trying things out", 1),
)
"""Name, type, description and how many runs at once."""
_DEPLOYMENTS: tuple[tuple[str, str, str, list[str]], ...] = (
    ("nightly", "count ships", "night-shift", ["harbour"]),
    ("nightly report", "print letters", "night-shift", ["paper"]),
    ("hourly tides", "read tides", "day-shift", ["harbour", "water"]),
    ("weekly invoices", "send invoices", "day-shift", ["money"]),
    ("fog warning", "watch weather", "harbour-office", ["weather"]),
    ("storm warning", "watch weather", "harbour-office", ["weather"]),
    ("fish prices", "collect prices", "day-shift", ["money"]),
    ("crew lists", "sort crews", "night-shift", []),
    ("old logbooks", "scan logbooks", "night-shift", ["paper"]),
    ("Ruth's archive", "scan logbooks", "harbour-office", ["paper"]),
    ('the "slow" copy', "copy files", "night-shift", []),
    ("Žofie: 東京 přehled", "přehled lodí", "Žofie's laptop", []),
    ("rope orders", "send orders", "day-shift", ["money"]),
    ("lamp checks", "check lamps", "harbour-office", []),
    ("ferry times", "read timetables", "day-shift", ["harbour"]),
)
"""Name, flow, pool and tags."""
_RUNS = (
    ("count ships", "COMPLETED", "amber-heron"), ("count ships", "FAILED", "brisk-otter"),
    ("count ships", "SCHEDULED", "calm-puffin"), ("print letters", "COMPLETED", "dusky-crane"),
    ("print letters", "CRASHED", "eager-marten"), ("read tides", "COMPLETED", "fuzzy-seal"),
    ("read tides", "COMPLETED", "gentle-eel"), ("read tides", "FAILED", "humble-carp"),
    ("read tides", "CANCELLED", "ivory-swan"), ("send invoices", "FAILED", "jolly-stork"),
    ("watch weather", "COMPLETED", "keen-plover"), ("watch weather", "COMPLETED", "lively-tern"),
    ("watch weather", "SCHEDULED", "mellow-gull"), ("collect prices", "COMPLETED", "noble-perch"),
    ("collect prices", "FAILED", "olive-newt"), ("sort crews", "COMPLETED", "proud-wren"),
    ("scan logbooks", "CRASHED", "quiet-toad"), ("scan logbooks", "COMPLETED", "rapid-hare"),
    ("copy files", "COMPLETED", "silver-moth"), ("přehled lodí", "COMPLETED", "tiny-čáp"),
    ("přehled lodí", "FAILED", "umber-鶴"), ("send orders", "COMPLETED", "vivid-finch"),
    ("check lamps", "FAILED", "wild-stoat"), ("check lamps", "COMPLETED", "young-raven"),
    ("read the cook's mail", "COMPLETED", "zesty-pike"), ("read the cook's mail", "FAILED", "agile-crab"),
    ('weigh the "big" catch', "COMPLETED", "bold-shrimp"), ('weigh the "big" catch', "FAILED", "cosy-squid"),
    ("weigh", "COMPLETED", "deft-mussel"),
)  # fmt: skip
"""Flow, state and name."""
_IDLE_FLOWS = ("read timetables", "paint buoys")
"""Flows without runs."""
_VARIABLES: tuple[tuple[str, Any, list[str]], ...] = (
    ("harbour_fee", 12.5, ["money"]),
    ("harbour_fee_winter", 9, ["money"]),
    ("letters_folder", "/data/letters", ["paper"]),
    ("tide_station", "north quay", ["water"]),
    ("fog_limit", 400, ["weather"]),
    ("storm_limit", 9, ["weather"]),
    ("cook_name", "Ruth O'Hara", []),
    ("motto", "boats und Größe 東京", []),
    ("open_days", ["Monday", "Thursday"], []),
    ("printer", {"room": 4, "colour": False}, ["paper"]),
    ("retries", 3, []),
    ("mail_to", "office@harbour.example", []),
    ("currency", "EUR", ["money"]),
    ("pilot_boat", "Albatros", ["harbour"]),
)
"""Name, value and tags."""
_LIMITS = (
    ("database", 5, 0), ("database-replica", 2, 0), ("mail server", 10, 0.5), ("printer", 1, 0),
    ("tide service", 3, 0.2), ("weather service", 4, 1), ("invoice desk", 2, 0), ("Ruth's scanner", 1, 0),
    ('the "slow" disk', 2, 0.1), ("Žofie 東京", 6, 0), ("harbour cameras", 8, 0), ("radio", 1, 0),
    ("crane", 1, 0.5),
)  # fmt: skip
"""Name, limit, and how many slots are free again each second."""
_PARAMETERS = {
    "title": "Parameters",
    "type": "object",
    "properties": {
        "place": {"title": "Place", "type": "string", "position": 0},
        "mode": {"title": "Mode", "type": "string", "enum": ["quick", "thorough", "dry run"], "position": 1},
        "copies": {"title": "Copies", "type": "integer", "position": 2, "minimum": 1, "default": 1},
    },
    "required": ["place", "mode"],
}
"""What is asked for a run, in all deployments."""


@asynccontextmanager
async def start_prefect(parent: Path, version: str = VERSIONS[0]) -> AsyncIterator[RunningApplication]:
    """Serve flows, deployments, their runs, pools, variables and limits. Nothing runs in the background."""
    prefect = installed("prefect", version) / "bin" / "prefect"
    async with work_folder(parent) as folder:
        database, seed, port = folder / _DATABASE, folder / "seed.sqlite", free_port()
        base = f"http://127.0.0.1:{port}"
        surroundings = {
            "PREFECT_HOME": str(folder / "home"), "PREFECT_API_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{database}",
            "PREFECT_UI_API_URL": f"{base}/api", "PREFECT_UI_STATIC_DIRECTORY": str(folder / "pages"),
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false", "DO_NOT_TRACK": "1",
            "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
        }  # fmt: skip
        run([prefect, "server", "database", "upgrade", "--yes"], folder, surroundings)
        command: list[str | Path] = [
            prefect, "server", "start", "--host", "127.0.0.1", "--port", str(port), "--no-services",
        ]  # fmt: skip
        async with serve(command, folder, f"{base}/api/ready", surroundings):
            _seed(f"{base}/api")
            copy_database(database, seed)
            yield ServedApplication(
                base, lambda: copy_database(seed, database), lambda: _read_state(database)
            )


def _seed(api: str) -> None:
    for name, kind, description, most in _POOLS:
        pool = {"name": name, "type": kind, "description": description, "concurrency_limit": most}
        request_json(f"{api}/work_pools/", "POST", pool)
    names = dict.fromkeys([each[1] for each in _DEPLOYMENTS] + [each[0] for each in _RUNS] + [*_IDLE_FLOWS])
    flows = {name: request_json(f"{api}/flows/", "POST", {"name": name})["id"] for name in names}
    for name, flow, pool_name, tags in _DEPLOYMENTS:
        deployment = {
            "name": name, "flow_id": flows[flow], "work_pool_name": pool_name, "tags": tags,
            "entrypoint": "harbour.py:main", "path": "/srv/flows", "parameter_openapi_schema": _PARAMETERS,
            "enforce_parameter_schema": True, "parameters": {"place": "north quay", "mode": "quick"},
        }  # fmt: skip
        request_json(f"{api}/deployments/", "POST", deployment)
    for flow, kind, name in _RUNS:
        state = {"type": kind, "name": kind.title()}
        request_json(f"{api}/flow_runs/", "POST", {"flow_id": flows[flow], "name": name, "state": state})
    for name, value, tags in _VARIABLES:
        request_json(f"{api}/variables/", "POST", {"name": name, "value": value, "tags": tags})
    for name, limit, decay in _LIMITS:
        limited = {"name": name, "limit": limit, "slot_decay_per_second": decay}
        request_json(f"{api}/v2/concurrency_limits/", "POST", limited)


_JSON_COLUMNS = ("value", "tags", "parameters", "template", "schedule", "job_variables", "trigger", "actions")


def _read_state(database: Path) -> Any:
    """Return what people made and changed, without ids, times and the days from which intervals count.

    Of a run's start is told only whether it is at once.
    """
    queries = {
        "variables": "select name, value, tags from variable order by name",
        "pools": "select name, type, description, concurrency_limit, is_paused, base_job_template as template"
        " from work_pool order by name",
        "queues": "select pool.name as pool, queue.name, queue.description, queue.is_paused, queue.concurrency_limit,"
        " queue.priority from work_queue queue join work_pool pool on pool.id = queue.work_pool_id order by 1, 2",
        "flows": "select name, tags from flow order by name",
        "deployments": "select deployment.name, flow.name as flow, description, paused, deployment.tags, parameters,"
        " work_queue_name, concurrency_limit, enforce_parameter_schema from deployment"
        " join flow on flow.id = flow_id order by 1, 2",
        "schedules": "select deployment.name as deployment, schedule, active, plan.parameters, slug"
        " from deployment_schedule plan join deployment on deployment.id = plan.deployment_id order by 1, 2",
        "runs": "select run.name, flow.name as flow, deployment.name as deployment, state_name, state.message,"
        " run.parameters, run.tags, run.work_queue_name, run.job_variables,"
        " julianday(run.expected_start_time) - julianday(run.created) < 0.01 as at_once from flow_run run"
        " join flow on flow.id = run.flow_id left join deployment on deployment.id = run.deployment_id"
        " left join flow_run_state state on state.id = run.state_id order by 2, 1, 3",
        "limits": 'select name, active, "limit", active_slots, slot_decay_per_second from concurrency_limit_v2'
        " order by name",
        "task_limits": "select tag, concurrency_limit from concurrency_limit order by tag",
        "blocks": "select name, block_type_name from block_document where not is_anonymous order by 1, 2",
        "automations": "select name, description, enabled, trigger, actions from automation order by name",
    }
    state = {name: read_rows(database, query) for name, query in queries.items()}
    for row in (row for rows in state.values() for row in rows):
        for name in _JSON_COLUMNS:
            if isinstance(row.get(name), str):
                row[name] = json.loads(row[name])
    for row in state["schedules"]:
        row["schedule"].pop("anchor_date", None)
    return state


_DIALOG = "[role=dialog]"
_SAID = "[data-sonner-toast]"
"""What the application says at the edge of the page when something is done or refused."""


def _labelled(label: str) -> str:
    return f'internal:label="{label}"s'


async def _go_to(page: Page, part: str) -> None:
    """Follow a link of the menu at the side."""
    await page.get_by_role("link", name=part, exact=True).first.click()


async def _find_row(page: Page, noise: Noise, things: str, name: str) -> Locator:
    """Search a list of things; return the row of this name."""
    asked = json.dumps(name, ensure_ascii=False)
    async with page.expect_response(lambda answer: asked in (answer.request.post_data or "")):
        await noise.type(f"[placeholder='Search {things}']", name)
    return await _find_in_searched(page, noise, name)


async def _find_in_searched(page: Page, noise: Noise, name: str) -> Locator:
    """Wait until the page has left out the rows without the name; return the row that is called so."""
    rows = page.locator("main tbody tr")
    await rows.filter(has_not_text=name).first.wait_for(state="hidden")
    await noise.wander()
    return rows.filter(has=page.get_by_text(name, exact=True))


async def _choose_in_menu(page: Page, row: Locator, item: str) -> None:
    await row.get_by_role("button", name="Open menu").click()
    await page.get_by_role("menuitem", name=item, exact=True).click()


async def _send(page: Page, button: Locator, form: str) -> None:
    """Press a button, and wait until the application says that it is done, complains, or closes the form."""
    await button.click()
    complaint = page.locator(f"{form} :is(p.text-destructive, input:invalid)")
    closed = page.locator(f"body:not(:has({form}))")
    await page.locator(_SAID).or_(complaint).or_(closed).first.wait_for()


async def create_pool(page: Page, given: Given, noise: Noise) -> None:
    """In three steps: choose where it runs, describe it, and leave the settings as they are."""
    await _go_to(page, "Work Pools")
    await page.get_by_role("main").locator("a[href$='/work-pools/create']").click()
    kind = page.get_by_role("main").locator("label").filter(has=page.get_by_text(given["kind"], exact=True))
    await kind.click()
    await page.get_by_role("radio", checked=True).wait_for()
    await page.get_by_role("button", name="Next").click()
    await page.get_by_label("Name", exact=True).wait_for()
    if given["name"]:
        await noise.type(_labelled("Name"), given["name"])
    if given["description"]:
        await noise.type(_labelled("Description (Optional)"), given["description"])
    if given["most"]:
        await noise.type(_labelled("Flow Run Concurrency (Optional)"), given["most"])
    await page.get_by_role("button", name="Next").click()
    create = page.get_by_role("button", name="Create Work Pool")
    await create.or_(page.locator("main p.text-destructive")).first.wait_for()
    if await create.is_visible():
        await _send(page, create, "main")


async def edit_variable(page: Page, given: Given, noise: Noise) -> None:
    await _go_to(page, "Variables")
    row = await _find_row(page, noise, "variables", given["variable"])
    await _choose_in_menu(page, row, "Edit")
    await noise.retype(f"{_DIALOG} >> {_labelled('Name')}", given["name"])
    await noise.retype(f"{_DIALOG} .cm-content", given["value"])
    await _send(page, page.locator(_DIALOG).get_by_role("button", name="Save"), _DIALOG)


async def delete_deployment(page: Page, given: Given, noise: Noise) -> None:
    await _go_to(page, "Deployments")
    row = await _find_row(page, noise, "deployments", given["deployment"])
    await _choose_in_menu(page, row, "Delete")
    await page.get_by_role("alertdialog").get_by_role("button", name="Delete").click()
    await row.wait_for(state="hidden")


async def clear_runs(page: Page, given: Given, noise: Noise) -> None:
    """List the runs of a flow, tick them all, and delete them."""
    await _go_to(page, "Runs")
    await page.get_by_role("button", name="Filter by flow").click()
    await noise.type(f"{_DIALOG} [role=combobox]", given["flow"])
    await page.get_by_role("option", name=given["flow"], exact=True).click()
    await page.keyboard.press("Escape")
    runs = page.get_by_role("main").get_by_role("listitem").filter(has=page.get_by_role("checkbox"))
    wanted = page.get_by_role("link", name=given["flow"], exact=True)
    await runs.filter(has_not=wanted).first.wait_for(state="hidden")
    await runs.first.wait_for()
    await page.get_by_role("checkbox", name="Toggle all").click()
    await page.get_by_role("button", name="Delete rows").click()
    await page.get_by_role("alertdialog").get_by_role("button", name="Delete").click()
    await runs.first.wait_for(state="hidden")


async def start_run(page: Page, given: Given, noise: Noise) -> None:
    """Let a deployment run once, with other parameters."""
    await _go_to(page, "Deployments")
    row = await _find_row(page, noise, "deployments", given["deployment"])
    await _choose_in_menu(page, row, "Custom Run")
    await noise.retype(_labelled("Run Name"), given["name"])
    await noise.retype(_labelled("Place"), given["place"])
    await page.get_by_role("button", name="Select Mode").click()
    await page.get_by_role("option", name=given["mode"], exact=True).click()
    await noise.retype(_labelled("Copies (Optional)"), given["copies"])
    await _send(page, page.get_by_role("button", name="Submit"), "main")


async def plan_deployment(page: Page, given: Given, noise: Noise) -> None:
    """Let a deployment run again and again."""
    await _go_to(page, "Deployments")
    row = await _find_row(page, noise, "deployments", given["deployment"])
    await row.get_by_role("link", name=given["deployment"], exact=True).click()
    await page.get_by_role("button", name="Schedule", exact=True).click()
    await noise.retype(f"{_DIALOG} >> {_labelled('Value')}", given["every"])
    await page.locator(_DIALOG).get_by_role("combobox", name="Interval").click()
    await page.get_by_role("option", name=given["unit"], exact=True).click()
    await _send(page, page.locator(_DIALOG).get_by_role("button", name="Save"), _DIALOG)


async def change_limit(page: Page, given: Given, noise: Noise) -> None:
    await _go_to(page, "Concurrency")
    await noise.type("[placeholder='Search global concurrency limit']", given["limit"])
    row = await _find_in_searched(page, noise, given["limit"])  # the page searches by itself
    await _choose_in_menu(page, row, "Edit")
    await noise.retype(f"{_DIALOG} >> {_labelled('Name')}", given["name"])
    await noise.retype(f"{_DIALOG} >> {_labelled('Concurrency Limit')}", given["most"])
    await noise.retype(f"{_DIALOG} >> {_labelled('Slot Decay Per Second')}", given["decay"])
    await _send(page, page.locator(_DIALOG).get_by_role("button", name="Update"), _DIALOG)


def _pool(kind: str, name: str, description: str, most: str) -> dict[str, str]:
    return {"kind": kind, "name": name, "description": description, "most": most}


def _variable(variable: str, name: str, value: str) -> dict[str, str]:
    return {"variable": variable, "name": name, "value": value}


def _run(deployment: str, name: str, place: str, mode: str, copies: str) -> dict[str, str]:
    return {"deployment": deployment, "name": name, "place": place, "mode": mode, "copies": copies}


def _plan(deployment: str, every: str, unit: str) -> dict[str, str]:
    return {"deployment": deployment, "every": every, "unit": unit}


def _limit(limit: str, name: str, most: str, decay: str) -> dict[str, str]:
    return {"limit": limit, "name": name, "most": most, "decay": decay}


JOBS = [
    Job("create_pool", create_pool, instances(
        ("plain", _pool("Docker", "lighthouse", "The small machine on the rock", "3")),
        ("plain", _pool("Process", "market-hall", "Counts fish every morning", "12")),
        ("plain", _pool("Kubernetes", "east-quay", "For the big maps", "8")),
        ("plain", _pool("Process", "boat-shed", "Only in winter", "2")),
        ("plain", _pool("Google Cloud Run", "customs", "Reads the forms of the customs", "20")),
        ("plain", _pool("Docker", "night", "Nobody waits for these", "5")),
        ("quotes", _pool("Process", "Ruth's \"own\" pool", "It's \"only\" for letters", "1")),
        ("unicode", _pool("Kubernetes", "Žofie 東京", "Für Größe und Gewicht, прошу ✓", "6")),
        ("long", _pool("Docker", "archive", LONG, "4")),
        ("empty", _pool("Process", "spare", "", "")),
        ("refused", _pool("Docker", "", "There is no name", "3")),
        ("refused", _pool("Process", "day/night", "No such sign in a name", "3")),
        ("refused", _pool("Kubernetes", "cold-store", "Less than nothing", "-2")),
        ("existing", _pool("Process", "day-shift", "A second one", "4")),
    ), "/", "create"),
    Job("edit_variable", edit_variable, instances(
        ("plain", _variable("fog_limit", "fog_limit_north", "350")),
        ("plain", _variable("mail_to", "mail_desk", '"desk@harbour.example"')),
        ("plain", _variable("open_days", "market_days", '["Tuesday", "Friday"]')),
        ("plain", _variable("harbour_fee", "harbour_fee_summer", "14.5")),
        ("plain", _variable("pilot_boat", "pilot_ship", '"Cormorant"')),
        ("plain", _variable("printer", "letter_printer", '{"room": 7, "colour": true}')),
        ("plain", _variable("retries", "attempts", "5")),
        ("quotes", _variable("cook_name", "second_cook", '"Ruth \\"Ruthie\\" O\'Neill"')),
        ("unicode", _variable("motto", "old_motto", '"Lodě, Schiffe und 船 ✓"')),
        ("long", _variable("letters_folder", "letters_story", f'"{LONG}"')),
        ("empty", _variable("currency", "coin", '""')),
        ("refused", _variable("tide_station", "Tide Station", '"south quay"')),
        ("refused", _variable("storm_limit", "storm_limit_north", "nine and a half")),
        ("existing", _variable("retries", "motto", "5")),
        ("missing", _variable("snow_limit", "snow_limit_north", "30")),
        ("missing", _variable("harbour", "harbour_name", '"Only the beginning of a name"')),
    ), "/", "edit"),
    Job("delete_deployment", delete_deployment, instances(
        *(("plain", {"deployment": each}) for each in (
            "fog warning", "crew lists", "rope orders", "nightly", "hourly tides", "ferry times", "old logbooks",
            "nightly report",
        )),
        ("quotes", {"deployment": "Ruth's archive"}),
        ("quotes", {"deployment": 'the "slow" copy'}),
        ("unicode", {"deployment": "Žofie: 東京 přehled"}),
        ("missing", {"deployment": "snow warning"}),
        ("missing", {"deployment": "night"}),
    ), "/", "delete"),
    Job("clear_runs", clear_runs, instances(
        *(("plain", {"flow": each}) for each in (
            "read tides", "watch weather", "print letters", "count ships", "check lamps", "send invoices",
            "scan logbooks", "weigh",
        )),
        ("quotes", {"flow": "read the cook's mail"}),
        ("quotes", {"flow": 'weigh the "big" catch'}),
        ("unicode", {"flow": "přehled lodí"}),
        ("missing", {"flow": "paint buoys"}),
        ("missing", {"flow": "mend nets"}),
        ("missing", {"flow": "read"}),
    ), "/", "list"),
    Job("start_run", start_run, instances(
        ("plain", _run("fish prices", "prices of monday", "market hall", "thorough", "2")),
        ("plain", _run("storm warning", "before the gale", "east quay", "dry run", "5")),
        ("plain", _run("lamp checks", "lamps of november", "lighthouse", "quick", "3")),
        ("plain", _run("nightly", "count again", "west quay", "dry run", "4")),
        ("plain", _run("ferry times", "summer timetable", "ferry pier", "thorough", "12")),
        ("plain", _run("weekly invoices", "invoices of may", "office", "quick", "6")),
        ("quotes", _run("Ruth's archive", "the cook's \"other\" box", "Ruth's attic", "dry run", "2")),
        ("quotes", _run('the "slow" copy', 'not "slow" at all', 'the "dark" room', "thorough", "7")),
        ("unicode", _run("Žofie: 東京 přehled", "první 回", "Größe, břeh ✓", "dry run", "8")),
        ("long", _run("old logbooks", "all of them", LONG, "thorough", "9")),
        ("refused", _run("crew lists", "no crew", "boat shed", "thorough", "0")),
        ("refused", _run("rope orders", "half a rope", "rope yard", "dry run", "2.5")),
        ("missing", _run("snow warning", "first snow", "east quay", "dry run", "2")),
        ("missing", _run("night", "only a part", "east quay", "thorough", "2")),
        ("missing", _run("fog warning", "no such mode", "east quay", "slow", "2")),
    ), "/", "create"),
    Job("plan_deployment", plan_deployment, instances(
        ("plain", _plan("hourly tides", "2", "Hours")),
        ("plain", _plan("weekly invoices", "7", "Days")),
        ("plain", _plan("fog warning", "90", "Seconds")),
        ("plain", _plan("nightly", "3", "Days")),
        ("plain", _plan("lamp checks", "45", "Minutes")),
        ("plain", _plan("rope orders", "14", "Days")),
        ("plain", _plan("nightly report", "24", "Hours")),
        ("quotes", _plan("Ruth's archive", "30", "Minutes")),
        ("quotes", _plan('the "slow" copy', "36", "Hours")),
        ("unicode", _plan("Žofie: 東京 přehled", "5", "Days")),
        ("refused", _plan("crew lists", "0", "Hours")),
        ("refused", _plan("fish prices", "", "Days")),
        ("missing", _plan("snow warning", "3", "Hours")),
        ("missing", _plan("night", "2", "Days")),
        ("missing", _plan("ferry times", "2", "Weeks")),
    ), "/", "edit"),
    Job("change_limit", change_limit, instances(
        ("plain", _limit("mail server", "mail gateway", "12", "0.25")),
        ("plain", _limit("weather service", "weather office", "6", "2")),
        ("plain", _limit("harbour cameras", "quay cameras", "9", "0.5")),
        ("plain", _limit("database", "main database", "7", "3")),
        ("plain", _limit("radio", "two radios", "2", "0.1")),
        ("plain", _limit("database-replica", "second database", "4", "1")),
        ("quotes", _limit("Ruth's scanner", "Ruth's \"new\" scanner", "3", "0.2")),
        ("quotes", _limit('the "slow" disk', "the cook's disk", "5", "4")),
        ("unicode", _limit("Žofie 東京", "Žofie Größe 京都", "11", "0.75")),
        ("long", _limit("crane", LONG, "2", "6")),
        ("refused", _limit("printer", "two printers", "-2", "1")),
        ("refused", _limit("invoice desk", "invoices/letters", "3", "1")),
        ("existing", _limit("tide service", "radio", "4", "0.5")),
        ("missing", _limit("snow service", "snow office", "2", "1")),
        ("missing", _limit("data", "all of the data", "2", "1")),
    ), "/", "edit"),
]  # fmt: skip

INVALID: dict[str, Given] = {
    "create_pool": _pool("Docker", "night-shift", "There is one already", "3"),
    "edit_variable": _variable("tide_station", "Tide Station", '"south quay"'),
    "start_run": _run("crew lists", "no crew", "boat shed", "dry run", "0"),
    "plan_deployment": _plan("crew lists", "0", "Hours"),
}
"""Values that the form refuses, for a recording that must not count."""


PREFECT = Application("prefect", "React, Radix, FastAPI", add_invalid(JOBS, INVALID), start_prefect)
