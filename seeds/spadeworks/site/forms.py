"""The rules for what people may type and upload. Errors are keyed by the form field's name."""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from io import StringIO

from seeds.spadeworks.site import sample
from seeds.spadeworks.site.state import AgentDetails, CampaignDraft, Visitor
from seeds.spadeworks.site.web import Errors, Form

MAX_NAME = 100
MAX_IMPORT_LINES = 1_000
_EMAIL = re.compile(r"[^@\s,]+@[^@\s,]+\.[^@\s,.]+")
_PHONE = re.compile(r"\+?[\d\s().-]{5,24}")
_DATE = re.compile(r"\d{2}/\d{2}/\d{4}")
_HEADER = ["name", "email", "phone"]


def is_email(text: str) -> bool:
    """Say whether ``text`` looks like an email address."""
    return _EMAIL.fullmatch(text) is not None


def is_date(text: str) -> bool:
    """Say whether ``text`` is a real date written MM/DD/YYYY."""
    if not _DATE.fullmatch(text):
        return False
    try:
        datetime.strptime(text, "%m/%d/%Y")  # noqa: DTZ007 - a calendar date has no time zone
    except ValueError:
        return False
    return True


def read_agent(form: Form, visitor: Visitor, *, editing: str = "") -> tuple[AgentDetails, Errors]:
    """Return what the agent form says and what is wrong with it; ``editing`` is the agent's own id."""
    details = AgentDetails(
        name=form.text("agent_name"),
        language=form.text("language"),
        voice=form.text("voice") or "Calm",
        greeting=form.text("greeting"),
        expiry_date=form.text("expiry_date"),
        record_calls=form.flag("record_calls"),
    )
    errors = Errors()
    if not details.name:
        errors["agent_name"] = "Enter a name for the agent"
    elif len(details.name) > MAX_NAME:
        errors["agent_name"] = f"Use at most {MAX_NAME} characters"
    elif visitor.name_is_taken(details.name, except_id=editing):
        errors["agent_name"] = "An agent with this name already exists"
    if details.language not in sample.LANGUAGES:
        errors["language"] = "Choose a language"
    if details.voice not in sample.VOICES:
        errors["voice"] = "Choose a voice"
    if len(details.greeting) > 500:
        errors["greeting"] = "Use at most 500 characters"
    if details.expiry_date and not is_date(details.expiry_date):
        errors["expiry_date"] = "Enter a date as MM/DD/YYYY, such as 12/31/2030"
    return details, errors


def read_campaign_details(form: Form, visitor: Visitor, draft: CampaignDraft) -> Errors:
    """Put the first step into ``draft``; return what is wrong with it."""
    draft.name = form.text("campaign_name")
    draft.agent_id = form.text("agent_id")
    draft.start_date = form.text("start_date")
    errors = Errors()
    if not draft.name:
        errors["campaign_name"] = "Enter a name for the campaign"
    elif len(draft.name) > MAX_NAME:
        errors["campaign_name"] = f"Use at most {MAX_NAME} characters"
    if visitor.agent(draft.agent_id) is None:
        errors["agent_id"] = "Choose the agent who calls"
    if not is_date(draft.start_date):
        errors["start_date"] = "Enter a date as MM/DD/YYYY, such as 12/31/2030"
    return errors


def read_campaign_audience(form: Form, draft: CampaignDraft) -> Errors:
    """Put the second step into ``draft``; return what is wrong with it."""
    draft.contact_list = form.text("contact_list")
    limit = form.text("daily_limit")
    draft.daily_limit = int(limit) if limit.isascii() and limit.isdigit() and len(limit) < 6 else 0
    filters = [tuple(text.split(": ", 1)) for text in form.texts("filters")]
    draft.filters = [(f[0], f[1]) for f in filters if len(f) == 2 and f[0] in sample.FILTER_FIELDS]
    errors = Errors()
    if draft.contact_list not in sample.CONTACT_LISTS:
        errors["contact_list"] = "Choose a contact list"
    if not 1 <= draft.daily_limit <= 5_000:
        errors["daily_limit"] = "Enter a number from 1 to 5000"
    return errors


@dataclass(frozen=True)
class ContactFile:
    """What an uploaded CSV file holds: rows to add, duplicates left out, or the first error."""

    rows: list[tuple[str, str, str]]
    skipped: int = 0
    error: str = ""


def read_contacts(content: bytes | None, known: set[str], *, skip_duplicates: bool) -> ContactFile:
    """Return the contacts of a CSV file; ``known`` are the addresses already in the workspace."""
    if content is None:
        return ContactFile([], error="Choose a CSV file first")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return ContactFile([], error="This file is not UTF-8 text. Export it as CSV (UTF-8) and try again")
    lines = csv.reader(StringIO(text, newline=""))
    try:
        table = [(lines.line_num, [cell.strip() for cell in cells]) for cells in lines]
    except csv.Error as exc:
        return ContactFile([], error=f"Line {lines.line_num}: {exc}")
    header = [cell.lower() for cell in table[0][1]] if table else []
    if header != _HEADER:
        return ContactFile([], error="Line 1: the header must be name,email,phone")
    return _read_rows(table[1:], set(known), skip_duplicates)


def _read_rows(table: Sequence[tuple[int, list[str]]], seen: set[str], skip_duplicates: bool) -> ContactFile:
    """Return the contacts of numbered lines that follow the header."""
    rows: list[tuple[str, str, str]] = []
    skipped = 0
    for number, values in table:
        if not any(values):
            continue
        if problem := _problem(values):
            return ContactFile([], error=f"Line {number}: {problem}")
        name, email, phone = values
        if email.lower() in seen:
            if not skip_duplicates:
                return ContactFile([], error=f"Line {number}: {email} is already a contact")
            skipped += 1
            continue
        if len(rows) == MAX_IMPORT_LINES:
            return ContactFile([], error=f"Import at most {MAX_IMPORT_LINES} contacts at a time")
        seen.add(email.lower())
        rows.append((name, email, phone))
    if not rows and not skipped:
        return ContactFile([], error="There are no contacts in this file")
    return ContactFile(rows, skipped)


def _problem(values: list[str]) -> str:
    if len(values) != 3:
        return f"expected 3 columns, found {len(values)}"
    name, email, phone = values
    if not 1 <= len(name) <= MAX_NAME:
        return "the name is missing" if not name else "the name is too long"
    if not is_email(email) or len(email) > 200:
        return f"“{email[:60]}” is not an email address"
    if phone and not _PHONE.fullmatch(phone):
        return f"“{phone[:60]}” is not a phone number"
    return ""
