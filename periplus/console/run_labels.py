"""Labels, times and sizes for the console's pages about runs. Pure functions."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal

from kb_schema.run_records import RunStatus, StoredRun

_TWICE = re.compile(r"(step '[^']{1,200}': )\1+")
LONGEST = 300
"""Maximum number of characters of a value on a page."""

RunOutcome = Literal["worked", "unverified", "partly", "failed", "needs_person", "open"]
"""The outcome of a run; `open`: it has not ended."""

OUTCOMES: Mapping[RunOutcome, str] = {
    "worked": "worked",
    "unverified": "done, not verified",
    "partly": "partly succeeded",
    "failed": "failed",
    "needs_person": "needs a person",
    "open": "not finished",
}
_OF_STATUS: Mapping[RunStatus | None, RunOutcome] = {
    RunStatus.SUCCESS: "worked",
    RunStatus.UNVERIFIED: "unverified",
    RunStatus.PARTIAL: "partly",
    RunStatus.DEGRADED: "partly",
    RunStatus.FAILURE: "failed",
    RunStatus.NEEDS_PERSON: "needs_person",
    None: "open",
}
MARKS: Mapping[RunOutcome, str] = {
    "worked": "good",
    "unverified": "warn",
    "partly": "warn",
    "failed": "bad",
    "needs_person": "warn",
    "open": "busy",
}
"""Outcome -> the kind of its status mark (`template_filters.format_status`)."""
KINDS: Mapping[str, str] = {
    "task": "task",
    "workflow": "workflow",
    "demo": "demo",
    "verification": "verification",
    "goal": "navigation",
    "undo": "undoing",
}


@dataclass(frozen=True, slots=True)
class DisplayedMoment:
    """A moment as text for people and in ISO format."""

    text: str
    iso: str


def classify_outcome(run: StoredRun) -> RunOutcome:
    """Return the outcome of a run. A verification with the verdict `fail` has failed, whatever its steps did."""
    return _OF_STATUS[run.status]


def format_when(moment: datetime, today: date) -> DisplayedMoment:
    """Return a moment in UTC, with `today`, `yesterday` or the date."""
    at = moment.astimezone(UTC)
    iso = at.isoformat(timespec="seconds")
    words = {today: "today", today - timedelta(days=1): "yesterday"}
    return DisplayedMoment(f"{words.get(at.date(), at.date().isoformat())} {at:%H:%M} UTC", iso)


def format_size(number: int) -> str:
    """Return a number of bytes with a unit, such as `1.2 MB`."""
    if number < 1_000:
        return f"{number} B"
    for power, unit in enumerate(("kB", "MB", "GB"), 1):
        if number < 1_000 ** (power + 1):
            return f"{number / 1_000**power:.1f} {unit}"
    return f"{number / 1_000**4:.1f} TB"


def shorten_value(value: Any, longest: int = LONGEST) -> str:
    """Return a value as text of at most `longest` characters."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def format_id_words(name: str | None) -> str:
    """Return an id as words: `open_form` becomes "open form"."""
    return (name or "").replace("_", " ").replace("-", " ").strip()


def format_error_line(text: str | None) -> str:
    """Return an error on one line, without repeated step names."""
    return _TWICE.sub(r"\1", " ".join((text or "").split()))
