"""A small site without a browser: pages as HTML, and people who work through it and leave traces.

Every page is made afresh with new `__id__`s, as a framework would, so that nothing but the page itself
tells elements again.
"""

from __future__ import annotations

import html
import itertools
import re
from dataclasses import dataclass, field

from kb_schema.execution_traces import ExecutionTrace, TraceActionResult, TraceStep

BASE = "https://fleet.example"
_TAG = re.compile(r"<(?!/|!|html|head|title|body|main)([a-z][\w-]*)")


def page(title: str, body: str) -> str:
    return f"<html><head><title>{title} - Fleet</title></head><body><main><h1>{title}</h1>{body}</main></body></html>"


def field_html(name: str, label: str, kind: str = "text") -> str:
    return f'<p><label for="{name}">{label}</label><input id="{name}" name="{name}" type="{kind}"></p>'


def table(rows: list[str], *, cells: str = "", table_id: str = "agents") -> str:
    body = "".join(
        f'<tr><td class="name"><a href="/agents/{100 + i}">{html.escape(row)}</a></td><td>{cells}</td>'
        f'<td><button class="delete">Delete</button></td></tr>'
        for i, row in enumerate(rows)
    )
    return f'<table id="{table_id}"><tbody>{body}</tbody></table>'


@dataclass
class Person:
    """Somebody at work: acts on what the page shows and writes it down."""

    trace_id: str
    inputs: dict[str, object] = field(default_factory=dict)
    task: str = "do the work"
    seed: int = 0
    steps: list[TraceStep] = field(default_factory=list)
    url: str = BASE + "/"
    shown: str = ""

    def __post_init__(self) -> None:
        self._ids = itertools.count(1000 * (self.seed + 1))

    def sees(self, path: str, title: str, body: str) -> Person:
        """What the page becomes; the step before ends with it."""
        made = page(title, body)
        self.shown = _TAG.sub(lambda m: f'<{m[1]} __id__="{next(self._ids)}"', made)
        self.url = BASE + path
        if self.steps and self.steps[-1].html_after is None:
            self.steps[-1] = self.steps[-1].model_copy(update={"html_after": self.shown})
        return self

    def does(self, action: str, needle: str, **args: object) -> Person:
        """An action on the element in whose markup the needle stands."""
        at = self.shown.index(needle)
        # The needle is in the element's opening tag, or in the text right behind it.
        begin = self.shown.rindex("<", 0, at + 1) if self.shown[at] != "<" else at
        found = re.search(r'__id__="(\d+)"', self.shown[begin : self.shown.index(">", begin)])
        assert found, self.shown[begin : begin + 80]
        self._close()
        self.steps.append(
            TraceStep(
                action_type=action,
                target={"strategy": "__id__", "value": found[1]},
                args=args or None,
                html_before=self.shown,
                source_url=self.url,
                result=TraceActionResult(),
            )
        )
        return self

    def opens(self, path: str) -> Person:
        self._close()
        self.steps.append(
            TraceStep(
                action_type="visit_url",
                target=BASE + path,
                source_url=self.url,
                html_before=self.shown or None,
            )
        )
        return self

    def row(self, action: str, words: str, needle: str) -> Person:
        """An action on something in the row that says these words."""
        at = self.shown.index(f">{html.escape(words)}<")
        begin = self.shown.index(needle, self.shown.rindex("<tr", 0, at))
        return self._at(action, begin)

    def _at(self, action: str, place: int) -> Person:
        begin = self.shown.rindex("<", 0, place + 1)
        found = re.search(r'__id__="(\d+)"', self.shown[begin : self.shown.index(">", begin)])
        assert found
        self._close()
        self.steps.append(
            TraceStep(
                action_type=action,
                target={"strategy": "__id__", "value": found[1]},
                html_before=self.shown,
                source_url=self.url,
            )
        )
        return self

    def _close(self) -> None:
        if self.steps and self.steps[-1].html_after is None and self.shown:
            self.steps[-1] = self.steps[-1].model_copy(update={"html_after": self.shown})

    def trace(self) -> ExecutionTrace:
        self._close()
        return ExecutionTrace(
            trace_id=self.trace_id,
            task_description=self.task,
            steps=tuple(self.steps),
            input_data=self.inputs or None,
        )


# -- people at work: each function is one task, done once, as one person does it ----------------------

FORM = field_html("name", "Agent name") + field_html("goal", "Goal") + '<button id="save">Save</button>'


def create_agent(
    number: int, *, banner: bool = False, goal_first: bool = False, slips: bool = False
) -> ExecutionTrace:
    name, goal = f"Agent {'ABCDEFGH'[number]}", f"goal of {'ABCDEFGH'[number]}"
    person = Person(f"create{number}", {"agent_name": name, "goal": goal}, "create an agent", number)
    cookies = '<div class="cookie"><button id="accept">Accept cookies</button></div>' if banner else ""
    listed = '<a class="new" href="/agents/new">New agent</a>' + table(["Alpha", "Beta"])
    person.opens("/agents").sees("/agents", "Agents", cookies + listed)
    if banner:
        person.does("click", 'id="accept"').sees("/agents", "Agents", listed)
    person.does("click", 'class="new"').sees("/agents/new", "New agent", FORM)
    fields = [('id="name"', name), ('id="goal"', goal)]
    for needle, value in reversed(fields) if goal_first else fields:
        if slips:
            person.does("click", needle).does("input_text", needle, text=value[:-1] + "?")
        person.does("input_text", needle, text=value)
    person.does("click", 'id="save"').sees(f"/agents/1{number}", name, '<p role="status">Agent created</p>')
    return person.trace()


def delete_all(number: int, rows: list[str]) -> ExecutionTrace:
    person = Person(f"delete{number}", {}, "delete all agents", number)
    person.opens("/agents").sees("/agents", "Agents", table(rows))
    for at, row in enumerate(rows):
        left = rows[at + 1 :]
        person.row("click", row, 'class="delete"')
        person.sees("/agents", "Agents", table(left) if left else "<p>No agents yet</p>")
    return person.trace()


def work_off(number: int, rows: list[tuple[str, bool]]) -> ExecutionTrace:
    """Open each row, approve what is pending and archive what is not, go back."""
    person = Person(f"work{number}", {}, "work off the agents", number)
    person.opens("/agents").sees("/agents", "Agents", table([row for row, _ in rows]))
    back = '<a id="back" href="/agents">Back</a>'
    for row, pending in rows:
        button = "approve" if pending else "archive"
        person.row("click", row, "<a ")
        person.sees(
            "/agents/5",
            row,
            f'<p class="state">of {row}</p><button id="{button}">{button.title()}</button>{back}',
        )
        person.does("click", f'id="{button}"').sees("/agents/5", row, f'<p class="state">done</p>{back}')
        person.does("click", 'id="back"').sees("/agents", "Agents", table([each for each, _ in rows]))
    person.does("click", "<h1")
    return person.trace()


def sign_in(number: int, *, code: bool) -> ExecutionTrace:
    person = Person(f"sign{number}", {"user": f"user{number}"}, "sign in", number)
    form = (
        field_html("user", "User")
        + field_html("pw", "Password", "password")
        + '<button id="go">Sign in</button>'
    )
    person.opens("/login").sees("/login", "Sign in", form)
    person.does("input_text", 'id="user"', text=f"user{number}").does(
        "input_text", 'id="pw"', text=f"secret{number}"
    )
    person.does("click", 'id="go"')
    if code:
        sent = str(1234 * (number + 1))
        asked = (
            f'<p class="hint">Your code: {sent}</p>'
            + field_html("code", "Code")
            + '<button id="verify">Verify</button>'
        )
        person.sees("/code", "One-time code", asked)
        person.does("input_text", 'id="code"', text=sent).does("click", 'id="verify"')
    person.sees("/home", "Home", '<p>Hello</p><a id="out" href="/out">Sign out</a>')
    person.does("click", 'id="out"').sees("/bye", "Signed out", "<p>Good bye</p>")
    return person.trace()


def export_pages(number: int, pages: int) -> ExecutionTrace:
    person = Person(f"pages{number}", {}, "export every page", number)
    person.opens("/list")
    for at in range(pages):
        more = "" if at == pages - 1 else '<a id="next" href="#">Next</a>'
        shown = f'<p class="page">page {at + 1}</p><button id="export">Export page</button>{more}'
        person.sees("/list", "List", shown).does("click", 'id="export"').sees("/list", "List", shown)
        if more:
            person.does("click", 'id="next"')
    return person.trace()


def add_tags(number: int, tags: list[str]) -> ExecutionTrace:
    person = Person(f"tags{number}", {"tags": tags}, "add tags", number)
    form = field_html("tag", "Tag") + '<button id="add">Add</button>'
    person.opens("/tags").sees("/tags", "Tags", form)
    for at, tag in enumerate(tags):
        person.does("input_text", 'id="tag"', text=tag).does("click", 'id="add"')
        person.sees(
            "/tags", "Tags", form + "<ul>" + "".join(f"<li>{each}</li>" for each in tags[: at + 1]) + "</ul>"
        )
    return person.trace()


def open_one(number: int, wanted: str, rows: list[str], *, key: str = "agent") -> ExecutionTrace:
    """A row that the input names, wherever it stands."""
    person = Person(f"open{number}", {key: wanted}, "delete one agent", number)
    person.opens("/agents").sees("/agents", "Agents", table(rows))
    person.row("click", wanted, 'class="delete"').sees(
        "/agents", "Agents", table([r for r in rows if r != wanted])
    )
    return person.trace()


def nested(number: int, pages: list[list[str]]) -> ExecutionTrace:
    """Every row of every page."""
    person = Person(f"nested{number}", {}, "check every row of every page", number)
    person.opens("/list")
    for at, rows in enumerate(pages):
        more = "" if at == len(pages) - 1 else '<a id="next" href="#">Next</a>'
        shown = table(rows, table_id="rows") + more
        person.sees("/list", "List", shown)
        for row in rows:
            person.row("click", row, 'class="delete"').sees("/list", "List", shown)
        if more:
            person.does("click", 'id="next"')
    return person.trace()


def search_and_open(
    number: int, typed: str, wanted: str, *, told: bool, label: str = "Search agents"
) -> ExecutionTrace:
    """The beginning of a name is typed into a field above the list, and the name is clicked."""
    rows = ["Ann Moor", "Bob Quay", "Cid Pier", "Dan Keel"]
    bar = field_html("words", label)
    person = Person(f"search{number}", {"agent": wanted} if told else {}, "open one agent", number)
    person.opens("/agents").sees("/agents", "Agents", bar + table(rows))
    person.does("fill", 'name="words"', value=typed)
    person.sees("/agents", "Agents", bar + table([row for row in rows if row.startswith(typed)]))
    person.does("click", f">{wanted}<").sees("/agents/7", wanted, "<p>One agent</p>")
    return person.trace()


MAILS = [
    ("Apple", "New phone", " unread"),
    ("Ryan", "Platform issues", ""),
    ("Ryan", "Lunch", " unread"),
    ("Chase", "Statement", ""),
    ("Nate", "Lunch", ""),
]
"""Sender, subject, and the class of a state."""


def mail_rows(mails: list[tuple[str, str, str]]) -> str:
    return "".join(
        f'<div class="mail{state}"><button class="star" data-mail="{sender} {subject}">☆</button><span class="sender">{sender}</span>'
        f'<div class="text"><span class="subject">{subject}</span><span class="date">May {number}</span></div></div>'
        for number, (sender, subject, state) in enumerate(mails, 1)
    )


def star_mail(number: int, sender: str, subject: str, *, searches: bool) -> ExecutionTrace:
    """The star in a row of `div`s, in the whole list or in what a search leaves of it."""
    person = Person(f"star{number}", {"subject": subject, "sender": sender}, "star one mail", number)
    bar = field_html("words", "Search mail")
    shown = MAILS
    person.opens("/mails").sees("/mails", "Mails", bar + mail_rows(shown))
    if searches:
        shown = [mail for mail in MAILS if mail[:2] == (sender, subject)]
        person.does("fill", 'name="words"', value=subject).sees("/mails", "Mails", bar + mail_rows(shown))
    person.does("click", f'data-mail="{sender} {subject}"')
    person.sees("/mails", "Mails", bar + mail_rows(shown).replace("☆", "★"))
    return person.trace()


def unassign(number: int, name: str, names: list[str]) -> ExecutionTrace:
    """A checkbox whose label says initials and a name."""
    person = Person(f"unassign{number}", {"person": name}, "remove an assignee", number)
    labels = "".join(
        f'<label class="choice"><input type="checkbox" value="{number}"><span class="avatar">{each[:2].upper()}</span>{each}</label>'
        for number, each in enumerate(names, 20 * number)
    )
    person.opens("/people").sees("/people", "People", labels)
    person.does("click", f'value="{20 * number + names.index(name)}"').sees("/people", "People", labels)
    return person.trace()


def delete_by_menu(number: int, wanted: str, rows: list[str]) -> ExecutionTrace:
    """The menu of a row, which stands at the end of the page; a hint under the pointer says the row's name."""
    person = Person(f"menu{number}", {}, "delete one agent", number)
    hint = f'<div class="hint">{wanted}</div>'
    body = "".join(
        f'<tr><td><a href="/a">{row}</a></td><td><button class="more">More</button></td></tr>' for row in rows
    )
    listed = f"<table><tbody>{body}</tbody></table>"
    person.opens("/agents").sees("/agents", "Agents", f"{listed}{hint}")
    person.row("click", wanted, 'class="more"')
    person.sees(
        "/agents", "Agents", f'{listed}<div class="menu"><a href="/delete/{number + 70}">Delete</a></div>'
    )
    person.does("click", f'href="/delete/{number + 70}"').sees("/agents", "Agents", "<p>Deleted</p>")
    return person.trace()
