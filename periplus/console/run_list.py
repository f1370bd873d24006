"""The runs on `/runs`: filtered by website, kind, outcome and day, in pages. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, timedelta
from urllib.parse import urlencode

from kb_schema.run_records import StoredRun
from periplus.console.run_labels import (
    KINDS,
    OUTCOMES,
    DisplayedMoment,
    RunOutcome,
    classify_outcome,
    format_error_line,
    format_when,
    shorten_value,
)
from periplus.console.template_filters import format_duration

PER_PAGE = 25
LOOKED_AT = 2_000
"""How many of the newest runs are filtered; the page says if there are more."""
DAYS = {"today": 0, "yesterday": 1}
LONGEST_WHY = 200


@dataclass(frozen=True, slots=True)
class RunFilter:
    """The filter of the list; None or empty: all."""

    site: str | None = None
    kind: str | None = None
    outcome: RunOutcome | None = None
    day: str = ""
    """`today`, `yesterday` or a date."""
    page: int = 1

    def on(self, today: date) -> date | None:
        """Return the selected day; None for any day or an invalid one."""
        if self.day in DAYS:
            return today - timedelta(days=DAYS[self.day])
        try:
            return date.fromisoformat(self.day)
        except ValueError:
            return None

    def fits(self, run: StoredRun, today: date) -> bool:
        """Return whether a run matches the filter."""
        on = self.on(today)
        return (
            self.site in (None, run.website_id)
            and self.kind in (None, run.kind)
            and self.outcome in (None, classify_outcome(run))
            and on in (None, run.started_at.astimezone(UTC).date())
        )

    @property
    def query(self) -> str:
        """Return the filter as a URL query; empty if it selects everything."""
        told = {"site": self.site, "kind": self.kind, "outcome": self.outcome, "day": self.day or None}
        asked = {name: value for name, value in told.items() if value is not None}
        if self.page > 1:
            asked["page"] = str(self.page)
        return f"?{urlencode(asked)}" if asked else ""


@dataclass(frozen=True, slots=True)
class RunListRow:
    """One run in a list."""

    run_id: str
    site: str
    kind: str
    subject: str
    outcome: RunOutcome
    said: str
    """The outcome as text."""
    began: DisplayedMoment
    took: str
    steps: int
    why: str
    """The recorded error; empty if it succeeded."""
    version: str
    """The version of a workflow; empty for other runs."""


@dataclass(frozen=True, slots=True)
class RunListPage:
    """One page of the list."""

    rows: tuple[RunListRow, ...]
    choice: RunFilter
    found: int
    """The number of all matching runs."""
    looked_at: int
    more: bool
    """Whether there are older runs that were not filtered."""
    sites: tuple[str, ...]
    previous: str | None
    """The URL query of the previous page."""
    next: str | None
    first: int
    """The number of the first run on this page, from 1; 0 if there is none."""

    @property
    def last(self) -> int:
        """Return the number of the last run on this page."""
        return self.first + len(self.rows) - 1 if self.rows else 0


def filter_runs(runs: Sequence[StoredRun], choice: RunFilter, today: date) -> list[StoredRun]:
    """Return the matching runs in their order."""
    return [run for run in runs if choice.fits(run, today)]


def select_page(fitting: Sequence[StoredRun], choice: RunFilter) -> list[StoredRun]:
    """Return the runs of the selected page."""
    begin = (choice.page - 1) * PER_PAGE
    return list(fitting[begin : begin + PER_PAGE])


def build_run_list_page(
    fitting: Sequence[StoredRun],
    choice: RunFilter,
    *,
    today: date,
    steps: Mapping[str, int],
    names: Mapping[str, str] | None = None,
    looked_at: int,
    sites: Iterable[str],
) -> RunListPage:
    """Return the page of matching runs. `steps`: the number of steps by run; `names`: the subject by run."""
    shown = select_page(fitting, choice)
    begin = (choice.page - 1) * PER_PAGE
    known = {*sites, *([choice.site] if choice.site else [])}
    return RunListPage(
        rows=tuple(
            build_run_row(run, today, steps.get(run.run_id, 0), (names or {}).get(run.run_id, ""))
            for run in shown
        ),
        choice=choice,
        found=len(fitting),
        looked_at=looked_at,
        more=looked_at >= LOOKED_AT,
        sites=tuple(sorted(known)),
        previous=replace(choice, page=choice.page - 1).query or "?" if choice.page > 1 else None,
        next=replace(choice, page=choice.page + 1).query if begin + PER_PAGE < len(fitting) else None,
        first=begin + 1 if shown else 0,
    )


def build_run_row(run: StoredRun, today: date, steps: int = 0, name: str = "") -> RunListRow:
    """One run in a list."""
    outcome = classify_outcome(run)
    why = "" if outcome == "worked" else run.rca_message or run.error or ""
    return RunListRow(
        run_id=run.run_id,
        site=run.website_id,
        kind=KINDS.get(run.kind, run.kind),
        subject=name or run.subject,
        outcome=outcome,
        said=OUTCOMES[outcome],
        began=format_when(run.started_at, today),
        took=format_duration(run.duration_ms),
        steps=steps,
        why=shorten_value(format_error_line(why), LONGEST_WHY),
        version=run.workflow_version or "",
    )
