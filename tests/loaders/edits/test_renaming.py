"""A renamed screen, element, task, ... has its new name everywhere, and its old one is still found."""

from __future__ import annotations

from pathlib import Path

import pytest

from kb_schema import SourcedDocument, assemble, parse_document
from kb_schema.former_ids import list_former_ids
from loaders import read_knowledge_folder
from loaders.edits.knowledge_edit import EditRefused
from loaders.edits.renaming import ID_FIELDS, KINDS, find_target, rename
from mcp_server.errors import UnknownName
from mcp_server.knowledge.compiled_view import compile_view
from mcp_server.search.search_index import SearchIndex
from mcp_server.tools.tool_parameters import require_document, require_screen

SEED = Path(__file__).parents[3] / "seeds/spadeworks/kb"
ERROR_NAMES = {"session_expired"}
"""Names of screens that are names of errors too."""
NEW = "quite_another_name"
PROSE = {
    "metadata", "type", "name", "narration_template", "narration", "description", "category",
    "step_id", "segment_id", "from_segment", "to_segment", "segments_to_skip", "segments_to_keep", "fallback", "topic",
}  # fmt: skip


def knowledge_of(*documents):
    website = {"type": "website", "website_id": "shop", "name": "Shop", "base_url": "https://shop.example"}
    return assemble([SourcedDocument(parse_document(each)) for each in (website, *documents)])[0]


def screen(screen_id, *elements):
    return {
        "type": "screen", "screen_id": screen_id, "name": screen_id, "url_patterns": [f"^/{screen_id}$"],
        "ui_elements": [{"element_id": each, "type": "button", "selector": f"#{each}"} for each in elements],
    }  # fmt: skip


@pytest.fixture(scope="module")
def seed():
    return read_knowledge_folder(SEED)[0]


def values(node):
    """Every text of JSON data, without notes of the author and words for people."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key not in PROSE:
                yield from values(value)
    elif isinstance(node, list):
        for item in node:
            yield from values(item)
    elif isinstance(node, str):
        yield node


@pytest.mark.parametrize("what", ID_FIELDS)
def test_no_document_keeps_the_old_name_of_anything(seed, what):
    kind = KINDS.get(what, what)
    elsewhere = ERROR_NAMES | {
        each.local_id
        for other in {"screen", "task", "action", "workflow", "presentation_flow", "screen_group"} - {kind}
        for each in seed.by_kind.get(other, {}).values()
    }
    elsewhere |= {name for each in seed.screens for name in seed.elements(each)}
    for old in sorted({*seed.by_kind.get(kind, {})} - elsewhere)[::2]:
        edit = rename(seed, find_target(seed, old, what), NEW)
        assert NEW in edit.knowledge.by_kind[kind]
        for document in edit.knowledge.documents():
            assert old not in set(values(document.to_json())), (old, document.kind, document.local_id)


def test_as_many_documents_name_an_element_as_before_it_was_renamed(seed):
    names = {name for each in seed.screens for name in seed.elements(each)}
    before = [text for document in seed.documents() for text in values(document.to_json())]
    for old in [*sorted(names)[::9], "calls_chart"]:  # a mark in narration names the last
        edit = rename(seed, find_target(seed, old, "element"), NEW)
        after = [text for document in edit.knowledge.documents() for text in values(document.to_json())]
        if old not in seed.tasks and old not in seed.screens:  # their names stay
            assert after.count(NEW) + after.count(old) == before.count(old), old
        assert edit.knowledge.elements(next(iter(edit.moved_elements.values()))[0])[NEW]


def test_a_name_with_spaces_is_the_name_and_gives_the_id(seed):
    edit = rename(seed, find_target(seed, "agent_list"), "All agents")
    made = edit.knowledge.screens["all_agents"]
    assert (made.name, list_former_ids(made.metadata)) == ("All agents", ("agent_list",))
    assert edit.renamed["screen", "agent_list"] == "all_agents"
    assert edit.moved_elements["agent_list", "agent_search_input"] == ("all_agents", "agent_search_input")


def test_an_id_leaves_the_name_unless_one_is_given(seed):
    target = find_target(seed, "agent_list")
    assert rename(seed, target, "agents").knowledge.screens["agents"].name == "Agents"
    assert rename(seed, target, "agents", "Voices").knowledge.screens["agents"].name == "Voices"


def test_the_old_name_is_found_by_search_and_leads_to_the_new_one(seed):
    knowledge = rename(seed, find_target(seed, "agent_list"), "zebras").knowledge
    assert "zebras" in [hit.id for hit in SearchIndex(knowledge).hits("agent_list", 5).hits]
    assert knowledge.current_id("screen", "agent_list") == "zebras"
    back = rename(knowledge, find_target(knowledge, "zebras"), "agent_list").knowledge
    assert list_former_ids(back.screens["agent_list"].metadata) == ("zebras",)


def test_a_tool_that_is_asked_for_the_old_name_says_the_new_one(seed):
    knowledge = rename(seed, find_target(seed, "agent_list"), "zebras").knowledge
    with pytest.raises(UnknownName) as screen_error:
        require_screen(compile_view(knowledge, "1"), "agent_list")
    assert screen_error.value.hint == "it is called 'zebras' now"
    knowledge = rename(seed, find_target(seed, "create_agent"), "new_agent").knowledge
    with pytest.raises(UnknownName) as task_error:
        require_document("task", "create_agent", knowledge.tasks, "call list_tasks")
    assert task_error.value.hint == "it is called 'new_agent' now"


def test_a_transition_keeps_the_id_under_which_its_numbers_are_learned():
    way = {"type": "transition", "_from": "one", "_to": "two",
           "triggered_by": {"action_type": "click", "element_id": "go"}}  # fmt: skip
    knowledge = knowledge_of(screen("one", "go"), screen("two"), way)
    (before,) = knowledge.transitions
    edit = rename(knowledge, find_target(knowledge, "one"), "first")
    assert list(edit.knowledge.transitions) == [before]
    assert edit.knowledge.transitions[before].from_screen == "first"


def test_an_element_of_one_screen_is_renamed_where_the_step_is_on_that_screen():
    task = {"type": "task", "task_id": "work", "steps": [
        {"action": {"action_type": "navigate", "target_screen": "one"}},
        {"action": {"action_type": "click", "target": "go"}},
        {"action": {"action_type": "click", "target": "go"}},
    ]}  # fmt: skip
    way = {"type": "transition", "transition_id": "t", "_from": "one", "_to": "two",
           "triggered_by": {"action_type": "click", "element_id": "go"}}  # fmt: skip
    knowledge = knowledge_of(screen("one", "go"), screen("two", "go"), way, task)
    with pytest.raises(
        EditRefused, match=r"task work \$\.steps\[1\]\.action\.target.*may be the element of two"
    ):
        rename(knowledge, find_target(knowledge, "one/go"), "save")
    steps = [dict(each) for each in task["steps"]]
    steps[1]["preconditions"] = [{"type": "on_screen", "screen_id": "one"}]
    steps[1]["postconditions"] = [{"type": "on_screen", "screen_id": "one"}]
    steps[2]["preconditions"] = [{"type": "on_screen", "screen_id": "two"}]
    knowledge = knowledge_of(screen("one", "go"), screen("two", "go"), way, {**task, "steps": steps})
    edit = rename(knowledge, find_target(knowledge, "one/go"), "save").knowledge
    assert [each.action.target for each in edit.tasks["work"].steps] == [None, "save", "go"]
    assert edit.transitions["t"].triggered_by.target == "save"
    assert set(edit.elements("two")) == {"go"}


@pytest.mark.parametrize(
    ("old", "new", "kind", "message"),
    [
        ("agent_lst", "x", None, "no screen, element, task, ... 'agent_lst' -> did you mean \"agent_list\""),
        ("agent_list", "agent_edit", None, "there is a screen 'agent_edit' already -> `periplus kb merge"),
        ("agent_list", "current", None, "there is a screen 'current' already"),
        ("agent_list", "agent_list", None, "has this id already"),
        ("agent_list/nothing", "x", None, "screen 'agent_list' has no element 'nothing'"),
        ("nowhere/nothing", "x", None, "there is no screen 'nowhere'"),
        ("agent_create/save_button", "cancel_button", None, "has an element 'cancel_button' already"),
        ("click_submit", "click", None, "'click' is the name of an action type"),
        ("create_agent", "!!!", None, "no id can be made of '!!!'"),
    ],
)
def test_a_refusal_names_the_place_and_the_fix(seed, old, new, kind, message):
    with pytest.raises(EditRefused) as refused:
        rename(seed, find_target(seed, old, kind), new)
    assert message in str(refused.value)


def test_a_name_of_two_things_needs_its_kind():
    task = {"type": "task", "task_id": "one", "steps": [{"action": {"action_type": "wait", "duration": 1}}]}
    knowledge = knowledge_of(screen("one"), task)
    with pytest.raises(EditRefused, match="is the id of a screen and task -> say which: --kind screen"):
        find_target(knowledge, "one")
    edit = rename(knowledge, find_target(knowledge, "one", "task"), "job").knowledge
    assert (list(edit.tasks), list(edit.screens)) == (["job"], ["one"])
