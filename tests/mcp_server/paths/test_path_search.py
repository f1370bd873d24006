from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb_schema import parse_document
from kb_schema.tool_answers import Path, PathComparison, PathSearchResult, PathStep
from mcp_server.descriptions.answer_text import render_paths as paths_as_text
from mcp_server.errors import BadRequest, UnknownName
from mcp_server.knowledge.compiled_view import KnowledgeView, compile_view
from mcp_server.paths import k_shortest_paths
from mcp_server.paths.path_explanations import describe_comparison
from mcp_server.paths.path_search import PathExclusions, find_paths
from mcp_server.transition_graph.transition_weights import edge_weights_by_objective
from tests.mcp_server import pantry
from tests.mcp_server.paths.random_multigraphs import (
    AVOID,
    FACTS,
    OBJECTIVES,
    enumerated,
    graphs,
    that_is_there,
)


def ids(paths) -> list[list[str]]:
    return [[step.transition_id for step in path.steps] for path in paths.paths]


def test_the_default_trades_time_against_reliability(view):
    assert ids(find_paths(view, "shelf", "jar_new")) == [["open_new_by_url"]]
    assert ids(find_paths(view, "shelf", "jar_new", objective="fastest")) == [["open_new"]]


def test_parallel_transitions_are_alternatives_of_their_own(view):
    found = find_paths(view, "shelf", "jar_new", k=3)
    assert ids(found) == [["open_new_by_url"], ["open_new"]]


def test_a_path_says_time_reliability_and_what_it_assumes(view):
    (path,) = find_paths(view, "shelf", "jar_new", avoid=PathExclusions(actions=("goto",))).paths
    assert (path.expected_ms, path.reliability, path.assumptions) == (500, 0.5, ("authenticated",))
    (step,) = path.steps
    edge = parse_document(step.transition)
    assert edge.local_id == "open_new"
    assert edge.triggered_by == view.knowledge.transitions["open_new"].triggered_by
    assert not {"cost", "reliability_score"} & step.transition.keys()  # the step says what is believed now


def test_a_fact_known_false_closes_an_edge_and_an_effect_opens_it_again(view):
    found = find_paths(view, "sign_in_page", "jar_new", facts={"authenticated": False})
    assert ids(found) == [["sign_in_submit", "open_new_by_url"]]
    assert found.paths[0].assumptions == ()


def test_one_comes_back_to_a_screen_only_after_a_fact_has_changed(view):
    found = find_paths(view, "shelf", "jar_new", facts={"authenticated": False})
    assert ids(found) == [["sign_out", "sign_in_submit", "open_new_by_url"]]
    assert len(find_paths(view, "shelf", "jar_new", facts={"authenticated": True}, k=20).paths) == 2


def test_a_search_that_grows_too_large_is_given_up_with_what_to_change(view, monkeypatch):
    monkeypatch.setattr(k_shortest_paths, "MOST_STATES", 1)
    with pytest.raises(BadRequest, match="fewer facts"):
        find_paths(view, "sign_in_page", "jar_new", k=2)


def test_the_text_of_a_path_says_what_taking_it_would_change():
    edge = {
        "type": "transition", "transition_id": "away", "_from": "a", "_to": "b", "triggered_by": "refresh",
        "effects": [{"type": "deletes_entity", "entity_type": "jar"}, {"type": "shows_message"}],
    }  # fmt: skip
    step = PathStep(
        transition_id="away", from_screen="a", to_screen="b", expected_ms=1, reliability=1, transition=edge
    )
    path = Path(steps=(step, step), expected_ms=2, reliability=1)
    told = paths_as_text(
        PathSearchResult(website_id="w", from_screen="a", to_screen="b", objective="fewest", paths=(path,))
    )
    assert told.count("deletes_entity jar") == 1
    assert "shows_message" not in told


def test_there_is_one_empty_path_to_where_one_is(view):
    found = find_paths(view, "shelf", "shelf", k=5)
    assert ids(found) == [[]]
    assert found.paths[0].reliability == 1.0


def test_an_alternative_says_in_numbers_why_it_is_not_the_first(view):
    first, second = find_paths(view, "shelf", "jar_new", k=2).paths
    assert first.against_best is None
    against = second.against_best
    assert (against.more_steps, against.slower_ms, against.less_reliable) == (
        0, second.expected_ms - first.expected_ms, first.reliability - second.reliability,
    )  # fmt: skip
    assert against.slower_ms < 0 < against.less_reliable  # both numbers are round in this pantry
    assert against.later_ms > 0  # what makes it the second
    told = paths_as_text(find_paths(view, "shelf", "jar_new", k=2)).splitlines()
    assert len(told) == 2
    assert describe_comparison(against) in told[1]


def test_an_alternative_that_rests_on_more_says_what_it_assumes():
    best = PathComparison(more_steps=1, slower_ms=1_240, less_reliable=0.101, assumes=("authenticated",))
    assert describe_comparison(best) == "1 step more, 1.2 s slower, 0.10 less reliable, assumes authenticated"
    assert describe_comparison(PathComparison()) == "as good as the first"


def test_no_way_says_what_stands_in_it_and_how_near_one_gets(view):
    barred = find_paths(
        view, "shelf", "jar_new", avoid=PathExclusions(transitions=("open_new", "open_new_by_url"))
    )
    assert barred.paths == ()
    assert [(each.transition_id, each.from_screen, each.because) for each in barred.obstacles] == [
        ("open_new_by_url", "shelf", "it is to be avoided"), ("open_new", "shelf", "it is to be avoided"),
    ]  # fmt: skip
    assert barred.nearest == "shelf"
    assert "to be avoided" in (barred.hint or "")


def test_no_way_names_the_condition_that_is_known_not_to_hold(view):
    out = {"authenticated": False}
    signed_out = find_paths(
        view, "shelf", "jar_new", facts=out, avoid=PathExclusions(screens=("sign_in_page",))
    )
    because = {each.transition_id: each.because for each in signed_out.obstacles}
    assert because["open_new"] == because["open_new_by_url"] == "authenticated is known not to hold"
    assert because["sign_out"] == "screen sign_in_page is to be avoided"


def test_where_no_transition_leads_the_answer_says_where_to_begin_instead(view):
    assert "find_global_recovery_paths" in (find_paths(view, "shelf", "jar_edit").hint or "")
    assert "directly" in (find_paths(view, "help", "shelf").hint or "")


@pytest.mark.parametrize(
    "avoid",
    [
        PathExclusions(screens=("shelv",)),
        PathExclusions(transitions=("open_nwe",)),
        PathExclusions(actions=("clik",)),
        PathExclusions(effects=("delete_entity",)),
    ],
)
def test_a_misspelt_name_to_avoid_is_refused_and_corrected(view, avoid):
    with pytest.raises(UnknownName, match="did you mean"):
        find_paths(view, "shelf", "jar_new", avoid=avoid)


@pytest.mark.parametrize("reliability", [0.0, 0.005, 0.01, 0.5, 1.0])
def test_balanced_is_the_expected_time_to_arrive(reliability):
    r = max(0.01, reliability)
    assert edge_weights_by_objective(200, reliability, 5000)["balanced"][0] == pytest.approx(
        200 + (1 - r) / r * 5200
    )
    assert edge_weights_by_objective(200, reliability, 5000)["reliable"][0] == pytest.approx(-math.log(r))


def test_a_failure_costs_what_the_best_recovery_of_its_screen_takes(view):
    open_new = next(way for way in view.ways["shelf"] if way.transition_id == "open_new")
    # The best by priority is `sign_in_again`, whose time nobody wrote down: a second.
    assert open_new.weights["balanced"][0] == 500 + 1 * (500 + 1_000)
    submit = view.ways["sign_in_page"][0]
    assert submit.weights["balanced"][0] == pytest.approx(2000 + (0.1 / 0.9) * (2000 + 5000))


# -- against enumeration ---------------------------------------------------------------------------


def told_in_order(view: KnowledgeView, objective, k, facts, avoid: PathExclusions) -> None:
    expected = enumerated(view, objective, facts, avoid)
    found = find_paths(view, "a", "e", objective=objective, k=k, avoid=avoid, facts=facts)
    assert [tuple(path) for path in ids(found)] == [path for _, path in expected[:k]]
    # By the formula's own numbers, too: whole numbers only make equal what differs by a rounding.
    ways = {way.transition_id: way for own in view.ways.values() for way in own}
    sums = sorted(sum(ways[name].weights[objective][0] for name in path) for _, path in expected)
    got = [sum(ways[name].weights[objective][0] for name in path) for path in ids(found)]
    assert got == pytest.approx(sums[:k])


@settings(max_examples=400, deadline=None)
@given(
    view=graphs(), objective=st.sampled_from(OBJECTIVES), k=st.integers(2, 20), facts=FACTS, avoid=AVOID,
    doubtful=st.sampled_from([1, 2, k_shortest_paths.REACHABILITY_CHECK_AFTER]),
)  # fmt: skip
def test_the_k_best_paths_are_those_of_a_plain_enumeration_in_its_order(
    view, objective, k, facts, avoid, doubtful
):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(k_shortest_paths, "REACHABILITY_CHECK_AFTER", doubtful)
        told_in_order(view, objective, k, facts, that_is_there(avoid, view))


@settings(max_examples=150, deadline=None)
@given(view=graphs(), objective=st.sampled_from(OBJECTIVES), facts=FACTS, avoid=AVOID)
def test_the_best_path_is_the_first_of_them_searched_or_read_off_a_table(view, objective, facts, avoid):
    for _ in range(3):  # searched; its target's row is made; read off
        told_in_order(view, objective, 1, facts, that_is_there(avoid, view))


@settings(max_examples=50, deadline=None)
@given(view=graphs(), objective=st.sampled_from(OBJECTIVES))
def test_more_alternatives_never_change_the_first_ones(view, objective):
    few, many = (ids(find_paths(view, "a", "e", objective=objective, k=k)) for k in (2, 6))
    assert many[: len(few)] == few


def _twins(first, second):
    """Two more transitions from the list to the form, alike but for what is given."""
    made = [
        {"type": "transition", "transition_id": name, "_from": "screen/shelf", "_to": "screen/jar_edit",
         "triggered_by": {"action_type": "click", "target": "new_jar"}, "cost": {"estimated_ms": 500}, **more}
        for name, more in (("twin_a", first), ("twin_b", second))
    ]  # fmt: skip
    for each, more in zip(made, (first, second), strict=True):
        each["cost"] = {"estimated_ms": 500, **more.get("cost", {})}
    return compile_view(pantry.knowledge(also=tuple(made)), "1")


AWAY = PathExclusions(actions=("navigate",))


def test_of_two_equal_transitions_the_less_complex_one_is_first():
    view = _twins({"cost": {"complexity_score": 0.8}}, {"cost": {"complexity_score": 0.2}})
    for objective in OBJECTIVES:
        found = find_paths(view, "shelf", "jar_edit", objective=objective, avoid=AWAY)
        assert ids(found)[0] == ["twin_b"], objective


def test_of_two_equal_transitions_the_one_whose_optional_conditions_hold_is_first():
    roomy = {"type": "context_equals", "name": "roomy", "value": True}
    view = _twins({}, {"conditions": {"optional": [roomy]}})
    assert ids(find_paths(view, "shelf", "jar_edit", avoid=AWAY))[0] == ["twin_a"]
    assert ids(find_paths(view, "shelf", "jar_edit", avoid=AWAY, facts={"roomy": True})) == [["twin_b"]]
    assert ids(find_paths(view, "shelf", "jar_edit", avoid=AWAY, facts={"roomy": False}, k=2)) == [
        ["twin_a"],
        ["twin_b"],
    ]
    costly = _twins({}, {"conditions": {"optional": [roomy]}, "cost": {"estimated_ms": 900}})
    found = find_paths(costly, "shelf", "jar_edit", avoid=AWAY, facts={"roomy": True})
    assert ids(found) == [["twin_a"]], "it helps, and is no requirement"


def test_the_side_effects_of_an_action_are_effects_of_the_transitions_that_it_triggers():
    action = {"type": "action", "action_id": "stow", "name": "Stow",
              "side_effects": [{"type": "creates_entity", "entity_type": "jar"}],
              "execution_steps": [{"step": 1, "action": "click", "target": "new_jar"}]}  # fmt: skip
    edge = {"type": "transition", "transition_id": "stowing", "_from": "screen/shelf", "_to": "screen/jar_edit",
            "triggered_by": {"action_type": "stow"}, "cost": {"estimated_ms": 1}}  # fmt: skip
    view = compile_view(pantry.knowledge(also=(action, edge)), "1")
    found = find_paths(view, "shelf", "jar_edit", objective="fastest")
    assert ids(found) == [["stowing"]]
    assert "on the way creates_entity jar" in paths_as_text(found)
    without = find_paths(view, "shelf", "jar_edit", avoid=PathExclusions(effects=("creates_entity",)))
    assert ["stowing"] not in ids(without)
