"""Whatever a client sends: an answer of its model, or an error that is documented. Never anything else."""

from __future__ import annotations

import logging

import anyio
import pytest
from anyio.from_thread import start_blocking_portal
from hypothesis import HealthCheck, given, seed, settings
from jsonschema import Draft202012Validator
from mcp import Client

from kb_store.proposals.proposal_store import MemoryProposalStore
from mcp_server.knowledge import proposal_service
from mcp_server.knowledge.knowledge_sources import MemorySource
from mcp_server.server import create_server
from tests.mcp_server.test_server import PARAMETERS
from tests.mcp_server.tools.fuzzed_arguments import CODES, FORBIDDEN, KNOWLEDGE, KNOWN
from tests.support.hostile import arguments, mutated
from tests.support.rotation import SEED

NORMAL, NIGHTLY = 25, 600
PATIENCE_S = 25
"""Longer than any call may take; a call that takes so long hangs."""


class FuzzedServer:
    """A server and a client of it on a loop of their own, to be called from tests that Hypothesis repeats."""

    def __init__(self, portal, client, tools):
        self._portal, self._client, self.tools = portal, client, tools

    def call(self, tool, given_arguments):
        return self._portal.call(self._call, tool, given_arguments)

    async def _call(self, tool, given_arguments):
        with anyio.fail_after(PATIENCE_S):
            return await self._client.call_tool(tool, given_arguments)


@pytest.fixture(scope="module")
def server_context():
    server = create_server(MemorySource(KNOWLEDGE), proposals=MemoryProposalStore())
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Client(server)) as client:
        tools = {tool.name: tool for tool in portal.call(client.list_tools).tools}
        yield FuzzedServer(portal, client, tools)


def is_in_order(tool, result):
    said = "".join(block.text for block in result.content)
    assert said
    for forbidden in FORBIDDEN:
        assert forbidden not in said
    if result.is_error:
        assert result.structured_content["error"] in CODES, said
        assert result.structured_content["message"]
        assert len(said) < 4_000  # what was sent is not sent back whole
    else:
        Draft202012Validator(tool.output_schema).validate(result.structured_content)


def fuzzed(server_context, name, wrong, examples, caplog):
    tool = server_context.tools[name]
    made = arguments(tool.input_schema, KNOWN)

    @seed(SEED)
    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(mutated(made) if wrong else made)
    def never_anything_else(given_arguments):
        caplog.clear()
        is_in_order(tool, server_context.call(name, given_arguments))
        assert [r for r in caplog.records if r.levelno >= logging.ERROR] == []

    never_anything_else()


@pytest.mark.parametrize("wrong", [False, True], ids=["by the schema", "against it"])
@pytest.mark.parametrize("name", PARAMETERS)
def test_any_arguments_are_answered_or_refused_by_a_documented_error(server_context, name, wrong, caplog):
    fuzzed(server_context, name, wrong, NORMAL, caplog)


@pytest.mark.nightly
@pytest.mark.parametrize("wrong", [False, True], ids=["by the schema", "against it"])
@pytest.mark.parametrize("name", PARAMETERS)
def test_very_many_arguments_are(server_context, name, wrong, caplog):
    fuzzed(server_context, name, wrong, NIGHTLY, caplog)


def test_every_tool_is_among_those_that_are_tried(server_context):
    assert set(server_context.tools) == set(PARAMETERS)


def test_a_website_with_too_many_open_proposals_takes_no_more(server_context, monkeypatch):
    monkeypatch.setattr(proposal_service, "MOST_OPEN", 0)
    change = {"type": "selector", "screen_id": "shelf", "element_id": "new_jar", "selector": "#one-too-many"}
    result = server_context.call(
        "propose_change", {"website_id": "pantry", "change": change, "evidence": {"run_id": "r"}}
    )
    assert result.is_error
    assert "accepts or rejects" in result.content[0].text
