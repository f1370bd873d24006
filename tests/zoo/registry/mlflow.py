"""MLflow, a tracker of experiments and models: React, a design system of its own, ag-grid.

Licence: Apache 2.0. Versions 3.17.2 (a list of experiments, a menu at the side, an assistant) and 2.9.2 (experiments at
the side) differ in almost every page but those of the models. Dialogs greet who comes for the first time.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
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

VERSIONS = ("3.17.2", "2.9.2")
"""The newer first."""

_EXPERIMENTS = (
    ("Rain forecast", "Mara"),
    ("Bread rising", "Jonas"),
    ("Ferry delays", "Mara"),
    ("Soil moisture", "Selma"),
    ("Bird calls", "Jonas"),
    ('The "slow" harvest', "Idris"),
    ("Ruth's tide tables", "O'Hara"),
    ("Žofie 東京 traffic", "Žofie"),
    ("Bird calls at night", "Kofi"),
    ("Cheese ripening", "Selma"),
    ("Wind turbines", "Jonas"),
    ("Bus arrivals", "Lotte"),
    ("River levels", "O'Hara"),
    ("Honey yield", "Wim"),
)
"""Name and owner. The first has the runs."""
_RUNS = (
    ("copper-fox", "Mara"), ("quiet-owl", "Jonas"), ("brave-eel", "Mara"), ("red-heron", "Selma"),
    ("tall-crane", "Idris"), ("blue-carp", "Jonas"), ("fast-hare", "Kofi"), ("old-pike", "Selma"),
    ("small-wren", "Lotte"), ("grey-seal", "O'Hara"), ("wild-boar", "Žofie"), ("young-ram", "Wim"),
    ("shy-newt", "Jonas"), ("bold-stoat", "O'Hara"),
)  # fmt: skip
"""Name and owner."""
_MODELS = (
    ("rain-radar", "Reads the radar."),
    ("rain-radar-small", "For phones."),
    ("dough-watcher", "Watches bread rise."),
    ("ferry-times", ""),
    ("owl-or-not", "Hears owls."),
    ("moisture-map", "From ten probes."),
    ('the "fast" counter', "Counts boats."),
    ("Žofie 東京", "Für die Straßen."),
    ("cheese-nose", ""),
    ("gust-guess", "Ten minutes ahead."),
    ("bus-clock", "Knows when."),
    ("river-gauge", "Looks at the bridge."),
)
_REFUSED_MS = 8_000
"""How long a person waits for a dialog."""
_WRONG = (
    "[role=dialog] :is([role=alert], .ant-form-item-explain-error, .du-bois-light-form-item-explain-error)"
)
_SERVERS = {
    VERSIONS[0]: "uvicorn --host 127.0.0.1 --port {port} mlflow.server.fastapi_app:app",
    VERSIONS[1]: "gunicorn --bind 127.0.0.1:{port} --threads 8 mlflow.server:app",
}
"""What `mlflow server` starts, by version. Started without it: it would leave its server behind if it were killed."""
_PREPARE = """
import sys
from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
SqlAlchemyStore(sys.argv[1], "mlflow-artifacts:/")
"""


@asynccontextmanager
async def start_mlflow(parent: Path, version: str = VERSIONS[0]) -> AsyncIterator[RunningApplication]:
    """Serve experiments, runs of one of them, and models."""
    python = installed("mlflow", version) / "bin" / "python"
    async with work_folder(parent) as folder:
        database, seed, port = folder / "tracked.sqlite", folder / "seed.sqlite", free_port()
        base, store = f"http://127.0.0.1:{port}", f"sqlite:///{database}"
        surroundings = {
            "MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
            "_MLFLOW_SERVER_FILE_STORE": store, "_MLFLOW_SERVER_REGISTRY_STORE": store,
            "_MLFLOW_SERVER_ARTIFACT_ROOT": "mlflow-artifacts:/", "_MLFLOW_SERVER_SERVE_ARTIFACTS": "true",
            "_MLFLOW_SERVER_ARTIFACT_DESTINATION": "artifacts",
        }  # fmt: skip
        run([python, "-c", _PREPARE, store], folder, surroundings)
        command: list[str | Path] = [python, "-m", *_SERVERS[version].format(port=port).split()]
        async with serve(command, folder, f"{base}/health", surroundings):
            _fill(f"{base}/api/2.0/mlflow")
            copy_database(database, seed)
            yield ServedApplication(
                base, lambda: copy_database(seed, database), lambda: _read_state(database)
            )


def _fill(api: str) -> None:
    numbers = []
    for name, owner in _EXPERIMENTS:
        experiment = {"name": name, "tags": [{"key": "owner", "value": owner}]}
        numbers.append(request_json(f"{api}/experiments/create", "POST", experiment)["experiment_id"])
    for hour, (name, owner) in enumerate(_RUNS):
        began = 1_767_000_000_000 + hour * 3_600_000
        run = {
            "experiment_id": numbers[0], "run_name": name, "start_time": began,
            "tags": [{"key": "owner", "value": owner}],
        }  # fmt: skip
        made = request_json(f"{api}/runs/create", "POST", run)["run"]["info"]["run_id"]
        metric = {"run_id": made, "key": "error", "value": hour / 10, "timestamp": began}
        request_json(f"{api}/runs/log-metric", "POST", metric)
        ended = {"run_id": made, "status": "FINISHED", "end_time": began + 60_000}
        request_json(f"{api}/runs/update", "POST", ended)
    for name, description in _MODELS:
        request_json(f"{api}/registered-models/create", "POST", {"name": name, "description": description})


def _read_state(database: Path) -> Any:
    """Return names, owners and texts; a place that has the experiment's number is not anybody's choice."""
    experiments = read_rows(
        database,
        "select experiments.name, artifact_location as place, lifecycle_stage as stage, experiment_id as number,"
        " (select group_concat(key || '=' || value) from experiment_tags tags"
        " where tags.experiment_id = experiments.experiment_id and key = 'owner') as tags"
        " from experiments order by experiment_id",
    )
    for experiment in experiments:
        number = experiment.pop("number")
        experiment["place"] = experiment["place"].removesuffix(f"mlflow-artifacts:/{number}")
    return {
        "experiments": experiments,
        "runs": read_rows(
            database, "select name, status, lifecycle_stage as stage from runs order by start_time, name"
        ),
        "models": read_rows(
            database,
            "select name, coalesce(description, '') as description from registered_models order by name",
        ),
    }


async def _open(page: Page, newer: str, older: str) -> None:
    """Go where the newer release names one thing and the older another; the newer asks first what one works on."""
    training = page.get_by_role("button", name="Model training")
    await training.or_(page.get_by_role("link", name="GitHub")).first.wait_for()
    if await training.is_visible():
        await training.click()
        await page.get_by_role("link", name=newer, exact=True).click()
    else:
        await page.get_by_role("link", name=older, exact=True).click()


async def _open_experiments(page: Page) -> None:
    await _open(page, "Experiments", "Experiments")
    await page.get_by_role("link", name="Default", exact=True).wait_for()


async def _open_models(page: Page) -> None:
    """Close what greets who comes for the first time, too."""
    await _open(page, "Model registry", "Models")
    await page.get_by_role("dialog").get_by_role("button", name="Close").click()
    await page.get_by_role("dialog").wait_for(state="hidden")


async def _answered(page: Page) -> None:
    """Wait until the dialog has gone or says what is wrong."""
    for _ in range(_REFUSED_MS // 100):
        if not await page.get_by_role("dialog").locator("visible=true").count():
            return
        if await page.locator(_WRONG).locator("visible=true").count():
            return
        await page.wait_for_timeout(100)


def _menu(page: Page) -> Locator:
    """Return the three dots of a page."""
    return page.locator(
        "[data-test-id=overflow-menu-trigger], [aria-label='Open header dropdown menu']"
    ).first


async def create_experiment(page: Page, given: Given, noise: Noise) -> None:
    await _open_experiments(page)
    await (
        page.get_by_role("button", name="Create", exact=True).or_(page.get_by_title("New Experiment")).click()
    )
    if given["name"]:
        await noise.type("#experimentName", given["name"])
    if given["place"]:
        await noise.type("#artifactLocation", given["place"])
    create = page.get_by_role("dialog").get_by_role("button", name="Create", exact=True)
    if await create.is_enabled():  # the newer release does not let one press it without a name
        await create.click()
        await _answered(page)


async def rename_experiment(page: Page, given: Given, noise: Noise) -> None:
    """In the newer release from the experiment's menu, in the older with the pencil beside its name."""
    await _open_experiments(page)
    link = page.get_by_role("link", name=given["name"], exact=True)
    await link.wait_for()
    pencil = (
        page.locator("[data-test-id=experiment-list-item]")
        .filter(has=link)
        .locator("[data-test-id=rename-experiment-button]")
    )
    if await pencil.count():
        await pencil.click()
    else:
        await link.click()
        await _menu(page).click()
        await page.get_by_role("menuitem", name="Edit").click()
    await noise.retype("[role=dialog] input[type=text]", given["new name"])
    await page.get_by_role("dialog").get_by_role("button", name="Save").click()
    await _answered(page)


async def describe_model(page: Page, given: Given, noise: Noise) -> None:
    await _open_models(page)
    await page.get_by_role("link", name=given["name"], exact=True).click()
    await page.get_by_role("button", name="Edit", exact=True).click()
    await noise.retype("textarea.mde-text", given["description"])
    await page.get_by_role("button", name="Save", exact=True).click()
    await page.locator("textarea.mde-text").wait_for(state="hidden")


async def delete_model(page: Page, given: Given, noise: Noise) -> None:
    await _open_models(page)
    await page.get_by_role("link", name=given["name"], exact=True).click()
    await _menu(page).click()
    await page.get_by_role("menuitem", name="Delete").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await page.get_by_role("button", name="Create Model").wait_for()


async def drop_experiments(page: Page, given: Given, noise: Noise) -> None:
    """Tick the experiments with an owner's tag, and delete them."""
    await _open_experiments(page)
    tag = page.get_by_role("status").filter(
        has_text=re.compile(rf"^\s*owner\s*:\s*{re.escape(given['owner'])}\s*$")
    )
    rows = page.get_by_role("row").filter(has=tag)
    await rows.first.wait_for()
    for row in await rows.all():
        await row.get_by_role("checkbox").check()
    await page.get_by_role("button", name="Delete", exact=True).click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await _answered(page)


async def drop_runs(page: Page, given: Given, noise: Noise) -> None:
    """Search for an owner's runs, tick what is found, and delete it."""
    await _open_experiments(page)
    await page.get_by_role("link", name="Rain forecast", exact=True).click()
    await page.get_by_role("link", name="bold-stoat", exact=True).wait_for()
    await noise.type("[placeholder^='metrics.rmse']", f'tags.owner = "{given["owner"]}"')
    async with page.expect_response(lambda answer: "runs/search" in answer.url):
        await page.keyboard.press("Enter")
    await page.wait_for_timeout(500)  # the list is drawn anew
    await page.locator(".ag-header input[type=checkbox]").locator("visible=true").first.check()
    await page.get_by_role("button", name="Delete", exact=True).click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await _answered(page)


def _experiment(name: str, place: str) -> dict[str, str]:
    return {"name": name, "place": place}


def _renamed(name: str, new: str) -> dict[str, str]:
    return {"name": name, "new name": new}


def _described(name: str, description: str) -> dict[str, str]:
    return {"name": name, "description": description}


JOBS = [
    Job("create_experiment", create_experiment, instances(
        ("plain", _experiment("Snow depth", "s3://station/snow")),
        ("plain", _experiment("Coffee roast", "s3://kitchen/roast")),
        ("plain", _experiment("Frog counts", "s3://pond/frogs")),
        ("plain", _experiment("Train noise", "s3://city/noise")),
        ("plain", _experiment("Glacier melt", "gs://alps/glaciers")),
        ("plain", _experiment("Yeast growth", "s3://kitchen/yeast")),
        ("quotes", _experiment("Ruth's \"quiet\" street", "s3://city/quiet")),
        ("unicode", _experiment("Žofie 大阪 Größe", "s3://japan/osaka")),
        ("long", _experiment(LONG[:200].strip(), "s3://long/story")),
        ("empty", _experiment("Egg sizes", "")),
        ("empty", _experiment("Window light", "")),
        ("refused", _experiment("", "s3://nobody/nothing")),
        ("refused", _experiment("Moon phases", "s3://sky/moon#full")),
        ("existing", _experiment("Wind turbines", "s3://hill/wind")),
    ), "/", "create"),
    Job("rename_experiment", rename_experiment, instances(
        ("plain", _renamed("Bread rising", "Bread rising overnight")),
        ("plain", _renamed("Bus arrivals", "Buses and trams")),
        ("plain", _renamed("Honey yield", "Honey and wax")),
        ("plain", _renamed("Bird calls", "Calls at dawn")),
        ("plain", _renamed("River levels", "Levels of three rivers")),
        ("plain", _renamed("Soil moisture", "Water in the soil")),
        ("plain", _renamed("Cheese ripening", "Cellar, second year")),
        ("quotes", _renamed('The "slow" harvest', "The \"late\" harvest, Ruth's")),
        ("quotes", _renamed("Ruth's tide tables", "Tides")),
        ("unicode", _renamed("Žofie 東京 traffic", "大阪 прошу ✓")),
        ("refused", _renamed("Wind turbines", "")),
        ("existing", _renamed("Ferry delays", "Honey yield")),
        ("missing", _renamed("Snow depth", "Snow")),
        ("missing", _renamed("Bird", "Birds")),
    ), "/", "edit"),
    Job("describe_model", describe_model, instances(
        ("plain", _described("rain-radar", "Reads the new radar.")),
        ("plain", _described("dough-watcher", "Two cameras.")),
        ("plain", _described("gust-guess", "Half an hour ahead.")),
        ("plain", _described("ferry-times", "Only in summer.")),
        ("plain", _described("rain-radar-small", "For watches.")),
        ("plain", _described("bus-clock", "Knows all lines.")),
        ("quotes", _described("owl-or-not", "It's \"owl\" or nothing.")),
        ("quotes", _described('the "fast" counter', "Counts ducks.")),
        ("unicode", _described("Žofie 東京", "Größe und прошу ✓")),
        ("long", _described("moisture-map", LONG)),
        ("empty", _described("river-gauge", "")),
        ("missing", _described("snow-depth", "White.")),
        ("missing", _described("rain", "Wet.")),
    ), "/", "edit"),
    Job("delete_model", delete_model, instances(
        *(("plain", {"name": each}) for each in (
            "bus-clock", "owl-or-not", "ferry-times", "rain-radar", "gust-guess", "cheese-nose", "moisture-map",
            "dough-watcher",
        )),
        ("quotes", {"name": 'the "fast" counter'}),
        ("unicode", {"name": "Žofie 東京"}),
        ("missing", {"name": "snow-depth"}),
        ("missing", {"name": "rain"}),
    ), "/", "delete"),
    Job("drop_experiments", drop_experiments, instances(
        *(("plain", {"owner": each}) for each in ("Mara", "Jonas", "Selma", "Idris", "Kofi", "Lotte", "Wim")),
        ("quotes", {"owner": "O'Hara"}),
        ("unicode", {"owner": "Žofie"}),
        ("missing", {"owner": "Bruno"}),
        ("missing", {"owner": "Mar"}),
    ), "/", "list", in_older=False),  # 2.9.2 has no list with the tags
    Job("drop_runs", drop_runs, instances(
        *(("plain", {"owner": each}) for each in ("Mara", "Jonas", "Selma", "Idris", "Kofi", "Lotte", "Wim")),
        ("quotes", {"owner": "O'Hara"}),
        ("unicode", {"owner": "Žofie"}),
        ("missing", {"owner": "Bruno"}),
        ("missing", {"owner": "Mar"}),
    ), "/", "list"),
]  # fmt: skip

INVALID: dict[str, Given] = {
    "create_experiment": _experiment("Honey yield", "s3://kitchen/roast"),
    "rename_experiment": _renamed("Bus arrivals", "Soil moisture"),
}
"""Values that the form refuses, for a recording that must not count."""


MLFLOW = Application(
    "mlflow", "React, ag-grid", add_invalid(JOBS, INVALID), start_mlflow,
    partial(start_mlflow, version=VERSIONS[1]),
)  # fmt: skip
