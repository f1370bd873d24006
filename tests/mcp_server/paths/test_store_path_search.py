"""Paths asked of ArangoDB are those of a plain enumeration, and its troubles are told as they are.

The property joins on a real server where `PERIPLUS_ARANGODB_URL` names one; only that holds the AQL.
"""

from __future__ import annotations

import itertools
from contextlib import asynccontextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp import Client

from kb_schema import SourcedDocument, assemble, parse_document
from kb_store import load_knowledge, open_stores
from kb_store.arangodb import ArangoQueries
from kb_store.graph_queries import MOST_HOPS
from kb_store.knowledge_records import edge_records, vertex_records
from mcp_server.descriptions.answer_text import render_paths as paths_as_text
from mcp_server.errors import UnknownName
from mcp_server.knowledge.compiled_view import compile_view
from mcp_server.knowledge.store_source import StoreSource
from mcp_server.paths import store_path_search
from mcp_server.paths.path_engines import PathEngines
from mcp_server.paths.path_search import PathExclusions, find_paths
from mcp_server.paths.store_path_search import find_paths_in_store
from mcp_server.server import create_server
from tests.mcp_server import pantry
from tests.mcp_server.paths.random_multigraphs import (
    AVOID,
    FACTS,
    OBJECTIVES,
    enumerated,
    knowledge,
    that_is_there,
)
from tests.support.arango_loopback import loopback
from tests.support.arango_stores import any_server

_generations = itertools.count(1)


async def stored(graph, known):
    """The knowledge in the graph, and the view of a server that asks for its paths there."""
    generation = next(_generations)
    await graph.put_vertices(known.website.website_id, generation, list(vertex_records(known)))
    await graph.put_edges(known.website.website_id, generation, list(edge_records(known)))
    return compile_view(known, str(generation), roads=False)


def ids(answer) -> list[tuple[str, ...]]:
    return [tuple(step.transition_id for step in path.steps) for path in answer.paths]


@settings(
    deadline=None, max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(known=knowledge(), k=st.integers(1, 4), facts=FACTS, avoid=AVOID, look=st.sampled_from([1, 5]))
async def test_the_store_answers_what_a_plain_enumeration_finds(graph, known, k, facts, avoid, look):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store_path_search, "FIRST_CANDIDATES", look)
        await answered_as_enumerated(graph, known, k, facts, avoid)


async def answered_as_enumerated(graph, known, k, facts, avoid):
    compiled = compile_view(known, "1")
    avoid = that_is_there(avoid, compiled)
    view = await stored(graph, known)
    for objective in OBJECTIVES:
        expected = enumerated(compiled, objective, facts, avoid, loopless=True)
        possible = {ways: cost for cost, ways in expected}
        found = await find_paths_in_store(
            view,
            ArangoQueries(graph.connection),
            "a",
            "e",
            objective=objective,
            k=k,
            avoid=avoid,
            facts=facts,
        )
        costs = [possible[ways] for ways in ids(found)]  # every one is a path there is
        ways = {way.transition_id: way for own in compiled.ways.values() for way in own}
        primary = [sum(ways[name].weights[objective][0] for name in path) for path in ids(found)]
        best = sorted(sum(ways[name].weights[objective][0] for name in path) for path in possible)
        assert primary == pytest.approx(best[:k])
        assert costs == sorted(costs)
        assert len(set(ids(found))) == len(found.paths)
        in_memory = told_in_memory(compiled, objective, avoid, facts)
        for one, path in zip(ids(found), found.paths, strict=True):
            if one in in_memory:
                assert path.model_copy(update={"against_best": None}) == in_memory[one]
        assert bool(found.paths) or found.hint
    await graph.drop("g", [int(view.generation)])


def told_in_memory(view, objective, avoid, facts):
    """Paths by their transitions, as the search in memory tells them: steps, numbers, assumptions."""
    answer = find_paths(view, "a", "e", objective=objective, k=20, avoid=avoid, facts=facts)
    paths = [path.model_copy(update={"against_best": None}) for path in answer.paths]
    return dict(zip(ids(answer), paths, strict=True))


# -- single questions


@pytest.fixture(scope="module")
async def folder(graph):
    return await stored(graph, pantry.knowledge())


@pytest.mark.parametrize(
    "avoid", [PathExclusions(), PathExclusions(actions=("goto",)), PathExclusions(transitions=("open_new",))]
)
@pytest.mark.parametrize("facts", [None, {"authenticated": True}])
async def test_every_pair_of_screens_is_answered_as_the_search_in_memory_does(
    graph, folder, view, avoid, facts
):
    for start, goal in itertools.product(view.knowledge.screens, repeat=2):
        asked = {"k": 3, "avoid": avoid, "facts": facts}
        found = await find_paths_in_store(folder, ArangoQueries(graph.connection), start, goal, **asked)
        assert found.paths == find_paths(view, start, goal, **asked).paths


async def test_no_way_says_what_is_closed_on_the_ways_there_are(graph, folder):
    barred = PathExclusions(transitions=("open_new", "open_new_by_url"))
    found = await find_paths_in_store(
        folder, ArangoQueries(graph.connection), "shelf", "jar_new", avoid=barred
    )
    assert found.paths == ()
    assert {each.transition_id for each in found.obstacles} == {"open_new", "open_new_by_url"}
    assert found.nearest == "shelf"
    away = await find_paths_in_store(folder, ArangoQueries(graph.connection), "help", "shelf")
    assert "directly" in away.hint


async def test_a_misspelt_name_to_avoid_is_refused_before_the_store_is_asked(folder):
    with pytest.raises(UnknownName, match="did you mean"):
        await find_paths_in_store(folder, None, "shelf", "jar_new", avoid=PathExclusions(screens=("shelv",)))


CLOSED = [
    ({"conditions": {"required": [{"type": "authenticated"}]}}, {"facts": {"authenticated": False}}),
    (
        {"effects": [{"type": "deletes_entity", "entity_type": "jar"}]},
        {"avoid": PathExclusions(effects=("deletes_entity",))},
    ),
    ({}, {"avoid": PathExclusions(transitions=tuple(f"quick_{n}" for n in range(8)))}),
    ({}, {"avoid": PathExclusions(actions=("refresh",))}),
]


@pytest.mark.parametrize(("says", "asked"), CLOSED)
async def test_the_store_goes_around_more_closed_transitions_than_were_looked_at(graph, says, asked):
    documents = [
        {"type": "website", "website_id": "wide", "name": "Wide", "base_url": "https://wide.example"},
        *({"type": "screen", "screen_id": s, "name": s, "url_patterns": [f"^/{s}$"]} for s in "ab"),
        *(
            {"type": "transition", "transition_id": f"quick_{n}", "_from": "a", "_to": "b",
             "triggered_by": "refresh", "cost": {"estimated_ms": n}, **says}
            for n in range(8)
        ),
        {"type": "transition", "transition_id": "slow", "_from": "a", "_to": "b",
         "triggered_by": "navigate_back", "cost": {"estimated_ms": 9_000}},
    ]  # fmt: skip
    known = assemble([SourcedDocument(parse_document(each)) for each in documents])[0]
    view = await stored(graph, known)
    found = await find_paths_in_store(view, ArangoQueries(graph.connection), "a", "b", **asked)
    assert ids(found) == [("slow",)]


async def test_a_way_around_what_is_closed_says_how_far_the_store_has_looked(graph):
    """A chain of 12 steps beside a short cut that is to be avoided: farther than a traversal looks."""
    names = [f"n{number:02}" for number in range(13)]
    documents = [
        {"type": "website", "website_id": "far", "name": "Far", "base_url": "https://far.example"},
        *({"type": "screen", "screen_id": s, "name": s, "url_patterns": [f"^/{s}$"]} for s in names),
        *(
            {"type": "transition", "transition_id": f"to_{b}", "_from": a, "_to": b, "triggered_by": "refresh"}
            for a, b in itertools.pairwise(names)
        ),
        *(
            {"type": "transition", "transition_id": f"cut_{n}", "_from": names[0], "_to": names[-1],
             "triggered_by": "navigate_back", "cost": {"estimated_ms": n}}
            for n in range(6)
        ),
    ]  # fmt: skip
    known = assemble([SourcedDocument(parse_document(each)) for each in documents])[0]
    view, queries = await stored(graph, known), ArangoQueries(graph.connection)
    (whole,) = (await find_paths_in_store(view, queries, names[0], names[-1], objective="reliable")).paths
    assert len(whole.steps) == 1
    around = await find_paths_in_store(
        view, queries, names[0], names[-1], avoid=PathExclusions(actions=("navigate_back",))
    )
    assert around.paths == ()
    assert str(MOST_HOPS) in around.hint
    assert around.hint in paths_as_text(around)
    near = await find_paths_in_store(
        view, queries, names[4], names[-1], avoid=PathExclusions(actions=("navigate_back",))
    )
    assert len(near.paths[0].steps) == 8


# -- a server that asks the store ------------------------------------------------------------------


class Asked:
    """Passes questions on, and does something before the answer of the first."""

    def __init__(self, queries, meanwhile):
        self._queries, self._meanwhile = queries, meanwhile

    async def shortest_paths(self, *asked):
        found = await self._queries.shortest_paths(*asked)
        meanwhile, self._meanwhile = self._meanwhile, None
        if meanwhile is not None:
            await meanwhile()
        return found


@asynccontextmanager
async def server_context(folder, url, *, most_compiled=0, mode="auto", wrapped=lambda stores: stores.queries):
    """A client of a server whose edges are in ArangoDB, and its stores."""
    async with open_stores(folder, arangodb_url=url) as stores:
        await load_knowledge(stores.documents, stores.graph, pantry.knowledge())
        engines = PathEngines(mode, most_compiled, wrapped(stores))
        source = StoreSource(stores.documents, stores.graph)
        async with Client(create_server(source, learned=stores.learned, engines=engines)) as client:
            yield client, stores


async def ask(client, tool="find_path", **arguments):
    return await client.call_tool(tool, {"website_id": "pantry", **arguments})


TO_JAR = {"from_screen": "shelf", "to_screen": "jar_new"}


@pytest.fixture(params=["loopback", pytest.param("real", marks=pytest.mark.arangodb)])
def url(request):
    with any_server(request.param) as found:
        yield found


async def test_a_website_beyond_the_limit_is_answered_by_the_store_as_by_memory(tmp_path, url):
    async with server_context(tmp_path, url) as (asking, stores):
        source = StoreSource(stores.documents, stores.graph)
        async with Client(create_server(source)) as remembering:
            for tool, asked in (
                ("find_path", {**TO_JAR, "k": 3}),
                ("find_path", {**TO_JAR, "avoid": {"actions": ["goto"]}}),
                ("find_path", {"from_screen": "shelf", "to_screen": "jar_edit"}),
                ("find_tasks_for_screen", {"screen_id": "shelf", "reach": True}),
                ("find_tasks_for_screen", {"screen_id": "shelf"}),
                ("get_available_actions", {"screen_id": "shelf"}),
            ):
                here, there = await ask(remembering, tool, **asked), await ask(asking, tool, **asked)
                assert there.structured_content == here.structured_content
                assert there.content[0].text == here.content[0].text


async def test_what_was_observed_changes_what_the_store_prefers(tmp_path, url):
    async with server_context(tmp_path, url) as (client, _):
        before = (await ask(client, **TO_JAR)).structured_content["paths"][0]
        for number in range(40):
            report = {"outcome_id": f"o{number}", "transition_id": "open_new_by_url", "succeeded": False}
            await ask(client, "record_outcome", outcome=report)
        after = (await ask(client, **TO_JAR)).structured_content["paths"][0]
        assert [path["steps"][0]["transition_id"] for path in (before, after)] == [
            "open_new_by_url", "open_new",
        ]  # fmt: skip


async def test_an_answer_is_of_one_generation_also_where_another_is_loaded_meanwhile(tmp_path, url):
    def loading(stores):
        async def load_without_the_best():
            known = pantry.knowledge()
            kinds = {**known.by_kind, "transition": dict(known.by_kind["transition"])}
            del kinds["transition"]["open_new_by_url"]
            documents = [SourcedDocument(each) for kind in kinds.values() for each in kind.values()]
            await load_knowledge(stores.documents, stores.graph, assemble(documents)[0])

        return Asked(stores.queries, load_without_the_best)

    async with server_context(tmp_path, url, wrapped=loading) as (client, _):
        answer = (await ask(client, **TO_JAR)).structured_content
        assert [path["steps"][0]["transition_id"] for path in answer["paths"]] == ["open_new"]


async def test_without_its_store_a_large_website_says_what_to_do_and_recovers_by_itself(tmp_path):
    with loopback() as server:
        async with server_context(tmp_path, server.url()) as (client, _):
            assert not (await ask(client, **TO_JAR)).is_error
            server.fail_where("lost before", lambda _: True, times=10_000)
            refused = await ask(client, **TO_JAR)
            assert refused.is_error
            assert refused.structured_content["error"] == "source_down"
            for words in ("127.0.0.1", "start ArangoDB", "--paths memory"):
                assert words in refused.content[0].text
            assert not (await ask(client, "get_screen", screen_id="shelf")).is_error
            assert (await ask(client, "find_tasks_for_screen", screen_id="shelf", reach=True)).is_error
            server.heal()
            assert not (await ask(client, **TO_JAR)).is_error


async def test_without_its_store_a_website_that_is_compiled_too_is_searched_in_memory_and_says_so(tmp_path):
    with loopback() as server:
        async with server_context(tmp_path, server.url(), mode="store", most_compiled=1_000) as (client, _):
            before = await ask(client, **TO_JAR)
            server.fail_where("lost before", lambda _: True, times=10_000)
            after = await ask(client, **TO_JAR)
            assert after.structured_content == before.structured_content
            assert "searched in memory: the store at" in after.content[0].text
            assert "searched in memory" not in before.content[0].text


def test_transitions_are_compiled_unless_they_are_too_many_and_the_store_can_be_asked():
    known, offered = pantry.knowledge(), object()
    for mode, most, queries, compiled, asked in (
        ("auto", 1_000, offered, True, None),
        ("auto", 1, offered, False, offered),
        ("auto", 1, None, True, None),
        ("memory", 1, offered, True, None),
        ("store", 1_000, offered, True, offered),
        ("store", 1, offered, False, offered),
    ):
        engines = PathEngines(mode, most, queries)
        view = engines.compiled(known, "1")
        assert (view.roads is not None, engines.asked(view)) == (compiled, asked)
        if not compiled:
            with pytest.raises(LookupError, match="ask the store"):
                _ = view.network
