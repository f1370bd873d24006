"""Whatever a client sends: an answer of its model, or an error that is documented. Never anything else."""

from __future__ import annotations

import logging

import anyio
import pytest
from anyio.from_thread import start_blocking_portal
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from mcp import Client

from kb_store.proposals.proposal_store import MemoryProposalStore
from mcp_server.errors import KnowledgeServerError
from mcp_server.knowledge import proposal_service
from mcp_server.knowledge.knowledge_sources import MemorySource
from mcp_server.server import create_server
from tests.mcp_server import pantry
from tests.mcp_server.test_server import PARAMETERS
from tests.support.hostile import anything, arguments, mutated, texts
from tests.support.rotation import SEED

NORMAL, NIGHTLY = 25, 600
PATIENCE_S = 25
"""Longer than any call may take; a call that takes so long hangs."""


def kinds_of(error):
    return {error, *(kind for each in error.__subclasses__() for kind in kinds_of(each))}


CODES = {kind.code for kind in kinds_of(KnowledgeServerError)}
KNOWLEDGE = pantry.knowledge()


def ids(*kinds):
    return st.sampled_from([each for kind in kinds for each in KNOWLEDGE.by_kind[kind]])


elements = st.sampled_from(sorted({e for s in KNOWLEDGE.screens for e in KNOWLEDGE.elements(s)}))
pages = st.sampled_from(
    [p.to_json() for p in (pantry.SHELF, pantry.NEW, pantry.EDIT, pantry.LOST, pantry.HELP)]
)
html = st.lists(
    st.sampled_from(["<div>", "</div>", "<p hidden>", "<table><tr>", "<select><option>", "<svg><a>", "<!--", "<template>",
                     "&#0;", "Your jars", "Label of the jar", '<input id="label" aria-invalid=true>', "<iframe srcdoc='<p>'>",
                     "<title>", "<script>", "<button id=delete>", "\0", "<pp-shadow-root>"]),
    max_size=12,
).map("".join)  # fmt: skip
urls = st.sampled_from(
    [f"{pantry.BASE}/jars", f"{pantry.BASE}/jars/new", "http://127.0.0.1:1/jars", "about:blank", "x"]
)
snapshots = st.one_of(
    pages,
    st.fixed_dictionaries(
        {"url": st.one_of(urls, texts)}, optional={"html": html, "text": texts, "title": texts}
    ),
)
strategies = st.one_of(
    st.builds(lambda kind, value: {"type": kind, "value": value},
              st.sampled_from(["css", "xpath", "id", "data-testid", "aria", "fallback_css", "xpath-text"]), texts),
    st.builds(lambda role, name: {"type": "role_name", "role": role, "name": name}, texts, texts),
    st.builds(lambda value: {"type": "parameterized_css", "template": value, "parameters": ["x"]}, texts),
)  # fmt: skip
selectors = st.one_of(texts, strategies, st.lists(strategies, max_size=3).map(lambda s: {"strategies": s}))
conditions = st.one_of(
    st.builds(lambda value: {"type": "dom_contains", "value": value}, texts),
    st.builds(lambda value: {"type": "url_matches", "pattern": value}, texts),
    st.builds(lambda value: {"type": "element_visible", "selector": value}, selectors),
    anything,
)
condition_lists = st.recursive(
    st.lists(conditions, max_size=3),
    lambda inner: inner.map(lambda each: [{"type": "any_of", "conditions": each}]),
    max_leaves=4,
)
signatures = st.dictionaries(
    st.sampled_from(
        ["required_indicators", "primary_indicators", "negative_indicators", "confidence_threshold"]
    ),
    condition_lists,
    max_size=3,
)
nodes = st.builds(
    lambda node_id, task_id: {"type": "task", "node_id": node_id, "task_id": task_id},
    texts,
    st.one_of(ids("task"), texts),
)
workflows = st.builds(
    lambda name, made: {"workflow_id": name, "name": name, "unverified": True, "nodes": made},
    st.sampled_from(["w1", "w2"]), st.lists(nodes, min_size=1, max_size=3),
)  # fmt: skip
KNOWN = {
    "website_id": st.just("pantry"),
    "screen_id": ids("screen"),
    "last_known_screen_id": ids("screen"),
    "from_screen": ids("screen"),
    "to_screen": ids("screen"),
    "target_screen": ids("screen"),
    "group_id": ids("screen_group"),
    "task_id": ids("task"),
    "step_id": st.sampled_from(["name_it", "keep_it", "step_1"]),
    "after_step": st.sampled_from(["name_it", "keep_it", "step_1"]),
    "action_id": ids("action"),
    "flow_id": ids("presentation_flow"),
    "transition_id": ids("transition"),
    "recovery_id": ids("global_recovery"),
    "element_id": elements,
    "strategy": st.just("css"),
    "outcome_id": st.sampled_from(["o1", "o2"]),
    "run_id": st.sampled_from(["r1", "r2", "latest"]),
    "kinds": st.lists(st.sampled_from(["screen", "task", "nothing"]), max_size=3),
    "error": st.sampled_from(["timeout", "validation_error", "Locator.click: Timeout 5000ms"]),
    "query": st.sampled_from(["jar", "shelf", "sgin in"]),
    "about": st.sampled_from(["jar", "marmalade"]),
    "facts": st.dictionaries(st.sampled_from(["authenticated", "x"]), anything, max_size=2),
    "snapshot": snapshots,
    "selector": selectors,
    "signature": signatures,
    "workflow": workflows,
}


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
    for forbidden in ("Traceback", "the server's log says why", "internal error"):
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
