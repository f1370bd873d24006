"""Which runs `/runs` shows: chosen by website, kind, outcome and day, a page at a time. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, timedelta
from urllib.parse import urlencode

from kb_schema.runs import StoredRun
from periplus.console.runs_words import KINDS, OUTCOMES, Outcome, When, outcome_of, plain, short, when
from periplus.console.telling import duration

PER_PAGE = 25
LOOKED_AT = 2_000
"""Of the newest runs, among which those are chosen that fit; the page says so where there are more."""
DAYS = {"today": 0, "yesterday": 1}
LONGEST_WHY = 200


@dataclass(frozen=True, slots=True)
class Choice:
    """What somebody wants to see; None or empty: all."""

    site: str | None = None
    kind: str | None = None
    outcome: Outcome | None = None
    day: str = ""
    """`today`, `yesterday` or a date."""
    page: int = 1

    def on(self, today: date) -> date | None:
        """The day that is meant; None: any, also where it is none."""
        if self.day in DAYS:
            return today - timedelta(days=DAYS[self.day])
        try:
            return date.fromisoformat(self.day)
        except ValueError:
            return None

    def fits(self, run: StoredRun, today: date) -> bool:
        """Whether a run is to be seen."""
        on = self.on(today)
        return (
            self.site in (None, run.website_id)
            and self.kind in (None, run.kind)
            and self.outcome in (None, outcome_of(run))
            and on in (None, run.started_at.astimezone(UTC).date())
        )

    @property
    def query(self) -> str:
        """The same as the end of a URL; empty where it is everything."""
        told = {"site": self.site, "kind": self.kind, "outcome": self.outcome, "day": self.day or None}
        asked = {name: value for name, value in told.items() if value is not None}
        if self.page > 1:
            asked["page"] = str(self.page)
        return f"?{urlencode(asked)}" if asked else ""


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run in a list."""

    run_id: str
    site: str
    kind: str
    subject: str
    outcome: Outcome
    said: str
    """The outcome in words."""
    began: When
    took: str
    steps: int
    why: str
    """Why it did not come off, as it was noted; empty where it did."""


@dataclass(frozen=True, slots=True)
class RunsPage:
    """What `/runs` shows."""

    rows: tuple[RunRow, ...]
    choice: Choice
    found: int
    """How many fit in all."""
    looked_at: int
    more: bool
    """Whether there are older runs that were not looked at."""
    sites: tuple[str, ...]
    previous: str | None
    """The query of the page before, as a link has it."""
    next: str | None
    first: int
    """Which the first one shown is, from 1; 0 where there is none."""

    @property
    def last(self) -> int:
        """Which the last one shown is."""
        return self.first + len(self.rows) - 1 if self.rows else 0


def chosen(runs: Sequence[StoredRun], choice: Choice, today: date) -> list[StoredRun]:
    """Those that fit, in the order they came."""
    return [run for run in runs if choice.fits(run, today)]


def on_page(fitting: Sequence[StoredRun], choice: Choice) -> list[StoredRun]:
    """Those of the page that is wanted."""
    begin = (choice.page - 1) * PER_PAGE
    return list(fitting[begin : begin + PER_PAGE])


def runs_page(
    fitting: Sequence[StoredRun],
    choice: Choice,
    *,
    today: date,
    steps: Mapping[str, int],
    names: Mapping[str, str] | None = None,
    looked_at: int,
    sites: Iterable[str],
) -> RunsPage:
    """The page of runs that fit. `steps`: how many each of those shown has; `names`: what was run, by run."""
    shown = on_page(fitting, choice)
    begin = (choice.page - 1) * PER_PAGE
    known = {*sites, *([choice.site] if choice.site else [])}
    return RunsPage(
        rows=tuple(
            row_of(run, today, steps.get(run.run_id, 0), (names or {}).get(run.run_id, "")) for run in shown
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


def row_of(run: StoredRun, today: date, steps: int = 0, name: str = "") -> RunRow:
    """One run in a list."""
    outcome = outcome_of(run)
    why = "" if outcome == "worked" else run.rca_message or run.error or ""
    return RunRow(
        run_id=run.run_id,
        site=run.website_id,
        kind=KINDS.get(run.kind, run.kind),
        subject=name or run.subject,
        outcome=outcome,
        said=OUTCOMES[outcome],
        began=when(run.started_at, today),
        took=duration(run.duration_ms),
        steps=steps,
        why=short(plain(why), LONGEST_WHY),
    )
