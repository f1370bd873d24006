"""Piccolo Admin, pages for the tables of a database: Vue.

Licence: MIT. Versions 1.14.0 (Vue 3) and 0.58.0 (Vue 2) differ in their rows, forms and messages.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from playwright.async_api import Locator, Page

from tests.support.people import Noise
from tests.zoo.registry.serving import (
    LONG,
    PASSWORD,
    ServedApplication,
    choose,
    copy_database,
    free_port,
    installed,
    instances,
    read_rows,
    run,
    serve,
    work_folder,
)
from tests.zoo.zoo_jobs import Application, Given, Job, RunningApplication, add_invalid

VERSIONS = ("1.14.0", "0.58.0")
"""The newer first."""
USER = "mirela"

_WORKSHOPS = (
    ("Knots for beginners", "Beginner", "Mara", "Hall 1", 12, "Planned", "Bring a rope"),
    ("Bread without yeast", "Beginner", "Jonas", "Kitchen", 8, "Confirmed", ""),
    ("Repairing bicycles", "Advanced", "Mara", "Yard", 6, "Planned", "Old clothes, please"),
    ("Reading the clouds", "Expert", "Selma", "Roof", 10, "Planned", ""),
    ("Copper etching", "Advanced", "Jonas", "Studio", 5, "Planned", "Gloves are there"),
    ('Singing the "blues"', "Beginner", "Idris", "Hall 2", 20, "Planned", ""),
    ("Grandma's pickles", "Beginner", "Selma", "Kitchen", 9, "Planned", "Jars cost extra"),
    ("Kalligraphie 書道", "Expert", "Žofie", "Studio", 7, "Planned", ""),
    ("Night photography", "Advanced", "Idris", "Roof", 10, "Confirmed", ""),
    ("Sharp knives", "Expert", "Kofi", "Kitchen", 4, "Planned", ""),
    ("Felt hats", "Advanced", "Ruth", "Studio", 8, "Planned", "Wool is there"),
    ("Bees in town", "Beginner", "Lotte", "Roof", 15, "Planned", ""),
    ("Rafts and rivers", "Expert", "Wim", "Yard", 6, "Planned", ""),
)  # fmt: skip

_CONFIGURATION = """
from piccolo.conf.apps import AppRegistry
from piccolo.engine.sqlite import SQLiteEngine
DB = SQLiteEngine(path="workshops.sqlite")
APP_REGISTRY = AppRegistry(apps=[])
"""
_PROGRAM = """
import asyncio, json, sys
from enum import Enum
from piccolo.apps.user.tables import BaseUser
from piccolo.columns import Integer, Text, Varchar
from piccolo.table import Table
from piccolo_admin.endpoints import TableConfig, create_admin
from piccolo_api.rate_limiting.middleware import InMemoryLimitProvider
from piccolo_api.session_auth.tables import SessionsBase
import uvicorn

class Level(str, Enum):
    beginner = "Beginner"
    advanced = "Advanced"
    expert = "Expert"

class Status(str, Enum):
    planned = "Planned"
    confirmed = "Confirmed"
    cancelled = "Cancelled"

class Workshop(Table):
    title = Varchar(length=80, unique=True)
    level = Varchar(length=20, choices=Level, default=Level.beginner)
    trainer = Varchar(length=60)
    room = Varchar(length=60)
    seats = Integer(default=10)
    status = Varchar(length=20, choices=Status, default=Status.planned)
    note = Text(default="")

async def fill():
    for table in (BaseUser, SessionsBase, Workshop):
        await table.create_table()
    given = json.load(open("seed.json", encoding="utf-8"))
    user = BaseUser(username=given["user"], password=given["password"], active=True, admin=True, superuser=True)
    await user.save()
    names = ("title", "level", "trainer", "room", "seats", "status", "note")
    for row in given["workshops"]:
        await Workshop(**dict(zip(names, row))).save()

if sys.argv[1] == "fill":
    asyncio.run(fill())
else:
    columns = [Workshop.title, Workshop.level, Workshop.trainer, Workshop.room, Workshop.seats, Workshop.status]
    table = TableConfig(Workshop, link_column=Workshop.title, visible_columns=columns)
    limits = InMemoryLimitProvider(limit=1_000_000, timespan=60)
    app = create_admin([table], rate_limit_provider=limits, site_name="Workshops", auto_include_related=False)
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
"""


@asynccontextmanager
async def start_piccolo_admin(parent: Path, version: str = VERSIONS[0]) -> AsyncIterator[RunningApplication]:
    """Make a database with one table of workshops and serve its admin."""
    python = installed("piccolo-admin", version) / "bin" / "python"
    async with work_folder(parent) as folder:
        database, seed, port = folder / "workshops.sqlite", folder / "seed.sqlite", free_port()
        (folder / "piccolo_conf.py").write_text(_CONFIGURATION)
        (folder / "program.py").write_text(_PROGRAM)
        (folder / "seed.json").write_text(
            json.dumps({"workshops": _WORKSHOPS, "user": USER, "password": PASSWORD})
        )
        run([python, "program.py", "fill"], folder)
        copy_database(database, seed)
        async with serve([python, "program.py", str(port)], folder, f"http://127.0.0.1:{port}/"):
            yield ServedApplication(
                f"http://127.0.0.1:{port}",
                lambda: copy_database(seed, database),
                lambda: read_rows(
                    database,
                    "select title, level, trainer, room, seats, status, note from workshop order by id",
                ),
            )


async def _sign_in(page: Page, noise: Noise) -> None:
    await noise.type("input[name=username]", USER)
    await noise.type("input[name=password]", PASSWORD)
    await page.get_by_role("button", name="Login").click()
    await page.get_by_role("link", name="workshop", exact=True).first.click()
    await page.locator(".table_wrapper td").first.wait_for()


async def _answered(page: Page) -> None:
    """Wait for the message that it is done, or for what is wrong."""
    await page.locator(".message, #message, .errors, .form_errors, [data-uitest=message]").first.wait_for()


def _row(page: Page, text: str) -> Locator:
    return page.locator(".table_wrapper tr").filter(has=page.get_by_text(text, exact=True))


async def _mend(page: Page, given: Given, noise: Noise, names: Sequence[str]) -> None:
    """Type again what a form lost that was made anew meanwhile."""
    for name in names:
        field = f"[name={name}]:visible"
        if await page.input_value(field) != given[name]:
            await noise.retype(field, given[name])


async def create_workshop(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await page.get_by_text("Add Row").first.click()
    await page.wait_for_load_state("networkidle")  # the form is made anew until then
    await noise.type("input[name=title]", given["title"])
    await choose(page, "select[name=level]", given["level"])
    await noise.type("input[name=trainer]", given["trainer"])
    if given["note"]:
        await noise.type("textarea[name=note]:visible", given["note"])
    await _mend(page, given, noise, ("title", "trainer", "note"))
    await page.get_by_role("button", name="Create").click()
    await _answered(page)


async def edit_workshop(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await page.get_by_role("link", name=given["title"], exact=True).click()
    await page.wait_for_load_state("networkidle")
    await noise.retype("input[name=room]", given["room"])
    await choose(page, "select[name=status]", given["status"])
    await _mend(page, given, noise, ("room",))
    await page.get_by_role("button", name="Save").click()
    await _answered(page)


async def delete_workshop(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    page.on("dialog", lambda dialog: dialog.accept())
    await _row(page, given["title"]).locator("td").last.locator("a").first.click()
    await _row(page, given["title"]).get_by_text("Delete").click()
    await _answered(page)


async def confirm_workshops(page: Page, given: Given, noise: Noise) -> None:
    """Open each workshop of a trainer, and confirm it."""
    await _sign_in(page, noise)
    rows = _row(page, given["trainer"])
    await rows.first.wait_for()
    titles = [await row.locator("td").nth(1).inner_text() for row in await rows.all()]
    for title in titles:
        await page.get_by_role("link", name=title, exact=True).click()
        await page.wait_for_load_state("networkidle")
        await choose(page, "select[name=status]", "Confirmed")
        await page.get_by_role("button", name="Save").click()
        await _answered(page)
        await page.get_by_role("link", name="Back").click()


async def drop_workshops(page: Page, given: Given, noise: Noise) -> None:
    """Tick the workshops of a trainer, and delete what is ticked."""
    await _sign_in(page, noise)
    page.on("dialog", lambda dialog: dialog.accept())
    rows = _row(page, given["trainer"])
    await rows.first.wait_for()
    for row in await rows.all():
        await row.locator("input[type=checkbox]").check()
    await page.get_by_text("Delete").first.click()
    await _answered(page)


def _workshop(title: str, level: str, trainer: str, note: str) -> dict[str, str]:
    return {"title": title, "level": level, "trainer": trainer, "note": note}


def _moved(title: str, room: str, status: str) -> dict[str, str]:
    return {"title": title, "room": room, "status": status}


_TRAINERS = ("Mara", "Jonas", "Selma", "Idris", "Kofi", "Ruth", "Lotte", "Wim")

JOBS = [
    Job("create_workshop", create_workshop, instances(
        ("plain", _workshop("Paper boats", "Beginner", "Bruno", "For all ages")),
        ("plain", _workshop("Forging nails", "Expert", "Agnes", "It gets hot")),
        ("plain", _workshop("Mending socks", "Advanced", "Mara", "Wool in all colours")),
        ("plain", _workshop("Stilts", "Beginner", "Kofi", "In the yard")),
        ("plain", _workshop("Dry stone walls", "Advanced", "Wim", "Two days")),
        ("plain", _workshop("Soap from ashes", "Expert", "Lotte", "Goggles are there")),
        ("quotes", _workshop("The \"perfect\" pancake, it's easy", "Beginner", "Sean O'Hara", "Don't say \"crêpe\"")),
        ("unicode", _workshop("Žofie in 東京", "Expert", "Žofie", "Größe egal ✓ прошу")),
        ("long", _workshop("Workshop with a story", "Advanced", "Ruth", LONG)),
        ("empty", _workshop("Silence", "Beginner", "Selma", "")),
        ("empty", _workshop("Walking", "Advanced", "Idris", "")),
        ("refused", _workshop("This title is by far too long " * 4, "Beginner", "Jonas", "More than 80 letters")),
        ("existing", _workshop("Sharp knives", "Expert", "Jonas", "We have one")),
    ), "/", "create"),
    Job("edit_workshop", edit_workshop, instances(
        ("plain", _moved("Knots for beginners", "Cellar", "Confirmed")),
        ("plain", _moved("Copper etching", "Hall 3", "Cancelled")),
        ("plain", _moved("Felt hats", "Attic", "Confirmed")),
        ("plain", _moved("Bees in town", "Garden", "Cancelled")),
        ("plain", _moved("Rafts and rivers", "Boathouse", "Confirmed")),
        ("plain", _moved("Night photography", "Bridge", "Cancelled")),
        ("quotes", _moved('Singing the "blues"', 'The "small" hall', "Confirmed")),
        ("quotes", _moved("Grandma's pickles", "Ruth's kitchen", "Cancelled")),
        ("unicode", _moved("Kalligraphie 書道", "Räume 東", "Confirmed")),
        ("refused", _moved("Sharp knives", "A room with a name that is longer than the sixty letters it may have", "Confirmed")),
        ("refused", _moved("Reading the clouds", "Between the antenna and the chimney of the neighbours' old house", "Cancelled")),
        ("missing", _moved("Glass blowing", "Cellar", "Confirmed")),
        ("missing", _moved("Knots", "Cellar", "Confirmed")),
    ), "/", "edit"),
    Job("delete_workshop", delete_workshop, instances(
        *(("plain", {"title": each}) for each in (
            "Reading the clouds", "Felt hats", "Bread without yeast", "Sharp knives", "Bees in town",
            "Knots for beginners", "Rafts and rivers", "Copper etching",
        )),
        ("quotes", {"title": 'Singing the "blues"'}),
        ("quotes", {"title": "Grandma's pickles"}),
        ("unicode", {"title": "Kalligraphie 書道"}),
        ("missing", {"title": "Glass blowing"}),
        ("missing", {"title": "hats"}),
    ), "/", "delete"),
    Job("confirm_workshops", confirm_workshops, instances(
        *(("plain", {"trainer": each}) for each in _TRAINERS),
        ("unicode", {"trainer": "Žofie"}),
        ("missing", {"trainer": "Bruno"}),
        ("missing", {"trainer": "Mar"}),
    ), "/", "list"),
    Job("drop_workshops", drop_workshops, instances(
        *(("plain", {"trainer": each}) for each in _TRAINERS),
        ("unicode", {"trainer": "Žofie"}),
        ("missing", {"trainer": "Bruno"}),
        ("missing", {"trainer": "Mar"}),
    ), "/", "list"),
]  # fmt: skip

INVALID: dict[str, Given] = {
    "create_workshop": _workshop("Forging nails " * 8, "Expert", "Agnes", "It gets hot"),
    "edit_workshop": _moved("Copper etching", "Hall 3 " * 12, "Cancelled"),
}
"""Values that the form refuses, for a recording that must not count."""


PICCOLO_ADMIN = Application(
    "piccolo_admin", "Vue", add_invalid(JOBS, INVALID), start_piccolo_admin,
    partial(start_piccolo_admin, version=VERSIONS[1]),
)  # fmt: skip
