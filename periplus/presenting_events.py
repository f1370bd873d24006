"""What the runs of demos tell their owner: what visitors did and asked, and how long segments take.

Kept as events and measurements of each run (`agent.run_log`); this reads them, and adds the durations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from agent.events import Event
from agent.presenting.analytics import Visit, sum_up
from agent.presenting.floor import Heard, SpeechStopped
from agent.presenting.records import Presentation, SegmentEnded, SegmentStarted, SegmentStatus
from agent.run_log import RunLog
from kb_schema.runs import StoredRun
from kb_schema.storage import StoredEvent
from kb_store import StoreError
from kb_store.runs import RunStore

MEASURED, ADDED_UP = "segment_s:", "segment_estimate_s:"
"""Begin the names of measurements: how long a segment took, and how long it should, by a rehearsal without
words. The segment's id follows."""
LATEST = 5
"""Shows whose median counts: sites and narrations change."""
MOST_RUNS = 50
"""Of a flow, the latest runs that are looked at; of its owner's list, the latest of the website."""
PAGE = 1_000


class Durations:
    """A bus's listener: how long segments take that nobody interrupts."""

    def __init__(self, clock: Callable[[], float], speed: float) -> None:
        """`speed` 0: words take no time, and nothing is measured."""
        self._clock, self._speed = clock, speed
        self._began: tuple[str, float] | None = None
        self._took: dict[str, float] = {}

    def __call__(self, event: Event) -> None:
        """Hear one event."""
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
        """By name, at speed 1, of segments that were told as their author meant them."""
        as_meant = {s.segment_id for s in presentation.segments if s.note is None and not s.aside}
        return {f"{MEASURED}{name}": round(took, 2) for name, took in self._took.items() if name in as_meant}


async def keep_measurements(log: RunLog, measurements: Mapping[str, float]) -> None:
    """Keep them with the run, whether or not it ended; a store that does not answer keeps none."""
    try:
        for name, value in measurements.items():
            await log.measure(name, value)
    except StoreError:
        return  # the next show measures again


async def observed_durations(runs: RunStore, website_id: str, flow_id: str) -> dict[str, float]:
    """Segment -> seconds it takes at speed 1: measured in the latest shows, else added up in rehearsals.

    A store that does not answer has observed nothing.
    """
    measured: dict[str, list[float]] = {}
    try:
        for run in await _demos(runs, website_id, flow_id):
            for metric in await runs.metrics(run.run_id):
                measured.setdefault(metric.metric_name, []).append(metric.metric_value)
    except StoreError:
        return {}
    observed: dict[str, float] = {}
    for kind in (ADDED_UP, MEASURED):  # what was measured replaces what was added up
        for name, values in measured.items():
            if name.startswith(kind):
                observed[name.removeprefix(kind)] = median(values[:LATEST])
    return observed


async def visit_of(runs: RunStore, run_id: str) -> Visit:
    """What a visitor made of one demo. Raises `StoreUnavailable`."""
    events: list[StoredEvent] = []
    while page := await runs.events(run_id, after=events[-1].seq if events else -1, limit=PAGE):
        events += page
    return sum_up(events)


@dataclass(frozen=True, slots=True)
class Unanswered:
    """Something a visitor wanted that the demo could not give."""

    run_id: str
    flow_id: str
    at: datetime
    reason: str
    words: str | None
    """None: not kept, or not any more."""


async def unanswered(
    runs: RunStore, website_id: str | None = None, *, limit: int = MOST_RUNS
) -> list[Unanswered]:
    """What could not be answered in the latest `limit` runs, the newest first. Raises `StoreUnavailable`."""
    found: list[Unanswered] = []
    for run in await runs.runs(website_id=website_id, limit=limit):
        if run.kind != "demo":
            continue
        declined = (await visit_of(runs, run.run_id)).declined
        found += [Unanswered(run.run_id, run.subject, q.at, q.reason, q.words) for q in reversed(declined)]
    return found


async def _demos(runs: RunStore, website_id: str, flow_id: str) -> list[StoredRun]:
    newest = await runs.runs(website_id=website_id, limit=MOST_RUNS)
    return [run for run in newest if run.kind == "demo" and run.subject == flow_id]
