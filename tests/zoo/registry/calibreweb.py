"""Calibre-Web, a library of e-books: server-rendered with jQuery and Bootstrap, typeahead fields, a bootstrap-table.

Licence: GPL 3. Version 0.6.27. It keeps books in the database and the folders of Calibre, and people, shelves and what
was read in a database of its own. It asks with dialogs, and some of its buttons are `div`s.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator, Mapping
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
    copy_files,
    free_port,
    installed,
    instances,
    read_rows,
    run,
    serve,
    work_folder,
)
from tests.zoo.zoo_jobs import Application, Given, Job, RunningApplication, add_invalid

VERSIONS = ("0.6.27",)
USER = "librarian"

_BOOKS = (
    (
        "The Lighthouse at Skerry Point",
        "Mara Lindqvist",
        "Skerry Point",
        1,
        "mystery, sea",
        "Harbour Press",
        4,
    ),
    ("The Drowned Bell", "Mara Lindqvist", "Skerry Point", 2, "mystery, sea", "Harbour Press", 5),
    ("Fog Signals", "Mara Lindqvist", "Skerry Point", 3, "mystery", "Harbour Press", 0),
    ("Bees of the High Meadow", "Jonas Wolf", "Field Notes", 1, "nature", "Greenleaf", 4),
    ("Owls After Dark", "Jonas Wolf", "Field Notes", 2, "nature, birds", "Greenleaf", 0),
    ("Otters and Others", "Jonas Wolf", "Field Notes", 3, "nature", "Greenleaf", 3),
    ("A Winter of Bread", "Selma Berg", "", 1, "cooking", "Kitchen Table", 5),
    ("Soup for Forty Days", "Selma Berg", "", 1, "cooking", "Kitchen Table", 0),
    ("Pickles", "Selma Berg", "", 1, "cooking", "Kitchen Table", 2),
    (
        "The Clockmaker's Niece",
        "Ruth O'Hara",
        "Clocks and Daggers",
        1,
        "history, mystery",
        "Harbour Press",
        4,
    ),
    ("The Clockmaker's Debt", "Ruth O'Hara", "Clocks and Daggers", 2, "history", "Harbour Press", 0),
    ('The "Quiet" Revolt', "Ruth O'Hara", "", 1, "history", "Old Mill", 3),
    ("Letters from the Ice", "Idris Bello", "Cold Worlds", 1, "space, letters", "Orbit House", 5),
    ("Ice Under Europa", "Idris Bello", "Cold Worlds", 2, "space", "Orbit House", 4),
    ("The Last Ferry to Titan", "Idris Bello", "Cold Worlds", 3, "space", "Orbit House", 0),
    ("Žofie píše z 東京", "Žofie Nová", "Größe & Straße", 1, "travel, letters", "Kniha", 4),
    ("Nachtzug nach Brünn", "Žofie Nová", "Größe & Straße", 2, "travel", "Kniha", 0),
    ("Walking the Old Canals", "Wim Claes", "", 1, "travel", "Old Mill", 3),
    ("Canals by Bicycle", "Wim Claes", "", 1, "travel", "Old Mill", 0),
    ("Poems for the Ferry", "Kofi Mensah", "", 1, "poems, sea", "Harbour Press", 5),
    ("Poems for the Train", "Kofi Mensah", "", 1, "poems", "Harbour Press", 0),
    ("Knots", "Lotte Kramer", "", 1, "sea", "Kitchen Table", 2),
    ("The Net Mender", "Lotte Kramer", "Harbour Lives", 1, "sea, history", "Harbour Press", 4),
    ("The Pilot's Wife", "Kofi Mensah", "Harbour Lives", 2, "sea", "Harbour Press", 0),
    ("Sleeper to Trieste", "Wim Claes", "Night Trains", 1, "travel", "Old Mill", 3),
    ("Sleeper to Malmö", "Wim Claes", "Night Trains", 2, "travel", "Old Mill", 4),
    ("Roses", "Ruth O'Hara", "Ruth's Garden", 1, "nature", "Greenleaf", 2),
    ("Roses Again", "Ruth O'Hara", "Ruth's Garden", 2, "nature", "Greenleaf", 0),
    ("Beans", "Selma Berg", 'The "Slow" Cook', 1, "cooking", "Kitchen Table", 4),
    ("Lentils", "Selma Berg", 'The "Slow" Cook', 2, "cooking", "Kitchen Table", 3),
)
"""Title, author, series and number in it, tags, publisher, stars."""
_READ = ("Fog Signals", "Pickles", "Knots")
_SHELVES = (
    ("Summer holidays", ("Knots", "Canals by Bicycle")),
    ("Book club", ("The Drowned Bell",)),
    ("For Ruth's birthday", ()),
    ("Rainy days", ("Soup for Forty Days",)),
    ("čtení na cesty", ()),
    ('The "maybe" pile', ()),
)
"""Name and titles."""
_READERS = ("anton", "bettina", "carlos", "dunja")
_SEED = """
import sys, json, os
from datetime import datetime, timedelta
import calibreweb
sys.path.insert(0, os.path.dirname(calibreweb.__file__))
from cps import constants, db, ub
from sqlalchemy import Float, create_engine, text
from sqlalchemy.orm import Session
from werkzeug.security import generate_password_hash

UUID = "8d0c1c43-53a4-4d8a-a1d2-1b9f9f1f0c11"
given = json.load(open("given.json"))
day = datetime(2026, 3, 2, 9)
engine = create_engine(
    "sqlite:///library/metadata.db", execution_options={"schema_translate_map": {"calibre": None}}
)
db.Books.__table__.c.series_index.type = Float()  # as Calibre makes it
db.Base.metadata.create_all(engine)
with Session(engine) as session:
    known = {}

    def one(kind, name, *more):
        if (kind, name) not in known:
            known[kind, name] = kind(name, *more)
            session.add(known[kind, name])
        return known[kind, name]

    session.add(db.Library_Id(uuid=UUID))
    for number, (title, author, series, index, tags, publisher, stars) in enumerate(given["books"], 1):
        first, last = author.rsplit(" ", 1)
        folder = f"author {last.encode('ascii', 'ignore').decode()}/book ({number})"
        added = day + timedelta(hours=number)
        book = db.Books(
            title, title.removeprefix("The ") + (", The" if title.startswith("The ") else ""), f"{last}, {first}",
            added, datetime(2000 + number, 5, 1), float(index), added, folder, None, [], [])
        book.uuid = f"00000000-0000-4000-8000-{number:012}"
        book.authors = [one(db.Authors, author, f"{last}, {first}")]
        book.tags = [one(db.Tags, tag) for tag in tags.split(", ")]
        book.series = [one(db.Series, series, series)] if series else []
        book.publishers = [one(db.Publishers, publisher, publisher)]
        book.languages = [one(db.Languages, "eng")]
        book.ratings = [one(db.Ratings, stars * 2)] if stars else []
        session.add(book)
        session.flush()
        os.makedirs(f"library/{folder}")
        with open(f"library/{folder}/text.txt", "w", encoding="utf-8") as file:
            size = file.write(title)
        session.add(db.Data(book.id, "TXT", size, "text"))
        session.flush()
    session.commit()
    ids = {book.title: book.id for book in session.query(db.Books)}

engine = create_engine("sqlite:///own/app.db")
with Session(engine) as session:
    me = session.query(ub.User).filter(ub.User.name == "admin").one()
    me.name, me.email, me.password = given["user"], "librarian@library.example", generate_password_hash(given["password"])
    for name in given["readers"]:
        session.add(ub.User(
            name=name, email=f"{name}@library.example", role=constants.ROLE_DOWNLOAD | constants.ROLE_VIEWER,
            password=generate_password_hash(given["password"]), sidebar_view=me.sidebar_view))
    for name, titles in given["shelves"]:
        shelf = ub.Shelf(name=name, is_public=0, user_id=me.id, created=day, last_modified=day)
        session.add(shelf)
        session.flush()
        for order, title in enumerate(titles, 1):
            session.add(ub.BookShelf(book_id=ids[title], ub_shelf=shelf, order=order, date_added=day))
    for title in given["read"]:
        session.add(ub.ReadBook(user_id=me.id, book_id=ids[title], read_status=ub.ReadBook.STATUS_FINISHED))
    session.execute(text(
        "update settings set config_calibre_dir = :library, config_ratelimiter = 0, config_calibre_uuid = :uuid"
    ), {"library": os.path.abspath("library"), "uuid": UUID})
    session.commit()
"""


@asynccontextmanager
async def start_calibreweb(parent: Path, version: str = VERSIONS[0]) -> AsyncIterator[RunningApplication]:
    """Serve a library of books."""
    python = installed("calibreweb", version) / "bin" / "python"
    async with work_folder(parent) as folder:
        own, library, port = folder / "own", folder / "library", free_port()
        base = f"http://127.0.0.1:{port}"
        own.mkdir()
        library.mkdir()
        surroundings = {
            "CALIBRE_PORT": str(port), "CALIBRE_DBPATH": str(own), "CACHE_DIRECTORY": str(folder / "cache"),
        }  # fmt: skip
        command: list[str | Path] = [
            python, "-m", "calibreweb", "-i", "127.0.0.1", "-o", folder / "calibreweb.log",
        ]  # fmt: skip
        async with serve(command, folder, f"{base}/login", surroundings):
            pass  # it makes its own database
        given = {
            "books": _BOOKS, "read": _READ, "shelves": _SHELVES, "readers": _READERS, "user": USER,
            "password": PASSWORD,
        }  # fmt: skip
        (folder / "given.json").write_text(json.dumps(given), encoding="utf-8")
        run([python, "-c", _SEED], folder, surroundings)
        seed = folder / "seed"
        copy_files(library, seed / "library")
        copy_database(own / "app.db", seed / "app.db")

        def reset() -> None:
            copy_database(seed / "app.db", own / "app.db")
            copy_database(seed / "library" / "metadata.db", library / "metadata.db")
            for each in library.iterdir():
                if each.is_dir():
                    shutil.rmtree(each)
            shutil.copytree(
                seed / "library", library, ignore=shutil.ignore_patterns("metadata.db*"), dirs_exist_ok=True
            )

        async with serve(command, folder, f"{base}/login", surroundings):
            yield ServedApplication(base, reset, lambda: _read_state(library / "metadata.db", own / "app.db"))


def _read_state(library: Path, own: Path) -> Any:
    """Return the books, and who reads what, without numbers of rows and times."""
    books = read_rows(
        library,
        "select books.id, title, sort, author_sort, series_index, date(pubdate) as published, comments.text as description"
        " from books left join comments on comments.book = books.id order by books.id",
    )
    linked = {
        "authors": ("authors", "author", "name"), "tags": ("tags", "tag", "name"), "series": ("series", "series", "name"),
        "publishers": ("publishers", "publisher", "name"), "languages": ("languages", "lang_code", "lang_code"),
        "ratings": ("ratings", "rating", "rating"),
    }  # fmt: skip
    for name, (table, column, shown) in linked.items():
        links = read_rows(
            library,
            f"select book, {table}.{shown} as shown from books_{table}_link link"
            f" join {table} on {table}.id = link.{column} order by shown",
        )
        for book in books:
            book[name] = [each["shown"] for each in links if each["book"] == book["id"]]
    identifiers = read_rows(library, "select book, type, val from identifiers order by type, val")
    formats = read_rows(library, "select book, format from data order by format")
    for book in books:
        book["identifiers"] = [
            f"{one['type']}:{one['val']}" for one in identifiers if one["book"] == book["id"]
        ]
        book["formats"] = [each["format"] for each in formats if each["book"] == book["id"]]
    titles = {book.pop("id"): book["title"] for book in books}
    shelves = read_rows(
        own, "select shelf.id, shelf.name, is_public from shelf order by shelf.name, shelf.id"
    )
    shelved = read_rows(own, 'select shelf, book_id from book_shelf_link order by shelf, "order", id')
    for shelf in shelves:
        number = shelf.pop("id")
        shelf["books"] = [titles.get(each["book_id"]) for each in shelved if each["shelf"] == number]
    return {
        "books": books,
        "shelves": shelves,
        "read": _titles(own, "book_read_link where read_status = 1", titles),
        "archived": _titles(own, "archived_book where is_archived = 1", titles),
        "readers": read_rows(
            own, "select name, email, kindle_mail, role, locale, default_language from user order by name"
        ),
    }


def _titles(own: Path, marks: str, titles: Mapping[int, str]) -> list[str]:
    """Return the titles of the books that somebody has marked."""
    marked = read_rows(own, f"select user_id, book_id from {marks}")
    return sorted(f"{each['user_id']}: {titles.get(each['book_id'])}" for each in marked)


async def _sign_in(page: Page, noise: Noise) -> None:
    await noise.type("#username", USER)
    await noise.type("#password", PASSWORD)
    await page.get_by_role("button", name="Login").click()
    await page.get_by_role("link", name="Logout").wait_for()


async def _find_book(page: Page, noise: Noise, title: str) -> Locator:
    """Search for a book by its title, and open it in a dialog; return the dialog."""
    await noise.type("#query", title)
    await page.get_by_role("button", name="Search", exact=True).click()
    await page.wait_for_url("**/search/**")  # until it is loaded, a title is a link to a page of its own
    await page.get_by_role("link", name=title, exact=True).last.click()
    dialog = page.get_by_role("dialog", name="Book Details")
    await dialog.get_by_role("heading", name=title, exact=True).wait_for()
    return dialog


async def _edit_book(page: Page, noise: Noise, title: str) -> None:
    dialog = await _find_book(page, noise, title)
    await dialog.get_by_role("button", name="Edit Metadata").click()
    await page.wait_for_url("**/admin/book/*")  # until it is loaded, nothing is suggested


async def _find_rows(page: Page, noise: Noise, column: int, text: str) -> None:
    """Search in the list of books, and tick the rows that have the text in a column."""
    await page.get_by_role("link", name="Books List").click()
    await page.locator("#books-table .editable").first.wait_for()
    await noise.type(".bootstrap-table input[type=search]", text)
    async with page.expect_response(lambda answer: "listbooks" in answer.url):
        await page.locator(".bootstrap-table").get_by_title("Search").click()
    await page.wait_for_timeout(500)  # the list is drawn anew
    rows = page.locator("#books-table tbody tr").filter(
        has=page.locator(f"td:nth-child({column})").get_by_text(text, exact=True)
    )
    await rows.first.wait_for()
    for row in await rows.all():
        await row.get_by_role("checkbox").first.check()


async def add_reader(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await page.get_by_role("link", name="Admin").click()
    await page.get_by_role("link", name="Add New User").click()
    await noise.type("#name", given["name"])
    if given["email"]:
        await noise.type("#email", given["email"])
    await noise.type("#password", PASSWORD)
    if given["ereader"]:
        await noise.type("#kindle_mail", given["ereader"])
    await page.get_by_label("Allow Downloads").check()
    await noise.wander()
    await page.locator("#user_submit").click()
    await page.locator(".alert, input:invalid").first.wait_for()


async def edit_book(page: Page, given: Given, noise: Noise) -> None:
    """Put a book into a series that the library has already, and change its publisher."""
    await _sign_in(page, noise)
    await _edit_book(page, noise, given["title"])
    await noise.retype("#series", given["series"])
    await page.get_by_role("option", name=given["series"], exact=True).click()
    await noise.retype("#series_index", given["number"])
    if given["publisher"]:
        await noise.retype("#publisher", given["publisher"])
    else:
        await page.click("#publisher")
        await page.keyboard.press("ControlOrMeta+A")
        await page.keyboard.press("Delete")
    await page.get_by_role("button", name="Save", exact=True).click()
    await page.locator(".alert, #series_index:invalid").first.wait_for()


async def delete_book(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await _edit_book(page, noise, given["title"])
    await page.get_by_role("button", name="Delete Book").click()
    await page.locator("#deleteModal").get_by_role("button", name="Delete", exact=True).click()
    await page.locator(".alert").first.wait_for()


async def put_on_shelf(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    dialog = await _find_book(page, noise, given["title"])
    await dialog.get_by_role("button", name="Add to shelf").click()
    async with page.expect_response(lambda answer: "shelf/add" in answer.url):  # the dialog says nothing
        await dialog.locator("#add-to-shelves").get_by_text(given["shelf"], exact=True).click()
    await dialog.get_by_role("button", name="Close").last.click()
    await dialog.wait_for(state="hidden")
    await noise.wander()


async def mark_series_read(page: Page, given: Given, noise: Noise) -> None:
    """Tick all books of a series, and mark them as read."""
    await _sign_in(page, noise)
    await _find_rows(page, noise, 7, given["series"])
    await page.locator("#false_read_selected_books").click()
    async with page.expect_response(lambda answer: answer.request.method == "POST"):
        await page.locator("#GeneralChangeModal").get_by_role("button", name="Ok", exact=True).click()
    await page.locator("#GeneralChangeModal").wait_for(state="hidden")


async def recategorize(page: Page, given: Given, noise: Noise) -> None:
    """Tick all books of an author, and give them other categories."""
    await _sign_in(page, noise)
    await _find_rows(page, noise, 5, given["author"])
    await page.get_by_text("Edit selected books", exact=True).click()
    await noise.type("#categories_input", given["categories"])
    async with page.expect_response(lambda answer: "editselectedbooks" in answer.url):
        await page.locator("#edit_selected_modal").get_by_role("button", name="Edit", exact=True).click()
    await page.locator("#edit_selected_modal").wait_for(state="hidden")


def _reader(name: str, email: str, ereader: str) -> dict[str, str]:
    return {"name": name, "email": email, "ereader": ereader}


def _edited(title: str, series: str, number: str, publisher: str) -> dict[str, str]:
    return {"title": title, "series": series, "number": number, "publisher": publisher}


def _shelved(title: str, shelf: str) -> dict[str, str]:
    return {"title": title, "shelf": shelf}


def _categorized(author: str, categories: str) -> dict[str, str]:
    return {"author": author, "categories": categories}


JOBS = [
    Job("add_reader", add_reader, instances(
        ("plain", _reader("elif", "elif@books.example", "elif@ereader.example")),
        ("plain", _reader("hugo", "hugo@books.example", "hugo.reads@ereader.example")),
        ("plain", _reader("ida", "ida.holm@post.example", "holm@ereader.example")),
        ("plain", _reader("jamal", "jamal@post.example", "jamal77@ereader.example")),
        ("plain", _reader("Karin Vogt", "karin@vogt.example", "vogt@ereader.example")),
        ("plain", _reader("leo", "leo@books.example", "leo@pages.example")),
        ("quotes", _reader("Ruth \"Red\" O'Brien", "ruth@obrien.example", "red@ereader.example")),
        ("unicode", _reader("Žofie 東", "zofie@kniha.example", "zofie@ereader.example")),
        ("long", _reader(LONG[:60].strip(), "long@story.example", "story@ereader.example")),
        ("empty", _reader("milan", "milan@books.example", "")),
        ("empty", _reader("nora", "nora@post.example", "")),
        ("refused", _reader("otto", "", "otto@ereader.example")),
        ("existing", _reader("carlos", "carlos.two@books.example", "carlos@ereader.example")),
        ("existing", _reader("paula", "dunja@library.example", "paula@ereader.example")),
    ), "/", "create"),
    Job("edit_book", edit_book, instances(
        ("plain", _edited("Knots", "Field Notes", "4", "Greenleaf")),
        ("plain", _edited("Pickles", "Skerry Point", "7", "Old Mill")),
        ("plain", _edited("Canals by Bicycle", "Cold Worlds", "2.5", "Slow Travel Books")),
        ("plain", _edited("A Winter of Bread", "Field Notes", "12", "Harbour Press")),
        ("plain", _edited("Poems for the Train", "Cold Worlds", "9", "Night Lines")),
        ("plain", _edited("Fog Signals", "Clocks and Daggers", "5", "Old Mill")),
        ("plain", _edited("Owls After Dark", "Skerry Point", "6", "Orbit House")),
        ("quotes", _edited('The "Quiet" Revolt', "Clocks and Daggers", "3", 'Mill & "Sons"')),
        ("quotes", _edited("The Clockmaker's Debt", "Field Notes", "8", "O'Hara's own press")),
        ("unicode", _edited("Žofie píše z 東京", "Größe & Straße", "4", "Nakladatelství Říčka")),
        ("long", _edited("Walking the Old Canals", "Cold Worlds", "11", LONG[:150].strip())),
        ("empty", _edited("Soup for Forty Days", "Field Notes", "5", "")),
        ("refused", _edited("Ice Under Europa", "Skerry Point", "-2", "Greenleaf")),
        ("missing", _edited("Walking the New Canals", "Field Notes", "4", "Old Mill")),
        ("missing", _edited("Poems", "Cold Worlds", "4", "Harbour Press")),
    ), "/", "edit"),
    Job("delete_book", delete_book, instances(
        *(("plain", {"title": each}) for each in (
            "The Drowned Bell", "Pickles", "Otters and Others", "Letters from the Ice", "Canals by Bicycle",
            "Poems for the Ferry", "A Winter of Bread",
        )),
        ("quotes", {"title": 'The "Quiet" Revolt'}),
        ("quotes", {"title": "The Clockmaker's Niece"}),
        ("unicode", {"title": "Nachtzug nach Brünn"}),
        ("missing", {"title": "The Drowned Village"}),
        ("missing", {"title": "Poems for the"}),
    ), "/", "delete"),
    Job("put_on_shelf", put_on_shelf, instances(
        ("plain", _shelved("Fog Signals", "Summer holidays")),
        ("plain", _shelved("Ice Under Europa", "Book club")),
        ("plain", _shelved("A Winter of Bread", "Rainy days")),
        ("plain", _shelved("Walking the Old Canals", "Summer holidays")),
        ("plain", _shelved("Owls After Dark", "Book club")),
        ("plain", _shelved("Pickles", "Rainy days")),
        ("quotes", _shelved("The Clockmaker's Debt", "For Ruth's birthday")),
        ("quotes", _shelved('The "Quiet" Revolt', 'The "maybe" pile')),
        ("unicode", _shelved("Žofie píše z 東京", "čtení na cesty")),
        ("missing", _shelved("Knots", "Winter holidays")),
        ("missing", _shelved("The Drowned Village", "Book club")),
    ), "/", "edit"),
    Job("mark_series_read", mark_series_read, instances(
        *(("plain", {"series": each}) for each in (
            "Skerry Point", "Field Notes", "Cold Worlds", "Clocks and Daggers", "Harbour Lives", "Night Trains",
        )),
        ("quotes", {"series": "Ruth's Garden"}),
        ("quotes", {"series": 'The "Slow" Cook'}),
        ("unicode", {"series": "Größe & Straße"}),
        ("missing", {"series": "Warm Worlds"}),
        ("missing", {"series": "Field"}),
    ), "/", "list"),
    Job("recategorize", recategorize, instances(
        ("plain", _categorized("Mara Lindqvist", "crime, coast")),
        ("plain", _categorized("Jonas Wolf", "animals")),
        ("plain", _categorized("Selma Berg", "kitchen, seasons")),
        ("plain", _categorized("Idris Bello", "science fiction")),
        ("plain", _categorized("Wim Claes", "walks, water")),
        ("plain", _categorized("Kofi Mensah", "verse")),
        ("plain", _categorized("Lotte Kramer", "ropes, crafts, sea")),
        ("quotes", _categorized("Ruth O'Hara", "clocks, Ruth's")),
        ("unicode", _categorized("Žofie Nová", "cesty, 旅")),
        ("missing", _categorized("Bruno Costa", "maps")),
        ("missing", _categorized("Mara", "crime")),
    ), "/", "list"),
]  # fmt: skip

INVALID: dict[str, Given] = {
    "add_reader": _reader("hugo", "anton@library.example", "hugo.reads@ereader.example"),
    "edit_book": _edited("Pickles", "Skerry Point", "-7", "Old Mill"),
}
"""Values that the form refuses, for a recording that must not count."""


CALIBREWEB = Application(
    "calibreweb", "server-rendered, jQuery and Bootstrap", add_invalid(JOBS, INVALID), start_calibreweb
)
