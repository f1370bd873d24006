"""Reads what demos' runs recorded: what visitors did and asked, and how long segments take.

The events and measurements of a run are stored by `agent.run_records.run_log`; this module reads them, and
adds the durations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from agent.events import Event
from agent.presentation.presentation_records import Presentation, SegmentEnded, SegmentStarted, SegmentStatus
from agent.presentation.turn_manager import Heard, SpeechStopped
from agent.presentation.visitor.visitor_analytics import DemoVisit, summarize_visit
from agent.run_records.run_log import RunLog
from kb_schema.run_records import StoredRun
from kb_schema.run_storage import StoredEvent
from kb_store import StoreError
from kb_store.runs.run_store import RunStore

MEASURED, ADDED_UP = "segment_s:", "segment_estimate_s:"
"""Prefixes of measurement names, followed by the segment id: the measured duration, and the one computed in a
rehearsal without speech.
"""
LATEST = 5
"""Number of latest demos in the median: sites and narration change."""
MOST_RUNS = 50
"""Number of latest runs that are read, of a flow and for the owner's list."""
PAGE = 1_000


class SegmentDurations:
    """Event bus listener that measures segments without interruptions."""

    def __init__(self, clock: Callable[[], float], speed: float) -> None:
        """`speed` 0: speech takes no time, and nothing is measured."""
        self._clock, self._speed = clock, speed
        self._began: tuple[str, float] | None = None
        self._took: dict[str, float] = {}

    def __call__(self, event: Event) -> None:
        """Receive an event."""
        match event:
            case SegmentStarted(segment_id=segment_id):
                self._began = (segment_id, self._clock())
            case Heard() | SpeechStopped():
                self._began = None
            case SegmentEnded(segment_id=segment_id, status=SegmentStatus.SHOWN):
                if self._began is not None and self._began[0] == segment_id and self._speed > 0:
                    self._took[segment_id] = (self._clock() - self._began[1]) * self._speed
                self._began = None

    def measurements(self, presentation: Presentation) -> dict[str, float]:
        """Return the durations by name, at speed 1, of segments presented as authored."""
        as_meant = {s.segment_id for s in presentation.segments if s.note is None and not s.aside}
        return {f"{MEASURED}{name}": round(took, 2) for name, took in self._took.items() if name in as_meant}


async def keep_measurements(log: RunLog, measurements: Mapping[str, float]) -> None:
    """Store the measurements with the run; without an answer from the store they are dropped."""
    try:
        for name, value in measurements.items():
            await log.measure(name, value)
    except StoreError:
        return  # the next demo measures again


async def read_segment_durations(runs: RunStore, website_id: str, flow_id: str) -> dict[str, float]:
    """Return segment -> seconds at speed 1: measured in the latest demos, otherwise computed in rehearsals.

    Returns nothing if the store does not answer.
    """
    measured: dict[str, list[float]] = {}
    try:
        for run in await _demos(runs, website_id, flow_id):
            for metric in await runs.metrics(run.run_id):
                measured.setdefault(metric.metric_name, []).append(metric.metric_value)
    except StoreError:
        return {}
    observed: dict[str, float] = {}
    for kind in (ADDED_UP, MEASURED):  # measured values replace computed ones
        for name, values in measured.items():
            if name.startswith(kind):
                observed[name.removeprefix(kind)] = median(values[:LATEST])
    return observed


async def read_visit(runs: RunStore, run_id: str) -> DemoVisit:
    """Return what a visitor did in one demo. Raises `StoreUnavailable`."""
    events: list[StoredEvent] = []
    while page := await runs.events(run_id, after=events[-1].seq if events else -1, limit=PAGE):
        events += page
    return summarize_visit(events)


@dataclass(frozen=True, slots=True)
class UnansweredRequest:
    """A request of a visitor that was not fulfilled."""

    run_id: str
    website_id: str
    flow_id: str
    at: datetime
    reason: str
    words: str | None
    """None: not stored, or deleted already."""


async def list_unanswered(
    runs: RunStore, website_id: str | None = None, *, limit: int = MOST_RUNS
) -> list[UnansweredRequest]:
    """Return the unfulfilled requests of the latest `limit` runs, newest first. Raises `StoreUnavailable`."""
    found: list[UnansweredRequest] = []
    for run in await runs.runs(website_id=website_id, limit=limit):
        if run.kind != "demo":
            continue
        declined = (await read_visit(runs, run.run_id)).declined
        found += [
            UnansweredRequest(run.run_id, run.website_id, run.subject, q.at, q.reason, q.words)
            for q in reversed(declined)
        ]
    return found


async def _demos(runs: RunStore, website_id: str, flow_id: str) -> list[StoredRun]:
    newest = await runs.runs(website_id=website_id, limit=MOST_RUNS)
    return [run for run in newest if run.kind == "demo" and run.subject == flow_id]
