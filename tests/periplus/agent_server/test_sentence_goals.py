"""`run_task` with a goal in words that no task does: a configured model plans it, the client is shown the plan, and confirms it."""

from __future__ import annotations

import json

import pytest
from mcp.types import ElicitResult

from tests.chain.test_sentence_runs import MOOR, PLAN
from tests.periplus.agent_server.test_agent_tools import boats, harbour, serve, shelves  # noqa: F401 - fixtures
from tests.support.model_policies import follow
from tests.support.model_server import Answer, serve_model

pytestmark = pytest.mark.sampled(0.5)

ASKED = {"website_id": "harbour", "goal": "Berth the vessel Petrel, 12 m long"}
PETREL = {**PLAN, "entered": ["Petrel", "12 m"], "shown_when_done": ["Petrel"]}
ACTS = [MOOR[0], {**MOOR[1], "value": "Petrel"}, *MOOR[2:]]


async def test_a_plan_is_shown_first_and_run_once_when_it_is_confirmed(serve, harbour, monkeypatch):  # noqa: F811
    with serve_model(follow(PETREL, ACTS)) as server:
        monkeypatch.setenv("PERIPLUS_MODEL", server.openai)
        async with serve() as client:
            unseen = await client.call_tool(
                "run_task", {**ASKED, "goal": f"{ASKED['goal']}!", "confirmed": True}
            )
            shown = await client.call_tool("run_task", ASKED)
            assert len(server.requests) == 2  # two plans, nothing else
            assert "Petrel" not in boats(harbour)
            done = await client.call_tool("run_task", {**ASKED, "confirmed": True})
            again = await client.call_tool("run_task", {**ASKED, "confirmed": True})
    assert unseen.is_error  # confirmed, but its plan was never shown
    assert shown.is_error
    assert "presses: Register a boat, Moor" in shown.content[0].text
    assert "confirmed: true" in shown.content[0].text
    answer = done.structured_content
    assert (answer["state"], answer["evidence"]) == ("success", "verified"), answer
    assert again.is_error  # a plan is run once; the next one is shown again
    assert boats(harbour).count("Petrel") == 1


async def test_a_press_that_nobody_asked_for_is_asked_about_over_the_protocol(serve, harbour, monkeypatch):  # noqa: F811
    asked = []

    async def refuse(_context, params):
        asked.append(params)
        return ElicitResult(action="accept", content={"yes": "no"})

    plan = {**PETREL, "controls": ["Register a boat"]}
    with serve_model(follow(plan, [*ACTS[:3], *[ACTS[3]] * 3])) as server:
        monkeypatch.setenv("PERIPLUS_MODEL", server.openai)
        async with serve(elicitation_callback=refuse, mode="2026-07-28") as client:
            goal = {**ASKED, "goal": "Berth the vessel Dunlin, 12 m long"}
            await client.call_tool("run_task", goal)
            done = await client.call_tool("run_task", {**goal, "confirmed": True})
    assert done.structured_content["state"] == "needs_person", done.structured_content
    assert "does not imply to press 'Moor'" in json.dumps(done.structured_content)
    assert "Do it? (yes or no)" in asked[0].requested_schema["properties"]["yes"]["description"]
    assert "Dunlin" not in boats(harbour)


async def test_without_a_model_it_is_refused_and_a_model_that_fails_is_told(serve, harbour, monkeypatch):  # noqa: F811
    monkeypatch.delenv("PERIPLUS_MODEL", raising=False)
    async with serve() as client:
        refused = await client.call_tool("run_task", ASKED)
        with serve_model([Answer(status=401)]) as server:
            monkeypatch.setenv("PERIPLUS_MODEL", server.openai)
            failed = await client.call_tool("run_task", ASKED)
            await client.call_tool("run_task", {**ASKED, "inputs": {"password": "hunter-two"}})
            named = await client.call_tool("run_task", {**ASKED, "inputs": {"berth": "{secret:berth}"}})
            assert len(server.requests) == 2
            assert all("hunter-two" not in each.text for each in server.requests)
    assert "no task does what the sentence says" in refused.content[0].text
    assert "no plan" in failed.content[0].text
    assert named.is_error
    assert "secrets are set on the server" in named.content[0].text
