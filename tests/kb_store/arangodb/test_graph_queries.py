"""The server's own answers are the desk's: paths, recovery, reach, over whole graphs.

Against the loopback server this holds the adapter and the meaning given to each AQL text there;
the same tests join on a real server where `PERIPLUS_ARANGODB_URL` names one, and only that holds
the AQL itself.
"""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kb_schema import SourcedDocument, assemble, parse_document
from kb_store.arangodb import ArangoQueries
from kb_store.graph_queries import NoSuchVertex, ReachableVertex, ServerPathExclusions
from kb_store.knowledge_records import EdgeEnd, edge_records, vertex_records
from mcp_server.knowledge.compiled_view import compile_view
from mcp_server.paths.path_search import PathExclusions, find_paths
from mcp_server.paths.reachability import ReachQuestion, count_steps
from mcp_server.paths.recovery_options import find_recovery_options

OBJECTIVES = ("fewest", "fastest", "reliable", "balanced")
_generations = itertools.count(1)


async def stored(graph, knowledge):
    generation = next(_generations)
    await graph.put_vertices(knowledge.website.website_id, generation, list(vertex_records(knowledge)))
    await graph.put_edges(knowledge.website.website_id, generation, list(edge_records(knowledge)))
    return generation


# -- random multigraphs

SCREENS = st.integers(0, 5)
NUMBERS = st.sampled_from([0.0, 0.005, 0.3, 0.5, 0.9, 1.0])
EDGES = st.lists(
    st.tuples(SCREENS, SCREENS, st.sampled_from(["click", "goto", "hover"]),
              st.sampled_from([0, 100, 250.5, 1_000, 9_999]), NUMBERS),
    max_size=16,
)  # fmt: skip
GROUPS = st.lists(
    st.tuples(st.sampled_from(["high", "medium", "low", None]), st.sets(SCREENS, max_size=4)), max_size=3
)
RECOVERIES = st.lists(
    st.tuples(st.integers(0, 2), SCREENS, st.sampled_from([None, 1, 2, 5]), st.sampled_from([0, 50, 700]), NUMBERS),
    max_size=5,
)  # fmt: skip


def knowledge(edges, groups=(), recoveries=()):
    screens = sorted(
        {0, 1, *(end for edge in edges for end in edge[:2])} | {s for _, own in groups for s in own}
    )
    documents = [
        {"type": "website", "website_id": "shop", "name": "Shop", "base_url": "https://shop.example"},
        *(
            {"type": "screen", "screen_id": f"s{n}", "name": "S", "url_patterns": [f"^/s{n}$"]}
            for n in screens
        ),
    ]
    for number, (source, target, action, ms, reliability) in enumerate(edges):
        call = {"click": {"target": "#go"}, "goto": {"url": "/"}, "hover": {"target": "#go"}}[action]
        documents.append({
            "type": "transition", "transition_id": f"t{number}", "_from": f"screen/s{source}",
            "_to": f"screen/s{target}", "triggered_by": {"action_type": action, **call},
            "cost": {"estimated_ms": ms}, "reliability_score": reliability,
        })  # fmt: skip
    for number, (priority, own) in enumerate(groups):
        document = {"type": "screen_group", "group_id": f"g{number}", "name": "G"}
        documents.append(document | ({"recovery_priority": priority} if priority else {}))
        documents += [
            {"type": "belongs_to", "_from": f"screen/s{screen}", "_to": f"screen_group/g{number}"}
            for screen in sorted(own)
        ]
    for number, (group, target, priority, ms, reliability) in enumerate(recoveries):
        if group < len(groups) and target in screens:
            document = {
                "type": "global_recovery", "transition_id": f"r{number}", "_from": f"groups/g{group}",
                "_to": f"screen/s{target}", "triggered_by": {"action_type": "navigate", "url": f"/{number}"},
                "cost": {"estimated_ms": ms}, "reliability_score": reliability,
            }  # fmt: skip
            documents.append(document | ({"recovery_priority": priority} if priority else {}))
    return assemble([SourcedDocument(parse_document(document)) for document in documents])[0]


def primary_weights(view, paths, objective):
    ways = {way.transition_id: way for own in view.ways.values() for way in own}
    return [sum(ways[step.transition_id].weights[objective][0] for step in path.steps) for path in paths]


def all_loopless(view, start, goal, objective):
    """Brute force: the weight of every path without a loop, by its transitions."""
    found = {}
    waiting = [((start,), ())]
    while waiting:
        screens, ways = waiting.pop()
        if screens[-1] == goal:
            found[tuple(way.transition_id for way in ways)] = sum(way.weights[objective][0] for way in ways)
            continue
        waiting += [
            ((*screens, way.target), (*ways, way))
            for way in view.ways.get(screens[-1], ())
            if way.target not in screens
        ]
    return found


@settings(
    deadline=None, max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(edges=EDGES, groups=GROUPS, recoveries=RECOVERIES, k=st.integers(1, 6))
async def test_the_server_finds_paths_of_the_weights_the_desk_finds(graph, edges, groups, recoveries, k):
    known = knowledge(edges, groups, recoveries)
    generation, view = await stored(graph, known), compile_view(known, "1")
    queries = ArangoQueries(graph.connection)
    for objective in OBJECTIVES:
        found = await queries.shortest_paths("shop", generation, "s0", "s1", objective, k)
        possible = all_loopless(view, "s0", "s1", objective)
        desk = find_paths(view, "s0", "s1", objective=objective, k=k).paths
        assert [path.weight for path in found] == pytest.approx(
            primary_weights(view, desk, objective), rel=1e-9
        )
        assert [path.weight for path in found] == pytest.approx(sorted(possible.values())[:k], rel=1e-9)
        assert len({path.transitions for path in found}) == len(found)
        for path in found:
            assert possible[path.transitions] == pytest.approx(path.weight)
            assert (path.screens[0], path.screens[-1]) == ("s0", "s1")
            assert len(path.screens) == len(path.transitions) + 1
            used = [known.transitions[name] for name in path.transitions]
            assert path.expected_ms == pytest.approx(sum(edge.expected_ms for edge in used))
            assert path.reliability == pytest.approx(math.prod(edge.reliability for edge in used))
    await graph.drop("shop", [generation])


@settings(
    deadline=None, max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(
    edges=EDGES, k=st.integers(1, 4), hops=st.integers(1, 5),
    screens=st.sets(st.integers(0, 5), max_size=2), actions=st.sets(st.sampled_from(["click", "goto"])),
    transitions=st.sets(st.integers(0, 15), max_size=3),
)  # fmt: skip
async def test_filtered_paths_avoid_what_is_named_and_are_the_best_within_the_hops(
    graph, edges, k, hops, screens, actions, transitions
):
    known = knowledge(edges)
    generation, view = await stored(graph, known), compile_view(known, "1")
    screens = {f"s{n}" for n in screens} & known.screens.keys()
    transitions = {f"t{n}" for n in transitions} & known.transitions.keys()
    canonical = {
        known.transitions[f"t{n}"].triggered_by.canonical_type: edge[2] for n, edge in enumerate(edges)
    }
    avoided = {kind for kind, name in canonical.items() if name in actions}
    queries = ArangoQueries(graph.connection)
    for objective in OBJECTIVES:
        found = await queries.filtered_paths(
            "shop", generation, "s0", "s1", objective, k=k, hops=hops,
            avoid=ServerPathExclusions(screens=screens, transitions=transitions, actions=avoided),
        )  # fmt: skip
        possible = {
            names: weight
            for names, weight in all_loopless(view, "s0", "s1", objective).items()
            if len(names) <= hops
            and not transitions & {*names}
            and not avoided & {known.transitions[name].triggered_by.canonical_type for name in names}
            and not screens & {known.transitions[name].to_screen for name in names}
        }
        assert [path.weight for path in found] == pytest.approx(sorted(possible.values())[:k], rel=1e-9)
        assert all(path.transitions in possible for path in found)
        if hops == 5:  # no loopless path over six screens is longer
            avoid = PathExclusions(
                screens=tuple(screens), transitions=tuple(transitions), actions=tuple(avoided)
            )
            desk = find_paths(view, "s0", "s1", objective=objective, k=k, avoid=avoid).paths
            assert [path.weight for path in found] == pytest.approx(
                primary_weights(view, desk, objective), rel=1e-9
            )
    await graph.drop("shop", [generation])


@settings(
    deadline=None, max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(groups=GROUPS, recoveries=RECOVERIES)
async def test_recovery_is_ordered_over_all_groups_as_the_desk_orders_it(graph, groups, recoveries):
    known = knowledge([(n, 0, "click", 1, 1.0) for n in range(6)], groups, recoveries)
    generation, view = await stored(graph, known), compile_view(known, "1")
    for screen in known.screens:
        found = await ArangoQueries(graph.connection).recovery_paths("shop", generation, screen)
        desk = [each for each in find_recovery_options(view, screen_id=screen) if each.group_id is not None]
        # The website of these tests has no default recovery, and no two recovery edges do the same.
        assert [(w.recovery_id, w.group_id, w.to_screen, w.priority) for w in found] == [
            (each.recovery_id, each.group_id, each.to_screen, each.priority) for each in desk
        ]
        assert [(w.reliability, w.expected_ms) for w in found] == [
            (pytest.approx(each.reliability), pytest.approx(each.expected_ms)) for each in desk
        ]
    await graph.drop("shop", [generation])


@settings(
    deadline=None, max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(edges=EDGES, hops=st.integers(1, 5), direction=st.sampled_from(["to", "from"]))
async def test_the_reach_of_a_screen_by_any_or_one_action_is_that_of_a_walk_in_memory(
    graph, edges, hops, direction
):
    known = knowledge(edges)
    generation, view = await stored(graph, known), compile_view(known, "1")
    for kind in {None, *(edge.triggered_by.canonical_type for edge in known.transitions.values())}:
        found = await ArangoQueries(graph.connection).reachable_screens(
            "shop", generation, "s0", inbound=direction == "to", action_type=kind, hops=hops
        )
        steps = count_steps(view, ReachQuestion("s0", direction, kind, hops))
        assert found == tuple(
            ReachableVertex(name, depth) for name, depth in sorted(steps.items(), key=lambda each: each[::-1])
        )
    await graph.drop("shop", [generation])


# -- single questions


async def test_parallel_transitions_are_paths_of_their_own(graph):
    known = knowledge([(0, 1, "click", 100, 1.0), (0, 1, "goto", 200, 1.0), (0, 1, "click", 300, 1.0)])
    generation = await stored(graph, known)
    found = await ArangoQueries(graph.connection).shortest_paths("shop", generation, "s0", "s1", "fastest", 5)
    assert [path.transitions for path in found] == [("t0",), ("t1",), ("t2",)]


async def test_from_a_screen_to_itself_there_is_one_path_without_a_step(graph):
    generation = await stored(
        graph, knowledge([(0, 0, "click", 1, 1.0), (0, 1, "click", 1, 1.0), (1, 0, "click", 1, 1.0)])
    )
    queries = ArangoQueries(graph.connection)
    for ask in (queries.shortest_paths, queries.filtered_paths):
        (path,) = await ask("shop", generation, "s0", "s0", "balanced", k=3)
        assert (path.screens, path.transitions, path.reliability) == (("s0",), (), 1.0)


async def test_recovery_may_lead_to_the_screen_one_is_on(graph):
    known = knowledge([(0, 1, "click", 1, 1.0)], [("low", {0})], [(0, 1, None, 5, 0.5)])
    (edge,) = (record for record in edge_records(known) if record.kind == "global_recovery")
    generation = await stored(graph, known)
    body = {**edge.body, "_to": "screen/current", "recovery_priority": 1}
    here = edge._replace(local_id="stay", target=EdgeEnd("screen", "current"), body=body)
    await graph.put_edges("shop", generation, [here])
    found = await ArangoQueries(graph.connection).recovery_paths("shop", generation, "s0")
    assert [(way.recovery_id, way.to_screen, way.priority) for way in found] == [
        ("stay", "current", 1), ("r0", "s1", 4),
    ]  # fmt: skip


async def test_a_screen_or_task_that_is_not_there_is_an_error_and_not_an_empty_answer(graph):
    generation = await stored(graph, knowledge([(0, 1, "click", 1, 1.0)]))
    queries = ArangoQueries(graph.connection)
    with pytest.raises(NoSuchVertex, match="no screen 'nowhere'"):
        await queries.shortest_paths("shop", generation, "s0", "nowhere", "fewest")
    with pytest.raises(NoSuchVertex):
        await queries.shortest_paths("shop", generation + 10_000, "s0", "s1", "fewest")
    with pytest.raises(NoSuchVertex):
        await queries.recovery_paths("other", generation, "s0")
    with pytest.raises(NoSuchVertex, match="no screen 'nothing'"):
        await queries.reachable_screens("shop", generation, "nothing", inbound=True)


async def test_two_generations_are_never_joined_into_one_path(graph):
    half = (0, 2, "click", 1, 1.0)
    here = await stored(graph, knowledge([half]))
    await stored(graph, knowledge([half, (2, 1, "click", 1, 1.0)]))
    assert await ArangoQueries(graph.connection).shortest_paths("shop", here, "s0", "s1", "fewest") == ()
