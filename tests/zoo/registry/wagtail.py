"""Wagtail, a content management system: server-rendered, with Stimulus and menus that open over the page.

Licence: BSD. Versions 7.4.4 and 5.2.8 differ in the header, the listing and the menus.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from playwright.async_api import Locator, Page

from tests.support.people import Noise
from tests.zoo.registry.django_projects import serve_project
from tests.zoo.registry.serving import LONG, PASSWORD, choose, instances, read_rows
from tests.zoo.zoo_jobs import Application, Given, Job, RunningApplication, add_invalid

VERSIONS = ("7.4.4", "5.2.8")
"""The newer first."""
USER = "editor"
START = "/admin/pages/2/"

_EVENTS = (
    ("Choir rehearsal in May", "Music", "H1", "Bring water"),
    ("Reading by candlelight", "Talk", "H2", ""),
    ("Choir rehearsal in June", "Music", "H1", ""),
    ("Market of old books", "Market", "Y3", "From nine o'clock"),
    ("Lantern walk", "Walk", "Y4", "Children welcome"),
    ('Lecture "Why bees dance"', "Talk", "H2", ""),
    ("Ruth's farewell", "Music", "H5", ""),
    ("Žofie in 東京, a talk", "Talk", "H2", "With slides"),
    ("Walk to the lighthouse", "Walk", "Y6", ""),
    ("Plant market", "Market", "Y3", ""),
    ("Concert of the juniors", "Music", "H1", ""),
    ("Concert of the elders", "Music", "H1", "Sold out"),
)  # fmt: skip
_FILES = {
    "site_urls.py": """
from django.urls import include, path
from wagtail import urls as wagtail_urls
from wagtail.admin import urls as wagtailadmin_urls
from wagtail.documents import urls as wagtaildocs_urls
urlpatterns = [
    path("admin/", include(wagtailadmin_urls)), path("documents/", include(wagtaildocs_urls)),
    path("", include(wagtail_urls)),
]
""",
    "templates/programme/event.html": "<h1>{{ page.title }}</h1>",
    "programme/__init__.py": "",
    "programme/migrations/__init__.py": "",
    "programme/models.py": """
from django.core.validators import RegexValidator
from django.db import models
from wagtail.admin.panels import FieldPanel
from wagtail.models import Page

class Event(Page):
    kind = models.CharField(max_length=10, choices=[(each.lower(), each) for each in
                            ("Music", "Talk", "Market", "Walk")])
    place = models.CharField(max_length=10, validators=[RegexValidator("^[HY][0-9]+$")])
    note = models.TextField(blank=True)
    content_panels = [*Page.content_panels, FieldPanel("kind"), FieldPanel("place"), FieldPanel("note")]
    subpage_types = []
""",
}
_SETTINGS = """
INSTALLED_APPS = [
    "wagtail.contrib.forms", "wagtail.contrib.redirects", "wagtail.embeds", "wagtail.sites", "wagtail.users",
    "wagtail.snippets", "wagtail.documents", "wagtail.images", "wagtail.search", "wagtail.admin", "wagtail",
    "modelcluster", "taggit", "programme", *INSTALLED_APPS,
]
OWN_APPS = ["programme"]
WAGTAIL_SITE_NAME = "Programme"
WAGTAILADMIN_BASE_URL = "http://127.0.0.1"
WAGTAIL_ENABLE_UPDATE_CHECK = False
WAGTAIL_AUTOSAVE_INTERVAL = 0
WAGTAIL_ENABLE_WHATS_NEW_BANNER = False
WAGTAILSEARCH_BACKENDS = {"default": {"BACKEND": "wagtail.search.backends.database"}}
"""
_SEED = """
from wagtail.models import Page
from programme.models import Event
home = Page.objects.get(id=2)
home.title = "Programme"
home.save()
for title, kind, place, note in given["data"]:
    event = home.add_child(instance=Event(title=title, kind=kind.lower(), place=place, note=note))
    event.save_revision(user=admin).publish()
"""


@asynccontextmanager
async def start_wagtail(parent: Path, version: str = VERSIONS[0]) -> AsyncIterator[RunningApplication]:
    """Serve the pages of a programme of events."""
    async with serve_project(
        parent, ("wagtail", version), _FILES, _SETTINGS, _SEED, _EVENTS, USER, _read_state, "/admin/login/"
    ) as running:  # fmt: skip
        yield running


def _read_state(database: Path) -> Any:
    """Return the events; what is published counts."""
    return read_rows(
        database,
        "select title, live, has_unpublished_changes as changed, kind, place, note from wagtailcore_page"
        " join programme_event on page_ptr_id = id order by id",
    )


async def _sign_in(page: Page, noise: Noise) -> None:
    await noise.type("#id_username", USER)
    await noise.type("#id_password", PASSWORD)
    await page.get_by_role("button", name="Sign in").click()
    await page.locator("table.listing").wait_for()


async def _answered(page: Page) -> None:
    await page.locator(".messages li").first.wait_for()


async def _publish(page: Page) -> None:
    await page.locator("footer :is([data-w-dropdown-target=toggle], .dropdown-toggle)").click()
    await page.get_by_role("button", name="Publish", exact=True).click()
    await _answered(page)


def _title(page: Page, title: str) -> Locator:
    return page.locator("table.listing .title-wrapper a").get_by_text(title, exact=True)


def _row(page: Page, title: str) -> Locator:
    return page.locator("table.listing tbody tr").filter(
        has=page.locator(".title-wrapper").get_by_text(title, exact=True)
    )


async def create_event(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await page.get_by_role("link", name="Add child page").first.click()
    await noise.type("#id_title", given["title"])
    await choose(page, "#id_kind", given["kind"])
    await noise.type("#id_place", given["place"])
    if given["note"]:
        await noise.type("#id_note", given["note"])
    await _publish(page)


async def edit_event(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await _title(page, given["title"]).click()
    await choose(page, "#id_kind", given["kind"])
    await noise.retype("#id_place", given["place"])
    await _publish(page)


async def delete_event(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    row = _row(page, given["title"])
    await row.hover()
    await row.locator("[data-w-dropdown-target=toggle]").click()
    await page.get_by_role("link", name="Delete", exact=False).locator("visible=true").first.click()
    await (
        page.get_by_role("button", name="Yes, delete it")
        .or_(page.locator("form button.serious, form input.serious"))
        .first.click()
    )
    await _answered(page)


async def unpublish_events(page: Page, given: Given, noise: Noise) -> None:
    """Tick the events that have a word in the title, and unpublish them."""
    await _sign_in(page, noise)
    rows = page.locator("table.listing tbody tr").filter(
        has=page.locator(".title-wrapper", has_text=given["word"])
    )
    await rows.first.wait_for()
    for row in await rows.all():
        await row.locator("input[type=checkbox]").check()
    await page.locator("[data-bulk-action-footer], .bulk-actions").get_by_text("Unpublish").click()
    await page.get_by_role("button", name="Yes, unpublish").click()
    await _answered(page)


def _event(title: str, kind: str, place: str, note: str) -> dict[str, str]:
    return {"title": title, "kind": kind, "place": place, "note": note}


def _moved(title: str, kind: str, place: str) -> dict[str, str]:
    return {"title": title, "kind": kind, "place": place}


JOBS = [
    Job("create_event", create_event, instances(
        ("plain", _event("Night of the drums", "Music", "H20", "Bring earplugs")),
        ("plain", _event("Cheese and wine", "Market", "Y21", "Until it is gone")),
        ("plain", _event("Stars above the quarry", "Walk", "Y22", "Warm clothes")),
        ("plain", _event("How clocks work", "Talk", "H23", "For all ages")),
        ("plain", _event("Flea market", "Market", "Y24", "Tables are there")),
        ("plain", _event("Evening of fado", "Music", "H25", "Free entry")),
        ("quotes", _event("The \"small\" opera, Kofi's choice", "Music", "H26", "It's \"small\" indeed")),
        ("unicode", _event("Großer Abend 音楽 прошу", "Music", "H27", "Žofie ✓ 東京")),
        ("long", _event("An event with a story", "Talk", "H28", LONG)),
        ("empty", _event("Silence", "Walk", "Y29", "")),
        ("empty", _event("Breakfast", "Market", "Y30", "")),
        ("refused", _event("Somewhere", "Walk", "behind the hill", "There is no such place")),
        ("refused", _event("Nowhere", "Talk", "X31", "There is no hall X")),
    ), START, "create"),
    Job("edit_event", edit_event, instances(
        ("plain", _moved("Reading by candlelight", "Music", "H40")),
        ("plain", _moved("Lantern walk", "Talk", "Y41")),
        ("plain", _moved("Plant market", "Walk", "Y42")),
        ("plain", _moved("Walk to the lighthouse", "Market", "Y43")),
        ("plain", _moved("Concert of the elders", "Talk", "H44")),
        ("plain", _moved("Market of old books", "Walk", "H45")),
        ("quotes", _moved('Lecture "Why bees dance"', "Walk", "Y46")),
        ("quotes", _moved("Ruth's farewell", "Market", "H47")),
        ("unicode", _moved("Žofie in 東京, a talk", "Music", "H48")),
        ("refused", _moved("Choir rehearsal in May", "Talk", "at home")),
        ("refused", _moved("Choir rehearsal in June", "Walk", "H 49")),
        ("missing", _moved("Puppet theatre", "Talk", "H50")),
        ("missing", _moved("Lantern", "Talk", "H51")),
    ), START, "edit"),
    Job("delete_event", delete_event, instances(
        *(("plain", {"title": each}) for each in (
            "Plant market", "Lantern walk", "Concert of the elders", "Reading by candlelight", "Market of old books",
            "Choir rehearsal in May", "Walk to the lighthouse", "Concert of the juniors",
        )),
        ("quotes", {"title": 'Lecture "Why bees dance"'}),
        ("quotes", {"title": "Ruth's farewell"}),
        ("unicode", {"title": "Žofie in 東京, a talk"}),
        ("missing", {"title": "Puppet theatre"}),
        ("missing", {"title": "Concert"}),
    ), START, "delete"),
    Job("unpublish_events", unpublish_events, instances(
        *(("plain", {"word": each}) for each in (
            "Choir", "market", "Concert", "alk", "rehearsal", "Lantern", "lighthouse", "Reading", "elders",
        )),
        ("quotes", {"word": "Ruth's"}),
        ("unicode", {"word": "東京"}),
        ("missing", {"word": "Puppet"}),
        ("missing", {"word": "Opera"}),
    ), START, "list"),
]  # fmt: skip

INVALID: dict[str, Given] = {
    "create_event": _event("Cheese and wine", "Market", "yard 21", "Until it is gone"),
    "edit_event": _moved("Lantern walk", "Talk", "Y-41"),
}
"""Values that the form refuses, for a recording that must not count."""


WAGTAIL = Application(
    "wagtail", "server-rendered, Stimulus", add_invalid(JOBS, INVALID), start_wagtail,
    partial(start_wagtail, version=VERSIONS[1]),
)  # fmt: skip
