"""`/runs/trends`: how runs went over the last days."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.run_records import StoredRun
from periplus.console.console_framework import ConsoleContextParam, render
from periplus.console.display_names import DisplayNames, site_name
from periplus.console.run_labels import KINDS
from periplus.console.run_pages import list_sites, load_knowledge, today_utc
from periplus.runs.run_trends import DayTrend, SubjectTrend, build_trends

LOOKED_AT = 2_000
"""Newest runs that are counted."""
STEPS_OF = 200
"""Newest runs whose steps are read, for flaky ones."""
CHOICES = (7, 14, 30, 90)
BAR, HEIGHT = 20.0, 120.0
"""Width and height of a day in the chart."""

router = APIRouter()


@dataclass(frozen=True, slots=True)
class DayBar:
    """One day of the chart: heights from the bottom."""

    x: float
    passed: float
    other: float
    failed: float
    said: str


@router.get("/runs/trends")
async def trends(
    request: Request,
    parts: ConsoleContextParam,
    site: Annotated[str | None, Query(max_length=200)] = None,
    days: Annotated[int, Query(ge=1, le=90)] = 14,
) -> Response:
    """Show pass rate, durations, healing and flaky steps."""
    newest = await parts.runs.runs(website_id=site or None, limit=LOOKED_AT)
    steps = {each.run_id: await parts.runs.steps(each.run_id) for each in newest[:STEPS_OF]}
    found = build_trends(newest, steps, today_utc(), days)
    names = await _names(parts, newest)
    return render(
        request,
        "trends.html.j2",
        trends=found,
        bars=build_bars(found.days),
        width=BAR * len(found.days),
        height=HEIGHT,
        kinds=KINDS,
        runs=sum(each.runs for each in found.days),
        subject=lambda each: _subject(DisplayNames(names.get(each.website_id)), each),
        task=lambda each: DisplayNames(names.get(each.website_id)).task(each.task_id),
        website=lambda site_id: site_name(names.get(site_id), site_id),
        chosen=site or "",
        days=days,
        choices=sorted({*CHOICES, days}),
        sites=[
            (each, site_name(await load_knowledge(parts, each), each))
            for each in sorted(await list_sites(parts))
        ],
        steps_of=STEPS_OF,
    )


def build_bars(days: tuple[DayTrend, ...]) -> list[DayBar]:
    """Return the bars of the chart; the day with the most runs is as high as the chart."""
    most = max((each.runs for each in days), default=0) or 1
    return [
        DayBar(
            round(BAR * number, 2),
            round(HEIGHT * each.passed / most, 2),
            round(HEIGHT * each.other / most, 2),
            round(HEIGHT * each.failed / most, 2),
            f"{each.day:%Y-%m-%d}: {each.runs} runs, {each.passed} passed, {each.failed} failed",
        )
        for number, each in enumerate(days)
    ]


async def _names(parts: ConsoleContextParam, runs: Sequence[StoredRun]) -> dict[str, KnowledgeBase | None]:
    return {each: await load_knowledge(parts, each) for each in {run.website_id for run in runs}}


def _subject(names: DisplayNames, trend: SubjectTrend) -> str:
    return names.screen(trend.subject) if trend.kind == "goal" else names.named(trend.subject)
