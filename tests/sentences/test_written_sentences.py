"""The sentences that were written down before the binder, over the seed and two maps."""

from __future__ import annotations

import pytest

from agent.sentences.sentence_binding import LONGEST_SENTENCE, bind_sentence
from kb_schema.workflows import Workflow
from tests.sentences.sentence_figures import measure_written_sentences, read_works


def _workflow(workflow_id: str, sentence: str, *inputs: str) -> Workflow:
    return Workflow.model_validate(
        {
            "type": "workflow",
            "website_id": "shop",
            "workflow_id": workflow_id,
            "name": workflow_id,
            "sentences": [sentence],
            "io_spec": {"inputs": [{"name": name} for name in inputs]},
            "nodes": [{"node_id": "do", "type": "task", "task_id": "do"}],
        }
    )


def test_of_150_sentences_nine_in_ten_are_bound_right_and_none_wrong() -> None:
    figures = measure_written_sentences()
    known, others = figures.bindable, figures.others
    assert known.total() + others.total() >= 150
    assert known["right"] >= 0.9 * known.total(), figures.notes
    assert known["wrong"] + others["wrong"] == 0, figures.notes


def test_two_tasks_that_fit_are_shown_and_none_is_chosen() -> None:
    meaning = bind_sentence("delete emails", read_works("spadeworks"))
    assert meaning.task is None
    assert [each.task_id for each in meaning.similar] == ["delete_all_emails", "delete_single_email"]


def test_a_missing_value_is_named_and_the_others_are_kept() -> None:
    (shown,) = bind_sentence("create a campaign named Spring", read_works("spadeworks")).similar
    assert (shown.values, shown.missing) == ({"campaign_name": "Spring"}, ("campaign_agent", "start_date"))


@pytest.mark.parametrize(
    "sentence",
    [
        "", " ", ".", "please", '""', '"create an agent named Ada"', "{agent_name}", "create an agent named \ue000 {x}",
        "sign in with email a@b.example and password secret", "create an agent named Ada x " * 200, "delete all",
        "create an agent named Ada named Bo", "set the theme to", "set the theme to dark light",
    ],
)  # fmt: skip
def test_what_is_no_sentence_of_a_task_runs_nothing(sentence: str) -> None:
    assert bind_sentence(sentence, read_works("spadeworks")).task is None


def test_a_longer_text_than_a_sentence_is_not_read() -> None:
    told = "create an agent named " + '"' + "a" * LONGEST_SENTENCE + '"'
    assert bind_sentence(told, read_works("spadeworks")).similar == ()


def test_a_template_of_an_author_binds_its_values() -> None:
    rent = _workflow("rent", "Rent a bike for {customer} for {days} days.", "customer", "days")
    found = bind_sentence("please rent a bike for Ada for 3 days", [rent]).task
    assert found is not None
    assert found.values == {"customer": "Ada", "days": "3"}


def test_a_text_that_no_demonstration_had_is_asked_about_where_it_may_ask_for_another_task() -> None:
    switch = _workflow("switch", 'Navigate to settings and {what:disable} the "{name}" option', "name")
    assert bind_sentence("Navigate to settings and disable the 'Sound' option", [switch]).task is not None
    other = bind_sentence("Navigate to settings and enable the 'Sound' option", [switch])
    assert (other.task, len(other.similar)) == (None, 1)


@pytest.mark.parametrize(
    ("text", "sure"),
    [
        ("Slack", True),
        ("Terms And Conditions", True),
        ("'Slack and GitHub'", True),
        ("Slack and GitHub", False),
        ("Slack or GitHub", False),
        ("Slack but Linear", False),
        ("last Slack", False),
        ("second Slack", False),
        ("other Slack", False),
        ("Slack only", False),
        ("cheapest Slack", False),
    ],
)
def test_a_text_without_quotes_that_may_name_several_things_or_one_of_several_is_asked_about(
    text: str, sure: bool
) -> None:
    works = [_workflow("disconnect", "Disconnect the {account} connected account.", "account")]
    meaning = bind_sentence(f"Disconnect the {text} connected account.", works)
    assert (meaning.task is not None) is sure
    assert sure or [each.task_id for each in meaning.similar] == ["disconnect"]


def test_templates_that_fit_equally_well_are_asked_about() -> None:
    both = [_workflow(name, 'Move the file "{name}" away', "name") for name in ("archive", "trash")]
    meaning = bind_sentence('Move the file "Plans" away', both)
    assert (meaning.task, len(meaning.similar)) == (None, 2)


def test_a_secret_is_never_taken_from_a_sentence() -> None:
    login = _workflow("enter", 'Enter the vault with "{code}"', "code")
    secret = login.model_copy(
        update={
            "io_spec": login.io_spec.model_copy(
                update={
                    "inputs": tuple(each.model_copy(update={"secret": True}) for each in login.io_spec.inputs)
                }
            )
        }
    )
    found = bind_sentence('Enter the vault with "1234"', [secret])
    assert "1234" not in str([found.task, *found.similar])


def test_an_input_with_a_name_that_says_nothing_has_no_label() -> None:
    edit = _workflow("edit_profile", 'Update your {your} to "{your_2}".', "your", "your_2")
    assert bind_sentence("Change your profile visibility to 'Private'.", [edit]).task is None
    told = bind_sentence("Update your 'Bio' to 'Sailor'.", [edit]).task
    assert told is not None
    assert told.values == {"your": "Bio", "your_2": "Sailor"}


def test_an_input_that_a_preposition_names_keeps_its_label() -> None:
    move = _workflow("move_file", "Relocate {from} {to} now", "from", "to")
    told = bind_sentence("move the file from 'Inbox' to 'Archive'", [move]).task
    assert told is not None
    assert told.values == {"from": "Inbox", "to": "Archive"}


def test_a_noun_behind_its_article_is_no_value() -> None:
    remove = _workflow(
        "remove_epic_label", 'Remove the label "{label}" from the epic "{epic}".', "label", "epic"
    )
    assert bind_sentence("Remove the epic from the issue 'Site docs'.", [remove]).task is None
    assert bind_sentence("Remove the label from the issue 'Site docs'.", [remove]).task is None
    told = bind_sentence("remove the label urgent from the epic 'Site docs'", [remove]).task
    assert told is not None
    assert told.values == {"label": "urgent", "epic": "Site docs"}


@pytest.mark.parametrize(
    ("application", "sentence"),
    [
        ("spadeworks", "create an agent list named Fleet"),
        ("spadeworks", "create a new list agent named Ada"),
        ("spadeworks", "set the theme to the dark list"),
        ("roundup", "create an issue list named Fleet"),
    ],
)
def test_a_list_of_things_is_no_such_thing(application: str, sentence: str) -> None:
    works = read_works(application)
    assert bind_sentence(sentence, works).task is None
    assert bind_sentence(sentence.replace(" list", ""), works).task is not None


def test_a_list_is_what_a_task_shows_or_searches() -> None:
    meaning = bind_sentence('search the list of issues for "printer"', read_works("roundup"))
    assert meaning.task is not None


MOVE = ("move_note", 'Put the note "{note}" into the folder "{folder}"', "note", "folder")
REVISE = ("edit_plan", 'Now revise plan "{plan}" fully', "plan")


@pytest.mark.parametrize(
    ("work", "sentence"),
    [
        (MOVE, "move the note 'Fog' to the folder 'A'"),
        (MOVE, "move the note 'Fog' to the folder named 'A'"),
        (REVISE, "change the plan to 'Basic'"),
        (REVISE, "Set the plan to Basic"),
    ],
)
def test_the_value_that_a_change_leads_away_from_is_not_the_new_one(
    work: tuple[str, ...], sentence: str
) -> None:
    works = [_workflow(*work)]
    assert bind_sentence(sentence, works).task is not None
    assert bind_sentence(sentence.replace(" to ", " from "), works).task is None


def test_an_option_that_a_change_leads_away_from_is_not_the_new_one() -> None:
    works = read_works("spadeworks")
    assert bind_sentence("set the theme to dark", works).task is not None
    for sentence in ("set the theme from dark", "change the theme from the dark", "switch theme from dark"):
        assert bind_sentence(sentence, works).task is None, sentence


@pytest.mark.parametrize(
    ("inputs", "sentence"),
    [
        (("note", "source_folder"), "move the note 'Fog' from the source folder 'A'"),
        (("note", "start"), "change the note 'Fog' with the start from 2027-01-15"),
        (("picture",), "update the picture from photo.png"),
    ],
)
def test_a_source_a_file_and_a_day_may_be_what_a_change_is_from(
    inputs: tuple[str, ...], sentence: str
) -> None:
    verb = sentence.partition(" ")[0]
    work = _workflow(f"{verb}_{inputs[0]}", "Relocate all of that", *inputs)
    found = bind_sentence(sentence, [work]).task
    assert found is not None
    assert len(found.values) == len(inputs)
