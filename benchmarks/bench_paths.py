"""Paths against networkx's searches in the same run: searched, read off a table, alternatives, filters."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from functools import cache
from typing import Any

import networkx as nx
import pytest

from benchmarks.timing import compared, median_ms
from kb_schema import KnowledgeBase, parse_document
from kb_schema.observed_outcomes import TransitionStats
from kb_schema.websites import Website
from mcp_server.descriptions import answer_text
from mcp_server.knowledge.compiled_view import (
    KnowledgeView,
    LearnedStatistics,
    apply_statistics,
    compile_view,
)
from mcp_server.paths.open_transitions import OpenTransitions, ResolvedExclusions
from mcp_server.paths.path_search import PathExclusions, find_best_path, find_paths
from mcp_server.transition_graph.next_hop_tables import MOST_SCREENS, NextHopTables, compute_row
from mcp_server.transition_graph.transition_network import TransitionNetwork

pytestmark = pytest.mark.bench

SIZES = {1_000: 5_000, 2_000: 10_000, 10_000: 50_000}
"""Screens -> transitions."""
PAIRS = 40


@cache
def view_of(screens: int) -> KnowledgeView:
    """A site whose every screen leads to the next one and to some others; one edge in twenty has a condition."""
    chance = random.Random(7)  # noqa: S311 - a benchmark repeats itself
    documents: list[dict[str, Any]] = [
        {"type": "screen", "screen_id": f"s{n}", "name": f"Screen {n}", "url_patterns": [f"^/s{n}$"]}
        for n in range(screens)
    ]
    for n in range(SIZES[screens]):
        source = n % screens
        target = (source + 1) % screens if n < screens else chance.randrange(screens)
        conditions = {"required": [{"type": "authenticated"}]} if chance.random() < 0.05 else {}
        documents.append({
            "type": "transition", "transition_id": f"t{n}", "_from": f"s{source}", "_to": f"s{target}",
            "triggered_by": "click", "cost": {"estimated_ms": chance.randrange(100, 3_000)},
            "reliability_score": chance.choice([0.8, 0.95, 1.0]), "conditions": conditions,
        })  # fmt: skip
    website = parse_document(
        {"type": "website", "website_id": "shop", "name": "Shop", "base_url": "https://shop.example"}
    )
    assert isinstance(website, Website)
    by_kind: dict[str, dict[str, Any]] = {"website": {"shop": website}}
    for data in documents:
        document = parse_document(data)
        by_kind.setdefault(document.kind, {})[document.local_id] = document
    return compile_view(KnowledgeBase(website=website, by_kind=by_kind), "1")


@cache
def networkx_of(screens: int) -> nx.DiGraph[str]:
    """The cheapest of parallel edges: networkx's searches for paths in order take no multigraph."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    for ways in view_of(screens).ways.values():
        for way in ways:
            weight = way.weights["balanced"][0]
            if not graph.has_edge(way.source, way.target) or weight < graph[way.source][way.target]["weight"]:
                graph.add_edge(way.source, way.target, weight=weight)
    return graph


def pairs_of(screens: int) -> list[tuple[str, str]]:
    return [(f"s{n}", f"s{(n * 37 + screens // 2) % screens}") for n in range(1, PAIRS + 1)]


def each(screens: int, ask: Callable[[str, str], object]) -> Callable[[], list[object]]:
    return lambda: [ask(a, b) for a, b in pairs_of(screens)]


@pytest.mark.parametrize("screens", SIZES)
def test_one_path(screens: int) -> None:
    view, graph = view_of(screens), networkx_of(screens)
    numbers, terrain = (
        view.network.numbers,
        OpenTransitions(view.network, "balanced", ResolvedExclusions(), {}),
    )

    def theirs(a: str, b: str) -> list[str]:
        return nx.bidirectional_dijkstra(graph, a, b)[1]

    for a, b in pairs_of(screens):
        (path,) = find_paths(view, a, b).paths
        assert [step.to_screen for step in path.steps] == theirs(a, b)[1:]
    what, name = f"{screens} screens, {SIZES[screens]} transitions", "networkx, bidirectional Dijkstra"

    def ways(a: str, b: str) -> object:
        return find_best_path(terrain, numbers[a], numbers[b])

    def answer(a: str, b: str) -> object:
        return find_paths(view, a, b)

    def written(a: str, b: str) -> object:
        found = find_paths(view, a, b)
        return found.to_json(), answer_text.render_paths(found)

    def forget() -> None:
        view.network.tables = NextHopTables()

    print()
    them = each(screens, theirs)
    compared(f"{what}: searched", each(screens, ways), name, them, each=PAIRS, before=forget)
    compared(f"{what}: searched, whole answer", each(screens, answer), name, them, each=PAIRS, before=forget)
    if screens <= MOST_SCREENS:
        for _ in range(2):
            each(screens, ways)()
        compared(f"{what}: read off a table", each(screens, ways), name, them, each=PAIRS)
        compared(f"{what}: read off, whole answer", each(screens, answer), name, them, each=PAIRS)
        compared(f"{what}: ... as JSON and text", each(screens, written), name, them, each=PAIRS)


@pytest.mark.parametrize("screens", [1_000, 2_000])
def test_making_tables(screens: int) -> None:
    network = view_of(screens).network
    arcs = network.arcs("balanced")
    one = median_ms(lambda: compute_row(7, arcs.into), 20)
    tables = NextHopTables()
    for target in (*range(screens), *range(screens)):
        tables.row("balanced", target, arcs.into)
    print()
    print(
        f"{screens} screens: a target's row is made in {one:.1f} ms; all rows, {one * screens / 1000:.1f} s,"
    )
    print(f"  take {tables.bytes / 1e6:.1f} MB an objective; only targets asked for twice get theirs")


@pytest.mark.parametrize("screens", [1_000, 10_000])
def test_five_paths(screens: int) -> None:
    view, graph = view_of(screens), networkx_of(screens)
    few = pairs_of(screens)[:8]

    def ours() -> list[object]:
        return [find_paths(view, a, b, k=5) for a, b in few]

    def theirs() -> list[object]:
        return [
            list(itertools.islice(nx.shortest_simple_paths(graph, a, b, weight="weight"), 5)) for a, b in few
        ]

    print()
    what = f"{screens} screens, {SIZES[screens]} transitions: five paths, whole answer"
    compared(what, ours, "networkx, shortest_simple_paths", theirs, rounds=5, each=len(few))


@pytest.mark.parametrize("screens", [1_000, 10_000])
def test_what_closes_the_best_path_is_gone_around(screens: int) -> None:
    view, graph = view_of(screens), networkx_of(screens)
    best = {(a, b): find_paths(view, a, b).paths[0].steps for a, b in pairs_of(screens)}
    midst = {pair: steps[1].to_screen for pair, steps in best.items() if len(steps) > 2}
    bare = {out: graph.copy() for out in {*midst.values()}} if screens <= MOST_SCREENS else {}
    for out, own in bare.items():
        own.remove_node(out)
    shut = graph.copy()
    shut.remove_edges_from(
        (way.source, way.target) for ways in view.ways.values() for way in ways if way.required
    )
    print()
    if bare:
        compared(
            f"{screens} screens: avoiding a screen of the best path",
            lambda: [
                find_paths(view, a, b, avoid=PathExclusions(screens=(out,))) for (a, b), out in midst.items()
            ],
            "networkx, the screen taken out",
            lambda: [nx.bidirectional_dijkstra(bare[out], a, b) for (a, b), out in midst.items()],
            each=len(midst),
        )
    else:
        avoided = tuple(sorted({*midst.values()} - {screen for pair in midst for screen in pair}))
        graph = graph.copy()
        graph.remove_nodes_from(avoided)
        compared(
            f"{screens} screens: avoiding {len(avoided)} screens of best paths",
            lambda: [find_paths(view, a, b, avoid=PathExclusions(screens=avoided)) for a, b in midst],
            "networkx, the screens taken out",
            lambda: [nx.bidirectional_dijkstra(graph, a, b) for a, b in midst],
            each=len(midst),
        )
    compared(
        f"{screens} screens: a fact that closes one edge in twenty",
        each(screens, lambda a, b: find_paths(view, a, b, facts={"authenticated": False})),
        "networkx, those edges taken out",
        each(screens, lambda a, b: nx.bidirectional_dijkstra(shut, a, b)),
        each=PAIRS,
    )


@pytest.mark.parametrize("screens", [1_000, 10_000])
def test_weights_that_change(screens: int) -> None:
    view = view_of(screens)
    view.network.arcs("balanced")
    for _ in range(3):
        each(screens, lambda a, b: find_paths(view, a, b))()
    stats = TransitionStats(transition_id="t5", succeeded=2, failed=3, seen=5, timed=0)
    learned = LearnedStatistics(transitions={"t5": stats})
    after = apply_statistics(view, learned)
    print()
    compared(
        f"{screens} screens: an outcome changes the weights", lambda: apply_statistics(view, learned),
        "the network made anew", lambda: TransitionNetwork.of(view.ways).arcs("balanced"), rounds=5,
    )  # fmt: skip
    if screens <= MOST_SCREENS:
        print(f"  tables: {after.network.tables.bytes} of {view.network.tables.bytes} bytes stay")
