"""PocketBase, a database with a page for its records: Svelte, panels over the list, its own selects.

Licence: MIT. Versions 0.28.2 and 0.22.21 differ in the panels' footers, the sign-in and the way to the records.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from playwright.async_api import Locator, Page

from tests.support.people import Noise
from tests.zoo.registry.serving import (
    LONG,
    PASSWORD,
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

VERSIONS = ("0.28.2", "0.22.21")
"""The newer first."""
USER = "garden@quarry.example"
FAMILIES = ("Fern", "Cactus", "Orchid", "Palm", "Herb")

_PLANTS = (
    ("Boston fern", "Fern", "Mara", "A01", "Loves the bathroom", False),
    ("Golden barrel", "Cactus", "Jonas", "B02", "", False),
    ("Moth orchid", "Orchid", "Mara", "C03", "Water by bathing it", True),
    ("Parlour palm", "Palm", "Selma", "D04", "", False),
    ("Lemon balm", "Herb", "Jonas", "E05", "Grows like weed", False),
    ("Bird's nest fern", "Fern", "Idris", "A06", "", False),
    ('The "old man"', "Cactus", "Selma", "B07", "From the attic", False),
    ("Japanische Orchidee 蘭", "Orchid", "Žofie", "C08", "", False),
    ("Lady palm", "Palm", "Idris", "D09", "Repotted in March", True),
    ("Thai basil", "Herb", "Kofi", "E10", "", False),
    ("Maidenhair", "Fern", "Ruth", "A11", "Never let it dry", False),
    ("Bunny ears", "Cactus", "Kofi", "B12", "", False),
    ("Vanilla", "Orchid", "Ruth", "C13", "", False),
    ("Kentia", "Palm", "Lotte", "D14", "For the entrance", False),
    ("Chives", "Herb", "Lotte", "E15", "", False),
    ("Rosemary", "Herb", "Mara", "E16", "Put out in May", False),
    ("Spider fern", "Fern", "Wim", "A17", "", False),
)  # fmt: skip


@asynccontextmanager
async def start_pocketbase(parent: Path, version: str = VERSIONS[0]) -> AsyncIterator[RunningApplication]:
    """Make a database with one table of plants and serve it."""
    program = installed("pocketbase", version) / "base"
    old = version.startswith("0.22.")
    async with work_folder(parent) as folder:
        data, seed, base = folder / "data", folder / "seed.db", f"http://127.0.0.1:{free_port()}"
        store = [
            program,
            "--dir",
            data,
            "--migrationsDir",
            folder / "migrations",
            "--hooksDir",
            folder / "hooks",
        ]
        if old:
            run([*store, "migrate", "up"], folder)
        run([*store, *(("admin", "create") if old else ("superuser", "upsert")), USER, PASSWORD], folder)
        command = [*store, "serve", "--http", base.removeprefix("http://")]
        async with serve(command, folder, f"{base}/api/health"):
            _fill(base, old=old)
            copy_database(data / "data.db", seed)
            yield ServedApplication(
                base, lambda: copy_database(seed, data / "data.db"), lambda: _read_state(data / "data.db")
            )


def _fill(base: str, *, old: bool) -> None:
    account = "admins" if old else "collections/_superusers"
    token = request_json(
        f"{base}/api/{account}/auth-with-password", "POST", {"identity": USER, "password": PASSWORD}
    )["token"]
    signed = {"Authorization": token}
    fields = [
        _field("name", "text", old=old, required=True),
        _field("family", "select", old=old, required=True, values=FAMILIES, maxSelect=1),
        _field("keeper", "text", old=old),
        _field("shelf", "text", old=old, pattern="^[A-F][0-9]{2}$"),
        _field("note", "text", old=old),
        _field("watered", "bool", old=old),
    ]
    table = {
        "name": "plants", "type": "base", "schema" if old else "fields": fields,
        "indexes": ["CREATE UNIQUE INDEX idx_plant_name ON plants (name)"],
    }  # fmt: skip
    request_json(f"{base}/api/collections", "POST", table, signed)
    for plant in _PLANTS:
        values = dict(zip(("name", "family", "keeper", "shelf", "note", "watered"), plant, strict=True))
        request_json(f"{base}/api/collections/plants/records", "POST", values, signed)


def _field(name: str, kind: str, *, old: bool, required: bool = False, **options: Any) -> dict[str, Any]:
    field = {"name": name, "type": kind, "required": required}
    return field | ({"options": options} if old else options)


def _read_state(database: Path) -> Any:
    plants = read_rows(
        database, "select name, family, keeper, shelf, note, watered from plants order by rowid"
    )
    return [plant | {"watered": bool(plant["watered"])} for plant in plants]


def _in_field(name: str, control: str) -> str:
    return f'.record-panel .form-field:has(label .txt:text-is("{name}"), label:text-is("{name}")) {control}'


async def _sign_in(page: Page, noise: Noise) -> None:
    await noise.type("input[type=email]", USER)
    await noise.type("input[type=password]", PASSWORD)
    await page.get_by_role("button", name="Login").click()
    await page.locator("a.sidebar-list-item", has_text="plants").click()
    await page.locator("tr.row-handle").first.wait_for()


async def _retype(page: Page, noise: Noise, name: str, text: str) -> None:
    """Type in place of what stands in a field of the panel."""
    await noise.retype(_in_field(name, ":is(textarea, input)"), text)


async def _choose(page: Page, name: str, value: str) -> None:
    await page.locator(_in_field(name, ".selected-container")).click()
    await page.locator(_in_field(name, ".dropdown-item")).get_by_text(value, exact=True).click()


async def _answered(page: Page) -> None:
    """Wait until the panel has gone or says what is wrong."""
    await page.locator(
        ".toasts-wrapper .alert, .record-panel .help-block-error, .record-panel :invalid"
    ).first.wait_for()


def _row(page: Page, text: str) -> Locator:
    return page.locator("tr.row-handle").filter(has=page.get_by_text(text, exact=True))


async def create_plant(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await page.get_by_role("button", name="New record").first.click()
    await noise.type(_in_field("name", ":is(textarea, input)"), given["name"])
    await _choose(page, "family", given["family"])
    await noise.type(_in_field("shelf", ":is(textarea, input)"), given["shelf"])
    if given["note"]:
        await noise.type(_in_field("note", ":is(textarea, input)"), given["note"])
    await page.get_by_role("button", name="Create", exact=True).click()
    await _answered(page)


async def edit_plant(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await _row(page, given["name"]).click()
    await _choose(page, "family", given["family"])
    await _retype(page, noise, "shelf", given["shelf"])
    await page.get_by_role("button", name="Save changes").click()
    await _answered(page)


async def delete_plant(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await _row(page, given["name"]).click()
    await page.get_by_role("button", name="More").last.click()
    await page.locator(".record-panel .dropdown-item").get_by_text("Delete", exact=True).click()
    await page.get_by_role("button", name="Yes").click()
    await _answered(page)


async def water_plants(page: Page, given: Given, noise: Noise) -> None:
    """Open each plant of a keeper that is not watered, and tick that it is."""
    await _sign_in(page, noise)
    rows = _row(page, given["keeper"])
    await rows.first.wait_for()
    names = [await row.locator(".col-field-name").inner_text() for row in await rows.all()]
    for name in names:
        await _row(page, name).click()
        box = page.locator(_in_field("watered", "input"))
        await box.wait_for(state="attached")
        if await box.is_checked():
            await page.get_by_role("button", name="Cancel").click()
        else:
            await page.locator(_in_field("watered", "label")).click()
            await page.get_by_role("button", name="Save changes").click()
        await page.locator(".record-panel").wait_for(state="hidden")


async def clear_shelves(page: Page, given: Given, noise: Noise) -> None:
    """Tick the rows of a keeper, and delete what is ticked."""
    await _sign_in(page, noise)
    rows = _row(page, given["keeper"])
    await rows.first.wait_for()
    for row in await rows.all():
        await row.locator(".bulk-select-col label").click()
    await page.get_by_role("button", name="Delete selected").click()
    await page.get_by_role("button", name="Yes").click()
    await _answered(page)


def _plant(name: str, family: str, shelf: str, note: str) -> dict[str, str]:
    return {"name": name, "family": family, "shelf": shelf, "note": note}


def _moved(name: str, family: str, shelf: str) -> dict[str, str]:
    return {"name": name, "family": family, "shelf": shelf}


_KEEPERS = ("Mara", "Jonas", "Selma", "Idris", "Kofi", "Ruth", "Lotte", "Wim")

JOBS = [
    Job("create_plant", create_plant, instances(
        ("plain", _plant("Tree fern", "Fern", "A20", "As high as the door")),
        ("plain", _plant("Christmas cactus", "Cactus", "B21", "Flowers in December")),
        ("plain", _plant("Sage", "Herb", "E22", "For the kitchen")),
        ("plain", _plant("Date palm", "Palm", "D23", "Grown from a stone")),
        ("plain", _plant("Lady's slipper", "Orchid", "C24", "Protected")),
        ("plain", _plant("Staghorn", "Fern", "F25", "Hangs on a board")),
        ("quotes", _plant("The \"king's\" crown", "Cactus", "B26", "It's called \"royal\", don't ask")),
        ("unicode", _plant("Žofie 東京 蘭", "Orchid", "C27", "Größe: 30 cm ✓ прошу")),
        ("long", _plant("Plant with a story", "Herb", "E28", LONG)),
        ("empty", _plant("Dill", "Herb", "E29", "")),
        ("empty", _plant("Areca", "Palm", "D30", "")),
        ("refused", _plant("Parsley", "Herb", "Z999", "There is no such shelf")),
        ("existing", _plant("Rosemary", "Herb", "E31", "We have one")),
    ), "/_/", "create"),
    Job("edit_plant", edit_plant, instances(
        ("plain", _moved("Boston fern", "Palm", "F01")),
        ("plain", _moved("Lemon balm", "Fern", "F02")),
        ("plain", _moved("Kentia", "Herb", "F03")),
        ("plain", _moved("Thai basil", "Orchid", "F04")),
        ("plain", _moved("Vanilla", "Herb", "F05")),
        ("plain", _moved("Chives", "Cactus", "F06")),
        ("quotes", _moved('The "old man"', "Fern", "F07")),
        ("quotes", _moved("Bird's nest fern", "Palm", "F08")),
        ("unicode", _moved("Japanische Orchidee 蘭", "Herb", "F09")),
        ("refused", _moved("Maidenhair", "Cactus", "somewhere")),
        ("refused", _moved("Golden barrel", "Herb", "G10")),
        ("missing", _moved("Venus flytrap", "Herb", "F11")),
        ("missing", _moved("Boston", "Palm", "F12")),
    ), "/_/", "edit"),
    Job("delete_plant", delete_plant, instances(
        *(("plain", {"name": each}) for each in (
            "Parlour palm", "Chives", "Golden barrel", "Moth orchid", "Thai basil", "Rosemary", "Kentia", "Lady palm",
        )),
        ("quotes", {"name": 'The "old man"'}),
        ("quotes", {"name": "Bird's nest fern"}),
        ("unicode", {"name": "Japanische Orchidee 蘭"}),
        ("missing", {"name": "Venus flytrap"}),
        ("missing", {"name": "palm"}),
    ), "/_/", "delete"),
    Job("water_plants", water_plants, instances(
        *(("plain", {"keeper": each}) for each in _KEEPERS),
        ("unicode", {"keeper": "Žofie"}),
        ("missing", {"keeper": "Bruno"}),
        ("missing", {"keeper": "Mar"}),
    ), "/_/", "list"),
    Job("clear_shelves", clear_shelves, instances(
        *(("plain", {"keeper": each}) for each in _KEEPERS),
        ("unicode", {"keeper": "Žofie"}),
        ("missing", {"keeper": "Bruno"}),
        ("missing", {"keeper": "Mar"}),
    ), "/_/", "list"),
]  # fmt: skip

INVALID: dict[str, Given] = {
    "create_plant": _plant("Christmas cactus", "Cactus", "shelf 21", "Flowers in December"),
    "edit_plant": _moved("Lemon balm", "Fern", "F2"),
}
"""Values that the form refuses, for a recording that must not count."""


POCKETBASE = Application(
    "pocketbase", "Svelte", add_invalid(JOBS, INVALID), start_pocketbase,
    partial(start_pocketbase, version=VERSIONS[1]),
)  # fmt: skip
