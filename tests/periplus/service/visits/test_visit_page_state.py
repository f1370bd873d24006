"""What a visitor has before them beside the picture."""

from __future__ import annotations

import json

import pytest

from agent.events import OverlayDismissed
from agent.presentation.presentation_records import (
    Answered,
    CaptionShown,
    Declined,
    Narrated,
    SegmentEnded,
    SegmentStarted,
    SegmentStatus,
    Understood,
)
from agent.presentation.turn_manager import Heard, PaceChanged
from periplus.service.visits.visit_feed import VisitFeed
from periplus.service.visits.visit_page_state import LINES, VisitPageState, classify_skip_reason
from tests.periplus.service.visits.visit_support import FLOW


@pytest.fixture
def scene() -> VisitPageState:
    return VisitPageState(VisitFeed(), FLOW)


def _chapters(scene: VisitPageState) -> dict[str, tuple[str, str | None]]:
    return {each.id: (each.status, each.why) for each in scene.chapters}


def test_chapters_say_what_was_shown_and_plainly_why_not(scene):
    assert set(_chapters(scene).values()) == {("ahead", None)}
    scene(SegmentStarted("hello", "Hello", 1, 3, None))
    assert _chapters(scene)["hello"] == ("now", None)
    scene(SegmentEnded("hello", SegmentStatus.SHOWN, "shortened: the visitor wanted to go on"))
    scene(SegmentEnded("extra", SegmentStatus.SKIPPED, "time_running_out: 12 s remain"))
    scene(SegmentEnded("end", SegmentStatus.FAILED, "ElementNotFound: #secret-internals"))
    assert _chapters(scene) == {
        "hello": ("shown", None),
        "extra": ("skipped", "time"),
        "end": ("failed", "failed"),
    }
    assert "secret-internals" not in json.dumps(scene.as_data()), "errors are the owner's"


def test_an_aside_that_failed_leaves_no_mark_on_its_chapter_and_one_that_was_shown_does(scene):
    scene(SegmentEnded("extra", SegmentStatus.FAILED, "ElementNotFound: #x", aside=True))
    assert _chapters(scene)["extra"] == ("ahead", None)
    scene(SegmentEnded("extra", SegmentStatus.SHOWN, aside=True))
    assert _chapters(scene)["extra"] == ("shown", None)
    scene(SegmentEnded("extra", SegmentStatus.INTERRUPTED, "interrupted by the visitor: aside", aside=True))
    assert _chapters(scene)["extra"] == ("shown", None)


def test_a_segment_that_is_told_again_is_now_again_and_one_that_was_left_is_ahead(scene):
    scene(SegmentStarted("hello", "Hello", 1, 3, None))
    scene(SegmentStarted("end", "Goodbye", 3, 3, None))
    assert _chapters(scene) == {"hello": ("ahead", None), "extra": ("ahead", None), "end": ("now", None)}
    scene(SegmentEnded("end", SegmentStatus.STARTED))
    assert _chapters(scene)["end"] == ("interrupted", None)


@pytest.mark.parametrize(
    ("status", "reason", "plain"),
    [
        (SegmentStatus.SKIPPED, "the visitor skipped it", "asked"),
        (SegmentStatus.SKIPPED, "the visitor went on to another part", "asked"),
        (SegmentStatus.SKIPPED, "user_interest: they do not want reports", "interest"),
        (SegmentStatus.SKIPPED, "skipped by the transition from a", "not_needed"),
        (SegmentStatus.SKIPPED, None, "not_needed"),
        (SegmentStatus.INTERRUPTED, "interrupted by the visitor: aside", "asked"),
        (SegmentStatus.FAILED, "the visitor", "failed"),
    ],
)
def test_reasons_are_plain(status, reason, plain):
    assert classify_skip_reason(status, reason) == plain


@pytest.mark.parametrize("answered_first", [True, False])
def test_words_what_was_understood_and_the_answer_with_its_source_are_one_conversation(scene, answered_first):
    scene(Narrated("Hello there.", 0.0))
    scene(Heard("what is an agent", "text", 1.0))
    scene(Understood("question", "what is an agent", "Question: an agent"))
    spoken, answered = (
        Narrated("An agent answers calls.", 2.0),
        Answered("what is an agent", "An agent answers calls.", ("Agents",)),
    )
    for event in (answered, spoken) if answered_first else (spoken, answered):
        scene(event)
    told = [(line.who, line.kind, line.text, line.understood, tuple(line.sources)) for line in scene.lines]
    assert told == [
        ("guide", "told", "Hello there.", "", ()),
        ("visitor", "said", "what is an agent", "Question: an agent", ()),
        ("guide", "answer", "An agent answers calls.", "", ("Agents",)),
    ]


def test_a_show_that_is_over_leaves_no_chapter_in_its_middle_and_no_words(scene):
    scene(SegmentStarted("hello", "Hello", 1, 3, None))
    scene(CaptionShown("Hel"))
    scene.over()
    assert _chapters(scene)["hello"] == ("interrupted", None)
    assert scene.caption == ""


def test_a_caption_is_what_is_heard_now_on_one_line(scene):
    scene(CaptionShown("An agent\nanswers calls."))
    assert scene.as_data()["caption"] == "An agent answers calls."
    scene(CaptionShown(""))
    assert scene.caption == ""


def test_what_could_not_be_answered_is_marked_and_what_nobody_should_see_is_not_told(scene):
    scene(Declined("x"))  # nothing was said: nothing to mark
    scene(Understood("question", "x", "told"))
    scene(Heard("make me a sandwich", "text", 1.0))
    scene(Declined("make me a sandwich", "not_understood"))
    scene(OverlayDismissed("cookie_banner"))
    assert [(line.who, line.kind) for line in scene.lines] == [("visitor", "declined")]


def test_the_pace_is_told_and_only_so_many_lines_are_kept(scene):
    scene(PaceChanged(0.8))
    for number in range(LINES + 5):
        scene(Narrated(f"Sentence {number}.", 0.0))
    data = scene.as_data()
    assert data["pace"] == 0.8
    assert len(data["lines"]) == LINES
    assert data["lines"][0]["text"] == "Sentence 5."
