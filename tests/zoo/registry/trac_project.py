"""A project of Trac: its people, tickets and pages, its server, and its state."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

from tests.zoo.registry.serving import (
    PASSWORD,
    ServedApplication,
    copy_database,
    copy_files,
    free_port,
    installed,
    read_rows,
    run,
    serve,
    work_folder,
)
from tests.zoo.zoo_jobs import RunningApplication

VERSIONS = ("1.6",)
USER = "warden"

_PEOPLE = ("nadia", "oscar", "yusuf", "greta.o'neill", "žofie", "liang", "tomas", "ingrid", "pavel")
_COMPONENTS = (
    ("Boilers", "nadia"),
    ("Lifts", "nadia"),
    ("Stairs", "nadia"),
    ("Wireless network", "oscar"),
    ("Telephones", "oscar"),
    ("Greenhouse", "yusuf"),
    ("Ponds", "yusuf"),
    ("Paths", "yusuf"),
    ("Kitchen", "greta.o'neill"),
    ("Café & terrace", "greta.o'neill"),
    ("Šatna", "žofie"),
    ("Größe und Gewicht", "žofie"),
    ("Library", "liang"),
    ("Reading room", "liang"),
    ("Gate", "tomas"),
    ("Bicycle shed", "tomas"),
    ("Signs", "ingrid"),
    ('The "old" wing', "ingrid"),
)
"""Name and owner."""
_MILESTONES = ("Spring cleaning", "Open day", "Summer closure", "Fire inspection", "Annexe", "Žatva 2027")
_TICKETS = (
    ("Boiler two loses pressure", "defect", "major", "Boilers", "Spring cleaning", "nadia"),
    ("Lift stops between floors", "defect", "critical", "Lifts", "", "nadia"),
    ("Handrail is loose", "defect", "minor", "Stairs", "Open day", "nadia"),
    ("No signal in the reading room", "defect", "major", "Wireless network", "Open day", "oscar"),
    ("Replace the old telephones", "task", "trivial", "Telephones", "", "oscar"),
    ("Pane broken in the greenhouse", "defect", "blocker", "Greenhouse", "Spring cleaning", "yusuf"),
    ("Clean the pond filter", "task", "minor", "Ponds", "Spring cleaning", "yusuf"),
    ("Gravel for the long path", "task", "trivial", "Paths", "", "yusuf"),
    ("Bench beside the pond", "enhancement", "minor", "Ponds", "Summer closure", "yusuf"),
    ('The label "hot" is missing', "defect", "major", "Kitchen", "Fire inspection", "greta.o'neill"),
    ("The cook's timer is slow", "defect", "minor", "Kitchen", "", "greta.o'neill"),
    ("Věšáky v šatně für Gäste", "enhancement", "minor", "Šatna", "Open day", "žofie"),
    ("Mirror for 更衣室", "enhancement", "trivial", "Šatna", "", "žofie"),
    ("Shelves bend under atlases", "defect", "major", "Library", "Summer closure", "liang"),
    ("Catalogue prints blank cards", "defect", "critical", "Library", "", "liang"),
    ("Gate squeaks at night", "defect", "trivial", "Gate", "Spring cleaning", "tomas"),
    ("Rack for twelve bicycles", "enhancement", "major", "Bicycle shed", "Open day", "tomas"),
    ("Arrow points the wrong way", "defect", "minor", "Signs", "Open day", "ingrid"),
    ("Repaint the old wing", "task", "major", 'The "old" wing', "Summer closure", "ingrid"),
)
"""Summary, kind, priority, component, milestone, owner."""
_CLOSED = (
    ("Door bell rings by itself", "defect", "minor", "Gate", "", "tomas"),
    ("Measure the cellar", "task", "trivial", "Boilers", "", "pavel"),
)
_PAGES = (
    ("HouseRules", "= House rules =\n\nNo bicycles in the halls."),
    ("OnCall", "Nadia answers until noon, Oscar after."),
    ("KeyCabinet", "The keys hang in the office of the warden."),
    ("WasteSorting", "Paper is blue, glass is green."),
    ("Opening hours", "Nine to five, on Sundays ten to four."),
    ("Winter service", "Salt is in the shed beside the gate."),
    ("Guest network", "Ask at the desk for the word of the day."),
    ("Emergency numbers", "The board hangs beside each lift."),
    ("Warden's diary", 'It was a "quiet" month.'),
    ("Průvodce für Gäste", "Vítejte."),
)
"""Name and text."""
_DATABASE = "sqlite:db/trac.db"
_SETTINGS = """
[trac]
auth_cookie_path = /
[project]
name = Park House
descr = Repairs and wishes
[header_logo]
src =
[query]
default_query = status!=closed
[ticket]
default_component = Gate
[components]
trac.web.auth.loginmodule = disabled
acct_mgr.api.* = enabled
acct_mgr.db.sessionstore = enabled
acct_mgr.pwhash.htdigesthashmethod = enabled
acct_mgr.web_ui.loginmodule = enabled
[account-manager]
password_store = SessionStore
persistent_sessions = disabled
[logging]
log_type = none
[notification]
smtp_enabled = disabled
"""
_SEED = """
import json, sys
from datetime import datetime, timedelta, timezone
from acct_mgr.db import SessionStore
from trac.env import open_environment
from trac.perm import PermissionSystem
from trac.ticket.model import Component, Milestone, Ticket
from trac.wiki.model import WikiPage

given = json.load(open("given.json", encoding="utf-8"))
env = open_environment("env")
day = datetime(2026, 3, 2, 9, tzinfo=timezone.utc)
with env.db_transaction as db:  # a number that was given once is not given again
    made = [sql for sql, in db("SELECT sql from sqlite_master where tbl_name = 'ticket' and sql is not null")]
    db("drop table ticket")
    for sql in made:
        db(sql.replace("id integer PRIMARY KEY", "id integer PRIMARY KEY AUTOINCREMENT"))
PermissionSystem(env).grant_permission(given["user"], "TRAC_ADMIN")
store = SessionStore(env)
for name in [given["user"], *given["people"]]:
    store.set_password(name, given["password"])
for kind in (Component, Milestone):
    for each in list(kind.select(env)):
        each.delete()
for name, owner in given["components"]:
    component = Component(env)
    component.name, component.owner = name, owner
    component.insert()
for number, name in enumerate(given["milestones"], 1):
    milestone = Milestone(env)
    milestone.name, milestone.due = name, datetime(2099, number, 1, 18, tzinfo=timezone.utc)
    milestone.insert()
tickets = given["tickets"] + given["closed"]
for number, (summary, kind, priority, component, milestone, owner) in enumerate(tickets, 1):
    ticket = Ticket(env)
    ticket.populate({
        "summary": summary, "type": kind, "priority": priority, "component": component, "milestone": milestone,
        "owner": owner, "reporter": "pavel", "status": "new", "description": f"Seen on round {number}."})
    ticket.insert(when=day + timedelta(hours=number))
    if number > len(given["tickets"]):
        ticket["status"], ticket["resolution"] = "closed", "fixed"
        ticket.save_changes(given["user"], "Done.", when=day + timedelta(days=9, hours=number))
for name, text in given["pages"]:
    page = WikiPage(env, name)
    page.text = text
    page.save(given["user"], "", t=day)
env.shutdown()
"""


@asynccontextmanager
async def start_trac(parent: Path, version: str = VERSIONS[0]) -> AsyncIterator[RunningApplication]:
    """Make a project, seed it and serve it."""
    python = installed("trac", version) / "bin" / "python"
    async with work_folder(parent) as folder:
        port, project, seed = free_port(), folder / "env", folder / "seed"
        base = f"http://127.0.0.1:{port}"
        (folder / "settings.ini").write_text(_SETTINGS, encoding="utf-8")
        run(
            [python, "-m", "trac.admin.console", project, "initenv", "--config=settings.ini", "Park House", _DATABASE],
            folder,
        )  # fmt: skip
        given = {
            "user": USER, "password": PASSWORD, "people": _PEOPLE, "components": _COMPONENTS,
            "milestones": _MILESTONES, "tickets": _TICKETS, "closed": _CLOSED, "pages": _PAGES,
        }  # fmt: skip
        (folder / "given.json").write_text(json.dumps(given), encoding="utf-8")
        run([python, "-c", _SEED], folder)
        database, settings, files = (
            project / "db" / "trac.db",
            project / "conf" / "trac.ini",
            project / "files",
        )
        seed.mkdir()
        files.mkdir(exist_ok=True)
        copy_database(database, seed / "trac.db")
        copy_files(files, seed / "files")
        text = settings.read_text(encoding="utf-8")

        def reset() -> None:
            kept = read_rows(database, "select id, generation, key from cache")
            copy_database(seed / "trac.db", database)
            # it reads anew what it remembers
            with closing(sqlite3.connect(database, timeout=10)) as write:
                write.executemany("insert or replace into cache values (:id, :generation + 1, :key)", kept)
                write.commit()
            copy_files(seed / "files", files)
            if settings.read_text(encoding="utf-8") != text:
                settings.write_text(text, encoding="utf-8")

        command: list[str | Path] = [
            python, "-m", "trac.web.standalone", "--single-env", "--hostname", "127.0.0.1", "--port", str(port), project,
        ]  # fmt: skip
        async with serve(command, folder, f"{base}/login"):
            yield ServedApplication(base, reset, lambda: _read_state(database, settings))


def _read_state(database: Path, settings: Path) -> Any:
    """Return what is kept, without numbers of tickets and times."""
    tickets = read_rows(
        database,
        "select id, summary, type, priority, severity, component, milestone, version, owner, reporter, cc, status,"
        " resolution, keywords, description from ticket order by id",
    )
    changes = read_rows(
        database,
        "select ticket, author, field, oldvalue, newvalue from ticket_change order by ticket, time, field",
    )
    for ticket in tickets:
        number = ticket.pop("id")
        ticket["changes"] = [
            {name: value for name, value in each.items() if name != "ticket"}
            for each in changes
            if each["ticket"] == number
        ]
    default = [
        line.strip()
        for line in settings.read_text(encoding="utf-8").splitlines()
        if line.startswith("default_")
    ]
    return {
        "tickets": tickets,
        "components": read_rows(database, "select name, owner, description from component order by name"),
        "milestones": read_rows(
            database, "select name, due, completed > 0 as completed, description from milestone order by name"
        ),
        "versions": read_rows(database, "select name, description from version order by name"),
        "choices": read_rows(database, "select type, name, value from enum order by type, name"),
        "pages": read_rows(
            database,
            "select name, version, author, comment, readonly, case when author = 'trac' then '' else text end as text"
            " from wiki order by name, version",
        ),
        "attachments": read_rows(
            database, "select type, id, filename, size from attachment order by type, id, filename"
        ),
        "reports": read_rows(database, "select title, query, description from report order by id"),
        "permissions": read_rows(
            database, "select username, action from permission order by username, action"
        ),
        "people": read_rows(
            database,
            "select sid, name, value from session_attribute where authenticated = 1"
            " and name in ('password', 'name', 'email') order by sid, name",
        ),
        "defaults": default,
    }
