"""What is typed into an editor with formatted text is recorded as what was added, lines begun with Enter once."""

from __future__ import annotations

import pytest

from agent.recording.added_texts import AddedTexts
from agent.recording.recorded_actions import RecordedAction
from agent.recording.recorded_events import RecordedEvent


def make_fill(value: str, former: str | None, field: str = "f1") -> RecordedAction:
    what = RecordedEvent(
        kind="typed", at=0, foreign=False, url="http://a/", time=1, tag="div", field=True, secret=False,
        id=field, value=value, former=former,
    )  # fmt: skip
    return RecordedAction("fill", 0, "http://a/", 1, args={"value": value}, field_id=field, what=what)


def make_press(action: str, value: str | None = None) -> RecordedAction:
    return RecordedAction(action, 0, "http://a/", 1, args={} if value is None else {"value": value})


@pytest.mark.parametrize(
    ("before", "typed", "recorded"),
    [
        ([], make_fill("One two", "One"), ("append_text", " two")),
        ([], make_fill("\n\nOne", ""), ("fill", "\n\nOne")),
        ([make_press("press", "Enter")], make_fill("\n\nOne", "\n"), ("append_text", "One")),
        (
            [make_press("press", "Enter"), make_press("click")],
            make_fill("\n\nOne", ""),
            ("append_text", "One"),
        ),
        ([], make_fill("One strong", "One \ufeff"), ("append_text", "strong")),
        ([], make_fill("Other", "One"), ("fill", "Other")),
        ([], make_fill("Plain", None), ("fill", "Plain")),
    ],
    ids=[
        "added",
        "whole",
        "after Enter",
        "after Enter and a button",
        "after the sign of a caret",
        "replaced",
        "plain field",
    ],
)
def test_what_is_added_is_recorded(before, typed, recorded):
    texts = AddedTexts()
    for each in before:
        texts.reduce(each)
    action = texts.reduce(typed)
    assert (action.action_type, action.args["value"]) == recorded


def test_enter_on_a_page_before_does_not_count():
    texts = AddedTexts()
    texts.reduce(make_press("press", "Enter"))
    texts.reduce(make_press("navigate"))
    assert texts.reduce(make_fill("\nOne", "")).args["value"] == "\nOne"


def test_enter_counts_for_the_typing_after_it_alone():
    texts = AddedTexts()
    texts.reduce(make_press("press", "Enter"))
    texts.reduce(make_fill("\nOne", ""))
    assert texts.reduce(make_fill("\n\nTwo", "", "f2")).action_type == "fill"
