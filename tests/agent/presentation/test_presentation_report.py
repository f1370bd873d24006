"""The report of a presentation says what was told, at which depth, what was left out, and why."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from html import unescape

from agent.media.voice import Speech
from agent.presentation.narration.narrator import SpokenUtterance
from agent.presentation.presentation_records import Presentation, SegmentRecord, SegmentStatus
from agent.presentation.presentation_report import write_report
from kb_schema.tool_answers import SiteMap


def _segment(name: str, start_s: float, end_s: float, status=SegmentStatus.SHOWN, **more) -> SegmentRecord:
    record = SegmentRecord(name, name.capitalize(), "conversational", required=False, start_s=start_s)
    record.end_s, record.status = end_s, status
    for field, value in more.items():
        setattr(record, field, value)
    return record


def test_the_report_says_what_became_of_every_segment(tmp_path):
    told = Presentation("f", "The Demo", 3, window=(60.0, 90.0), detours=1, duration_s=70.0)
    told.segments = [
        _segment(
            "hello", 0, 10, depth="overview", note="depth overview instead of demonstration: 9 s remain"
        ),
        _segment("boats", 10, 20, aside=True, picture=b"first"),
        _segment("quay", 20, 20, SegmentStatus.SKIPPED, reason="time_running_out: 8 s remain"),
        _segment("boats", 30, 40, violations=["never_silent: silent for 5.0 s while name was filled"]),
    ]
    spoken = [
        SpokenUtterance(text, at, 1.0, Speech(text, 1.0, ()))
        for text, at in (("Welcome.", 1), ("Boats.", 11), ("Again.", 31))
    ]
    site = SiteMap.model_validate({"website_id": "w", "name": "Harbour", "screens": [], "transitions": []})
    page = tmp_path / "report.html"
    write_report(
        page, told, site=site, visits=[], spoken=spoken, film=None, made_at=datetime(2026, 1, 2, tzinfo=UTC)
    )  # fmt: skip
    html = page.read_text(encoding="utf-8")
    _, *parts = html.split('<section class="card segment">')
    hello, aside, quay, again = (unescape(re.sub(r"<[^>]+>|\s+", " ", part)) for part in parts)
    assert "depth overview instead of" in hello
    assert "9 s remain" in hello
    assert "Welcome." in hello
    assert "requested by the visitor" in aside
    assert "Boats." in aside
    assert "Again." not in aside
    assert "time_running_out: 8 s remain" in quay
    assert "Rule broken: never_silent" in again
    assert "Again." in again
    assert [part.count("<img") for part in parts] == [0, 1, 0, 0]
    text = unescape(re.sub(r"<[^>]+>", " ", html))
    assert re.search(r"1:00 \S 1:30\s+time window", text)
    assert re.search(r"1\s+rules broken", text)
