"""Questions that take something from the one before."""

from __future__ import annotations

import pytest

from agent.presentation.visitor.follow_up_questions import CompletedQuestion, complete_question
from agent.presentation.visitor.languages import load_language
from agent.presentation.visitor.question_translation import begins_as_follow_up


@pytest.mark.parametrize(
    ("question", "previous", "text", "needed"),
    [
        ("And a debit card?", "How do I link a bank account?", "how do link debit card", ("link", "debit", "card")),
        ("And bank accounts?", "How many cards do I have?", "how many bank accounts", ("bank", "accounts")),
        ("and what about an agent?", "What is a campaign?", "what is agent", ("agent",)),
        ("And a campaign?", "Can I delete an agent?", "can delete campaign", ("delete", "campaign")),
        ("How do I delete it?", "How do I create an agent?", "How do I delete it agent", ("delete", "agent")),
        ("Can I rename them?", "Which agents are there?", "Can I rename them agents", ("rename", "agents")),
    ],
)  # fmt: skip
def test_what_is_left_out_is_taken_from_the_question_before(question, previous, text, needed):
    assert complete_question(question, previous, load_language("en")) == CompletedQuestion(text, needed)


def test_german_questions_are_completed_too():
    german = load_language("de")
    completed = complete_question("Und Kampagnen?", "Wie viele Agenten gibt es?", german)
    assert completed == CompletedQuestion("wie viele kampagnen", ("kampagnen",))


@pytest.mark.parametrize("question", ["And the other one?", "And a debit card?", "How do I delete it?"])
def test_without_a_question_before_nobody_knows_what_is_meant(question):
    assert complete_question(question, "", load_language("en")) is None


@pytest.mark.parametrize(
    "question",
    [
        "What does it cost?",
        "Can it export?",
        "And what does it cost?",
        "What is that?",
        "Which languages are there?",
    ],
)
def test_a_question_that_says_all_is_left_as_it_is(question):
    assert complete_question(question, "How do I create an agent?", load_language("en")) == CompletedQuestion(
        question
    )


def test_a_language_with_a_dictionary_only_knows_that_something_is_left_out():
    assert begins_as_follow_up("¿Y una tarjeta?", "es")
    assert begins_as_follow_up("और कार्ड?", "hi")
    assert not begins_as_follow_up("¿Cuánto cuesta?", "es")
