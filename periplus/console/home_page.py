"""The home page: websites, failed runs and open proposals, and the last runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from kb_schema.run_records import StoredRun
from kb_store import StoreError
from mcp_server.errors import KnowledgeServerError
from mcp_server.knowledge.view_cache import CurrentView
from periplus.console.console_framework import ConsoleContext, ConsoleContextParam, render
from periplus.console.display_names import subject_name
from periplus.console.run_labels import MARKS, classify_outcome
from periplus.console.run_list import RunListRow, build_run_row

FEW_RUNS = 8
LOOKED_AT = 500
"""How many of the newest runs are read."""
FAILED_FOR = timedelta(days=2)
"""How long a failed run is listed under “Needs a person”."""
FEW_FAILED = 6
MOST_SITES = 60
"""How many websites are shown with details; the others only with their names."""

router = APIRouter()


@dataclass(frozen=True, slots=True)
class HomeWebsite:
    """The summary of one website."""

    site: str
    name: str
    base_url: str
    screens: int
    tasks: int
    workflows: int
    proposals: int
    """Waiting."""
    last: RunListRow | None
    failed: int
    """Failed runs since yesterday."""
    note: str | None
    """Why its knowledge is not available or not current."""

    @property
    def health(self) -> tuple[str, str]:
        """Return the kind and the text of the status mark."""
        if self.note is not None:
            return "warn", "not current"
        if self.failed:
            return "bad", f"{self.failed} failed since yesterday"
        return "good", "no problems"


@router.get("/")
async def show_home(
    request: Request, parts: ConsoleContextParam, every: Annotated[int, Query(ge=0, le=3_600)] = 0
) -> Response:
    """Show the home page; `?every=5` reloads it every five seconds."""
    (runs, without_runs), (sites, without_sites), health = await asyncio.gather(
        _runs(parts), _ids(parts), parts.health()
    )
    now = datetime.now(UTC)
    failed = [
        run
        for run in runs
        if classify_outcome(run) in ("failed", "needs_person") and run.started_at >= now - FAILED_FOR
    ]
    known = {site: await _current(parts, site) for site in sites[:MOST_SITES]}
    found = [await _site(parts, site, each, runs, failed, now) for site, each in known.items()]

    def row(run: StoredRun) -> RunListRow:
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


async def _runs(parts: ConsoleContext) -> tuple[Sequence[StoredRun], str | None]:
    try:
        return await parts.runs.runs(limit=LOOKED_AT), None
    except StoreError:
        return (), "the run store does not answer; runs are not shown"


async def _ids(parts: ConsoleContext) -> tuple[list[str], str | None]:
    try:
        return await parts.knowledge_server.views.websites(), None
    except KnowledgeServerError as exc:
        return [], f"the knowledge store does not answer ({exc.message}); websites are not shown"


async def _current(parts: ConsoleContext, site: str) -> CurrentView | KnowledgeServerError:
    """Return a website's current view, or the error."""
    try:
        current: CurrentView = await parts.knowledge_server.views.current(site)
    except KnowledgeServerError as exc:
        return exc
    return current


def _row(known: CurrentView | KnowledgeServerError | None, run: StoredRun, now: datetime) -> RunListRow:
    """Return a run's row, with the name of its task or flow."""
    knowledge = None if known is None or isinstance(known, KnowledgeServerError) else known.view.knowledge
    return build_run_row(run, now.date(), name=subject_name(knowledge, run))


async def _site(
    parts: ConsoleContext,
    site: str,
    known: CurrentView | KnowledgeServerError,
    runs: Sequence[StoredRun],
    failed: Sequence[StoredRun],
    now: datetime,
) -> HomeWebsite:
    own = next((run for run in runs if run.website_id == site), None)
    last = None if own is None else _row(known, own, now)
    many = sum(run.website_id == site for run in failed)
    try:
        waiting = (await parts.stores.proposals.counts(site)).get("proposed", 0)
    except StoreError:
        waiting = 0
    if isinstance(known, KnowledgeServerError):
        return HomeWebsite(site, site, "", 0, 0, 0, waiting, last, many, known.message)
    knowledge = known.view.knowledge
    return HomeWebsite(
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
