"""How long segments take is kept with runs, and read again for the next show."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from agent.presentation.presentation_records import (
    Presentation,
    SegmentEnded,
    SegmentRecord,
    SegmentStarted,
    SegmentStatus,
)
from agent.presentation.turn_manager import SpeechStopped
from agent.run_context import RunContext
from agent.run_records.run_log import RunLog, build_run_record
from kb_store.store_factory import open_runs
from periplus.demos.demo_measurements import (
    ADDED_UP,
    MEASURED,
    SegmentDurations,
    keep_measurements,
    read_segment_durations,
)

SHOWN = SegmentStatus.SHOWN


def _durations(speed, *parts):
    """`parts`: segment, seconds by the clock, status, whether somebody interrupted."""
    now = [0.0]
    durations = SegmentDurations(lambda: now[0], speed)
    for segment_id, seconds, status, interrupted in parts:
        durations(SegmentStarted(segment_id, segment_id, 1, 1, None))
        if interrupted:
            durations(SpeechStopped(0.1))
        now[0] += seconds
        durations(SegmentEnded(segment_id, status))
    return durations


def _presentation(**notes):
    records = [
        SegmentRecord(s, s, "explanation", True, 0.0, 1.0, SHOWN, note=note) for s, note in notes.items()
    ]
    return Presentation("f", "F", len(records), records)


def test_what_was_shown_as_meant_and_without_interruption_is_measured_at_speed_1():
    durations = _durations(
        2.0,
        ("a", 5.0, SHOWN, False),
        ("b", 5.0, SHOWN, True),
        ("c", 5.0, SegmentStatus.FAILED, False),
        ("d", 5.0, SHOWN, False),
    )
    told = _presentation(a=None, b=None, c=None, d="time is short")
    assert durations.measurements(told) == {f"{MEASURED}a": 10.0}


def test_words_that_take_no_time_measure_nothing():
    assert _durations(0.0, ("a", 5.0, SHOWN, False)).measurements(_presentation(a=None)) == {}


@pytest.fixture
async def runs(tmp_path):
    async with open_runs(tmp_path) as opened:
        yield opened


async def _run(runs, number, measurements, *, subject="f", kind="demo"):
    run = build_run_record(RunContext(), website_id="w", url="http://h", kind=kind, subject=subject)
    run = run.model_copy(update={"started_at": datetime.now(UTC) + timedelta(minutes=number)})
    log = RunLog(runs, run, RunContext())
    await log.begin()
    await keep_measurements(log, measurements)
    await log.close()


async def test_the_median_of_the_latest_shows_counts_and_of_rehearsals_where_there_was_none(runs):
    await _run(runs, 0, {f"{MEASURED}a": 900.0})
    for number, seconds in enumerate((10.0, 12.0, 11.0, 13.0, 60.0), start=1):
        await _run(runs, number, {f"{MEASURED}a": seconds, f"{ADDED_UP}a": 99.0, f"{ADDED_UP}b": seconds})
    await _run(runs, 9, {f"{MEASURED}a": 1.0}, subject="another flow")
    await _run(runs, 9, {f"{MEASURED}a": 1.0}, kind="task")
    assert await read_segment_durations(runs, "w", "f") == {"a": 12.0, "b": 12.0}
    assert await read_segment_durations(runs, "elsewhere", "f") == {}
