from __future__ import annotations

import json

import pytest

from kb_schema import parse_document
from mcp_server.descriptions import available_actions, document_summaries
from mcp_server.errors import BadRequest, UnknownName
from mcp_server.failures import error_recovery_strategies
from mcp_server.tasks import next_steps, screen_tasks


def size(view, document, detail) -> int:
    return len(json.dumps(document_summaries.describe_document(view, document, detail).document))


@pytest.mark.parametrize("kind", ["screens", "tasks"])
def test_the_three_levels_differ_in_size(view, kind):
    for document in getattr(view.knowledge, kind).values():
        summary, working, full = (size(view, document, d) for d in ("summary", "working", "full"))
        assert summary < working < full or (kind == "screens" and not document.ui_elements)


def test_working_and_full_parse_again(view):
    for document in view.knowledge.documents():
        if document.kind in ("screen", "task", "action", "presentation_flow", "website", "error_recovery"):
            for detail in ("full",) if document.kind == "screen" else ("working", "full"):
                again = parse_document(document_summaries.describe_document(view, document, detail).document)
                assert (again.kind, again.local_id) == (document.kind, document.local_id)


def test_full_is_the_whole_document(view):
    task = view.knowledge.tasks["add_jar"]
    assert parse_document(document_summaries.describe_document(view, task, "full").document) == task


def test_a_screen_comes_with_the_elements_of_its_layouts(view):
    answer = document_summaries.describe_document(view, view.knowledge.screens["shelf"], "working")
    assert answer.document["elements"] == [
        "new_jar: (link) click @ #new-jar",
        "sign_out: (button) click @ #sign-out",
    ]
    summary = document_summaries.describe_document(
        view, view.knowledge.screens["jar_new"], "summary"
    ).document
    assert summary["elements"][1] == "label: Label (input) type_text*"


def test_actions_say_where_they_lead(view):
    answer = available_actions.available_actions(view, "shelf")
    assert [(a.element_id, a.action_type, a.leads_to) for a in answer.actions] == [
        ("sign_out", "click", ("sign_in_page",)),
        ("new_jar", "click", ("jar_new",)),
        ("", "navigate", ("jar_new",)),
    ]
    assert answer.tasks == ("sign_in",)


def test_a_task_uses_the_screens_it_names_and_those_whose_elements_it_acts_on(view):
    used = {screen: screen_tasks.find_screen_tasks(view, screen).tasks for screen in view.knowledge.screens}
    assert {screen: [t.task_id for t in tasks] for screen, tasks in used.items() if tasks} == {
        "sign_in_page": ["sign_in"],
        "shelf": ["sign_in"],
        "jar_new": ["add_jar"],
    }
    (add_jar,) = used["jar_new"]
    assert (add_jar.required_inputs, add_jar.optional_inputs) == (("label",), ("note",))


def test_tasks_come_a_page_at_a_time(view):
    first = document_summaries.list_tasks(view, size=1)
    second = document_summaries.list_tasks(view, first.next_cursor, size=1)
    assert [t.task_id for page in (first, second) for t in page.tasks] == ["add_jar", "sign_in"]
    assert second.next_cursor is None
    with pytest.raises(BadRequest, match="cursor"):
        document_summaries.list_tasks(view, "not one of ours")


def test_the_next_step_and_how_many_follow(view):
    task = view.knowledge.tasks["add_jar"]
    first = next_steps.next_step(view, task)
    last = next_steps.next_step(view, task, "name_it")
    done = next_steps.next_step(view, task, "keep_it")
    assert [(n.step and n.step["step_id"], n.remaining) for n in (first, last, done)] == [
        ("name_it", 1),
        ("keep_it", 0),
        (None, 0),
    ]
    with pytest.raises(UnknownName, match="did you mean"):
        next_steps.next_step(view, task, "name_itt")


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("jar shelf", "add_jar"),
        ("marmalade", "tour"),
        ("marmelade", "tour"),
        ("every jar", "shelf"),
        ("sign out", "sign_out"),
    ],
)
def test_search_finds_words_beginnings_and_misspellings(view, query, best):
    hits = view.search.hits(query, 10).hits
    assert best in [hit.id for hit in hits[:2]]
    assert list(hits) == sorted(hits, key=lambda h: (-h.score, h.kind, h.id))


def test_search_for_nothing_known_finds_nothing(view):
    assert view.search.hits("!!! zzzzqqq", 10).hits == ()


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"error": "validation_error", "screen_id": "jar_new", "action_type": "fill"}, "jar_new.label.validation_error"),
        ({"error": "timeout", "action_type": "fill_jar"}, "fill_jar.timeout"),
        ({"error": "timeout", "screen_id": "shelf"}, "slow_shelf"),
        ({"error": "timeout", "screen_id": "help"}, "slow_pantry"),
        ({"error": "timeout"}, "slow_pantry"),
    ],
)  # fmt: skip
def test_the_most_specific_strategy_for_an_error(view, asked, found):
    strategy = error_recovery_strategies.find_strategy(view, **asked)
    assert strategy.recovery_id == found
    again = parse_document(document_summaries.describe_document(view, strategy, "working").document)
    assert again.model_copy(update={"website_id": strategy.website_id}) == strategy


def test_an_error_nobody_wrote_about_is_refused_with_what_to_call_next(view):
    with pytest.raises(UnknownName, match=r"timeout.*ways out"):
        error_recovery_strategies.find_strategy(view, "flood")
