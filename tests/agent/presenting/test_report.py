"""The report of a presentation says what was told, at which depth, what was left out, and why."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from html import unescape

from agent.media.voice import Speech
from agent.presenting.narrator import Spoken
from agent.presenting.records import Presentation, SegmentRecord, SegmentStatus
from agent.presenting.report import write_report
from kb_schema.answers import SiteMap


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
            "hello", 0, 10, depth="overview", note="told as overview instead of demonstration: 9 s remain"
        ),
        _segment("boats", 10, 20, aside=True, picture=b"first"),
        _segment("quay", 20, 20, SegmentStatus.SKIPPED, reason="time_running_out: 8 s remain"),
        _segment("boats", 30, 40, violations=["never_silent: silent for 5.0 s while name was filled"]),
    ]
    spoken = [
        Spoken(text, at, 1.0, Speech(text, 1.0, ()))
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
    assert "told as overview" in hello
    assert "9 s remain" in hello
    assert "Welcome." in hello
    assert "because the visitor asked" in aside
    assert "Boats." in aside
    assert "Again." not in aside
    assert "time_running_out: 8 s remain" in quay
    assert "Rule broken: never_silent" in again
    assert "Again." in again
    assert [part.count("<img") for part in parts] == [0, 1, 0, 0]
    text = unescape(re.sub(r"<[^>]+>", " ", html))
    assert re.search(r"1:00 \S 1:30\s+its window", text)
    assert re.search(r"1\s+rules broken", text)
