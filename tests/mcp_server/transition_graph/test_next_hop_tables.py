"""Next-hop tables agree with searches, and are never older than the weights."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kb_schema import SourcedDocument, assemble, parse_document
from kb_schema.observed_outcomes import RecoveryStats, TransitionStats
from mcp_server.knowledge.compiled_view import (
    KnowledgeView,
    LearnedStatistics,
    apply_statistics,
    compile_view,
)
from mcp_server.paths.bidirectional_search import search_from_both_ends
from mcp_server.paths.path_search import find_paths
from mcp_server.transition_graph import next_hop_tables
from mcp_server.transition_graph.next_hop_tables import NextHopTables, compute_row, read_path
from mcp_server.transition_graph.transition_network import TransitionNetwork

OBJECTIVES = ("fewest", "fastest", "reliable", "balanced")
SCREENS = tuple("abcdefg")


def view_of(edges: list[tuple[str, str, float, float]]) -> KnowledgeView:
    """Screens a to g, all in a group with one way out; edges as (from, to, ms, reliability)."""
    documents: list[dict[str, Any]] = [
        {"type": "website", "website_id": "g", "name": "G", "base_url": "https://g.example"},
        {"type": "screen_group", "group_id": "all", "name": "All"},
        {"type": "global_recovery", "transition_id": "out", "_from": "all", "_to": "a",
         "triggered_by": {"action_type": "navigate", "url": "/"}, "cost": {"estimated_ms": 400}},
        *({"type": "screen", "screen_id": s, "name": s, "url_patterns": [f"^/{s}$"]} for s in SCREENS),
        *({"type": "belongs_to", "_from": s, "_to": "all"} for s in SCREENS[:3]),
        *(
            {"type": "transition", "transition_id": f"t{number:02}", "_from": source, "_to": target,
             "triggered_by": "refresh", "cost": {"estimated_ms": ms}, "reliability_score": reliability}
            for number, (source, target, ms, reliability) in enumerate(edges)
        ),
    ]  # fmt: skip
    return compile_view(assemble(SourcedDocument(parse_document(d)) for d in documents)[0], "1")


EDGES = st.lists(
    st.tuples(
        st.sampled_from(SCREENS), st.sampled_from(SCREENS),
        st.sampled_from([0, 100, 100, 200, 300]), st.sampled_from([0.5, 1.0, 1.0]),
    ),
    max_size=24,
)  # fmt: skip
SEEN = st.tuples(
    st.sampled_from([0.0, 3.0, 40.0]), st.sampled_from([0.0, 4.0]), st.sampled_from([None, 90.0, 310.0])
)


def observed(succeeded: float, failed: float, mean_ms: float | None) -> dict[str, Any]:
    return {
        "succeeded": succeeded,
        "failed": failed,
        "seen": 50,
        "mean_ms": mean_ms,
        "timed": 9 if mean_ms else 0,
    }


def fill(network: TransitionNetwork) -> None:
    for objective in OBJECTIVES:
        for target in range(len(network.screens)):
            for _ in range(2):
                network.tables.row(objective, target, network.arcs(objective).into)


@settings(max_examples=200, deadline=None)
@given(edges=EDGES)
def test_a_table_says_what_a_search_from_both_ends_says_for_every_pair(edges):
    network = view_of(edges).network
    for objective in OBJECTIVES:
        arcs = network.arcs(objective)
        for goal in range(len(network.screens)):
            row, costs = compute_row(goal, arcs.into)
            for start in range(len(network.screens)):
                if start == goal:
                    continue
                meeting = search_from_both_ends(arcs, start, goal)
                ways = read_path(row, start, goal, network.heads)
                assert ways == (None if meeting is None else meeting.ways())
                assert costs[start] == (None if meeting is None else meeting.cost)


@settings(max_examples=200, deadline=None)
@given(edges=EDGES, start=st.integers(0, 6), goal=st.integers(0, 6), further=st.integers(0, 5))
def test_what_is_said_to_remain_is_never_more_than_it_is_and_exact_where_it_is_said(
    edges, start, goal, further
):
    network = view_of(edges).network
    arcs = network.arcs("balanced")
    if max(start, goal) >= len(network.screens) or start == goal:
        return
    meeting = search_from_both_ends(arcs, start, goal)
    if meeting is None:
        return
    known, at_least = meeting.remaining(further)
    for screen, cost in enumerate(compute_row(goal, arcs.into)[1]):
        if screen in known:
            assert known[screen] == cost
        elif cost is not None:
            assert at_least <= cost


@settings(max_examples=200, deadline=None)
@given(
    edges=EDGES,
    rounds=st.lists(
        st.tuples(st.dictionaries(st.integers(0, 23), SEEN, max_size=3), st.none() | SEEN),
        min_size=1,
        max_size=3,
    ),
)
def test_after_any_change_of_weights_network_and_tables_are_those_made_anew(edges, rounds):
    view = view_of(edges)
    for seen, out in rounds:
        fill(view.network)
        learned = LearnedStatistics(
            transitions={
                f"t{n:02}": TransitionStats(transition_id=f"t{n:02}", **observed(*each))
                for n, each in seen.items() if n < len(edges)
            },
            recoveries={} if out is None else {"out": RecoveryStats(recovery_id="out", **observed(*out))},
        )  # fmt: skip
        view = apply_statistics(view, learned)
        anew = TransitionNetwork.of(view.ways)
        assert list(view.network.ways) == list(anew.ways)
        fill(anew)
        for objective in OBJECTIVES:
            assert view.network.arcs(objective) == anew.arcs(objective)
        fill(view.network)
        assert rows_of(view.network) == rows_of(anew)


def rows_of(network: TransitionNetwork) -> dict[object, list[int]]:
    return {
        (objective, target): list(network.tables.row(objective, target, network.arcs(objective).into) or ())
        for objective in OBJECTIVES
        for target in range(len(network.screens))
    }


def test_a_change_drops_the_rows_it_may_touch_and_no_others():
    view = view_of([("a", "b", 100, 1.0), ("b", "c", 100, 1.0), ("a", "c", 900, 1.0), ("d", "e", 100, 1.0)])
    fill(view.network)
    full = view.network.tables.bytes
    one_row = full // (len(OBJECTIVES) * 5)
    slower = TransitionStats(transition_id="t02", **observed(20, 0, 950.0))
    # The long way from a to c is the best by `fewest` only.
    assert apply_statistics(view, LearnedStatistics({"t02": slower})).network.tables.bytes == full - one_row
    other = TransitionStats(transition_id="t03", **observed(20, 0, 110.0))
    # From d to e there is no other way: e's row goes, by every objective; the times decide between equals.
    assert (
        apply_statistics(view, LearnedStatistics({"t03": other})).network.tables.bytes == full - 4 * one_row
    )


def test_a_target_gets_its_row_when_it_is_asked_for_the_second_time():
    view = view_of([("a", "b", 100, 1.0), ("b", "c", 100, 1.0)])
    told = [find_paths(view, "a", "c")]
    assert view.network.tables.bytes == 0
    told += [find_paths(view, "a", "c") for _ in range(2)]
    assert view.network.tables.bytes == 3 * 4
    assert told[0] == told[1] == told[2]


def test_large_sites_have_no_tables(monkeypatch):
    monkeypatch.setattr(next_hop_tables, "MOST_SCREENS", 2)
    view = view_of([("a", "b", 100, 1.0), ("b", "c", 100, 1.0)])
    for _ in range(3):
        assert len(find_paths(view, "a", "c").paths) == 1
    assert view.network.tables.bytes == 0


def test_tables_of_a_site_that_learns_nothing_new_stay_the_same():
    known = NextHopTables({("fastest", 0): [1]})
    assert known.after("fastest", [], [], []) is known
