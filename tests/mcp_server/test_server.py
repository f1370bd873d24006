from __future__ import annotations

import pytest
from mcp import Client
from mcp.server.mcpserver.prompts import Prompt
from mcp.server.mcpserver.resources import ResourceTemplate

from kb_schema.observed_outcomes import OutcomeAnswer
from kb_schema.proposals import ProposalAnswer, PublicationAnswer
from kb_schema.tool_answers import (
    AvailableActions,
    DocumentAnswer,
    FailureExplanation,
    FlowAnswer,
    GroupList,
    Identification,
    NextStep,
    PathSearchResult,
    RecoveryPaths,
    SearchResults,
    SiteMap,
    TaskAnswer,
    TaskList,
    WebsiteList,
)
from mcp_server.identification.snapshot_limits import MAX_BYTES
from mcp_server.knowledge.knowledge_sources import MemorySource
from mcp_server.server import create_server
from mcp_server.tools.tool_calls import KnowledgeTool
from tests.mcp_server import pantry

PARAMETERS = {
    "list_websites": [],
    "identify_current_screen": ["website_id", "snapshot", "last_known_screen_id", "base_url"],
    "get_screen": ["website_id", "screen_id", "detail"],
    "get_available_actions": ["website_id", "screen_id", "snapshot", "detail"],
    "find_path": ["website_id", "from_screen", "to_screen", "objective", "k", "avoid", "facts"],
    "find_screen_groups": ["website_id", "screen_id"],
    "find_global_recovery_paths": ["website_id", "screen_id", "group_id", "target_screen", "facts"],
    "get_error_recovery_strategy": ["website_id", "error", "screen_id", "action_type"],
    "list_tasks": ["website_id", "cursor"],
    "get_task_definition": ["website_id", "task_id", "detail"],
    "get_next_step": ["website_id", "task_id", "after_step"],
    "find_tasks_for_screen": ["website_id", "screen_id", "reach", "facts", "cursor"],
    "get_action_definition": ["website_id", "action_id", "detail"],
    "get_presentation_flow": ["website_id", "flow_id", "about", "detail"],
    "get_website": ["website_id", "detail"],
    "get_site_map": ["website_id", "to_screen", "from_screen", "action_type", "most_steps"],
    "search_knowledge": ["website_id", "query", "kinds", "cursor"],
    "explain_failure": [
        "website_id",
        "error",
        "snapshot",
        "task_id",
        "step_id",
        "screen_id",
        "element_id",
        "action_type",
        "transition_id",
        "run_id",
    ],
    "record_outcome": ["website_id", "outcome"],
    "propose_change": ["website_id", "change", "evidence"],
    "publish_workflow": ["website_id", "workflow", "tasks", "dependencies", "screens", "replace"],
}
WRITING = {"record_outcome", "propose_change", "publish_workflow"}

CALLS = [
    ("list_websites", {}, WebsiteList),
    ("identify_current_screen", {"snapshot": pantry.SHELF.to_json()}, Identification),
    (
        "identify_current_screen",
        {"snapshot": {"url": f"{pantry.BASE}/jars", "text": "Your jars"}},
        Identification,
    ),
    ("get_screen", {"screen_id": "shelf"}, DocumentAnswer),
    ("get_available_actions", {"screen_id": "shelf"}, AvailableActions),
    ("find_path", {"from_screen": "sign_in_page", "to_screen": "jar_new", "k": 2}, PathSearchResult),
    (
        "find_path",
        {"from_screen": "shelf", "to_screen": "jar_new", "avoid": {"actions": ["click"]}},
        PathSearchResult,
    ),
    ("find_screen_groups", {"screen_id": "jar_new"}, GroupList),
    ("find_global_recovery_paths", {"screen_id": "jar_new"}, RecoveryPaths),
    ("find_global_recovery_paths", {"group_id": "forms", "facts": {"authenticated": True}}, RecoveryPaths),
    ("find_global_recovery_paths", {}, RecoveryPaths),
    ("get_error_recovery_strategy", {"error": "timeout"}, DocumentAnswer),
    ("list_tasks", {}, TaskList),
    ("get_task_definition", {"task_id": "add_jar", "detail": "summary"}, TaskAnswer),
    ("get_next_step", {"task_id": "add_jar"}, NextStep),
    ("find_tasks_for_screen", {"screen_id": "shelf"}, TaskList),
    ("get_action_definition", {"action_id": "fill_jar"}, DocumentAnswer),
    ("get_presentation_flow", {"flow_id": "tour"}, FlowAnswer),
    ("get_website", {"detail": "full"}, DocumentAnswer),
    ("get_site_map", {}, SiteMap),
    ("get_site_map", {"to_screen": "jar_new", "action_type": "click"}, SiteMap),
    ("search_knowledge", {"query": "jar"}, SearchResults),
    (
        "record_outcome",
        {"outcome": {"outcome_id": "o1", "transition_id": "open_new", "succeeded": True}},
        OutcomeAnswer,
    ),
    ("get_available_actions", {"snapshot": pantry.SHELF.to_json(), "detail": "summary"}, AvailableActions),
    ("find_tasks_for_screen", {"screen_id": "shelf", "reach": True}, TaskList),
    ("get_presentation_flow", {"about": "marmalade"}, FlowAnswer),
    ("explain_failure", {"error": "timeout", "task_id": "add_jar"}, FailureExplanation),
    (
        "propose_change",
        {
            "change": {"type": "selector", "screen_id": "shelf", "element_id": "new_jar", "selector": "#new"},
            "evidence": {"run_id": "r1"},
        },
        ProposalAnswer,
    ),
    (
        "publish_workflow",
        {
            "workflow": {
                "workflow_id": "w",
                "name": "W",
                "unverified": True,
                "nodes": [{"type": "task", "node_id": "a", "task_id": "sign_in"}],
            }
        },
        PublicationAnswer,
    ),
]


def server(**options):
    return create_server(MemorySource(pantry.knowledge()), **options)


def text_of(result) -> str:
    return "".join(block.text for block in result.content)


async def called(tool, arguments, **options):
    async with Client(server(**options)) as client:
        if tool != "list_websites":
            arguments = {"website_id": "pantry", **arguments}
        return await client.call_tool(tool, arguments)


async def test_the_tools_are_those_of_the_design_with_their_hints_and_schemas():
    async with Client(server(), mode="legacy") as client:
        tools = (await client.list_tools()).tools
    named = {tool.name: list(tool.input_schema.get("properties", {})) for tool in tools}
    assert named.keys() >= PARAMETERS.keys()
    for name, parameters in PARAMETERS.items():
        assert [each for each in named[name] if each in parameters] == parameters
    for tool in tools:
        assert named[tool.name][:1] == ["website_id"] or tool.name == "list_websites"
        assert tool.output_schema is not None
        assert tool.output_schema["type"] == "object"
        assert tool.annotations is not None
        reads = tool.name not in WRITING
        assert (tool.annotations.read_only_hint, tool.annotations.idempotent_hint) == (reads, True)
        assert tool.description


async def test_the_tool_list_is_always_the_same_and_small():
    lists = []
    for options in ({}, {}, {"read_only": True}):
        async with Client(server(**options)) as client:
            listed = (await client.list_tools()).tools
        lists.append({tool.name: tool.model_dump_json(exclude_none=True, by_alias=True) for tool in listed})
    assert list(lists[0].items()) == list(lists[1].items())
    assert lists[2] == {name: said for name, said in lists[0].items() if name not in WRITING}
    # Measured at 4.1 characters a token and more (docs/mcp.md); 4,000 tokens are the bound (DESIGN 5).
    assert sum(map(len, lists[0].values())) < 4_000 * 4.1


@pytest.mark.parametrize(("tool", "arguments", "model"), CALLS)
async def test_every_tool_answers_as_its_model_and_as_text(tool, arguments, model):
    result = await called(tool, arguments)
    assert not result.is_error, text_of(result)
    model.model_validate(result.structured_content)
    assert text_of(result)


async def test_the_map_has_every_screen_and_transition_and_a_screen_has_its_groups():
    knowledge = pantry.knowledge()
    drawn = SiteMap.model_validate((await called("get_site_map", {})).structured_content)
    assert {each.screen_id for each in drawn.screens} == knowledge.screens.keys()
    assert {each.transition_id for each in drawn.transitions} == knowledge.transitions.keys()
    for screen_id in knowledge.screens:
        answer = (await called("find_screen_groups", {"screen_id": screen_id})).structured_content
        found = {each.group_id for each in GroupList.model_validate(answer).groups}
        assert found == {each.group for each in knowledge.memberships if each.screen == screen_id}


async def test_an_answer_over_the_handshake_transport_is_the_same():
    arguments = {"website_id": "pantry", "from_screen": "shelf", "to_screen": "jar_new"}
    answers = []
    for mode in ("legacy", "auto"):
        async with Client(server(), mode=mode) as client:
            answers.append((await client.call_tool("find_path", arguments)).structured_content)
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("get_screen", {"website_id": "pantri", "screen_id": "shelf"}, 'did you mean "pantry"'),
        ("get_screen", {"website_id": "pantry", "screen_id": "shelv"}, 'did you mean "shelf"'),
        ("find_path", {"website_id": "pantry", "from_screen": "shelf", "to_screen": "x"}, "known: help"),
        ("get_task_definition", {"website_id": "pantry", "task_id": "add_jra"}, "call list_tasks"),
        (
            "get_action_definition",
            {"website_id": "pantry", "action_id": "type_text"},
            "basic action type 'fill'",
        ),
        ("list_tasks", {"website_id": "pantry", "cursor": "???"}, "without a cursor"),
        (
            "find_path",
            {"website_id": "pantry", "from_screen": "shelf", "to_screen": "help", "k": 0},
            "greater than",
        ),
        ("identify_current_screen", {"website_id": "pantry", "snapshot": {"url": ""}}, "snapshot is empty"),
        (
            "identify_current_screen",
            {"website_id": "pantry", "snapshot": {"url": "https://x", "html": "x" * (MAX_BYTES + 1)}},
            "at most 5.0 MB",
        ),
        (
            "identify_current_screen",
            {"website_id": "pantry", "snapshot": {"url": f"{pantry.BASE}/x", "html": "<div>" * 100_000}},
            "send the page's text instead",
        ),
    ],
)
async def test_a_refusal_says_what_was_meant_and_what_to_do(tool, arguments, said):
    async with Client(server()) as client:
        result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert said in text_of(result)
    assert "Traceback" not in text_of(result)


async def test_the_base_url_of_the_configuration_or_of_the_call_is_in_force():
    moved = pantry.page("/sign-in", "Sign in to your pantry", base="https://staging.example").to_json()
    arguments = {"snapshot": moved}
    configured = await called(
        "identify_current_screen", arguments, base_urls={"pantry": "https://staging.example"}
    )
    given = await called("identify_current_screen", {**arguments, "base_url": "https://staging.example"})
    neither = await called("identify_current_screen", arguments)
    found = [
        Identification.model_validate(r.structured_content).screen_id for r in (configured, given, neither)
    ]
    assert found == ["sign_in_page", "sign_in_page", None]


async def test_a_change_of_the_knowledge_is_answered_at_once():
    source = MemorySource(pantry.knowledge())
    async with Client(create_server(source)) as client:
        asked = {"website_id": "pantry", "screen_id": "cellar"}
        assert (await client.call_tool("get_screen", asked)).is_error
        cellar = {"type": "screen", "screen_id": "cellar", "name": "Cellar", "url_patterns": ["^/cellar$"]}
        source.put([pantry.knowledge(also=(cellar,))])
        assert not (await client.call_tool("get_screen", asked)).is_error


async def test_prompts_name_only_tools_there_are():
    async with Client(server()) as client:
        prompts = {prompt.name for prompt in (await client.list_prompts()).prompts}
        assert prompts == {"find_your_way", "present"}
        got = await client.get_prompt("find_your_way", {"website_id": "pantry", "goal": "add a jar"})
        said = got.messages[0].content.text
    named = {word.strip(".,;:'") for word in said.split() if "_" in word}
    assert named <= set(PARAMETERS)


async def test_an_answer_from_a_copy_says_so():
    from tests.mcp_server.knowledge.test_view_cache import Counting  # noqa: PLC0415 - the fake lives with its own tests

    source = Counting(pantry.knowledge())
    async with Client(create_server(source)) as client:
        await client.call_tool("list_tasks", {"website_id": "pantry"})
        source.down = True
        result = await client.call_tool("list_tasks", {"website_id": "pantry"})
    assert not result.is_error
    assert "from the copy of generation 1" in text_of(result)


async def test_a_second_server_declares_nothing_anew_until_it_is_asked(monkeypatch):
    """Each run of a process has a server of its own, and most ask for tools alone."""
    create_server(MemorySource(pantry.knowledge()))
    declared = []
    plain_tool, plain_template = KnowledgeTool.from_function, ResourceTemplate.from_function
    plain_prompt = Prompt.from_function
    monkeypatch.setattr(
        KnowledgeTool, "from_function", lambda *a, **k: declared.append("tool") or plain_tool(*a, **k)
    )
    monkeypatch.setattr(
        ResourceTemplate,
        "from_function",
        lambda *a, **k: declared.append("template") or plain_template(*a, **k),
    )
    monkeypatch.setattr(
        Prompt, "from_function", lambda *a, **k: declared.append("prompt") or plain_prompt(*a, **k)
    )
    async with Client(create_server(MemorySource(pantry.knowledge()))) as client:
        await client.call_tool("list_websites", {})
        assert declared == []
        templates = await client.list_resource_templates()
        assert set(declared) == {"template"}
        assert (
            len(templates.resource_templates)
            == len(declared)
            == len((await client.list_resource_templates()).resource_templates)
        )
        declared.clear()
        assert (
            len((await client.list_prompts()).prompts)
            == len(declared)
            == len((await client.list_prompts()).prompts)
        )
