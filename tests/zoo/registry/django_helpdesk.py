"""django-helpdesk, tickets of a help desk: server-rendered Bootstrap, with a list made by jQuery and DataTables.

Licence: BSD. Version 2.6.1 (Bootstrap 5).
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from playwright.async_api import Locator, Page

from tests.support.people import Noise
from tests.zoo.registry.django_projects import serve_project
from tests.zoo.registry.serving import LONG, PASSWORD, choose, instances, read_rows
from tests.zoo.zoo_jobs import Application, Given, Job, RunningApplication, add_invalid

VERSIONS = ("2.6.1",)
USER = "agent"
START = "/helpdesk/tickets/"

_TICKETS = (
    ("Mouse without a ball", "Hardware", "mara@quarry.example", 3),
    ("Password forgotten again", "Accounts", "jonas@quarry.example", 2),
    ("Screen turned by 90 degrees", "Hardware", "selma@quarry.example", 4),
    ("Calendar shows last week", "Software", "mara@quarry.example", 3),
    ("New colleague needs an account", "Accounts", "idris@quarry.example", 2),
    ('Error "42" at startup', "Software", "kofi@quarry.example", 1),
    ("Ruth's keyboard types twice", "Hardware", "ruth@quarry.example", 3),
    ("Schrift für 東京 fehlt", "Software", "zofie@quarry.example", 5),
    ("Printer speaks Latin", "Hardware", "lotte@quarry.example", 3),
    ("Badge does not open gate B", "Accounts", "wim@quarry.example", 1),
    ("Video call without a picture", "Software", "selma@quarry.example", 2),
    ("Headset hums", "Hardware", "jonas@quarry.example", 4),
)  # fmt: skip
_FILES = {
    "site_urls.py": """
from django.contrib import admin
from django.urls import include, path
urlpatterns = [path("admin/", admin.site.urls), path("helpdesk/", include("helpdesk.urls", namespace="helpdesk"))]
""",
}
_SETTINGS = """
INSTALLED_APPS = [
    *INSTALLED_APPS, "django.contrib.sites", "django.contrib.humanize", "rest_framework",
    "django_cleanup.apps.CleanupConfig", "helpdesk",
]
SITE_ID = 1
LOGIN_URL = "/helpdesk/login/"
LOGIN_REDIRECT_URL = "/helpdesk/tickets/"
HELPDESK_KB_ENABLED = True
HELPDESK_TEAMS_MODE_ENABLED = False
HELPDESK_ACTIVATE_API_ENDPOINT = False
HELPDESK_USE_CDN = False
"""
_SEED = """
from django.utils import timezone
from helpdesk.models import Queue, Ticket
queues = {name: Queue.objects.create(title=name, slug=name.lower(), allow_public_submission=False)
          for name in ("Hardware", "Accounts", "Software")}
for title, queue, submitter, priority in given["data"]:
    Ticket.objects.create(title=title, queue=queues[queue], submitter_email=submitter, priority=priority,
                          description="It is as it says.", created=timezone.now())
"""


@asynccontextmanager
async def start_django_helpdesk(
    parent: Path, version: str = VERSIONS[0]
) -> AsyncIterator[RunningApplication]:
    """Serve a help desk with three queues."""
    async with serve_project(
        parent, ("django-helpdesk", version), _FILES, _SETTINGS, _SEED, _TICKETS,
        USER, _read_state, "/helpdesk/login/",
    ) as running:  # fmt: skip
        yield running


def _read_state(database: Path) -> Any:
    """Return the tickets with what was answered."""
    tickets = read_rows(
        database,
        "select t.id, t.title, q.title as queue, submitter_email, status, priority, description, u.username as owner"
        " from helpdesk_ticket t join helpdesk_queue q on q.id = queue_id"
        " left join auth_user u on u.id = assigned_to_id order by t.id",
    )
    answers = read_rows(database, "select ticket_id, comment from helpdesk_followup order by id")
    for ticket in tickets:
        number = ticket.pop("id")
        ticket["answers"] = [each["comment"] for each in answers if each["ticket_id"] == number]
    return tickets


async def _sign_in(page: Page, noise: Noise) -> None:
    await noise.type("input[name=username]", USER)
    await noise.type("input[name=password]", PASSWORD)
    await page.get_by_role("button", name="Login").click()
    await page.locator("#ticketTable tbody a").first.wait_for()


def _row(page: Page, title: str) -> Locator:
    name = re.compile(rf"\]\s*{re.escape(title)}\s*$|^\s*\d+\.\s*{re.escape(title)}\s*$")
    return page.locator("#ticketTable tbody tr").filter(has=page.get_by_role("link", name=name))


async def _open(page: Page, title: str) -> None:
    await _row(page, title).get_by_role("link").first.click()
    await page.locator("#commentBox").wait_for(state="attached")


async def create_ticket(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await page.get_by_role("link", name="New Ticket").first.click()
    await choose(page, "#id_queue", given["queue"])
    await noise.type("#id_title", given["title"])
    await noise.type("#id_body", given["body"])
    await choose(page, "#id_priority", given["priority"])
    await noise.retype("#id_submitter_email", given["submitter"])  # one's own address stands there
    await page.get_by_role("button", name="Submit Ticket").click()
    await page.locator("#commentBox, #id_body:invalid, #id_submitter_email:invalid").first.wait_for(
        state="attached"
    )


async def answer_ticket(page: Page, given: Given, noise: Noise) -> None:
    """Write an answer, and set the status."""
    await _sign_in(page, noise)
    await _open(page, given["title"])
    await page.get_by_text("Respond", exact=True).first.click()
    await noise.type("#commentBox", given["answer"])
    await page.locator("label.radio-inline", has_text=given["status"]).click()
    await (
        page.locator("#commentBox").locator("xpath=ancestor::form").get_by_role("button", name="Save").click()
    )
    await page.get_by_text(given["answer"][:40]).first.wait_for()


async def edit_ticket(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await _open(page, given["title"])
    await _menu(page, "Edit")
    await noise.retype("#id_title", given["new title"])
    await choose(page, "#id_priority", given["priority"])
    await page.get_by_role("button", name="Save Changes").click()
    await page.locator("#commentBox, #id_title:invalid").first.wait_for(state="attached")


async def _menu(page: Page, item: str) -> None:
    """Click an item of the ticket's menu."""
    link = page.locator(f"a[href$='/{item.lower()}/']", has_text=item).first
    if not await link.is_visible():
        await page.locator(".dropdown:has(a[href$='/delete/']) [data-bs-toggle=dropdown]").first.click()
    await link.click()


async def delete_ticket(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await _open(page, given["title"])
    await _menu(page, "Delete")
    await page.get_by_role("button", name="Yes I Understand").click()
    await page.wait_for_url(lambda url: "/delete" not in url)


async def close_tickets(page: Page, given: Given, noise: Noise) -> None:
    """Tick the tickets of a submitter, and close them."""
    await _sign_in(page, noise)
    rows = page.locator("#ticketTable tbody tr").filter(has=page.get_by_text(given["submitter"], exact=True))
    await rows.first.wait_for()
    for row in await rows.all():
        await row.locator("input[type=checkbox]").check()
    select = page.locator("#id_mass_action")
    if not await select.is_visible():
        await page.get_by_role("button", name="Actions").click()
    await choose(page, "#id_mass_action", "Close (Don't Send E-Mail)")
    await page.locator("#ticket_mass_update").get_by_role("button", name="Go").click()
    await page.locator("#ticketTable tbody a").first.wait_for()


def _ticket(queue: str, title: str, priority: str, submitter: str, body: str) -> dict[str, str]:
    return {"queue": queue, "title": title, "body": body, "priority": priority, "submitter": submitter}


def _answer(title: str, status: str, answer: str) -> dict[str, str]:
    return {"title": title, "answer": answer, "status": status}


def _edit(title: str, new: str, priority: str) -> dict[str, str]:
    return {"title": title, "new title": new, "priority": priority}


_CRITICAL, _HIGH, _NORMAL, _LOW = "1. Critical", "2. High", "3. Normal", "4. Low"

JOBS = [
    Job("create_ticket", create_ticket, instances(
        ("plain", _ticket("Hardware", "Cable too short", _HIGH, "mara@quarry.example", "By half a metre")),
        ("plain", _ticket("Software", "Spelling in Welsh", _LOW, "kofi@quarry.example", "There is none")),
        ("plain", _ticket("Accounts", "Two accounts for one man", _CRITICAL, "wim@quarry.example", "Which is his?")),
        ("plain", _ticket("Software", "Clock runs ahead", _HIGH, "lotte@quarry.example", "Five minutes")),
        ("plain", _ticket("Hardware", "Chair squeaks", _LOW, "selma@quarry.example", "Not a computer, we know")),
        ("plain", _ticket("Accounts", "Locked out", _CRITICAL, "idris@quarry.example", "After three tries")),
        ("quotes", _ticket("Software", "It says \"don't panic\"", _HIGH, "ruth@quarry.example", "And it's \"green\"")),
        ("unicode", _ticket("Hardware", "Tastatur für 東京, Žofie", _LOW, "zofie@quarry.example", "Größe ✓ прошу")),
        ("long", _ticket("Accounts", "A ticket with a story", _HIGH, "jonas@quarry.example", LONG)),
        ("empty", _ticket("Hardware", "Found a mouse", _LOW, "", "A real one")),
        ("empty", _ticket("Software", "Save button is shy", _HIGH, "", "It hides")),
        ("refused", _ticket("Hardware", "No description", _LOW, "mara@quarry.example", "")),
        ("refused", _ticket("Software", "Wrong address", _HIGH, "nobody at home", "It has no at sign")),
    ), START, "create"),
    Job("answer_ticket", answer_ticket, instances(
        ("plain", _answer("Mouse without a ball", "Resolved", "It needs none.")),
        ("plain", _answer("Calendar shows last week", "Closed", "Please restart it.")),
        ("plain", _answer("Headset hums", "Resolved", "We sent you a new one.")),
        ("plain", _answer("Printer speaks Latin", "Closed", "We switched it to English.")),
        ("plain", _answer("Password forgotten again", "Resolved", "Look into your mailbox.")),
        ("plain", _answer("Video call without a picture", "Closed", "Take off the cover.")),
        ("quotes", _answer('Error "42" at startup', "Resolved", "It's \"only\" a warning.")),
        ("quotes", _answer("Ruth's keyboard types twice", "Closed", "Don't press \"so\" long.")),
        ("unicode", _answer("Schrift für 東京 fehlt", "Resolved", "Jetzt da: 明朝 ✓")),
        ("long", _answer("Badge does not open gate B", "Resolved", LONG)),
        ("missing", _answer("Lost umbrella", "Closed", "Not here.")),
        ("missing", _answer("Headset", "Closed", "Which one?")),
    ), START, "edit"),
    Job("edit_ticket", edit_ticket, instances(
        ("plain", _edit("Mouse without a ball", "Mouse does not move", _HIGH)),
        ("plain", _edit("Screen turned by 90 degrees", "Screen is upright", _CRITICAL)),
        ("plain", _edit("Headset hums", "Headset hums a tune", _NORMAL)),
        ("plain", _edit("Printer speaks Latin", "Printer speaks Greek", _LOW)),
        ("plain", _edit("Badge does not open gate B", "Gate B is stuck", _HIGH)),
        ("plain", _edit("Password forgotten again", "Password reminder", _LOW)),
        ("quotes", _edit('Error "42" at startup', "Error \"43\", it's new", _HIGH)),
        ("quotes", _edit("Ruth's keyboard types twice", "Ruth's keyboard", _LOW)),
        ("unicode", _edit("Schrift für 東京 fehlt", "Schrift für 大阪 fehlt", _CRITICAL)),
        ("refused", _edit("Video call without a picture", "", _LOW)),
        ("missing", _edit("Lost umbrella", "Umbrella", _LOW)),
        ("missing", _edit("Headset", "Head", _LOW)),
        ("refused", _edit("Calendar shows last week", "", _HIGH)),
    ), START, "edit"),
    Job("delete_ticket", delete_ticket, instances(
        *(("plain", {"title": each}) for each in (
            "Headset hums", "Printer speaks Latin", "Mouse without a ball", "Calendar shows last week",
            "New colleague needs an account", "Video call without a picture", "Badge does not open gate B",
            "Password forgotten again",
        )),
        ("quotes", {"title": 'Error "42" at startup'}),
        ("quotes", {"title": "Ruth's keyboard types twice"}),
        ("unicode", {"title": "Schrift für 東京 fehlt"}),
        ("missing", {"title": "Lost umbrella"}),
        ("missing", {"title": "Headset"}),
    ), START, "delete"),
    Job("close_tickets", close_tickets, instances(
        *(("plain", {"submitter": f"{each}@quarry.example"}) for each in (
            "mara", "jonas", "selma", "idris", "kofi", "ruth", "zofie", "lotte", "wim",
        )),
        ("missing", {"submitter": "bruno@quarry.example"}),
        ("missing", {"submitter": "mar@quarry.example"}),
    ), START, "list"),
]  # fmt: skip

INVALID: dict[str, Given] = {
    "create_ticket": _ticket("Software", "Spelling in Welsh", _LOW, "kofi", "There is none"),
    "edit_ticket": _edit("Screen turned by 90 degrees", "", _CRITICAL),
}
"""Values that the form refuses, for a recording that must not count."""


DJANGO_HELPDESK = Application(
    "django_helpdesk", "server-rendered, jQuery and DataTables", add_invalid(JOBS, INVALID), start_django_helpdesk,
)  # fmt: skip
