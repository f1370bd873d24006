"""All ways to a screen, what it leads to, and by one kind of action: the same from every store."""

from __future__ import annotations

from contextlib import asynccontextmanager

from hypothesis import given
from hypothesis import strategies as st
from mcp import Client

from kb_schema.tool_answers import SiteMap, TaskAnswer
from kb_store import load_knowledge
from mcp_server.knowledge.compiled_view import compile_view
from mcp_server.knowledge.knowledge_sources import MemorySource
from mcp_server.knowledge.store_source import StoreSource
from mcp_server.paths.path_engines import PathEngines
from mcp_server.paths.reachability import ReachQuestion, count_steps, draw_part
from mcp_server.server import create_server
from tests.kb_store.conftest import stores  # noqa: F401 - fixture: each store in turn
from tests.mcp_server import pantry
from tests.mcp_server.paths.random_multigraphs import knowledge

QUESTIONS = (
    {"to_screen": "jar_new"},
    {"to_screen": "screen/jar_new", "most_steps": 1},
    {"to_screen": "jar_new", "action_type": "click", "most_steps": 1},
    {"from_screen": "shelf", "action_type": "goto"},
    {"from_screen": "sign_in_page"},
)


@asynccontextmanager
async def asking(each):
    """A client of a server over the store; a graph database is asked, where there is one."""
    await load_knowledge(each.documents, each.graph, pantry.knowledge())
    engines = PathEngines("store" if each.queries else "auto", queries=each.queries)
    source = StoreSource(each.documents, each.graph)
    async with Client(create_server(source, learned=each.learned, engines=engines)) as opened:
        yield opened


async def called(client, tool="get_site_map", **arguments):
    return await client.call_tool(tool, {"website_id": "pantry", **arguments})


def enumerated(known, *, to=None, start=None, action=None, most=10):
    """Every transition of a walk that does not come back to the screen asked for, by trying all walks."""
    found, steps = set(), {}

    def walk(screen, left, passed, visited):
        for edge in known.transitions.values():
            here, there = (edge.to_screen, edge.from_screen) if to else (edge.from_screen, edge.to_screen)
            kind = edge.triggered_by.canonical_type
            if here != screen or there in visited or action not in (None, kind) or left == 0:
                continue
            found.add(edge.local_id)
            steps[there] = min(steps.get(there, 99), passed + 1)
            walk(there, left - 1, passed + 1, {*visited, there})

    walk(to or start, most, 0, {to or start})
    return found, steps


async def test_every_store_answers_all_ways_to_a_screen_and_from_it(stores):  # noqa: F811
    known = pantry.knowledge()
    async with asking(stores) as client:
        answers = [await called(client, **question) for question in QUESTIONS]
    for question, answer in zip(QUESTIONS, answers, strict=True):
        assert not answer.is_error, answer.content[0].text
        part = SiteMap.model_validate(answer.structured_content)
        asked = {
            key: value.removeprefix("screen/") for key, value in question.items() if key.endswith("screen")
        }
        transitions, steps = enumerated(
            known,
            to=asked.get("to_screen"),
            start=asked.get("from_screen"),
            action={"goto": "navigate"}.get(question.get("action_type"), question.get("action_type")),
            most=question.get("most_steps", 10),
        )
        assert {each.screen_id: each.steps for each in part.screens[1:]} == steps
        assert part.screens[0].steps == 0
        assert {each.transition_id for each in part.transitions} >= transitions
        assert all(each.transition_id in answer.content[0].text for each in part.transitions)


async def test_every_store_answers_the_recovery_options_of_a_screen_in_the_same_order(stores):  # noqa: F811
    asked = ({"screen_id": "jar_new"}, {"screen_id": "jar_new", "facts": {"authenticated": False}})
    async with asking(stores) as client, Client(create_server(MemorySource(pantry.knowledge()))) as memory:
        for arguments in asked:
            there = await called(client, "find_global_recovery_paths", **arguments)
            here = await called(memory, "find_global_recovery_paths", **arguments)
            assert there.structured_content == here.structured_content
            assert there.structured_content["options"]


WRONG = (
    ({"to_screen": "nowhere"}, "no screen 'nowhere'"),
    ({"to_screen": "shelf", "from_screen": "jar_new"}, "find_path answers"),
    ({"action_type": "click"}, "needs a screen"),
    ({"to_screen": "shelf", "action_type": "clik"}, 'did you mean "click"'),
    ({"to_screen": "shelf", "most_steps": 0}, "most_steps"),
)


async def test_a_wrong_question_says_what_is_wrong(stores):  # noqa: F811
    async with asking(stores) as client:
        for arguments, said in WRONG:
            answer = await called(client, **arguments)
            assert answer.is_error
            assert said in answer.content[0].text


@given(known=knowledge(), direction=st.sampled_from(["to", "from"]), most=st.integers(1, 4))
def test_the_part_has_each_screen_within_the_steps_and_each_transition_on_such_a_way(known, direction, most):
    view = compile_view(known, "1")
    question = ReachQuestion("e", direction, None, most)
    part = draw_part(view, question, count_steps(view, question))
    transitions, steps = enumerated(known, **{"to" if direction == "to" else "start": "e"}, most=most)
    assert {each.screen_id: each.steps for each in part.screens if each.screen_id != "e"} == steps
    assert {each.transition_id for each in part.transitions} >= transitions


def composed():
    return pantry.knowledge(
        also=(
            {"type": "task", "task_id": "party", "steps": [
                {"step_id": "all", "action": {"action_type": "run_task", "task_id": "stock", "inputs": {}}}]},
            {"type": "task", "task_id": "stock", "steps": [{"step_id": "look", "action": "refresh"}],
             "reversible_by": "empty"},
            {"type": "task", "task_id": "empty", "steps": [{"step_id": "look", "action": "refresh"}]},
            {"type": "composes", "_from": "task/stock", "_to": "task/sign_in"},
            {"type": "depends_on", "_from": "task/sign_in", "_to": "task/warm_up"},
            {"type": "task", "task_id": "warm_up", "steps": [{"step_id": "look", "action": "refresh"}]},
        )
    )  # fmt: skip


async def test_every_store_answers_what_a_task_is_made_of_without_what_undoes_it(stores):  # noqa: F811
    await load_knowledge(stores.documents, stores.graph, composed())
    async with Client(create_server(StoreSource(stores.documents, stores.graph))) as client:
        answer = await called(client, "get_task_definition", task_id="party")
    parts = TaskAnswer.model_validate(answer.structured_content).composed_of
    assert [(each.task_id, each.level, each.by, each.relation) for each in parts] == [
        ("stock", 1, "party", "runs"),
        ("sign_in", 2, "stock", "runs"),
        ("warm_up", 3, "sign_in", "depends_on"),
    ]
    assert "sign_in depends on warm_up" in answer.content[0].text
