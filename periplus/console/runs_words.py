"""Words and times as the console's pages about runs have them. Plain functions of values; nothing is looked up."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal

from kb_schema.runs import RunStatus, StoredRun

_TWICE = re.compile(r"(step '[^']{1,200}': )\1+")
LONGEST = 300
"""Characters of a value on a page."""

Outcome = Literal["worked", "partly", "failed", "needs_person", "open"]
"""How a run came out, as people ask for it; `open`: it has no end (yet)."""

OUTCOMES: Mapping[Outcome, str] = {
    "worked": "worked",
    "partly": "partly worked",
    "failed": "failed",
    "needs_person": "needs a person",
    "open": "not finished",
}
_OF_STATUS: Mapping[RunStatus | None, Outcome] = {
    RunStatus.SUCCESS: "worked",
    RunStatus.PARTIAL: "partly",
    RunStatus.DEGRADED: "partly",
    RunStatus.FAILURE: "failed",
    RunStatus.NEEDS_PERSON: "needs_person",
    None: "open",
}
MARKS: Mapping[Outcome, str] = {
    "worked": "good",
    "partly": "warn",
    "failed": "bad",
    "needs_person": "warn",
    "open": "busy",
}
"""What each comes to (`telling.mark`)."""
KINDS: Mapping[str, str] = {
    "task": "task",
    "workflow": "workflow",
    "demo": "demo",
    "verification": "verification",
    "goal": "way to a screen",
    "undo": "undoing",
}


@dataclass(frozen=True, slots=True)
class When:
    """A moment for people and for machines."""

    text: str
    iso: str


def outcome_of(run: StoredRun) -> Outcome:
    """How it came out. A verification that says `fail` failed, whatever its steps were."""
    return _OF_STATUS[run.status]


def when(moment: datetime, today: date) -> When:
    """In UTC, as all of the console: with a word for today and yesterday, else with the date."""
    at = moment.astimezone(UTC)
    iso = at.isoformat(timespec="seconds")
    words = {today: "today", today - timedelta(days=1): "yesterday"}
    return When(f"{words.get(at.date(), at.date().isoformat())} {at:%H:%M} UTC", iso)


def size(number: int) -> str:
    """Bytes, as a file manager has them."""
    if number < 1_000:
        return f"{number} B"
    for power, unit in enumerate(("kB", "MB", "GB"), 1):
        if number < 1_000 ** (power + 1):
            return f"{number / 1_000**power:.1f} {unit}"
    return f"{number / 1_000**4:.1f} TB"


def short(value: Any, longest: int = LONGEST) -> str:
    """A value as text that fits."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def in_words(name: str | None) -> str:
    """An id as words: `open_form` is "open form"."""
    return (name or "").replace("_", " ").replace("-", " ").strip()


def plain(text: str | None) -> str:
    """An error in one line, where it says the same step twice only once."""
    return _TWICE.sub(r"\1", " ".join((text or "").split()))
