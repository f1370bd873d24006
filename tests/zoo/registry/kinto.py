"""Kinto, a store of JSON records with pages for them: React, forms made of a JSON schema.

Licence: Apache 2.0. Versions 23.2.1 (pages 5.0.1) and 16.3.0 (pages 2.1.1) differ in layout and icons.
"""

from __future__ import annotations

import base64
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
    choose,
    free_port,
    installed,
    instances,
    request_json,
    serve,
    work_folder,
)
from tests.zoo.zoo_jobs import Application, Given, Job, RunningApplication, add_invalid

VERSIONS = ("23.2.1", "16.3.0")
"""The newer first."""
USER = "garage"
_NAMES = ("device", "urgency", "owner", "shelf", "note", "ready")
_REPAIRS = (
    ("Toaster with one slot", "low", "Mara", "R1", "", False),
    ("Standing lamp", "high", "Jonas", "R2", "Flickers", False),
    ("Radio from 1961", "medium", "Mara", "R3", "Only short wave", False),
    ("Kettle", "low", "Selma", "R4", "", True),
    ("Sewing machine", "high", "Jonas", "R5", "The belt", False),
    ('Clock of the "Old Post"', "medium", "Idris", "R6", "", False),
    ("Ruth's bicycle lamp", "low", "Selma", "R7", "", False),
    ("Waage 天秤", "high", "Žofie", "R8", "Shows too much", False),
    ("Vacuum cleaner", "medium", "Idris", "R9", "", False),
    ("Record player", "high", "Kofi", "R10", "Needle", False),
    ("Blender", "low", "Lotte", "R11", "", False),
    ("Train set", "medium", "Wim", "R12", "Since Christmas", False),
)  # fmt: skip
_SCHEMA = {
    "type": "object",
    "required": ["device", "urgency"],
    "properties": {
        "device": {"type": "string", "title": "Device", "minLength": 2},
        "urgency": {"type": "string", "title": "Urgency", "enum": ["low", "medium", "high"]},
        "owner": {"type": "string", "title": "Owner"},
        "shelf": {"type": "string", "title": "Shelf", "pattern": "^R[0-9]+$"},
        "note": {"type": "string", "title": "Note"},
        "ready": {"type": "boolean", "title": "Ready", "default": False},
    },
}
_SETTINGS = """
[server:main]
use = egg:waitress#main
host = 127.0.0.1
port = {port}
[app:main]
use = egg:kinto
kinto.storage_backend = kinto.core.storage.memory
kinto.cache_backend = kinto.core.cache.memory
kinto.permission_backend = kinto.core.permission.memory
kinto.includes = kinto.plugins.admin kinto.plugins.accounts
multiauth.policies = account
multiauth.policy.account.use = kinto.plugins.accounts.authentication.AccountsAuthenticationPolicy
kinto.account_create_principals = system.Everyone
kinto.bucket_create_principals = system.Authenticated
kinto.userid_hmac_secret = of the zoo
kinto.experimental_collection_schema_validation = true
"""


@asynccontextmanager
async def start_kinto(parent: Path, version: str = VERSIONS[0]) -> AsyncIterator[RunningApplication]:
    """Serve a store that is kept in memory, with one collection of repairs."""
    python = installed("kinto", version) / "bin" / "python"
    async with work_folder(parent) as folder:
        port = free_port()
        base = f"http://127.0.0.1:{port}"
        (folder / "kinto.ini").write_text(_SETTINGS.format(port=port))
        command = [python, "-c", "from kinto.__main__ import main; main()", "start", "--ini", "kinto.ini"]
        async with serve(command, folder, f"{base}/v1/"):
            _make_collection(f"{base}/v1")
            records = f"{base}/v1/buckets/garage/collections/repairs/records"
            _fill(records)
            yield ServedApplication(base, lambda: _fill(records), lambda: _read_state(records))


def _signed() -> dict[str, str]:
    return {"Authorization": f"Basic {base64.b64encode(f'{USER}:{PASSWORD}'.encode()).decode()}"}


def _make_collection(api: str) -> None:
    request_json(f"{api}/accounts/{USER}", "PUT", {"data": {"password": PASSWORD}})
    request_json(f"{api}/buckets/garage", "PUT", {}, _signed())
    shape = {
        "schema": _SCHEMA,
        "uiSchema": {"ui:order": list(_NAMES)},
        "displayFields": ["device", "urgency", "owner", "shelf"],
        "sort": "-last_modified",
    }
    request_json(f"{api}/buckets/garage/collections/repairs", "PUT", {"data": shape}, _signed())


def _fill(records: str) -> None:
    request_json(records, "DELETE", None, _signed())
    for number, values in enumerate(_REPAIRS):
        record = dict(zip(_NAMES, values, strict=True))
        request_json(f"{records}/repair-{number}", "PUT", {"data": record}, _signed())


def _read_state(records: str) -> Any:
    """Return the records without ids and times; an empty text is as good as none."""
    found = request_json(records, "GET", None, _signed())["data"]
    plain = [
        {name: value for name, value in record.items() if name in _NAMES and value != ""} for record in found
    ]
    return sorted(plain, key=lambda record: sorted((name, str(value)) for name, value in record.items()))


async def _sign_in(page: Page, noise: Noise) -> None:
    await page.get_by_text("Kinto Account Auth", exact=True).first.click()
    await noise.type("#root_credentials_username", USER)
    await noise.type("#root_credentials_password", PASSWORD)
    await page.get_by_role("button", name="Sign in using").click()
    await page.get_by_role("link", name="repairs", exact=True).first.click()
    await page.locator("tbody tr td").first.wait_for()


async def _answered(page: Page) -> None:
    """Wait for the list, or for what is wrong."""
    await page.locator("tbody tr td, form input:invalid, .error-detail, .alert-danger").first.wait_for()


def _row(page: Page, text: str) -> Locator:
    return page.locator("tbody tr").filter(has=page.get_by_role("cell", name=text, exact=True))


async def create_repair(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await page.get_by_role("link", name="Create record").first.click()
    await noise.type("#root_device", given["device"])
    await choose(page, "#root_urgency", given["urgency"])
    await noise.type("#root_shelf", given["shelf"])
    if given["note"]:
        await noise.type("#root_note", given["note"])
    await page.get_by_role("button", name="Create record").click()
    await _answered(page)


async def edit_repair(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await _row(page, given["device"]).get_by_title("Edit record").click()
    await choose(page, "#root_urgency", given["urgency"])
    await noise.retype("#root_shelf", given["shelf"])
    await page.get_by_role("button", name="Update record").click()
    await _answered(page)


async def delete_repair(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    page.on("dialog", lambda dialog: dialog.accept())
    await _row(page, given["device"]).get_by_title("Delete record").click()
    await _row(page, given["device"]).wait_for(state="hidden")


async def finish_repairs(page: Page, given: Given, noise: Noise) -> None:
    """Open each repair of an owner, and tick that it is ready."""
    await _sign_in(page, noise)
    rows = _row(page, given["owner"])
    await rows.first.wait_for()
    devices = [await row.locator("td").first.inner_text() for row in await rows.all()]
    for device in devices:
        await _row(page, device).get_by_title("Edit record").click()
        await page.locator("#root_ready").check()
        await page.get_by_role("button", name="Update record").click()
        await page.locator("tbody tr td").first.wait_for()


def _repair(device: str, urgency: str, shelf: str, note: str) -> dict[str, str]:
    return {"device": device, "urgency": urgency, "shelf": shelf, "note": note}


def _moved(device: str, urgency: str, shelf: str) -> dict[str, str]:
    return {"device": device, "urgency": urgency, "shelf": shelf}


JOBS = [
    Job("create_repair", create_repair, instances(
        ("plain", _repair("Coffee grinder", "high", "R20", "Somebody ground a spoon")),
        ("plain", _repair("Desk fan", "low", "R21", "Squeaks")),
        ("plain", _repair("Umbrella", "medium", "R22", "Two ribs")),
        ("plain", _repair("Music box", "high", "R23", "Plays backwards")),
        ("plain", _repair("Iron", "medium", "R24", "The cable")),
        ("plain", _repair("Projector", "low", "R25", "New bulb")),
        ("quotes", _repair('The "smart" toaster', "low", "R26", "It isn't \"smart\" at all")),
        ("unicode", _repair("Žofie 東京 Uhr", "medium", "R27", "Größe geändert ✓ прошу")),
        ("long", _repair("Device with a story", "high", "R28", LONG)),
        ("empty", _repair("Hair dryer", "low", "R29", "")),
        ("empty", _repair("Alarm clock", "high", "R30", "")),
        ("refused", _repair("Telephone", "low", "under the table", "There is no such shelf")),
        ("refused", _repair("X", "medium", "R31", "A name needs two letters")),
    ), "/v1/admin/", "create"),
    Job("edit_repair", edit_repair, instances(
        ("plain", _moved("Toaster with one slot", "high", "R40")),
        ("plain", _moved("Standing lamp", "medium", "R41")),
        ("plain", _moved("Blender", "high", "R42")),
        ("plain", _moved("Vacuum cleaner", "low", "R43")),
        ("plain", _moved("Record player", "medium", "R44")),
        ("plain", _moved("Train set", "low", "R45")),
        ("quotes", _moved('Clock of the "Old Post"', "high", "R46")),
        ("quotes", _moved("Ruth's bicycle lamp", "medium", "R47")),
        ("unicode", _moved("Waage 天秤", "low", "R48")),
        ("refused", _moved("Sewing machine", "low", "S1")),
        ("refused", _moved("Kettle", "medium", "R 49")),
        ("missing", _moved("Dish washer", "low", "R50")),
        ("missing", _moved("Toaster", "low", "R51")),
    ), "/v1/admin/", "edit"),
    Job("delete_repair", delete_repair, instances(
        *(("plain", {"device": each}) for each in (
            "Kettle", "Train set", "Standing lamp", "Radio from 1961", "Blender", "Vacuum cleaner", "Sewing machine",
            "Record player",
        )),
        ("quotes", {"device": 'Clock of the "Old Post"'}),
        ("quotes", {"device": "Ruth's bicycle lamp"}),
        ("unicode", {"device": "Waage 天秤"}),
        ("missing", {"device": "Dish washer"}),
        ("missing", {"device": "lamp"}),
    ), "/v1/admin/", "delete"),
    Job("finish_repairs", finish_repairs, instances(
        *(("plain", {"owner": each}) for each in ("Mara", "Jonas", "Idris", "Selma", "Kofi", "Lotte", "Wim")),
        ("unicode", {"owner": "Žofie"}),
        ("missing", {"owner": "Bruno"}),
        ("missing", {"owner": "Mar"}),
    ), "/v1/admin/", "list"),
]  # fmt: skip

INVALID: dict[str, Given] = {
    "create_repair": _repair("Desk fan", "low", "on the shelf", "Squeaks"),
    "edit_repair": _moved("Standing lamp", "medium", "41"),
}
"""Values that the form refuses, for a recording that must not count."""


KINTO = Application(
    "kinto", "React", add_invalid(JOBS, INVALID), start_kinto,
    partial(start_kinto, version=VERSIONS[1]),
)  # fmt: skip
