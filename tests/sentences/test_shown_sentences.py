"""A sentence by which a workflow was shown means that workflow."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from agent.sentences.sentence_binding import bind_sentence
from agent.sentences.shown_sentences import add_shown_sentences
from kb_schema.workflows import ShownSentence, Workflow


def _workflow(*inputs: str, sentences: tuple[str, ...] = (), name: str = "w") -> Workflow:
    return Workflow.model_validate(
        {
            "website_id": "s",
            "workflow_id": name,
            "name": name,
            "sentences": sentences,
            "io_spec": {"inputs": [{"name": each, "type": "string"} for each in inputs]},
            "nodes": [{"node_id": "a", "type": "task", "task_id": "t"}],
            "provenance": {"trace_ids": ["one"]},
        }
    )


def _shown(sentence: str, **values: str) -> ShownSentence:
    return ShownSentence(sentence=sentence, values=values)


def test_a_sentence_that_no_template_binds_with_certainty_is_kept_with_its_values() -> None:
    unsure = _workflow("change", "to", sentences=("Change {change} to {to}.",))
    assert bind_sentence("Change the theme to dark.", [unsure]).task is None
    kept = add_shown_sentences(unsure, [_shown("Change the theme to dark.", change="the theme", to="dark")])
    meaning = bind_sentence("please change the theme to dark", [kept])
    assert meaning.task is not None
    assert meaning.task.values == {"change": "the theme", "to": "dark"}
    assert bind_sentence("Change the theme to light.", [kept]).task is None


def test_what_a_template_binds_is_not_kept_twice() -> None:
    sure = _workflow("title", sentences=('Close the issue "{title}".',))
    assert add_shown_sentences(sure, [_shown("Close the issue 'A'.", title="A")]) == sure


def test_other_values_in_the_words_of_a_shown_sentence_are_asked_about() -> None:
    told = [
        _shown("Go to Channels and enable the Slack channel.", row="Slack"),
        _shown("Go to Channels and disable the Email channel.", row="Email"),
    ]
    made = add_shown_sentences(_workflow("row"), told)
    assert made.sentences == ()
    meaning = bind_sentence("Go to Channels and enable the Email channel.", [made])
    assert meaning.task is None  # which way the switch is then, nobody showed
    assert [(each.task_id, each.values) for each in meaning.similar] == [("w", {"row": "Email"})]
    assert bind_sentence("Go to Channels and toggle the Email channel.", [made]).similar == ()


def test_a_sentence_that_describes_one_thing_means_that_thing() -> None:
    told = [
        _shown("Approve draft credit note CN-11 for Pacific Lines.", number="CN-11"),
        _shown("Approve the awaiting invoice INV-5 for Horizon.", number="INV-5"),
    ]
    made = add_shown_sentences(_workflow("number"), told)
    assert made.sentences == ()
    assert bind_sentence("Approve draft credit note CN-12 for Pacific Lines.", [made]).task is None
    assert bind_sentence("Approve draft credit note CN-11 for Pacific Lines.", [made]).task is not None


@pytest.mark.parametrize(
    "sentence", ["Delete the newest email.", "Book a bike for tomorrow.", "Open this one."]
)
def test_what_means_another_thing_at_another_time_is_not_kept(sentence: str) -> None:
    made = add_shown_sentences(_workflow("thing"), [_shown(sentence, thing="X-1")])
    assert bind_sentence(sentence, [made]).task is None


def test_a_changing_word_beside_all_values_is_kept() -> None:
    told = _shown(
        "Pay the remaining amount ($10,890.00) on March 1, 2026.", paid="10890.00", day="2026-03-01"
    )
    made = add_shown_sentences(_workflow("paid", "day"), [told])
    assert bind_sentence(told.sentence, [made]).task is not None


@pytest.mark.parametrize(
    ("sentence", "kept"),
    [
        ("Create an invoice with one line item: 10 hours at $5.00 on the Other Revenue account.", True),
        ("Add a single note: the boat leaks.", True),
        ("Create an invoice with one line item.", False),
        ("Delete one of these: the red boat and the blue one.", False),
        ("Delete one boat of the Other list, as told below: the red.", False),
        ("Move it to the other account.", False),
        ("Next, save the boat.", False),
        ("DELETE THE NEWEST BOAT.", False),
        ("Delete The Other Boat.", False),
        ("Delete the Other Boat in the list.", False),
        ("Delete the Newest Boat in the list.", False),
        ("Delete the Cheapest Boat in the list.", False),
    ],
)
def test_a_count_that_is_told_and_a_name_mean_the_same_at_any_time(sentence: str, kept: bool) -> None:
    made = add_shown_sentences(_workflow("thing"), [_shown(sentence, thing="215 - Other Revenue")])
    assert (bind_sentence(sentence, [made]).task is not None) is kept


@pytest.mark.parametrize(("drawn", "kept"), [("CW Chen Wei", True), ("W Wei", True), ("X9 Chen Wei", False)])
def test_a_changing_word_beside_a_name_that_the_page_draws_with_its_initials_is_kept(
    drawn: str, kept: bool
) -> None:
    told = _shown("Assign Chen Wei to 'B-7', which currently has nobody.", person=drawn, boat="B-7")
    made = add_shown_sentences(_workflow("person", "boat"), [told])
    assert (bind_sentence(told.sentence, [made]).task is not None) is kept


def test_a_sentence_without_a_needed_value_is_not_kept() -> None:
    made = add_shown_sentences(_workflow("name", "voice"), [_shown("Make one agent.", name="Ada")])
    assert bind_sentence("Make one agent.", [made]).task is None


def test_a_sentence_that_two_workflows_were_shown_by_is_asked_about() -> None:
    told = [_shown("Turn it off please.")]
    both = [add_shown_sentences(_workflow(name=each), told) for each in ("one", "two")]
    meaning = bind_sentence("Turn it off please.", both)
    assert meaning.task is None
    assert [each.task_id for each in meaning.similar] == ["one", "two"]


def test_a_date_with_a_comma_is_one_value() -> None:
    workflow = _workflow("until", sentences=("Snooze the email until {until} at 8:00 AM.",))
    assert bind_sentence("Snooze the email until March 1, 2026 at 8:00 AM.", [workflow]).task is not None
    assert bind_sentence("Snooze the email until Monday, Tuesday at 8:00 AM.", [workflow]).task is None


def test_two_quoted_texts_are_not_one_value() -> None:
    workflow = _workflow("content", sentences=('Create a new post with the content "{content}".',))
    told = "Create a new post with the content 'Who joins?' and set the audience to 'Friends'."
    assert bind_sentence(told, [workflow]).task is None
    one = bind_sentence("Create a new post with the content 'It's my users' turn'.", [workflow]).task
    assert one is None or one.values["content"] == "It's my users' turn"
    assert (
        bind_sentence("Create a new post with the content 'It's \"ours\" now'.", [workflow]).task is not None
    )


def test_shown_values_must_be_of_inputs_that_are_no_secrets() -> None:
    document = _workflow("name").to_json()
    document["provenance"]["sentences"] = [{"sentence": "Sign in.", "values": {"word": "x"}}]
    with pytest.raises(ValidationError, match="a value for word, which is no input"):
        Workflow.model_validate(document)
    document["io_spec"]["inputs"] = [{"name": "word", "type": "string", "secret": True}]
    with pytest.raises(ValidationError, match="the secret input word"):
        Workflow.model_validate(document)
