"""The desk learns: outcomes over MCP, and answers weighed by them."""

from __future__ import annotations

import asyncio
import uuid
from datetime import timedelta

import pytest
from mcp import Client

from kb_schema.observed_outcomes import Outcome, ReportedOutcome
from kb_store import load_knowledge, open_stores
from kb_store.errors import StoreUnavailable
from kb_store.learned.learned_numbers import LearnedSubject, utc_now
from kb_store.learned.memory_learned_store import MemoryLearnedStore
from mcp_server.descriptions.site_map import build_site_map
from mcp_server.errors import UnknownName
from mcp_server.knowledge import compiled_view
from mcp_server.knowledge.compiled_view import NO_STATISTICS, apply_statistics, compile_view
from mcp_server.knowledge.knowledge_sources import MemorySource
from mcp_server.knowledge.learned_weights import ASK_EVERY_S, LearnedWeights
from mcp_server.knowledge.store_source import StoreSource
from mcp_server.paths.path_search import find_paths
from mcp_server.paths.recovery_options import find_recovery_options
from mcp_server.server import create_server
from tests.mcp_server import pantry


class Clock:
    """Goes only where it is pushed."""

    def __init__(self):
        self.now = 1_000.0

    def __call__(self):
        return self.now


class UnavailableLearnedStore(MemoryLearnedStore):
    """Out of reach when told so; counts questions."""

    def __init__(self):
        super().__init__()
        self.down = False
        self.reads = self.rows = 0

    async def revision(self, website_id):
        if self.down:
            raise StoreUnavailable("nowhere", "gone", fix="start it")
        return await super().revision(website_id)

    async def read(self, website_id, since=None):
        self.reads += 1
        found = await super().read(website_id, since)
        self.rows += len(found.transitions) + len(found.recoveries)
        return found

    async def record(self, outcomes):
        if self.down:
            raise StoreUnavailable("nowhere", "gone", fix="start it")
        return await super().record(outcomes)


def reports(count, **more):
    said = {"succeeded": True, "duration_ms": 100, **more}
    return [ReportedOutcome(outcome_id=uuid.uuid4().hex, **said) for _ in range(count)]


async def learned(view, *reported, store=None):
    learning = LearnedWeights(store)
    for each in reported:
        await learning.record(view, each)
    return await learning.weighed(view)


def steps(view, **more):
    found = find_paths(view, "shelf", "jar_new", **more)
    return [step.transition_id for step in found.paths[0].steps]


async def test_a_path_that_keeps_failing_gives_way_to_another(view):
    assert steps(view) == ["open_new_by_url"]
    after = await learned(view, *reports(20, transition_id="open_new_by_url", succeeded=False))
    assert steps(after) == ["open_new"]
    assert steps(view) == ["open_new_by_url"]


async def test_what_is_asked_of_the_weighed_view_alone_changes_no_answer_of_the_other():
    view = compile_view(pantry.knowledge(), "fresh")
    after = await learned(view, *reports(20, transition_id="open_new_by_url", succeeded=False))
    assert [steps(after) for _ in range(3)] == [["open_new"]] * 3
    assert [steps(view) for _ in range(3)] == [["open_new_by_url"]] * 3


async def test_answers_tell_the_posterior_and_the_observed_duration(view):
    after = await learned(view, *reports(10, transition_id="open_new", duration_ms=240))
    (path,) = find_paths(after, "shelf", "jar_new", objective="fastest").paths
    assert path.steps[0].transition_id == "open_new"
    assert path.steps[0].expected_ms == 240
    assert path.reliability == pytest.approx((0.5 * 10 + 10) / 20)
    on_map = {edge.transition_id: edge.reliability for edge in build_site_map(after).transitions}
    assert on_map["open_new"] == pytest.approx(0.75)
    assert on_map["open_new_by_url"] == 1.0


async def test_the_observed_duration_counts_from_the_fifth_observation_on(view):
    def told(of):
        return find_paths(of, "shelf", "jar_new", objective="fastest").paths[0].expected_ms

    assert told(await learned(view, *reports(4, transition_id="open_new", duration_ms=200))) == 500
    assert told(await learned(view, *reports(5, transition_id="open_new", duration_ms=200))) == 200


async def test_a_way_out_tells_its_posterior_and_keeps_its_authored_priority(view):
    facts = {"authenticated": True}
    before = find_recovery_options(view, screen_id="jar_edit", facts=facts)
    failing = reports(30, recovery_id="look_again", succeeded=False)
    after = find_recovery_options(await learned(view, *failing), screen_id="jar_edit", facts=facts)
    assert [o.recovery_id for o in after] == [o.recovery_id for o in before] == ["look_again", "home_again"]
    assert (before[0].reliability, after[0].reliability) == (0.8, pytest.approx(0.2))


TWO_WAYS_OUT = tuple(
    {"type": "global_recovery", "transition_id": name, "_from": "screen_group/forms", "_to": "screen/shelf",
     "triggered_by": {"action_type": "navigate", "url": f"/{name}"}, "recovery_priority": 1,
     "reliability_score": 0.9, "cost": {"estimated_ms": 700}}
    for name in ("out_a", "out_b")
)  # fmt: skip


async def test_of_two_like_ways_out_the_one_that_worked_comes_first_and_weighs_the_paths():
    view = compile_view(pantry.knowledge(also=TWO_WAYS_OUT), "1")
    assert [o.recovery_id for o in find_recovery_options(view, screen_id="jar_new")][:2] == ["out_a", "out_b"]
    after = await learned(
        view,
        *reports(5, recovery_id="out_a", succeeded=False),
        *reports(9, recovery_id="out_b", duration_ms=90),
    )
    assert [o.recovery_id for o in find_recovery_options(after, screen_id="jar_new")][:3] == [
        "out_b",
        "look_again",
        "out_a",
    ]
    (before,), (now,) = view.ways["jar_new"], after.ways["jar_new"]
    assert now.expected_ms == before.expected_ms
    assert now.weights["balanced"] < before.weights["balanced"]  # a failure costs less to recover from


async def test_new_numbers_compile_nothing_and_touch_only_what_was_observed(view, monkeypatch):
    monkeypatch.setattr(compiled_view, "compile_signature", None)
    assert all(view.ways.values())  # made now: what is made stays
    after = await learned(view, *reports(3, transition_id="open_new"))
    assert after.signatures is view.signatures
    assert after.ways["sign_in_page"] is view.ways["sign_in_page"]
    assert after.ways["shelf"] is not view.ways["shelf"]
    assert after.search is view.search
    assert after.transition_ids is view.transition_ids
    assert [way.transition_id for way in after.ways["shelf"]] == [
        way.transition_id for way in view.ways["shelf"]
    ]


async def test_newer_numbers_touch_only_what_they_change_and_forgotten_ones_are_undone(view):
    store = MemoryLearnedStore()
    learning = LearnedWeights(store)
    for each in reports(3, transition_id="open_new") + reports(3, transition_id="sign_in_submit"):
        await learning.record(view, each)
    first = await learning.weighed(view)
    for each in reports(3, transition_id="open_new"):
        await learning.record(view, each)
    second = await learning.weighed(view)
    assert second.ways["sign_in_page"] is first.ways["sign_in_page"] is not view.ways["sign_in_page"]
    assert second.ways["shelf"] is not first.ways["shelf"]
    assert second.authored is view
    await store.forget("pantry", [LearnedSubject("transition", n) for n in ("open_new", "sign_in_submit")])
    third = await LearnedWeights(store).weighed(view)
    assert apply_statistics(second, third.learned).ways == view.ways


async def test_numbers_of_what_the_knowledge_dropped_are_ignored(view):
    store = MemoryLearnedStore()
    gone = Outcome(
        outcome_id="o", website_id="pantry", transition_id="gone", succeeded=True, at=utc_now()
    )  # fmt: skip
    await store.record(
        [gone, gone.model_copy(update={"outcome_id": "p", "transition_id": None, "recovery_id": "r"})]
    )
    after = await LearnedWeights(store).weighed(view)
    assert dict(after.ways) == dict(view.ways)


async def test_another_servers_outcomes_are_in_answers_within_a_second(view):
    store, clock = UnavailableLearnedStore(), Clock()
    here, there = LearnedWeights(store, clock=clock), LearnedWeights(store)
    first = await here.weighed(view)
    for each in reports(20, transition_id="open_new_by_url", succeeded=False):
        await there.record(view, each)
    assert await here.weighed(view) is first
    clock.now += ASK_EVERY_S
    assert ASK_EVERY_S < 1
    second = await here.weighed(view)
    assert steps(second) == ["open_new"]
    reads = store.reads
    clock.now += 10
    assert await here.weighed(view) is second
    assert store.reads == reads  # asked whether there is news; there was none


async def test_of_many_numbers_only_those_that_changed_are_read_again(view):
    store = UnavailableLearnedStore()
    learning = LearnedWeights(store)
    for name in view.knowledge.transitions:
        for each in reports(2, transition_id=name):
            await learning.record(view, each)
    await learning.weighed(view)
    many = len(view.knowledge.transitions)
    assert store.rows == many >= 5
    await learning.record(view, *reports(1, transition_id="open_new", succeeded=False))
    after = await learning.weighed(view)
    assert store.rows == many + 1
    assert after.learned.transitions == await store.transition_stats("pantry")
    # New knowledge compiles another view; the numbers are known already.
    reloaded = await learning.weighed(compile_view(pantry.knowledge(), "2"))
    assert store.rows == many + 1
    assert reloaded.learned.transitions == after.learned.transitions
    # What is forgotten is noticed: then everything is read.
    await store.forget("pantry", [LearnedSubject("transition", "open_new")])
    learning._held["pantry"].asked_at = -ASK_EVERY_S
    assert "open_new" not in (await learning.weighed(reloaded.authored)).learned.transitions
    assert store.rows == 2 * many


async def test_many_requests_at_once_weigh_a_view_once(view):
    store = UnavailableLearnedStore()
    learning = LearnedWeights(store)
    views = await asyncio.gather(*(learning.weighed(view) for _ in range(20)))
    assert len({id(each) for each in views}) == 1
    assert store.reads == 1


async def test_a_new_generation_is_weighed_by_the_numbers_there_are(view):
    learning = LearnedWeights()
    for each in reports(20, transition_id="open_new_by_url", succeeded=False):
        await learning.record(view, each)
    reloaded = compile_view(pantry.knowledge(), "2")
    after = await learning.weighed(reloaded)
    assert (after.generation, steps(after)) == ("2", ["open_new"])


async def test_without_its_store_the_desk_goes_by_the_last_numbers(view):
    store, clock = UnavailableLearnedStore(), Clock()
    learning = LearnedWeights(store, clock=clock)
    for each in reports(20, transition_id="open_new_by_url", succeeded=False):
        await learning.record(view, each)
    await learning.weighed(view)
    store.down = True
    clock.now += 10
    assert steps(await learning.weighed(view)) == ["open_new"]
    assert steps(await learning.weighed(compile_view(pantry.knowledge(), "2"))) == ["open_new"]
    assert steps(await LearnedWeights(store).weighed(view)) == ["open_new_by_url"]
    store.down = False
    clock.now += 10
    assert steps(await learning.weighed(view)) == ["open_new"]


async def test_a_misspelt_name_is_refused_and_corrected(view):
    for wrong in (
        {"transition_id": "open_nwe"},
        {"recovery_id": "hom"},
        {"element": {"screen_id": "shlf", "element_id": "new_jar", "strategy": "css"}},
        {"element": {"screen_id": "shelf", "element_id": "new_jr", "strategy": "css"}},
    ):
        (report,) = reports(1, **wrong)
        with pytest.raises(UnknownName, match="did you mean"):
            await LearnedWeights().record(view, report)


async def called(client, **outcome):
    return await client.call_tool("record_outcome", {"website_id": "pantry", "outcome": outcome})


async def test_an_outcome_over_mcp_is_in_the_next_answer_and_counts_once(tmp_path):
    async with open_stores(tmp_path) as stores:
        await load_knowledge(stores.documents, stores.graph, pantry.knowledge())
        source = StoreSource(stores.documents, stores.graph)
        async with Client(create_server(source, learned=stores.learned)) as client:
            for number in [*range(8), 7, 7]:
                result = await called(
                    client, outcome_id=f"o{number}", transition_id="open_new", succeeded=True, duration_ms=120
                )
                assert not result.is_error, result.content
            assert result.structured_content["counted"] is False
            assert "before" in result.structured_content["reason"]
            found = await client.call_tool(
                "find_path",
                {
                    "website_id": "pantry",
                    "from_screen": "shelf",
                    "to_screen": "jar_new",
                    "objective": "fastest",
                },
            )
        (step,) = found.structured_content["paths"][0]["steps"]
        assert (step["transition_id"], step["expected_ms"]) == ("open_new", 120)
        assert step["reliability"] == pytest.approx(13 / 18)
        assert (await stores.learned.transition_stats("pantry"))["open_new"].seen == 8


async def test_a_report_about_nothing_two_things_or_no_time_zone_is_refused():
    async with Client(create_server(MemorySource(pantry.knowledge()))) as client:
        for wrong in (
            {"outcome_id": "o", "succeeded": True},
            {"outcome_id": "o", "succeeded": True, "transition_id": "open_new", "recovery_id": "home"},
            {"outcome_id": "o", "succeeded": True, "transition_id": "open_new", "at": "2026-01-01T00:00:00"},
            {"outcome_id": "o\u0000", "succeeded": True, "transition_id": "open_new"},
        ):
            assert (await called(client, **wrong)).is_error
        old = (utc_now() - timedelta(days=40)).isoformat()
        result = await called(client, outcome_id="o", succeeded=True, transition_id="open_new", at=old)
        assert "30 days" in result.structured_content["reason"]


async def test_a_store_that_is_down_makes_a_refusal_that_says_so():
    store = UnavailableLearnedStore()
    store.down = True
    async with Client(create_server(MemorySource(pantry.knowledge()), learned=store)) as client:
        result = await called(client, outcome_id="o", succeeded=True, transition_id="open_new")
    assert result.is_error
    assert "nowhere" in result.content[0].text


async def test_a_read_only_server_learns_nothing():
    async with Client(create_server(MemorySource(pantry.knowledge()), read_only=True)) as client:
        assert "record_outcome" not in {tool.name for tool in (await client.list_tools()).tools}


def test_an_unlearned_view_weighs_as_it_was_authored(view):
    assert apply_statistics(view, NO_STATISTICS).ways == view.ways
