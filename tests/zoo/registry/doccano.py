"""Doccano, where people annotate texts: a single-page application of Vue and Vuetify, in front of Django.

Licence: MIT. Version 1.8.4. Its menus, selects and dialogs are Vuetify's, drawn at the end of the page; lists have boxes
to tick and are searched while one types.
"""

from __future__ import annotations

import json
import re
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

VERSIONS = ("1.8.4",)
USER = "supervisor"

_PROJECTS = (
    ("Harbour news", "DocumentClassification", "Articles of the local paper"),
    ("Hotel reviews", "DocumentClassification", "What guests wrote in summer"),
    ("Ship names", "SequenceLabeling", "Find ships in old logbooks"),
    ("Recipe steps", "SequenceLabeling", "Tools and ingredients"),
    ("Letters of 1890", "Seq2seq", "Old spelling and new spelling"),
    ("Support tickets", "DocumentClassification", "Mails to the help desk"),
    ("Bird diaries", "SequenceLabeling", "Species and places"),
    ("Ruth's interviews", "DocumentClassification", "Spoken history"),
    ('The "quick" test', "DocumentClassification", "To try things out"),
    ("Žofie: česká píseň", "Seq2seq", "Písně a překlady"),
    ("Song titles", "Seq2seq", "English and German"),
    ("Weather reports", "DocumentClassification", "From ten stations"),
)
"""Name, type and description."""
_TEXTS = (
    "The ferry was late because of fog.",
    "The council votes on the new bridge on Monday.",
    "The rowing club won three medals.",
    "Storm closes the harbour for a day.",
    "A concert of sea songs fills the old church.",
    "The mayor opens the fish market.",
    "Two trawlers collided near the lighthouse.",
    "Fog is expected until Thursday.",
    "The museum shows Ruth's photographs.",
    'Fishermen call the new rules "a joke".',
    "Žofie Nová reads from her novel 東京.",
    "The football team lost in the last minute.",
    "Rain floods the cellar of the town hall.",
    "The council raises the mooring fees.",
    "Swimmers cross the bay in record time.",
    "A storm is named after the mayor's cat.",
)
"""Of the first project."""
_LABELS = (
    "weather",
    "politics",
    "sport",
    "culture",
    "accidents",
    "mayor's office",
    'so-called "news"',
    "literatura čeština",
)
"""Of the first project."""
_PEOPLE = ("anton", "bettina", "carlos", "dunja", "elif", "farid", "gesine", "hugo", "ida", "jamal", "zoë")
"""Who can work in projects. The first three do in the first project."""
_SEED = """
import json, os, sys, django
sys.path.insert(0, sys.argv[1])
django.setup()
from django.contrib.auth.models import User
from examples.models import Example
from label_types.models import CategoryType
from projects.models import Member, Project, Seq2seqProject, SequenceLabelingProject, TextClassificationProject
from roles.models import Role
given = json.load(open("given.json"))
me = User.objects.create_superuser(given["user"], "supervisor@texts.example", given["password"])
people = [User.objects.create_user(each, f"{each}@texts.example", given["password"]) for each in given["people"]]
kinds = {
    "DocumentClassification": TextClassificationProject, "SequenceLabeling": SequenceLabelingProject,
    "Seq2seq": Seq2seqProject,
}
for name, kind, description in given["projects"]:
    kinds[kind].objects.create(name=name, description=description, project_type=kind, created_by=me).add_admin()
first = Project.objects.order_by("id").first()
for text in given["texts"]:
    Example.objects.create(project=first, text=text)
for number, text in enumerate(given["labels"]):
    CategoryType.objects.create(
        project=first, text=text, suffix_key=str(number + 1), background_color="#2196f3", text_color="#ffffff")
for each in people[:3]:
    Member.objects.create(project=first, user=each, role=Role.objects.get(name="annotator"))
"""


@asynccontextmanager
async def start_doccano(parent: Path, version: str = VERSIONS[0]) -> AsyncIterator[RunningApplication]:
    """Serve projects, one of them with texts and labels."""
    python = installed("doccano", version) / "bin" / "python"
    backend = next(python.parent.parent.glob("lib/*/site-packages/backend"))
    async with work_folder(parent) as folder:
        database, seed, port = folder / "texts.sqlite", folder / "seed.sqlite", free_port()
        base = f"http://127.0.0.1:{port}"
        surroundings = {
            "DATABASE_URL": f"sqlite:///{database}", "MEDIA_ROOT": str(folder / "media"), "STANDALONE": "True",
            "DJANGO_SETTINGS_MODULE": "config.settings.production", "DOCCANO_HOME": str(folder), "DEBUG": "False",
        }  # fmt: skip
        manage: list[str | Path] = [python, backend / "manage.py"]
        run([*manage, "migrate"], folder, surroundings)
        run([*manage, "create_roles"], folder, surroundings)
        given = {
            "projects": _PROJECTS, "texts": _TEXTS, "labels": _LABELS, "people": _PEOPLE, "user": USER,
            "password": PASSWORD,
        }  # fmt: skip
        (folder / "given.json").write_text(json.dumps(given), encoding="utf-8")
        run([python, "-c", _SEED, backend], folder, surroundings)
        copy_database(database, seed)
        command: list[str | Path] = [
            python, "-m", "gunicorn", "--bind", f"127.0.0.1:{port}", "--threads", "4", "--chdir", backend,
            "config.wsgi",
        ]  # fmt: skip
        async with serve(command, folder, f"{base}/v1/auth/user/", surroundings):
            yield ServedApplication(
                base, lambda: copy_database(seed, database), lambda: _read_state(database)
            )


def _read_state(database: Path) -> Any:
    """Return projects and what is in them, without numbers of rows, times and colours that are drawn by chance."""
    named = "join projects_project project on project.id = {}.project_id"
    return {
        "projects": read_rows(
            database,
            "select name, description, guideline, project_type as type, random_order, collaborative_annotation,"
            " single_class_classification, allow_member_to_create_label_type, allow_overlapping, grapheme_mode,"
            " use_relation,"
            " (select group_concat(text) from projects_tag tag where tag.project_id = projects_project.id) as tags"
            " from projects_project"
            " left join projects_sequencelabelingproject spans on spans.project_ptr_id = projects_project.id order by id",
        ),
        "labels": [
            row
            for kind in ("category", "span", "relation")
            for row in read_rows(
                database,
                f"select '{kind}' as kind, project.name as project, text, prefix_key, suffix_key"
                f" from label_types_{kind}type label {named.format('label')} order by label.id",
            )
        ],
        "texts": read_rows(
            database,
            "select project.name as project, text, (select group_concat(label.text, ' | ') from labels_category chosen"
            " join label_types_categorytype label on label.id = chosen.label_id"
            " where chosen.example_id = example.id) as labels,"
            " (select count(*) from examples_examplestate done where done.example_id = example.id) as done,"
            " (select group_concat(said.text, ' | ') from examples_comment said where said.example_id = example.id)"
            " as comments,"
            " (select count(*) from labels_span span where span.example_id = example.id) as spans,"
            " (select group_concat(said.text, ' | ') from labels_textlabel said where said.example_id = example.id)"
            f" as answers from examples_example example {named.format('example')} order by example.id",
        ),
        "members": read_rows(
            database,
            "select project.name as project, username, role.name as role"
            f" from projects_member member {named.format('member')}"
            " join auth_user on auth_user.id = member.user_id join roles_role role on role.id = member.role_id"
            " order by member.id",
        ),
        "people": read_rows(
            database, "select username, email, is_active, is_staff, is_superuser from auth_user order by id"
        ),
    }


def _field(label: str) -> str:
    return f".v-text-field__slot:has(label:text-is('{label}')) :is(input, textarea)"


async def _sign_in(page: Page, noise: Noise) -> None:
    await noise.type(_field("Username"), USER)
    await noise.type(_field("Password"), PASSWORD)
    await page.get_by_role("main").get_by_role("button", name="Login").click()
    await page.get_by_role("link", name="Weather reports", exact=True).wait_for()


async def _find_project(page: Page, noise: Noise, name: str) -> Locator:
    """Search for a project; return its row."""
    async with page.expect_response(lambda answer: "/projects?" in answer.url and "q=" in answer.url):
        await noise.type(_field("Search"), name)
    await page.wait_for_timeout(1000)  # it searches while one types
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))


async def _open_project(page: Page, noise: Noise, name: str, part: str) -> None:
    await (await _find_project(page, noise, name)).get_by_role("link").click()
    await page.get_by_role("banner").get_by_text(name, exact=True).wait_for()  # until then, the menu grows
    await page.get_by_role("navigation").get_by_text(part, exact=True).click()


async def _find_texts(page: Page, noise: Noise, words: str) -> None:
    """Search in the texts of the first project."""
    await _open_project(page, noise, "Harbour news", "Dataset")
    await page.get_by_role("cell", name=_TEXTS[0], exact=True).wait_for()
    async with page.expect_response(lambda answer: "/examples?" in answer.url and "q=" in answer.url):
        await noise.type(_field("Search (e.g. label:positive)"), words)
    await page.wait_for_timeout(1000)  # it searches while one types


def _dialog(page: Page) -> Locator:
    return page.locator(".v-dialog--active")


async def create_project(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await page.get_by_role("button", name="Create").click()
    kind = page.locator("main .v-card .v-card").filter(has=page.get_by_text(given["kind"], exact=True))
    await kind.locator(".v-image").click()  # its words take no click
    await kind.locator(".v-icon").wait_for()
    await page.click(_field("Project name"))  # it takes the keys as soon as it comes into sight
    if given["name"]:
        await noise.type(_field("Project name"), given["name"])
    await page.click(_field("Description"))
    if given["description"]:
        await noise.type(_field("Description"), given["description"])
    await noise.wander()
    create = page.get_by_role("button", name="Create")
    await page.wait_for_timeout(300)
    if await create.is_enabled():  # it does not let one press it before all is right
        await create.click()
        await page.get_by_role("navigation").get_by_text("Dataset", exact=True).wait_for()


async def edit_project(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await _open_project(page, noise, given["project"], "Settings")
    read = "name => [...document.querySelectorAll('main input')].some(each => each.value === name)"
    await page.wait_for_function(read, arg=given["project"])  # before that, it forgets that one edits
    await page.get_by_role("button", name="Edit", exact=True).click()
    await noise.retype(_field("Project name"), given["name"])
    await noise.retype(_field("Description"), given["description"])
    save = page.get_by_role("button", name="Save", exact=True)
    await page.wait_for_timeout(300)
    if await save.is_enabled():
        await save.click()
        await page.get_by_role("button", name="Edit", exact=True).wait_for()


async def delete_project(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    row = await _find_project(page, noise, given["project"])
    await row.locator(".v-simple-checkbox").click()
    await page.get_by_role("button", name="Delete", exact=True).click()
    await _dialog(page).get_by_role("button", name="Yes").click()
    await row.wait_for(state="hidden")


async def add_member(page: Page, given: Given, noise: Noise) -> None:
    """Let somebody work in a project: search for them, and choose what they may do."""
    await _sign_in(page, noise)
    await _open_project(page, noise, given["project"], "Members")
    await page.get_by_role("button", name="Add", exact=True).click()
    await noise.type(".v-dialog--active [role=combobox] input[type=text]", given["person"])
    await page.get_by_role("option", name=given["person"], exact=True).click()
    await _dialog(page).get_by_role("button", name="Role").click()
    await page.get_by_role("option", name=given["role"], exact=True).click()
    await _dialog(page).get_by_role("button", name="Save").click()
    await page.wait_for_timeout(500)
    alert = _dialog(page).get_by_role("alert").locator("visible=true")
    await alert.or_(page.get_by_role("cell", name=given["person"], exact=True)).first.wait_for()


async def drop_texts(page: Page, given: Given, noise: Noise) -> None:
    """Search for words, tick every text that is found, and delete them."""
    await _sign_in(page, noise)
    await _find_texts(page, noise, given["words"])
    rows = page.locator("main tbody tr").filter(has=page.get_by_role("button", name="Annotate"))
    await rows.first.wait_for()
    for row in await rows.all():
        await row.locator(".v-simple-checkbox").click()
    await page.get_by_role("button", name="Delete", exact=True).click()
    await _dialog(page).get_by_role("button", name="Yes").click()
    await rows.first.wait_for(state="hidden")


async def categorize_text(page: Page, given: Given, noise: Noise) -> None:
    """Open a text to annotate, and press its label."""
    await _sign_in(page, noise)
    await _find_texts(page, noise, given["text"])
    row = page.get_by_role("row").filter(has=page.get_by_role("cell", name=given["text"], exact=True))
    await row.get_by_role("button", name="Annotate").click()
    await page.get_by_text("Progress", exact=True).wait_for()
    named = re.compile(rf"^\s*{re.escape(given['label'])}\s*\d\s*$")  # its key stands behind it
    label = page.locator("main .v-chip").filter(has_text=named)
    async with page.expect_response(lambda answer: answer.request.method == "POST"):
        await label.first.click()
    await noise.wander()


def _created(kind: str, name: str, description: str) -> dict[str, str]:
    return {"kind": kind, "name": name, "description": description}


def _edited(project: str, name: str, description: str) -> dict[str, str]:
    return {"project": project, "name": name, "description": description}


def _added(project: str, person: str, role: str) -> dict[str, str]:
    return {"project": project, "person": person, "role": role}


def _labelled(text: str, label: str) -> dict[str, str]:
    return {"text": text, "label": label}


JOBS = [
    Job("create_project", create_project, instances(
        ("plain", _created("Sequence Labeling", "Street names", "Find streets in old city maps")),
        ("plain", _created("Text Classification", "Film reviews", "Good or bad, from two newspapers")),
        ("plain", _created("Sequence to sequence", "Menu cards", "Translate menus into English")),
        ("plain", _created("Text Classification", "Parliament speeches", "By topic")),
        ("plain", _created("Sequence Labeling", "Plant lists", "Species and gardens")),
        ("plain", _created("Sequence to sequence", "Long sentences", "Split them into short ones")),
        ("quotes", _created("Text Classification", "Ruth's \"other\" interviews", "It's the \"second\" series")),
        ("unicode", _created("Sequence Labeling", "Žofie 東京 Straßen", "Größe egal, прошу ✓")),
        ("long", _created("Text Classification", "A long story", LONG)),
        ("refused", _created("Sequence Labeling", "", "There is no name")),
        ("refused", _created("Text Classification", LONG[:130].strip(), "The name is too long")),
        ("refused", _created("Sequence to sequence", "Nobody knows", "")),
        ("existing", _created("Text Classification", "Hotel reviews", "What guests wrote in winter")),
    ), "/auth", "create"),
    Job("edit_project", edit_project, instances(
        ("plain", _edited("Hotel reviews", "Hotel and hostel reviews", "What guests wrote all year")),
        ("plain", _edited("Bird diaries", "Bird journals", "Species, places and dates")),
        ("plain", _edited("Song titles", "Song lines", "English, German and Dutch")),
        ("plain", _edited("Weather reports", "Weather of the coast", "From four stations")),
        ("plain", _edited("Ship names", "Names of ships", "In logbooks until 1900")),
        ("plain", _edited("Support tickets", "Tickets of the help desk", "Mails and calls")),
        ("plain", _edited("Recipe steps", "Steps of recipes", "Tools only")),
        ("quotes", _edited("Ruth's interviews", "Ruth's \"first\" interviews", "Don't change the order")),
        ("quotes", _edited('The "quick" test', "The slow test", 'No longer "quick"')),
        ("unicode", _edited("Žofie: česká píseň", "Žofie: píseň 東", "Größe und прошу ✓")),
        ("long", _edited("Letters of 1890", "Letters of ten years", LONG)),
        ("refused", _edited("Bird diaries", "", "The name is gone")),
        ("refused", _edited("Hotel reviews", LONG[:120].strip(), "The name is too long")),
        ("existing", _edited("Song titles", "Ship names", "There are two of them now")),
        ("missing", _edited("Train timetables", "Timetables", "Nobody made it")),
        ("missing", _edited("Letters", "Letters of nobody", "Only the beginning of a name")),
    ), "/auth", "edit"),
    Job("delete_project", delete_project, instances(
        *(("plain", {"project": each}) for each in (
            "Hotel reviews", "Song titles", "Recipe steps", "Support tickets", "Bird diaries", "Ship names",
            "Letters of 1890",
        )),
        ("quotes", {"project": 'The "quick" test'}),
        ("quotes", {"project": "Ruth's interviews"}),
        ("unicode", {"project": "Žofie: česká píseň"}),
        ("missing", {"project": "Train timetables"}),
        ("missing", {"project": "Letters"}),
    ), "/auth", "delete"),
    Job("add_member", add_member, instances(
        ("plain", _added("Harbour news", "dunja", "Annotation Approver")),
        ("plain", _added("Hotel reviews", "elif", "Annotator")),
        ("plain", _added("Ship names", "farid", "Project Admin")),
        ("plain", _added("Support tickets", "hugo", "Annotator")),
        ("plain", _added("Harbour news", "jamal", "Project Admin")),
        ("plain", _added("Song titles", "anton", "Annotation Approver")),
        ("plain", _added("Bird diaries", "gesine", "Annotator")),
        ("quotes", _added("Ruth's interviews", "bettina", "Annotation Approver")),
        ("unicode", _added("Žofie: česká píseň", "zoë", "Annotator")),
        ("refused", _added("Harbour news", "carlos", "Annotator")),
        ("missing", _added("Harbour news", "walter", "Annotator")),
        ("missing", _added("Train timetables", "ida", "Annotator")),
    ), "/auth", "edit"),
    Job("drop_texts", drop_texts, instances(
        *(("plain", {"words": each}) for each in (
            "council", "fog", "storm", "mayor", "rowing", "church", "team", "bridge",
        )),
        ("quotes", {"words": "Ruth's"}),
        ("quotes", {"words": '"a joke"'}),
        ("unicode", {"words": "東京"}),
        ("missing", {"words": "volcano"}),
        ("missing", {"words": "fishing fleet"}),
    ), "/auth", "list"),
    Job("categorize_text", categorize_text, instances(
        ("plain", _labelled("Fog is expected until Thursday.", "weather")),
        ("plain", _labelled("The rowing club won three medals.", "sport")),
        ("plain", _labelled("The council raises the mooring fees.", "politics")),
        ("plain", _labelled("A concert of sea songs fills the old church.", "culture")),
        ("plain", _labelled("Two trawlers collided near the lighthouse.", "accidents")),
        ("plain", _labelled("Rain floods the cellar of the town hall.", "weather")),
        ("plain", _labelled("Swimmers cross the bay in record time.", "sport")),
        ("quotes", _labelled('Fishermen call the new rules "a joke".', 'so-called "news"')),
        ("quotes", _labelled("A storm is named after the mayor's cat.", "mayor's office")),
        ("unicode", _labelled("Žofie Nová reads from her novel 東京.", "literatura čeština")),
        ("missing", _labelled("The mayor opens the fish market.", "economy")),
        ("missing", _labelled("The mayor closes the fish market.", "politics")),
    ), "/auth", "edit"),
]  # fmt: skip

INVALID: dict[str, Given] = {
    "edit_project": _edited("Bird diaries", "", "Species, places and dates"),
    "add_member": _added("Harbour news", "bettina", "Annotation Approver"),
}
"""Values that the form refuses, for a recording that must not count."""


DOCCANO = Application("doccano", "Vue, Vuetify", add_invalid(JOBS, INVALID), start_doccano)
