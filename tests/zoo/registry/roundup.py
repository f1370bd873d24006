"""Roundup, an issue tracker: server-rendered, with a sign-in on every page.

Licence: MIT. Versions 2.6.0 and 2.0.0 differ in layout (`div` and `nav` now, tables before) and in their forms.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from playwright.async_api import Page

from tests.support.people import Noise
from tests.zoo.registry.serving import (
    LONG,
    PASSWORD,
    ServedApplication,
    choose,
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

VERSIONS = ("2.6.0", "2.0.0")
"""The newer first."""
USER = "admin"
UNCHOSEN = "- no selection -"

_USERS = (
    ("nadia", "Nadia Petrova", "nadia@quarry.example"),
    ("oscar", "Oscar Lindqvist", "oscar@quarry.example"),
    ("yusuf", "Yusuf Demir", "yusuf@quarry.example"),
    ("greta", "Greta O'Neill", "greta@quarry.example"),
    ("zofie", "Žofie Nováková", "zofie@quarry.example"),
    ("liang", "Liang Wei", "liang@quarry.example"),
    ("tomas", "Tomás Rey", "tomas@quarry.example"),
    ("ingrid", "Ingrid Vos", "ingrid@quarry.example"),
    ("pavel", "Pavel Horák", "pavel@quarry.example"),
    ("amara", "Amara Eze", "amara@quarry.example"),
    ("bjorn", "Bjørn Aas", "bjorn@quarry.example"),
    ("chloe", "Chloe Marsh", "chloe@quarry.example"),
)
_KEYWORDS = ("printing", "network", "payroll")
_ISSUES = (
    ("Paper jam on the second floor", "bug", "unread", "nadia", ["printing"]),
    ("Payslips show last year's address", "urgent", "chatting", "oscar", ["payroll"]),
    ("Guests cannot join the wireless network", "critical", "unread", "nadia", ["network"]),
    ("Dark mode for the timetable", "wish", "deferred", None, []),
    ("Badge reader beeps twice", "bug", "in-progress", "yusuf", []),
    ("Add a map of the parking places", "feature", "need-eg", "oscar", []),
    ('The label "fragile" is cut off', "bug", "unread", "greta", ["printing"]),
    ("Aufträge aus 東京 without a date", "urgent", "testing", "zofie", ["payroll"]),
    ("Meeting room screens stay black", "critical", "unread", "yusuf", ["network"]),
    ("Export holidays as a calendar", "feature", "chatting", "greta", ["payroll"]),
    ("Slow searches on Monday mornings", "bug", "unread", "nadia", []),
    ("Rename the canteen's mailing list", "wish", "unread", "liang", ["network"]),
    ("Backup tapes are not labelled", "urgent", "in-progress", "yusuf", ["printing"]),
    ("Two-sided printing by default", "wish", "unread", "tomas", ["printing"]),
)  # fmt: skip

_SEED = """
import json, sys
import roundup.instance
from roundup.password import Password
seed = json.load(open(sys.argv[2], encoding="utf-8"))
db = roundup.instance.open(sys.argv[1]).open("admin")
for username, realname, address in seed["users"]:
    db.user.create(username=username, realname=realname, address=address, roles="User",
                   password=Password(seed["password"], config=db.config))
for name in seed["keywords"]:
    db.keyword.create(name=name)
for title, priority, status, assigned, keywords in seed["issues"]:
    values = {"title": title, "priority": db.priority.lookup(priority), "status": db.status.lookup(status),
              "keyword": [db.keyword.lookup(each) for each in keywords]}
    if assigned:
        values["assignedto"] = db.user.lookup(assigned)
    db.issue.create(**values)
db.commit()
db.close()
"""

_SERVE = """
import sys
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server
from roundup.cgi.wsgi_handler import RequestDispatcher
class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True
class Handler(WSGIRequestHandler):
    def address_string(self):
        return self.client_address[0]
tracker, below = RequestDispatcher(sys.argv[1]), sys.argv[3]
def application(environ, start_response):
    path = environ["PATH_INFO"]
    if not path.startswith(below + "/"):
        start_response("404 Not Found", [("Content-Type", "text/plain")])
        return [b"There is nothing here."]
    environ["SCRIPT_NAME"], environ["PATH_INFO"] = below, path[len(below):]
    return tracker(environ, start_response)
make_server("127.0.0.1", int(sys.argv[2]), application, Server, Handler).serve_forever()
"""
"""Its own server does not run as root."""


@asynccontextmanager
async def start_roundup(
    parent: Path, version: str = VERSIONS[0], below: str = ""
) -> AsyncIterator[RunningApplication]:
    """Make a tracker, seed it and serve it. `below`: the folder of all its addresses, `/quarry`."""
    programs = installed("roundup", version) / "bin"
    async with work_folder(parent) as folder:
        port, tracker, seed = free_port(), folder / "tracker", folder / "seed"
        web = f"http://127.0.0.1:{port}{below}/"
        admin = [programs / "roundup-admin", "-i", tracker]
        settings = f"tracker_web={web},mail_domain=quarry.example,mail_host=localhost,mail_debug={folder}/mails,web_login_attempts_min=0"
        tracker.mkdir()
        run([*admin, "install", "classic", "sqlite", settings], folder)
        (tracker / "detectors" / "nosyreaction.py").unlink()  # it would send mails
        run([*admin, "initialise", PASSWORD], folder)
        (folder / "seed.json").write_text(
            json.dumps({"users": _USERS, "keywords": _KEYWORDS, "issues": _ISSUES, "password": PASSWORD})
        )
        (folder / "seed.py").write_text(_SEED)
        run([programs / "python", folder / "seed.py", tracker, folder / "seed.json"], folder)
        database, files = tracker / "db" / "db", tracker / "db" / "files"
        seed.mkdir()
        files.mkdir(exist_ok=True)
        copy_database(database, seed / "db", "ids")
        copy_files(files, seed / "files")

        def reset() -> None:
            copy_database(seed / "db", database, "ids")
            copy_files(seed / "files", files)

        (folder / "serve.py").write_text(_SERVE)
        command = [programs / "python", folder / "serve.py", tracker, str(port), below]
        async with serve(command, folder, web):
            yield ServedApplication(f"http://127.0.0.1:{port}", reset, lambda: _read_state(database, files))


def _read_state(database: Path, files: Path) -> Any:
    issues = read_rows(
        database,
        "select i.id, _title as title, p._name as priority, s._name as status, u._username as assigned,"
        " i.__retired__ as retired from _issue i left join _priority p on p.id = _priority"
        " left join _status s on s.id = _status left join _user u on u.id = _assignedto order by i.id",
    )
    keywords = read_rows(
        database,
        "select nodeid, _name as name from issue_keyword join _keyword k on k.id = linkid order by name",
    )
    messages = read_rows(database, "select nodeid, linkid from issue_messages order by cast(linkid as int)")
    texts = {file.name: file.read_text(encoding="utf-8") for file in files.glob("msg/**/msg*")}
    for issue in issues:
        number = int(issue.pop("id"))
        issue["keywords"] = [each["name"] for each in keywords if int(each["nodeid"]) == number]
        issue["notes"] = [
            texts.get(f"msg{each['linkid']}", "") for each in messages if int(each["nodeid"]) == number
        ]
        issue["retired"] = bool(issue["retired"])
    users = read_rows(
        database,
        "select _username as username, _realname as name, _address as address, _organisation as organisation,"
        " _phone as phone, _roles as roles, __retired__ as retired from _user order by id",
    )
    for user in users:
        user["retired"] = bool(user["retired"])
    return {"issues": issues, "users": users}


async def _sign_in(page: Page, noise: Noise) -> None:
    await noise.type("input[name=__login_name]", USER)
    await noise.type("input[name=__login_password]", PASSWORD)
    await page.get_by_role("button", name="Login").click()
    await page.get_by_role("link", name="Logout").wait_for()


async def _answered(page: Page) -> None:
    """Wait for the tracker's answer, an agreement or a refusal."""
    await page.locator(".ok-message, .error-message").first.wait_for()


async def create_issue(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await page.get_by_role("link", name="Create New").first.click()
    await noise.type("input[name=title]", given["title"])
    await choose(page, "select[name=priority]", given["priority"])
    await choose(page, "select[name=assignedto]", given["assigned"])
    if given["note"]:
        await noise.type("textarea[name='@note']", given["note"])
    await noise.wander()
    await page.get_by_role("button", name="Submit New Entry").click()
    await _answered(page)


async def edit_issue(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await page.get_by_role("link", name="Show All").click()
    await page.get_by_role("link", name=given["title"], exact=True).click()
    await choose(page, "select[name=status]", given["status"])
    if given["note"]:
        await noise.type("textarea[name='@note']", given["note"])
    await page.get_by_role("button", name="Submit Changes").click()
    await _answered(page)


async def rename_issue(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await page.get_by_role("link", name="Show All").click()
    await page.get_by_role("link", name=given["title"], exact=True).click()
    await noise.retype("input[name=title]", given["new title"])
    await page.get_by_role("button", name="Submit Changes").click()
    await _answered(page)


async def create_user(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await page.get_by_role("link", name="Add User").click()
    await noise.type("input[name=realname]", given["name"])
    await noise.retype("input[name=username]", given["login"])  # one that is made of the name stands there
    if given["organisation"]:
        await noise.type("input[name=organisation]", given["organisation"])
    await noise.type("input[name=address]", given["address"])
    await page.get_by_role("button", name="Submit New Entry").click()
    await _answered(page)


def _user_row(page: Page, login: str) -> Any:
    return page.locator("tr", has=page.get_by_role("link", name=login, exact=True)).last


async def retire_user(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise)
    await page.get_by_role("link", name="User List").click()
    await noise.wander()
    await _user_row(page, given["login"]).get_by_role("button", name="retire").click()
    await _answered(page)


async def pass_on_issues(page: Page, given: Given, noise: Noise) -> None:
    """Open each issue of a person in the list, and give it another status."""
    await _sign_in(page, noise)
    await page.get_by_role("link", name="Show All").click()
    cell = page.get_by_role("cell", name=re.compile(rf"^\s*{re.escape(given['assigned'])}\s*$"))
    rows = page.locator("table.list tr", has=cell)
    await rows.first.wait_for()
    titles = [await row.get_by_role("link").last.inner_text() for row in await rows.all()]
    for title in titles:
        await page.get_by_role("link", name=title, exact=True).click()
        await choose(page, "select[name=status]", given["status"])
        await page.get_by_role("button", name="Submit Changes").click()
        await _answered(page)
        await page.get_by_role("link", name="Show All").click()


def _issue(title: str, priority: str, assigned: str, note: str) -> dict[str, str]:
    return {"title": title, "priority": priority, "assigned": assigned, "note": note}


def _edit(title: str, status: str, note: str) -> dict[str, str]:
    return {"title": title, "status": status, "note": note}


def _rename(title: str, new: str) -> dict[str, str]:
    return {"title": title, "new title": new}


def _user(name: str, login: str, organisation: str, address: str) -> dict[str, str]:
    return {"name": name, "login": login, "organisation": organisation, "address": address}


JOBS = [
    Job("create_issue", create_issue, instances(
        ("plain", _issue("Window blinds do not close", "bug", "nadia", "Third office on the left.")),
        ("plain", _issue("Order twelve headsets", "feature", "oscar", "For the new colleagues")),
        ("plain", _issue("Door code for the archive", "urgent", "yusuf", "The old one was shared.")),
        ("plain", _issue("Coffee machine needs descaling", "wish", "liang", "It says so since Friday")),
        ("plain", _issue("Invoices are sent twice", "critical", "greta", "Seen with three customers")),
        ("plain", _issue("Clock in the hall is slow", "bug", "tomas", "Eleven minutes")),
        ("quotes", _issue("The sign \"Don't push\" fell off", "bug", "greta", "It's \"somewhere\" behind the door")),
        ("unicode", _issue("Žofie 東京 cannot sign in", "urgent", "zofie", "Größe geändert, прошу помочь ✓")),
        ("long", _issue("Report of the night shift", "feature", "nadia", LONG)),
        ("empty", _issue("Shelf without a label", "wish", "oscar", "")),
        ("empty", _issue("Lamp flickers in the stairs", "bug", "yusuf", "")),
        ("refused", _issue("", "bug", "nadia", "There is no title.")),
        ("refused", _issue("Nobody knows how bad", UNCHOSEN, "oscar", "There is no priority.")),
    ), "/", "create"),
    Job("edit_issue", edit_issue, instances(
        ("plain", _edit("Paper jam on the second floor", "in-progress", "The technician is on the way.")),
        ("plain", _edit("Dark mode for the timetable", "need-eg", "Which timetable?")),
        ("plain", _edit("Badge reader beeps twice", "testing", "New firmware since noon")),
        ("plain", _edit("Meeting room screens stay black", "deferred", "Waiting for cables")),
        ("plain", _edit("Slow searches on Monday mornings", "done-cbb", "The index is rebuilt on Sundays.")),
        ("plain", _edit("Two-sided printing by default", "resolved", "Everybody agreed")),
        ("quotes", _edit('The label "fragile" is cut off', "testing", "Cut at \"frag\", that's the printer's margin")),
        ("unicode", _edit("Aufträge aus 東京 without a date", "resolved", "Žofie says: 完了")),
        ("long", _edit("Export holidays as a calendar", "in-progress", LONG)),
        ("empty", _edit("Backup tapes are not labelled", "resolved", "")),
        ("empty", _edit("Payslips show last year's address", "deferred", "")),
        ("missing", _edit("Elevator music is too loud", "resolved", "Turned down")),
        ("missing", _edit("Paper jam on the ninth floor", "deferred", "No such floor")),
    ), "/", "edit"),
    Job("rename_issue", rename_issue, instances(
        ("plain", _rename("Guests cannot join the wireless network", "Guest network is down")),
        ("plain", _rename("Rename the canteen's mailing list", "Mailing list for the kitchen")),
        ("plain", _rename("Add a map of the parking places", "Parking map")),
        ("plain", _rename("Badge reader beeps twice", "Badge reader of gate B beeps")),
        ("plain", _rename("Dark mode for the timetable", "Timetable in dark colours")),
        ("plain", _rename("Two-sided printing by default", "Duplex by default")),
        ("quotes", _rename('The label "fragile" is cut off', "Label's text isn't \"fragile\"")),
        ("unicode", _rename("Aufträge aus 東京 without a date", "大阪: Aufträge ohne Datum")),
        ("long", _rename("Export holidays as a calendar", LONG)),
        ("refused", _rename("Slow searches on Monday mornings", "")),
        ("refused", _rename("Paper jam on the second floor", "")),
        ("missing", _rename("Broken umbrella stand", "Umbrella stand")),
        ("missing", _rename("Dark mode", "Dark")),
    ), "/", "edit"),
    Job("create_user", create_user, instances(
        ("plain", _user("Marta Kowal", "marta", "Quarry North", "marta@quarry.example")),
        ("plain", _user("Dario Conti", "dario", "Quarry South", "dario@quarry.example")),
        ("plain", _user("Hanna Berg", "hanna", "Night shift", "hanna@quarry.example")),
        ("plain", _user("Samuel Okafor", "samuel", "Gravel and Sons", "samuel@gravel.example")),
        ("plain", _user("Petra Lang", "petra", "Quarry North", "petra.lang@quarry.example")),
        ("plain", _user("Joon Park", "joon", "Visitors", "joon@visit.example")),
        ("quotes", _user("Sean \"Mac\" O'Hara", "sean", "O'Hara's \"Stone\" House", "sean@quarry.example")),
        ("unicode", _user("Žofie 東京", "zofie2", "Ștefan și fiii", "zofie2@quarry.example")),
        ("long", _user("Karl of many words", "karl", LONG, "karl@quarry.example")),
        ("empty", _user("Wanda Moss", "wanda", "", "wanda@quarry.example")),
        ("refused", _user("Igor Blank", "igor", "Quarry South", "not an address at all")),
        ("existing", _user("Another Nadia", "nadia", "Quarry North", "other.nadia@quarry.example")),
        ("existing", _user("Another Pavel", "pavel", "Visitors", "other.pavel@quarry.example")),
    ), "/", "create"),
    Job("retire_user", retire_user, instances(
        *(("plain", {"login": each}) for each in (
            "pavel", "amara", "tomas", "bjorn", "chloe", "ingrid", "liang", "nadia", "oscar", "greta", "zofie",
        )),
        ("missing", {"login": "wilhelmina"}),
        ("missing", {"login": "nad"}),
    ), "/", "delete"),
    Job("pass_on_issues", pass_on_issues, instances(
        *(("plain", {"assigned": assigned, "status": status}) for assigned, status in (
            ("nadia", "testing"), ("oscar", "deferred"), ("yusuf", "chatting"), ("greta", "resolved"),
            ("nadia", "resolved"), ("oscar", "testing"), ("yusuf", "testing"), ("greta", "deferred"),
            ("liang", "in-progress"), ("tomas", "resolved"), ("zofie", "chatting"),
        )),
        ("missing", {"assigned": "ingrid", "status": "resolved"}),
        ("missing", {"assigned": "rasputin", "status": "testing"}),
    ), "/", "list"),
]  # fmt: skip

INVALID: dict[str, Given] = {
    "create_issue": _issue("", "urgent", "oscar", "Somebody forgot the title"),
    "rename_issue": _rename("Guests cannot join the wireless network", ""),
    "create_user": _user("Marta Kowal", "nadia", "Quarry North", "marta@quarry.example"),
}
"""Values that the tracker refuses, for a recording that must not count."""


ROUNDUP = Application(
    "roundup", "server-rendered", add_invalid(JOBS, INVALID), start_roundup,
    partial(start_roundup, version=VERSIONS[1]),
)  # fmt: skip
ROUNDUP_BELOW = replace(
    ROUNDUP, name="roundup-below", jobs=(), start=partial(start_roundup, below="/quarry"), start_older=None
)
"""The same as one of several trackers of a host: all its addresses are below a folder."""
