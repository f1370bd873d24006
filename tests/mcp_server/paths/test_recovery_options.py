from __future__ import annotations

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kb_schema import SourcedDocument, assemble, parse_document
from kb_schema.action_calls import ActionCall
from kb_schema.observed_outcomes import RecoveryStats
from mcp_server.knowledge.compiled_view import (
    KnowledgeView,
    LearnedStatistics,
    apply_statistics,
    compile_view,
)
from mcp_server.paths import recovery_options
from tests.mcp_server import pantry


def told(options) -> list[tuple[str, int, str]]:
    return [(o.recovery_id, o.priority, o.to_screen) for o in options]


def test_all_groups_compete_by_priority_then_reliability(view):
    assert told(recovery_options.find_recovery_options(view, screen_id="jar_new")) == [
        ("look_again", 1, "jar_new"),
        ("sign_in_again", 1, "sign_in_page"),
        ("home_again", 3, "shelf"),
    ]


def test_an_edge_without_a_priority_takes_its_groups(view):
    signed_in = recovery_options.find_recovery_options(view, group_id="signed_in")
    assert told(signed_in) == [("sign_in_again", 1, "sign_in_page"), ("home", 4, "shelf")]


def test_what_does_the_same_as_a_better_one_is_told_once(view):
    ids = [o.recovery_id for o in recovery_options.find_recovery_options(view, screen_id="jar_new")]
    assert "home_again" in ids
    assert "home" not in ids


def test_known_false_conditions_close_an_edge_and_unknown_ones_are_assumptions(view):
    unknown, out, signed_in = (
        recovery_options.find_recovery_options(view, group_id="signed_in", facts=facts)
        for facts in ({}, {"authenticated": False}, {"authenticated": True})
    )
    assert [o.assumptions for o in unknown] == [("authenticated False",), ("authenticated",)]
    assert [o.recovery_id for o in out] == ["sign_in_again"]
    assert [(o.recovery_id, o.assumptions) for o in signed_in] == [("home", ())]


def test_a_screen_in_no_group_gets_the_websites_default_in_order(view):
    assert told(recovery_options.find_recovery_options(view, screen_id="help")) == [
        ("default_recovery.1", 2, "shelf"),
        ("default_recovery.2", 2, "help"),
    ]


def test_only_ways_to_a_target(view):
    assert told(recovery_options.find_recovery_options(view, screen_id="jar_new", target_screen="shelf")) == [
        ("home_again", 3, "shelf")
    ]


def test_where_no_edge_leads_to_the_target_the_default_recovery_may(view):
    known = {"authenticated": False}  # closes `home`, which would lead to the shelf
    assert told(
        recovery_options.find_recovery_options(view, group_id="signed_in", target_screen="shelf", facts=known)
    ) == [("default_recovery.1", 2, "shelf")]
    assert recovery_options.find_recovery_options(view, group_id="signed_in", target_screen="jar_new") == ()


def test_every_action_is_one_that_can_be_carried_out(view):
    for option in recovery_options.find_recovery_options(view, screen_id="jar_new"):
        ActionCall.model_validate(option.action)


# -- any groups ------------------------------------------------------------------------------------

SCREENS = ("a", "b", "c")
WORTH = {"high": 1, "medium": 2, "low": 4, None: 2}


@st.composite
def sites(draw: st.DrawFn) -> tuple[list[dict[str, Any]], LearnedStatistics]:
    """Documents of a site with groups and ways out of them, and what was learned of these."""
    numbers = st.sampled_from([0.2, 0.5, 0.5, 1.0])
    documents: list[dict[str, Any]] = [
        {"type": "website", "website_id": "g", "name": "G", "base_url": "https://g.example",
         "default_recovery": {"actions": [{"action_type": "navigate", "target_screen": "a"}, "refresh"]}},
        *({"type": "screen", "screen_id": s, "name": s, "url_patterns": [f"^/{s}$"]} for s in SCREENS),
    ]  # fmt: skip
    seen = {}
    for group in range(draw(st.integers(0, 3))):
        priority = draw(st.sampled_from(sorted(WORTH, key=str)))
        document = {"type": "screen_group", "group_id": f"g{group}", "name": "G"}
        documents.append(document | ({"recovery_priority": priority} if priority else {}))
        members = sorted(draw(st.sets(st.sampled_from(SCREENS))))
        documents += [{"type": "belongs_to", "_from": screen, "_to": f"g{group}"} for screen in members]
        for edge in range(draw(st.integers(0, 3))):
            own, needs = (
                draw(st.sampled_from([None, 1, 2, 5])),
                draw(st.sampled_from([None, None, True, False])),
            )
            conditions = [] if needs is None else [{"type": "authenticated", "expected": needs}]
            documents.append(
                {"type": "global_recovery", "transition_id": f"r{group}{edge}", "_from": f"g{group}",
                 "_to": draw(st.sampled_from([*SCREENS, "current"])), "conditions": {"required": conditions},
                 "triggered_by": {"action_type": "navigate", "url": f"/{group}/{edge}",
                                  "fallback_actions": ["refresh", "navigate_back"]},
                 "cost": {"estimated_ms": draw(st.sampled_from([0, 100, 700]))},
                 "reliability_score": draw(numbers)} | ({"recovery_priority": own} if own else {})
            )  # fmt: skip
            if draw(st.booleans()):
                seen[f"r{group}{edge}"] = RecoveryStats(
                    recovery_id=f"r{group}{edge}", succeeded=draw(st.sampled_from([0.0, 10.0])), failed=5.0,
                    seen=15, timed=draw(st.sampled_from([4, 5])), mean_ms=300.0,
                )  # fmt: skip
    return documents, LearnedStatistics(recoveries=seen)


def view_of(documents: list[dict[str, Any]], learned: LearnedStatistics) -> KnowledgeView:
    return apply_statistics(
        compile_view(assemble(SourcedDocument(parse_document(d)) for d in documents)[0], "1"), learned
    )


def expected(
    documents: list[dict[str, Any]], learned: LearnedStatistics, screen: str, facts: dict[str, bool]
) -> list[str]:
    """What DESIGN says, told from the documents alone: ids in order."""
    groups = {d["_to"] for d in documents if d["type"] == "belongs_to" and d["_from"] == screen}
    worth = {
        d["group_id"]: WORTH[d.get("recovery_priority")] for d in documents if d["type"] == "screen_group"
    }
    found = []
    for edge in (d for d in documents if d["type"] == "global_recovery" and d["_from"] in groups):
        required = [each["expected"] for each in edge["conditions"]["required"]]
        if any(facts.get("authenticated", needs) != needs for needs in required):
            continue
        reliability, ms = edge["reliability_score"], edge["cost"]["estimated_ms"]
        seen = learned.recoveries.get(edge["transition_id"])
        if seen is not None:
            reliability = (reliability * 10 + seen.succeeded) / (10 + seen.succeeded + seen.failed)
            ms = 300.0 if seen.timed >= 5 else ms
        priority = edge.get("recovery_priority", worth[edge["_from"]])
        found.append((priority, -reliability, ms, edge["transition_id"]))
    return [name for *_, name in sorted(found)] or ["default_recovery.1", "default_recovery.2"]


@settings(max_examples=60, deadline=None)
@given(
    site=sites(), screen=st.sampled_from(SCREENS), shuffle=st.randoms(use_true_random=False),
    facts=st.sampled_from([{}, {"authenticated": True}, {"authenticated": False}]),
)  # fmt: skip
def test_the_ways_out_are_in_their_order_across_all_groups_whatever_the_order_of_documents(
    site, screen, shuffle: random.Random, facts
):
    documents, learned = site
    found = recovery_options.find_recovery_options(view_of(documents, learned), screen_id=screen, facts=facts)
    assert [each.recovery_id for each in found] == expected(documents, learned, screen, facts)
    others = documents[1:]
    shuffle.shuffle(others)
    again = view_of([documents[0], *others], learned)
    assert recovery_options.find_recovery_options(again, screen_id=screen, facts=facts) == found
    for each in found:
        if each.group_id is not None:
            fallbacks = ActionCall.model_validate(each.action).fallback_actions
            assert [call.canonical_type for call in fallbacks] == ["refresh", "navigate_back"]
            assert each.to_screen in SCREENS  # `current` is where one was


def test_of_one_priority_those_come_first_whose_optional_conditions_hold():
    also = {
        "type": "global_recovery", "transition_id": "better_if", "_from": "screen_group/forms", "_to": "screen/shelf",
        "triggered_by": {"action_type": "navigate", "url": "/shelf"}, "recovery_priority": 1, "reliability_score": 0.5,
        "conditions": {"optional": [{"type": "authenticated"}]},
    }  # fmt: skip
    view = compile_view(pantry.knowledge(also=(also,)), "1")

    def first(**facts: Any) -> str:
        return recovery_options.find_recovery_options(view, screen_id="jar_new", facts=facts)[0].recovery_id

    assert first(authenticated=True) == "better_if"
    assert first() == first(authenticated=False) == "look_again"
