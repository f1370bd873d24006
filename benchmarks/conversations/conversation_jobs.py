"""The jobs of the benchmark: what a model does, as steps that name controls as the page does.

Every arm gets the same job. Roles and names are those that both servers say of the page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.live_spadeworks import ACCOUNT
from tests.zoo.registry.serving import PASSWORD


@dataclass(frozen=True, slots=True)
class Field:
    """A field, and what to enter."""

    name: str
    """How its accessible name begins."""
    value: str
    role: str = "textbox"


@dataclass(frozen=True, slots=True)
class Fill:
    """Enter values on the present page."""

    fields: Sequence[Field]


@dataclass(frozen=True, slots=True)
class Press:
    """Press a control."""

    role: str
    name: str
    """How its accessible name begins; a regular expression."""


Step = Fill | Press


@dataclass(frozen=True, slots=True)
class ConversationJob:
    """One job on one application."""

    application: str
    name: str
    start: str
    """Where a person begins, below the base URL."""
    sign_in: Sequence[Step]
    way: Sequence[Step]
    """From the first page after signing in to the one with the form."""
    form: Sequence[Step]
    screen: str
    """A pattern of the id of the known screen with the form."""
    query: str
    """What to search screens for."""
    task: str
    inputs: Mapping[str, Any]
    done: Callable[[Any], bool] = field(repr=False)
    """Whether the application's state shows that it was done."""
    account: str
    """Who signs in."""
    secrets: Mapping[str, str] = field(default_factory=dict)
    """What the operator set: names of secrets -> values."""
    known_way: Sequence[Step] = ()
    """From the known screen to the form, where the form is of one thing among many."""

    @property
    def steps(self) -> list[Step]:
        """All steps of somebody who does not know the website."""
        return [*self.sign_in, *self.way, *self.form]


def _fill(*fields: Field) -> Fill:
    return Fill(fields)


_SEED = {"email": str(ACCOUNT["email"]), "password": str(ACCOUNT["password"])}
_SEED_SIGN_IN = (
    Press("button", "Accept|Decline"),
    _fill(Field("Email", _SEED["email"]), Field("Password", _SEED["password"])),
    Press("button", "Sign In"),
)
_SEED_SECRETS = {"PASSWORD": _SEED["password"]}
_ADMIN_SECRETS = {"LOGIN_PASSWORD": PASSWORD, "PASSWORD": PASSWORD}
_ROUNDUP_SIGN_IN = (
    _fill(Field("Login|__login_name", "admin"), Field("Password|__login_password|Login+1", PASSWORD)),
    Press("button", "Login"),
)
_TRAC_SIGN_IN = (
    Press("link", "Login"),
    _fill(Field("Username", "warden"), Field("Password", PASSWORD)),
    Press("button", "Login"),
)


def _has(entries: Sequence[Mapping[str, Any]], **wanted: Any) -> bool:
    return any(all(each.get(name) == value for name, value in wanted.items()) for each in entries)


def _note(entries: Sequence[Mapping[str, Any]], title: str, note: str) -> bool:
    return any(note in "".join(map(str, each["notes"])) for each in entries if each["title"] == title)


JOBS = (
    ConversationJob(
        "spadeworks", "create_agent", "/login", _SEED_SIGN_IN,
        (Press("link", "Agents"), Press("link", "Create Agent")),
        (
            _fill(Field("Agent name", "Harbour desk"), Field("Language", "Hindi", "combobox")),
            Press("button", "Save Changes"),
        ),
        r"agent_create", "new agent", "create_agent",
        {"agent_name": "Harbour desk", "language": "hi-IN", "email": _SEED["email"]},
        lambda state: _has(state["agents"], name="Harbour desk", language="hi-IN"),
        _SEED["email"], _SEED_SECRETS,
    ),
    ConversationJob(
        "spadeworks", "update_profile", "/login", _SEED_SIGN_IN,
        (Press("link", "Settings"),),
        (
            _fill(Field("Display name", "Ida Quay"), Field("Company", "Quay & Sons")),
            Press("button", "Save profile"),
        ),
        r"settings", "settings", "update_profile",
        {"display_name": "Ida Quay", "company": "Quay & Sons", "email": _SEED["email"]},
        lambda state: "Ida Quay" in str(state) and "Quay & Sons" in str(state),
        _SEED["email"], _SEED_SECRETS,
    ),
    ConversationJob(
        "spadeworks", "edit_agent", "/login", _SEED_SIGN_IN,
        (Press("link", "Agents"), Press("link", "Amelia Hart"), Press("link", "Edit")),
        (_fill(Field("Greeting", "Good morning from the quay")), Press("button", "Save Changes")),
        r"agent_list", "agents", "edit_agent",
        {"target_agent_name": "Amelia Hart", "new_greeting": "Good morning from the quay", "email": _SEED["email"]},
        lambda state: _has(state["agents"], greeting="Good morning from the quay"),
        _SEED["email"], _SEED_SECRETS,
        known_way=(Press("link", "Amelia Hart"), Press("link", "Edit")),
    ),
    ConversationJob(
        "roundup", "create_issue", "/", _ROUNDUP_SIGN_IN,
        (Press("link", "Create New"),),
        (
            _fill(
                Field("Title", "Window blinds do not open"), Field("Priority", "bug", "combobox"),
                Field("Assigned To", "nadia", "combobox"), Field("Change Note", "Third office on the left."),
            ),
            Press("button", "Submit New Entry"),
        ),
        r"new_issue\w*", "new issue", "do_create_issue",
        {"title": "Window blinds do not open", "priority": "bug", "assignedto": "nadia", "note": "Third office on the left."},
        lambda state: _has(state["issues"], title="Window blinds do not open", priority="bug", assigned="nadia")
        and _note(state["issues"], "Window blinds do not open", "Third office"),
        "admin", _ADMIN_SECRETS,
    ),
    ConversationJob(
        "roundup", "edit_issue", "/", _ROUNDUP_SIGN_IN,
        (Press("link", "Show All"), Press("link", "Paper jam on the second floor")),
        (
            _fill(Field("Status", "testing", "combobox"), Field("Change Note", "New rollers since noon")),
            Press("button", "Submit Changes"),
        ),
        r"list_of_issues", "issues", "do_edit_issue",
        {"title": "Paper jam on the second floor", "status": "testing", "note": "New rollers since noon"},
        lambda state: _has(state["issues"], title="Paper jam on the second floor", status="testing")
        and _note(state["issues"], "Paper jam on the second floor", "New rollers"),
        "admin", _ADMIN_SECRETS,
        known_way=(Press("link", "Paper jam on the second floor"),),
    ),
    ConversationJob(
        "roundup", "rename_issue", "/", _ROUNDUP_SIGN_IN,
        (Press("link", "Show All"), Press("link", "Dark mode for the timetable")),
        (_fill(Field("Title", "Timetable in dark colours")), Press("button", "Submit Changes")),
        r"list_of_issues", "issues", "do_rename_issue",
        {"title": "Dark mode for the timetable", "title_2": "Timetable in dark colours"},
        lambda state: _has(state["issues"], title="Timetable in dark colours"),
        "admin", _ADMIN_SECRETS,
        known_way=(Press("link", "Dark mode for the timetable"),),
    ),
    ConversationJob(
        "trac", "create_ticket", "/", _TRAC_SIGN_IN,
        (Press("link", "New Ticket"),),
        (
            _fill(
                Field("Summary", "Lamp above the pond is dark"), Field("Description", "Only the eastern one"),
                Field("Priority", "critical", "combobox"), Field("Component", "Ponds", "combobox"),
            ),
            Press("button", "Create ticket"),
        ),
        r"\w*new_ticket\w*", "new ticket", "do_create_ticket",
        {"summary": "Lamp above the pond is dark", "description": "Only the eastern one", "priority": "critical", "component": "Ponds"},
        lambda state: _has(state["tickets"], summary="Lamp above the pond is dark", priority="critical", component="Ponds"),
        "warden", _ADMIN_SECRETS,
    ),
    ConversationJob(
        "trac", "add_component", "/", _TRAC_SIGN_IN,
        (Press("link", "Admin$"), Press("link", "Components")),
        (
            _fill(Field("Name", "Fountain"), Field("Owner", "ingrid")),
            Press("button", "Add$"),
        ),
        r"\w*component\w*", "components", "do_add_component",
        {"name": "Fountain", "owner": "ingrid"},
        lambda state: _has(state["components"], name="Fountain", owner="ingrid"),
        "warden", _ADMIN_SECRETS,
    ),
)  # fmt: skip
