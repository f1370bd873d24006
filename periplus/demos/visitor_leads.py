"""Forms that visitors of demos sent: checked, stored for as long as their page says, listed, and written as CSV.

The form is the flow's (`kb_schema.lead_forms`). It is not shown, and nothing is taken, unless
`PERIPLUS_VISITOR_RETENTION_DAYS` is set.
"""

from __future__ import annotations

import asyncio
import csv
import io
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from kb_schema.lead_forms import LeadField, LeadForm
from kb_schema.service_records import LeadEntry, VisitorLead
from kb_store.audit.audit_recorder import record_async
from kb_store.runs.service_record_store import ServiceRecordStore

MOST_OF_A_LINK = 50
"""Forms that are taken from one link: anyone who has it may send them."""
MOST_LISTED = 10_000
LONGEST_ENTRY, LONGEST_WORDS = 200, 4_000
"""Most characters of a field, and of one for words."""
OWN_COLUMNS = ("Given at", "Website", "Flow", "Link", "Language", "Consent", "Kept until")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]+")
_PHONE = re.compile(r"\+?[\d ()/.\-]{4,40}")
_TURNS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""They reverse the text that follows, in a terminal and a spreadsheet, too."""
_AFTER_SEPARATOR = re.compile(r"([;\t\r\n][\"\s]*)(?=[=+\-@＝＋－＠])")  # noqa: RUF001 - as below
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")  # noqa: RUF001 - full-width signs begin formulas, too


class LeadRefused(Exception):
    """The form was not taken. `code`: `not_stored`, `too_many` or `sent_otherwise`."""

    def __init__(self, code: str, text: str, fix: str) -> None:
        super().__init__(text)
        self.code, self.fix = code, fix


class LeadInvalid(Exception):
    """Entries are missing or wrong. `problems`: name of the field -> what is wrong with it."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{name}: {text}" for name, text in problems.items()))
        self.problems = dict(problems)


@dataclass(frozen=True, slots=True)
class LeadOrigin:
    """The link that a form comes from."""

    visit_id: str
    link: str
    website_id: str
    flow_id: str
    language: str


@dataclass(slots=True)
class VisitorLeads:
    """The forms of one store. Methods raise `StoreUnavailable` if it does not answer."""

    records: ServiceRecordStore
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    _adding: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def store(
        self, form: LeadForm, values: Mapping[str, str], origin: LeadOrigin, key: str, days: float
    ) -> VisitorLead:
        """Store a form to which its sender agreed, for a number of days, and return what is stored.

        `key`: made by the page for each form, so that a repeated request stores it once. Raises `LeadInvalid`,
        `LeadRefused`.
        """
        if days <= 0:
            raise LeadRefused(
                "not_stored",
                "this service does not store what visitors enter",
                "its owner sets PERIPLUS_VISITOR_RETENTION_DAYS",
            )
        entries = check_entries(form, values)
        given = self.now()
        lead = VisitorLead(
            lead_id=f"{origin.visit_id}-{key}",
            visit_id=origin.visit_id,
            link=origin.link,
            website_id=origin.website_id,
            flow_id=origin.flow_id,
            language=origin.language,
            entries=entries,
            consent=form.consent,
            given_at=given,
            expires_at=given + timedelta(days=days),
        )
        async with self._adding:
            known = await self.records.find(VisitorLead, lead.lead_id)
            if known is not None:
                return _repeated(known, lead)
            stored = await self.records.select(VisitorLead, group=origin.visit_id, limit=MOST_OF_A_LINK)
            if len(stored) >= MOST_OF_A_LINK:
                raise LeadRefused(
                    "too_many", f"{MOST_OF_A_LINK} forms were sent with this link", "ask for a new link"
                )
            await self.records.add(lead)
        await record_async("lead_stored", f"a form of visit {origin.visit_id}", website=origin.website_id)
        return lead

    async def list(self, *, website: str | None = None, visit_id: str | None = None) -> list[VisitorLead]:
        """Return the forms that have not expired, the newest first; at most `MOST_LISTED` are looked at."""
        found = await self.records.select(VisitorLead, group=visit_id, limit=MOST_LISTED)
        now = self.now()
        kept = [
            each
            for each in found
            if each.expires_at > now and (website is None or each.website_id == website)
        ]
        return sorted(kept, key=lambda each: each.given_at, reverse=True)


def check_entries(form: LeadForm, values: Mapping[str, str]) -> tuple[LeadEntry, ...]:
    """Return the entries of a form, without empty ones. Raises `LeadInvalid` with all problems."""
    problems: dict[str, str] = {}
    entries: list[LeadEntry] = []
    names = [each.name for each in form.fields]
    for unknown in values.keys() - set(names):
        problems[unknown] = f"the form has no such field; it has {', '.join(names)}"
    for asked in form.fields:
        value = _normalize(values.get(asked.name, ""))
        problem = _find_problem(asked, value)
        if problem:
            problems[asked.name] = problem
        elif value:
            entries.append(LeadEntry(name=asked.name, label=asked.label, value=value))
    if not entries and not problems:
        problems[names[0]] = "the form is empty"
    if problems:
        raise LeadInvalid(problems)
    return tuple(entries)


def format_csv(leads: Sequence[VisitorLead]) -> str:
    """Return the forms as CSV, a row each: what is known of them, then a column for each field's name.

    A cell that a spreadsheet would take for a formula begins with an apostrophe; so does what follows a separator of other countries
    or a line break in a cell.
    """
    names = list(dict.fromkeys(entry.name for each in reversed(leads) for entry in each.entries))
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([*OWN_COLUMNS, *names])
    for each in leads:
        given = {entry.name: entry.value for entry in each.entries}
        own = (
            each.given_at.isoformat(timespec="seconds"),
            each.website_id,
            each.flow_id,
            each.link,
            each.language,
            each.consent,
            each.expires_at.isoformat(timespec="seconds"),
        )
        writer.writerow([_quote_formula(cell) for cell in (*own, *(given.get(name, "") for name in names))])
    return text.getvalue()


def _repeated(known: VisitorLead, lead: VisitorLead) -> VisitorLead:
    """Return what is stored already, if it is the same."""
    if known.entries != lead.entries:
        raise LeadRefused("sent_otherwise", "this form was sent with other entries", "open the form again")
    return known


def _find_problem(asked: LeadField, value: str) -> str:
    """Return what is wrong with an entry; empty if nothing is."""
    if not value:
        return f"{asked.label!r} is missing" if asked.required else ""
    longest = LONGEST_WORDS if asked.kind == "words" else LONGEST_ENTRY
    if len(value) > longest:
        return f"{asked.label!r} has {len(value)} characters; at most {longest} are taken"
    if any(unicodedata.category(each) in ("Cc", "Cs") or each in _TURNS for each in value if each != "\n"):
        return f"{asked.label!r} has control characters"
    if asked.kind != "words" and "\n" in value:
        return f"{asked.label!r} has several lines"
    return _find_spelling_problem(asked, value)


def _find_spelling_problem(asked: LeadField, value: str) -> str:
    if asked.kind == "email" and _EMAIL.fullmatch(value) is None:
        return f"{asked.label!r}: expected an address such as ann@example.com"
    if asked.kind == "phone" and _PHONE.fullmatch(value) is None:
        return f"{asked.label!r}: expected a number such as +49 30 1234567"
    return ""


def _normalize(value: str) -> str:
    return value.replace("\r\n", "\n").strip()


def _quote_formula(cell: str) -> str:
    inner = _AFTER_SEPARATOR.sub(r"\1'", cell)
    return f"'{inner}" if cell.lstrip().startswith(_FORMULA) else inner
