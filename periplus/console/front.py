"""The first page: websites, what needs a person, and the last runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from kb_schema.runs import StoredRun
from kb_store import StoreError
from mcp_server.errors import DeskError
from mcp_server.views import Current
from periplus.console.runs_listing import RunRow, row_of
from periplus.console.runs_views import subject_name
from periplus.console.runs_words import MARKS, outcome_of
from periplus.console.shell import ConsoleParts, TheParts, render

FEW_RUNS = 8
LOOKED_AT = 500
"""Of the newest runs, for what is said of each website."""
FAILED_FOR = timedelta(days=2)
"""How long a failed run needs a person's eye."""
FEW_FAILED = 6
MOST_SITES = 60
"""Shown with what is known of them; further ones are named."""

router = APIRouter()


@dataclass(frozen=True, slots=True)
class Site:
    """One website in short."""

    site: str
    name: str
    base_url: str
    screens: int
    tasks: int
    workflows: int
    proposals: int
    """Waiting."""
    last: RunRow | None
    failed: int
    """Of the runs since yesterday."""
    note: str | None
    """Why it cannot be read as it should be."""

    @property
    def health(self) -> tuple[str, str]:
        """A kind for `mark`, and the words."""
        if self.note is not None:
            return "warn", "not as it is now"
        if self.failed:
            return "bad", f"{self.failed} failed since yesterday"
        return "good", "in order"


@router.get("/")
async def front(
    request: Request, parts: TheParts, every: Annotated[int, Query(ge=0, le=3_600)] = 0
) -> Response:
    """`?every=5`: draws itself anew every five seconds."""
    (runs, without_runs), (sites, without_sites), health = await asyncio.gather(
        _runs(parts), _ids(parts), parts.health()
    )
    now = datetime.now(UTC)
    failed = [
        run
        for run in runs
        if outcome_of(run) in ("failed", "needs_person") and run.started_at >= now - FAILED_FOR
    ]
    known = {site: await _current(parts, site) for site in sites[:MOST_SITES]}
    found = [await _site(parts, site, each, runs, failed, now) for site, each in known.items()]

    def row(run: StoredRun) -> RunRow:
        return _row(known.get(run.website_id), run, now)

    return render(
        request,
        "front.html.j2",
        note=without_sites or without_runs,
        sites=found,
        more_sites=sites[MOST_SITES:],
        waiting=[each for each in found if each.proposals],
        failed=[row(run) for run in failed[:FEW_FAILED]],
        more_failed=max(0, len(failed) - FEW_FAILED),
        runs=[row(run) for run in runs[:FEW_RUNS]],
        marks=MARKS,
        health=health,
        every=every,
    )


async def _runs(parts: ConsoleParts) -> tuple[Sequence[StoredRun], str | None]:
    try:
        return await parts.runs.runs(limit=LOOKED_AT), None
    except StoreError:
        return (), "the store of runs does not answer: what is said of runs is missing"


async def _ids(parts: ConsoleParts) -> tuple[list[str], str | None]:
    try:
        return await parts.desk.views.websites(), None
    except DeskError as exc:
        return [], f"the store of knowledge does not answer ({exc.message}): websites are missing"


async def _current(parts: ConsoleParts, site: str) -> Current | DeskError:
    """What is known of a website, or why that cannot be told."""
    try:
        current: Current = await parts.desk.views.current(site)
    except DeskError as exc:
        return exc
    return current


def _row(known: Current | DeskError | None, run: StoredRun, now: datetime) -> RunRow:
    """A run, by the name that people have for what was run."""
    knowledge = None if known is None or isinstance(known, DeskError) else known.view.knowledge
    return row_of(run, now.date(), name=subject_name(knowledge, run))


async def _site(
    parts: ConsoleParts,
    site: str,
    known: Current | DeskError,
    runs: Sequence[StoredRun],
    failed: Sequence[StoredRun],
    now: datetime,
) -> Site:
    own = next((run for run in runs if run.website_id == site), None)
    last = None if own is None else _row(known, own, now)
    many = sum(run.website_id == site for run in failed)
    try:
        waiting = (await parts.stores.proposals.counts(site)).get("proposed", 0)
    except StoreError:
        waiting = 0
    if isinstance(known, DeskError):
        return Site(site, site, "", 0, 0, 0, waiting, last, many, known.message)
    knowledge = known.view.knowledge
    return Site(
        site=site,
        name=knowledge.website.name,
        base_url=knowledge.website.base_url,
        screens=len(knowledge.screens),
        tasks=len(knowledge.tasks),
        workflows=len(knowledge.workflows),
        proposals=waiting,
        last=last,
        failed=many,
        note=known.note,
    )
