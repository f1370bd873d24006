from __future__ import annotations

from kb_schema.calls import ActionCall
from mcp_server import recover


def told(options) -> list[tuple[str, int, str]]:
    return [(o.recovery_id, o.priority, o.to_screen) for o in options]


def test_all_groups_compete_by_priority_then_reliability(view):
    assert told(recover.options(view, screen_id="jar_new")) == [
        ("look_again", 1, "jar_new"),
        ("sign_in_again", 1, "sign_in_page"),
        ("home_again", 3, "shelf"),
    ]


def test_an_edge_without_a_priority_takes_its_groups(view):
    signed_in = recover.options(view, group_id="signed_in")
    assert told(signed_in) == [("sign_in_again", 1, "sign_in_page"), ("home", 4, "shelf")]


def test_what_does_the_same_as_a_better_one_is_told_once(view):
    ids = [o.recovery_id for o in recover.options(view, screen_id="jar_new")]
    assert "home_again" in ids
    assert "home" not in ids


def test_known_false_conditions_close_an_edge_and_unknown_ones_are_assumptions(view):
    unknown, out, signed_in = (
        recover.options(view, group_id="signed_in", facts=facts)
        for facts in ({}, {"authenticated": False}, {"authenticated": True})
    )
    assert [o.assumptions for o in unknown] == [("authenticated False",), ("authenticated",)]
    assert [o.recovery_id for o in out] == ["sign_in_again"]
    assert [(o.recovery_id, o.assumptions) for o in signed_in] == [("home", ())]


def test_a_screen_in_no_group_gets_the_websites_default_in_order(view):
    assert told(recover.options(view, screen_id="help")) == [
        ("default_recovery.1", 2, "shelf"),
        ("default_recovery.2", 2, "help"),
    ]


def test_only_ways_to_a_target(view):
    assert told(recover.options(view, screen_id="jar_new", target_screen="shelf")) == [
        ("home_again", 3, "shelf")
    ]


def test_every_action_is_one_that_can_be_carried_out(view):
    for option in recover.options(view, screen_id="jar_new"):
        ActionCall.model_validate(option.action)
