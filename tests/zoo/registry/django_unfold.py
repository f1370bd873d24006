"""Unfold, an admin for Django: server-rendered, with HTMX and Alpine.

Licence: MIT. Version 0.91.0.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from playwright.async_api import Locator, Page

from tests.support.people import Noise
from tests.zoo.registry.django_projects import serve_project
from tests.zoo.registry.serving import LONG, PASSWORD, choose, instances, read_rows
from tests.zoo.zoo_jobs import Application, Given, Job, RunningApplication, add_invalid

VERSIONS = ("0.91.0",)
USER = "librarian"

_BOOKS = (
    ("The salt road", "novel", "Mara", "N1", 320, "here", "Cover torn"),
    ("Small engines", "manual", "Jonas", "M2", 120, "here", ""),
    ("Atlas of winds", "atlas", "Mara", "A3", 88, "here", "Large"),
    ("Ferns of the north", "manual", "Selma", "M4", 210, "lent", ""),
    ("Letters from Oran", "novel", "Jonas", "N5", 260, "here", ""),
    ('The "other" garden', "novel", "Idris", "N6", 190, "here", ""),
    ("Cook's companion", "manual", "Selma", "M7", 400, "here", "Stains"),
    ("東京 at night, Žofie's photos", "atlas", "Žofie", "A8", 60, "here", ""),
    ("Poems for rain", "poetry", "Idris", "P9", 77, "here", ""),
    ("Bridges", "atlas", "Kofi", "A10", 150, "lent", ""),
    ("Twelve sonnets", "poetry", "Lotte", "P11", 30, "here", ""),
    ("The clock mender", "novel", "Wim", "N12", 280, "here", "Signed"),
)  # fmt: skip
_FILES = {
    "site_urls.py": """
from django.contrib import admin
from django.urls import path
urlpatterns = [path("admin/", admin.site.urls)]
""",
    "library/__init__.py": "",
    "library/models.py": """
from django.core.validators import RegexValidator
from django.db import models

class Book(models.Model):
    title = models.CharField(max_length=80, unique=True)
    kind = models.CharField(max_length=10, choices=[(each, each.title()) for each in
                            ("novel", "manual", "atlas", "poetry")])
    donor = models.CharField(max_length=40, blank=True)
    shelf = models.CharField(max_length=10, validators=[RegexValidator("^[A-Z][0-9]+$")])
    pages = models.IntegerField(default=100)
    state = models.CharField(max_length=10, choices=[("here", "On the shelf"), ("lent", "Lent"), ("lost", "Lost")],
                             default="here")
    note = models.TextField(blank=True)
    borrower = models.CharField(max_length=10, blank=True)
    weeks = models.IntegerField(default=0)

    def __str__(self):
        return self.title
""",
    "library/admin.py": """
from django import forms
from django.contrib import admin
from django.http import HttpResponse
from unfold.admin import ModelAdmin
from unfold.decorators import action
from unfold.forms import BaseDialogForm
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget
from library.models import Book

class LendForm(BaseDialogForm):
    borrower = forms.RegexField("^M[0-9]{3}$", widget=UnfoldAdminTextInputWidget, label="Member's number")
    weeks = forms.ChoiceField(choices=[("2", "Two weeks"), ("4", "Four weeks"), ("8", "Eight weeks")],
                              widget=UnfoldAdminSelectWidget)
    note = forms.CharField(required=False, widget=UnfoldAdminTextInputWidget)

@admin.action(description="Mark as lost")
def mark_as_lost(model_admin, request, books):
    books.update(state="lost")

@admin.register(Book)
class BookAdmin(ModelAdmin):
    list_display = ["title", "kind", "donor", "shelf", "state"]
    search_fields = ["title"]
    actions = [mark_as_lost]
    actions_row = ["lend"]
    ordering = ["id"]

    @action(description="Lend", url_path="lend", dialog={"title": "Lend this book", "description": "To a member",
                                                         "form_class": LendForm, "form_submit_text": "Lend it"})
    def lend(self, request, form, object_id):
        values = form.cleaned_data
        Book.objects.filter(id=object_id).update(state="lent", borrower=values["borrower"], weeks=values["weeks"],
                                                 note=values["note"])
        return HttpResponse(headers={"HX-Redirect": "/admin/library/book/"})
""",
}
_SETTINGS = """
INSTALLED_APPS = ["unfold", *INSTALLED_APPS, "library"]
"""
_SEED = """
from library.models import Book
names = ("title", "kind", "donor", "shelf", "pages", "state", "note")
for values in given["data"]:
    Book.objects.create(**dict(zip(names, values)))
"""


@asynccontextmanager
async def start_django_unfold(parent: Path, version: str = VERSIONS[0]) -> AsyncIterator[RunningApplication]:
    """Serve the admin of a small library."""
    async with serve_project(
        parent, ("django-unfold", version), _FILES, _SETTINGS, _SEED, _BOOKS, USER, _read_state, "/admin/login/"
    ) as running:  # fmt: skip
        yield running


def _read_state(database: Path) -> Any:
    return read_rows(
        database,
        "select title, kind, donor, shelf, pages, state, note, borrower, weeks from library_book order by id",
    )


async def _sign_in(page: Page, noise: Noise) -> None:
    await noise.type("#id_username", USER)
    await noise.type("#id_password", PASSWORD)
    await page.get_by_role("button", name="Log in").click()
    await page.get_by_role("link", name="Books", exact=True).first.click()
    await page.locator("#result_list").wait_for()


async def _answered(page: Page) -> None:
    """Wait for the list, or for what is wrong."""
    await page.locator("#result_list, .errorlist, .errornote").first.wait_for()


def _row(page: Page, text: str) -> Locator:
    return page.locator("#result_list tbody tr").filter(has=page.get_by_text(text, exact=True))


async def create_book(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await page.locator("a[href$='/book/add/']:visible").last.click()
    await noise.type("#id_title", given["title"])
    await choose(page, "#id_kind", given["kind"])
    await noise.type("#id_shelf", given["shelf"])
    if given["note"]:
        await noise.type("#id_note", given["note"])
    await page.get_by_role("button", name="Save", exact=True).click()
    await _answered(page)


async def edit_book(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await page.get_by_role("link", name=given["title"], exact=True).click()
    await noise.retype("#id_shelf", given["shelf"])
    await choose(page, "#id_state", given["state"])
    await page.get_by_role("button", name="Save", exact=True).click()
    await _answered(page)


async def delete_book(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await page.get_by_role("link", name=given["title"], exact=True).click()
    await page.get_by_role("link", name="Delete book").click()
    await page.get_by_role("button", name="Yes, I").click()
    await _answered(page)


async def lend_book(page: Page, given: Given, noise: Noise) -> None:
    """Fill in a form in a dialog, which HTMX fetches and sends."""
    await _sign_in(page, noise)
    await _row(page, given["title"]).get_by_text("more_horiz").click()
    await page.get_by_role("link", name="Lend", exact=True).locator("visible=true").click()
    await noise.type("#dialog #id_borrower", given["borrower"])
    await choose(page, "#dialog #id_weeks", given["weeks"])
    if given["note"]:
        await noise.type("#dialog #id_note", given["note"])
    async with page.expect_response(lambda answer: answer.request.method == "POST"):
        await page.get_by_role("button", name="Lend it").click()
    await page.wait_for_load_state()


async def mark_lost(page: Page, given: Given, noise: Noise) -> None:
    """Tick the books of a donor, and mark them as lost."""
    await _sign_in(page, noise)
    rows = _row(page, given["donor"])
    await rows.first.wait_for()
    for row in await rows.all():
        await row.locator("input.action-select").check()
    await choose(page, "select[name=action]", "Mark as lost")
    await page.get_by_role("button", name="Run").click()
    await page.locator("#result_list").wait_for()
    await page.locator(".action-select:checked").first.wait_for(state="hidden")


def _book(title: str, kind: str, shelf: str, note: str) -> dict[str, str]:
    return {"title": title, "kind": kind, "shelf": shelf, "note": note}


def _moved(title: str, shelf: str, state: str) -> dict[str, str]:
    return {"title": title, "shelf": shelf, "state": state}


def _loan(title: str, borrower: str, weeks: str, note: str) -> dict[str, str]:
    return {"title": title, "borrower": borrower, "weeks": weeks, "note": note}


JOBS = [
    Job("create_book", create_book, instances(
        ("plain", _book("Weather signs", "Manual", "M20", "From the harbour")),
        ("plain", _book("Seven songs", "Poetry", "P21", "With notes")),
        ("plain", _book("The blue door", "Novel", "N22", "Two copies")),
        ("plain", _book("Rivers of Asia", "Atlas", "A23", "Heavy")),
        ("plain", _book("Knots", "Manual", "M24", "A rope is missing")),
        ("plain", _book("Night train", "Novel", "N25", "A gift")),
        ("quotes", _book("The \"last\" page isn't", "Novel", "N26", "It says \"The end\", doesn't it")),
        ("unicode", _book("Žofie 東京 Tagebuch", "Novel", "N27", "Größe ✓ прошу")),
        ("long", _book("A book with a story", "Poetry", "P28", LONG)),
        ("empty", _book("Silence", "Poetry", "P29", "")),
        ("empty", _book("Tides", "Atlas", "A30", "")),
        ("refused", _book("Lost maps", "Atlas", "in the attic", "There is no such shelf")),
        ("existing", _book("Bridges", "Atlas", "A31", "We have one")),
    ), "/admin/", "create"),
    Job("edit_book", edit_book, instances(
        ("plain", _moved("The salt road", "N40", "Lent")),
        ("plain", _moved("Atlas of winds", "A41", "Lost")),
        ("plain", _moved("Letters from Oran", "N42", "Lent")),
        ("plain", _moved("Poems for rain", "P43", "Lost")),
        ("plain", _moved("Bridges", "A44", "On the shelf")),
        ("plain", _moved("The clock mender", "N45", "Lent")),
        ("quotes", _moved('The "other" garden', "N46", "Lost")),
        ("quotes", _moved("Cook's companion", "M47", "Lent")),
        ("unicode", _moved("東京 at night, Žofie's photos", "A48", "Lent")),
        ("refused", _moved("Small engines", "somewhere", "Lost")),
        ("refused", _moved("Twelve sonnets", "12P", "Lent")),
        ("missing", _moved("The lost book", "N49", "Lost")),
        ("missing", _moved("Atlas", "A50", "Lent")),
    ), "/admin/", "edit"),
    Job("delete_book", delete_book, instances(
        *(("plain", {"title": each}) for each in (
            "Small engines", "Twelve sonnets", "The salt road", "Bridges", "Poems for rain", "Letters from Oran",
            "Ferns of the north", "Atlas of winds",
        )),
        ("quotes", {"title": 'The "other" garden'}),
        ("quotes", {"title": "Cook's companion"}),
        ("unicode", {"title": "東京 at night, Žofie's photos"}),
        ("missing", {"title": "The lost book"}),
        ("missing", {"title": "Small"}),
    ), "/admin/", "delete"),
    Job("lend_book", lend_book, instances(
        ("plain", _loan("The salt road", "M101", "Four weeks", "For the holidays")),
        ("plain", _loan("Bridges", "M102", "Eight weeks", "With a bag")),
        ("plain", _loan("Poems for rain", "M103", "Four weeks", "By post")),
        ("plain", _loan("Small engines", "M104", "Eight weeks", "Cover to be mended")),
        ("plain", _loan("The clock mender", "M105", "Two weeks", "For the reading circle")),
        ("plain", _loan("Letters from Oran", "M106", "Four weeks", "For her mother")),
        ("quotes", _loan('The "other" garden', "M107", "Eight weeks", "It's \"on loan\"")),
        ("quotes", _loan("Cook's companion", "M108", "Two weeks", "Without stains, please")),
        ("unicode", _loan("東京 at night, Žofie's photos", "M109", "Four weeks", "Für Žofie ✓")),
        ("empty", _loan("Twelve sonnets", "M110", "Eight weeks", "")),
        ("refused", _loan("Atlas of winds", "Mara", "Four weeks", "Nobody has this number")),
        ("refused", _loan("Bridges", "M1", "Eight weeks", "Nor this")),
        ("missing", _loan("The lost book", "M111", "Four weeks", "It is gone")),
    ), "/admin/", "edit"),
    Job("mark_lost", mark_lost, instances(
        *(("plain", {"donor": each}) for each in ("Mara", "Jonas", "Selma", "Idris", "Kofi", "Lotte", "Wim")),
        ("unicode", {"donor": "Žofie"}),
        ("missing", {"donor": "Bruno"}),
        ("missing", {"donor": "Mar"}),
    ), "/admin/", "list"),
]  # fmt: skip

INVALID: dict[str, Given] = {
    "create_book": _book("Seven songs", "Poetry", "shelf 21", "With notes"),
    "edit_book": _moved("Atlas of winds", "A-41", "Lost"),
}
"""Values that the form refuses, for a recording that must not count."""


DJANGO_UNFOLD = Application(
    "django_unfold", "server-rendered, HTMX and Alpine", add_invalid(JOBS, INVALID), start_django_unfold,
)  # fmt: skip
