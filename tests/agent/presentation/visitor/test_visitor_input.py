"""What is taken from an answer."""

from __future__ import annotations

import pytest

from agent.presentation.visitor.visitor_input import extract_answer


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("Nova", "Nova"),
        ("Please call it Nova, please!", "Nova"),
        ("Let's call her Ada Lovelace.", "Ada Lovelace"),
        ("How about Kestrel?", "Kestrel"),
        ("Nennen wir ihn Otto", "Otto"),
        ("Bitte Käthe", "Käthe"),
        ("Maybe Please-and-Thanks", "Please-and-Thanks"),
        ("Call centre north", "Call centre north"),
        ("You choose.", None),
        ("I don't care", None),
        ("egal", None),
        ("   ", None),
        ("?", None),
    ],
)
def test_the_value_is_what_is_left_without_what_is_said_around_it(said, value):
    assert extract_answer(said) == value
