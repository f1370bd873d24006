"""Inputs of a collection are made by type, name and field; each run has others, and secrets are never made."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb_schema import SourcedDocument, assemble
from kb_schema.screens import Screen
from kb_schema.tasks import Task
from kb_schema.websites import Website
from periplus.errors import UserError
from periplus.fleet.made_inputs import choose_kinds, make_input_rows, parse_kinds

TASK = {
    "type": "task", "task_id": "invite", "name": "Invite",
    "io_spec": {"inputs": [
        {"name": "member_name"}, {"name": "contact", "description": "Email address"}, {"name": "age", "type": "integer"},
        {"name": "role"}, {"name": "note"}, {"name": "password", "secret": True},
        {"name": "greeting", "required": False}, {"name": "team", "default": "Blue"},
    ]},
    "steps": [{"step_id": "choose", "action": {"action_type": "select_option", "target": "roles", "value": "{role}"}}],
}  # fmt: skip
SCREEN = {
    "type": "screen", "screen_id": "form", "name": "Form", "url_patterns": ["^/form$"],
    "ui_elements": [{
        "element_id": "roles", "type": "dropdown", "selector": {"strategies": [{"type": "css", "value": "select"}]},
        "affordances": [{"action_type": "select_option", "options": [{"value": "admin"}, {"value": "guest"}]}],
    }],
}  # fmt: skip


@pytest.fixture(scope="module")
def knowledge():
    website = Website(type="website", website_id="w", name="W", base_url="http://w.test")
    found, _ = assemble(
        [
            SourcedDocument(each)
            for each in (website, Screen.model_validate(SCREEN), Task.model_validate(TASK))
        ]
    )
    return found


def test_each_required_input_is_made_by_its_type_its_words_or_the_options_of_its_field(knowledge):
    assert choose_kinds(knowledge, "invite", (), {}) == {
        "member_name": "name", "contact": "email", "age": "integer", "role": ("admin", "guest"), "note": "string",
    }  # fmt: skip


def test_what_is_given_is_not_made_and_what_is_asked_for_is(knowledge):
    kinds = choose_kinds(
        knowledge, "invite", {"note", "age"}, parse_kinds(["greeting=name", "role=guest|owner"])
    )
    assert set(kinds) == {"member_name", "contact", "role", "greeting"}
    assert kinds["role"] == ("guest", "owner")


@given(count=st.integers(2, 30), seed=st.text(max_size=8))
def test_the_inputs_of_all_runs_differ_and_equal_seeds_make_equal_ones(count, seed):
    kinds = {"member_name": "name", "contact": "email", "role": ("admin", "guest")}
    rows = make_input_rows(kinds, count, seed)
    assert len({str(sorted(row.items())) for row in rows}) == count
    assert rows == make_input_rows(kinds, count, seed)
    assert {row["role"] for row in rows} == {"admin", "guest"}


@pytest.mark.parametrize("text", ["member_name", "=name", "member_name=", "member_name=nam"])
def test_a_kind_that_does_not_exist_is_an_error_with_the_kinds(text):
    with pytest.raises(UserError, match="--make"):
        parse_kinds([text])


@pytest.mark.parametrize(("task_id", "make"), [("invit", {}), ("invite", {"nam": "name"})])
def test_an_unknown_task_or_input_is_an_error_with_what_was_meant(knowledge, task_id, make):
    with pytest.raises(UserError) as refused:
        choose_kinds(knowledge, task_id, (), make)
    assert "invite" in str(refused.value.fix) or "member_name" in str(refused.value.fix)
