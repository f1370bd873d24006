"""Keycloak, an identity server: a console in React with PatternFly, drawn anew at each change, generated ids in its tabs.

Licence: Apache 2.0. It needs Java; the archive comes from a Maven repository.
"""

from __future__ import annotations

import json
import urllib.parse
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from playwright.async_api import Locator, Page

from tests.support.people import Noise
from tests.zoo.registry.serving import (
    LONG,
    PASSWORD,
    ServedApplication,
    free_port,
    installed,
    instances,
    request_json,
    serve,
    work_folder,
)
from tests.zoo.zoo_jobs import Application, Given, Job, RunningApplication

VERSION = "26.7.3"
KEEPER = "keeper"
"""Who signs in."""
REALM = "quarry"
_STARTED_S = 300.0
"""It compiles itself when it is started for the first time."""
_CONSOLE = f"/admin/master/console/#/{REALM}"

_PEOPLE = (
    ("mara.stone", "mara@quarry.example", "Mara", "Stone"),
    ("jonas.reed", "jonas@quarry.example", "Jonas", "Reed"),
    ("selma.brook", "selma@quarry.example", "Selma", "Brook"),
    ("idris.field", "idris@quarry.example", "Idris", "Field"),
    ("kofi.lane", "kofi@quarry.example", "Kofi", "Lane"),
    ("ruth.mill", "ruth@quarry.example", "Ruth", "Mill"),
    ("wim.dyke", "wim@quarry.example", "Wim", "Dyke"),
    ("zofie.hill", "zofie@quarry.example", "Žofie", "Hill"),
    ("sean.oneil", "sean@quarry.example", "Seán", "O'Neil"),
    ("mara.reed", "mara.reed@quarry.example", "Mara", "Reed"),
)
_ROLES = {
    "reader": "Reads what is published",
    "editor": "Writes and corrects",
    "night-shift": "Keeps watch",
    "press": "",
    "guide": "Shows people around",
    "driver": "Drives the trucks",
    "reader-abroad": "Reads from elsewhere",
}
_GROUPS = ("North pit", "South pit", "Workshop", "Office", "Canteen", "Weighbridge")


@asynccontextmanager
async def start_keycloak(parent: Path) -> AsyncIterator[RunningApplication]:
    """Serve a Keycloak with a realm of its own, in memory."""
    home = installed("keycloak", VERSION) / f"keycloak-{VERSION}"
    async with work_folder(parent) as folder:
        port = free_port()
        base = f"http://127.0.0.1:{port}"
        command: list[str | Path] = [
            home / "bin" / "kc.sh",
            "start-dev",
            "--db=dev-mem",
            "--http-host=127.0.0.1",
            f"--http-port={port}",
        ]
        keeper = {"KC_BOOTSTRAP_ADMIN_USERNAME": KEEPER, "KC_BOOTSTRAP_ADMIN_PASSWORD": PASSWORD}
        async with serve(command, folder, f"{base}/realms/master", keeper, started_s=_STARTED_S):
            yield ServedApplication(base, lambda: _restore(base), lambda: _read_state(base))


def _restore(base: str) -> None:
    """Make the realm anew: everything in it has other ids then."""
    signed = _sign_in_by_api(base)
    if any(each["realm"] == REALM for each in request_json(f"{base}/admin/realms", headers=signed)):
        request_json(f"{base}/admin/realms/{REALM}", "DELETE", headers=signed)
    people = [
        {"username": name, "email": email, "firstName": first, "lastName": last, "enabled": True}
        for name, email, first, last in _PEOPLE
    ]
    realm = {
        "realm": REALM, "enabled": True, "users": people, "groups": [{"name": each} for each in _GROUPS],
        "roles": {"realm": [{"name": name, "description": told} for name, told in _ROLES.items()]},
    }  # fmt: skip
    request_json(f"{base}/admin/realms", "POST", realm, signed)


def _read_state(base: str) -> Any:
    """Return people with their roles, roles and groups, without ids."""
    signed = _sign_in_by_api(base)
    realm = f"{base}/admin/realms/{REALM}"
    people = []
    for each in request_json(f"{realm}/users?max=1000", headers=signed):
        roles = request_json(f"{realm}/users/{each['id']}/role-mappings/realm", headers=signed)
        kept = ("username", "email", "firstName", "lastName", "enabled", "emailVerified")
        people.append(
            {key: each.get(key) for key in kept} | {"roles": sorted(role["name"] for role in roles)}
        )
    roles = request_json(f"{realm}/roles?briefRepresentation=true", headers=signed)
    groups = request_json(f"{realm}/groups", headers=signed)
    return {
        "people": sorted(people, key=lambda each: str(each["username"])),
        "roles": sorted((each["name"], each.get("description", "")) for each in roles),
        "groups": sorted((each["name"], each.get("description") or "") for each in groups),
    }


def _sign_in_by_api(base: str) -> dict[str, str]:
    form = {"client_id": "admin-cli", "grant_type": "password", "username": KEEPER, "password": PASSWORD}
    url = f"{base}/realms/master/protocol/openid-connect/token"
    with urllib.request.urlopen(url, urllib.parse.urlencode(form).encode(), timeout=60) as answer:
        token = json.load(answer)["access_token"]
    return {"Authorization": f"Bearer {token}"}


async def _sign_in(page: Page, noise: Noise) -> None:
    await noise.type("#username", KEEPER)
    await noise.type("#password", PASSWORD)
    await page.click("#kc-login")
    await page.get_by_role("gridcell").first.wait_for()


def _row(page: Page, text: str) -> Locator:
    return page.get_by_role("row").filter(has=page.get_by_text(text, exact=True))


async def _told(page: Page) -> None:
    """Wait until the page says that it is done or what is wrong."""
    await page.locator(".pf-v5-c-alert, .pf-v5-c-helper-text__item.pf-m-error, .pf-m-error").first.wait_for()


async def create_user(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await page.get_by_test_id("add-user").click()
    await noise.type("#username", given["username"])
    if given["email"]:
        await noise.type("#email", given["email"])
    await noise.type("#firstName", given["first name"])
    await noise.type("#lastName", given["last name"])
    await page.get_by_role("button", name="Create", exact=True).click()
    await _told(page)


async def edit_user(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await page.get_by_role("link", name=given["username"], exact=True).click()
    await page.locator("#email").wait_for()
    await noise.retype("#email", given["email"])
    await noise.retype("#lastName", given["last name"])
    await page.get_by_test_id("user-creation-save").click()
    await _told(page)


async def delete_user(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await noise.wander()
    await _row(page, given["username"]).get_by_label("Kebab toggle").click()
    await page.get_by_role("menuitem", name="Delete").click()
    await page.get_by_test_id("confirm").click()
    await _told(page)


async def grant_role(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await page.get_by_role("link", name=given["username"], exact=True).click()
    await page.get_by_test_id("role-mapping-tab").click()
    await page.get_by_role("button", name="Assign role").first.click()
    await page.get_by_role("menuitem", name="Realm roles").click()
    said = page.get_by_text(given["role"], exact=True)
    await page.get_by_role("dialog").get_by_role("row").filter(has=said).get_by_role("checkbox").click()
    await page.get_by_test_id("assign").click()
    await _told(page)


async def create_role(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await page.get_by_test_id("create-role").click()
    await noise.type("#name", given["name"])
    if given["description"]:
        await noise.type("#description", given["description"])
    await page.get_by_test_id("save").click()
    await _told(page)


async def delete_role(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await _row(page, given["name"]).get_by_label("Kebab toggle").click()
    await page.get_by_role("menuitem", name="Delete").click()
    await page.get_by_test_id("confirm").click()
    await _told(page)


async def create_group(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await page.get_by_test_id("openCreateGroupModal").click()
    await noise.type("[role=dialog] #name", given["name"])
    await page.get_by_test_id("createGroup").click()
    await _told(page)


def _person(username: str, email: str, first: str, last: str) -> dict[str, str]:
    return {"username": username, "email": email, "first name": first, "last name": last}


def _changed(username: str, email: str, last: str) -> dict[str, str]:
    return {"username": username, "email": email, "last name": last}


def _role(name: str, description: str) -> dict[str, str]:
    return {"name": name, "description": description}


def _grant(username: str, role: str) -> dict[str, str]:
    return {"username": username, "role": role}


JOBS = [
    Job("create_user", create_user, instances(
        ("plain", _person("nina.shaw", "nina@quarry.example", "Nina", "Shaw")),
        ("plain", _person("omar.vale", "omar@quarry.example", "Omar", "Vale")),
        ("plain", _person("pia.holt", "pia@quarry.example", "Pia", "Holt")),
        ("plain", _person("rolf.beck", "rolf@quarry.example", "Rolf", "Beck")),
        ("plain", _person("tess.wood", "tess@quarry.example", "Tess", "Wood")),
        ("quotes", _person("una.oshea", "una@quarry.example", "Una", "O'Shea")),
        ("unicode", _person("yuki.mori", "yuki@quarry.example", "有希", "Žák")),
        ("empty", _person("quin.ford", "", "Quin", "Ford")),
        ("refused", _person("vera.dale", "not an address", "Vera", "Dale")),
        ("existing", _person("kofi.lane", "other@quarry.example", "Kofi", "Lane")),
    ), f"{_CONSOLE}/users", "create"),
    Job("edit_user", edit_user, instances(
        ("plain", _changed("mara.stone", "m.stone@quarry.example", "Stone-Reed")),
        ("plain", _changed("kofi.lane", "k.lane@quarry.example", "Lanes")),
        ("plain", _changed("ruth.mill", "r.mill@quarry.example", "Miller")),
        ("plain", _changed("wim.dyke", "w.dyke@quarry.example", "van Dyke")),
        ("plain", _changed("mara.reed", "m.reed@quarry.example", "Reeds")),
        ("plain", _changed("idris.field", "i.field@quarry.example", "Fields")),
        ("quotes", _changed("sean.oneil", "s.oneil@quarry.example", "O'Neill")),
        ("unicode", _changed("zofie.hill", "z.hill@quarry.example", "Kopecká")),
        ("refused", _changed("selma.brook", "nowhere", "Brooks")),
        ("existing", _changed("jonas.reed", "mara@quarry.example", "Reeds")),
        ("missing", _changed("nobody.here", "n@quarry.example", "Here")),
        ("missing", _changed("mara", "mm@quarry.example", "Stone")),
    ), f"{_CONSOLE}/users", "edit"),
    Job("delete_user", delete_user, instances(
        *(("plain", {"username": each}) for each in (
            "selma.brook", "wim.dyke", "mara.reed", "jonas.reed", "kofi.lane", "idris.field", "sean.oneil",
        )),
        ("missing", {"username": "nobody.here"}),
        ("missing", {"username": "mara"}),
    ), f"{_CONSOLE}/users", "delete"),
    Job("grant_role", grant_role, instances(
        ("plain", _grant("mara.stone", "editor")),
        ("plain", _grant("jonas.reed", "driver")),
        ("plain", _grant("ruth.mill", "night-shift")),
        ("plain", _grant("wim.dyke", "press")),
        ("plain", _grant("mara.reed", "reader")),
        ("plain", _grant("zofie.hill", "guide")),
        ("plain", _grant("sean.oneil", "reader-abroad")),
        ("missing", _grant("mara.stone", "foreman")),
        ("missing", _grant("nobody.here", "reader")),
        ("missing", _grant("kofi.lane", "abroad")),
    ), f"{_CONSOLE}/users", "edit"),
    Job("create_role", create_role, instances(
        ("plain", _role("surveyor", "Measures the pits")),
        ("plain", _role("medic", "Has a first-aid kit")),
        ("plain", _role("archivist", "Keeps the papers")),
        ("plain", _role("porter", "Opens the gate")),
        ("plain", _role("smith", "Mends the tools")),
        ("quotes", _role("king's-hand", 'Says "no" to the king')),
        ("unicode", _role("größe", "Misst die Größe: 30 cm ✓")),
        ("long", _role("story-teller", LONG[:250])),
        ("empty", _role("nameless", "")),
        ("existing", _role("reader", "Once more")),
    ), f"{_CONSOLE}/roles", "create"),
    Job("delete_role", delete_role, instances(
        *(("plain", {"name": each}) for each in (
            "editor", "night-shift", "press", "reader", "guide", "driver",
        )),
        ("missing", {"name": "foreman"}),
        ("missing", {"name": "abroad"}),
    ), f"{_CONSOLE}/roles", "delete"),
    Job("create_group", create_group, instances(
        ("plain", {"name": "East pit"}),
        ("plain", {"name": "Fire brigade"}),
        ("plain", {"name": "Laboratory"}),
        ("plain", {"name": "Visitors"}),
        ("plain", {"name": "West pit"}),
        ("quotes", {"name": "The \"old\" guard's friends"}),
        ("unicode", {"name": "Küche 東京"}),
        ("existing", {"name": "Canteen"}),
    ), f"{_CONSOLE}/groups", "create"),
]  # fmt: skip


KEYCLOAK = Application("keycloak", "React with PatternFly", JOBS, start_keycloak)
