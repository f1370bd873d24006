from __future__ import annotations

import threading

import anyio
import anyio.lowlevel
import pytest
from mcp import Client
from mcp.types import ElicitResult

from kb_schema import SourcedDocument, assemble, parse_document
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.tool_answers import DocumentAnswer, Identification, PathSearchResult
from mcp_server.cancellation import iterate_until_cancelled
from mcp_server.errors import CallTimeout, ServerBusy
from mcp_server.identification import screen_identification as identifying
from mcp_server.identification.parsed_page_cache import ParsedPageCache
from mcp_server.knowledge.knowledge_sources import MemorySource
from mcp_server.security.call_limits import CallGuard, CallLimits
from mcp_server.server import create_server
from mcp_server.tools.json_schemas import input_schema, output_schema
from tests.mcp_server import pantry
from web_pages import stored_pages
from web_pages.html_parser import parse_roots as parse
from web_pages.page_limits import PageRefused
from web_pages.stored_pages import answer_probes

SHELF = pantry.SHELF.to_json()
LONG_SHELF = {**SHELF, "html": f"{SHELF['html']}{'<p>Plum jam, made in June</p>' * 500}"}
"""A page that is read in a thread."""


CELLAR = {"type": "website", "website_id": "cellar", "name": "Cellar", "base_url": "https://cellar.example"}


def server(*others, **options):
    return create_server(MemorySource(pantry.knowledge(), *others), **options)


def cellar():
    return assemble([SourcedDocument(parse_document(CELLAR))])[0]


def text_of(result) -> str:
    return "".join(block.text for block in result.content)


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("get_screen", {"website_id": "pantry"}, "get_screen: screen_id missing"),
        ("get_screen", {"screen_id": "shelf", "website_id": ""}, "websites are pantry"),
        ("record_outcome", {"outcome": {}}, "website_id missing"),
        ("find_path", {"website_id": "pantry"}, "from_screen, to_screen missing"),
        ("get_screen", {"website_id": "pantry", "screenid": "shelf"}, 'did you mean "screen_id"'),
        ("list_websites", {"all": True}, "no argument 'all'; it takes none"),
        ("get_screen", {"website_id": "pantry", "screen_id": 7}, "screen_id: Input should be a valid string"),
        (
            "find_path",
            {"website_id": "pantry", "from_screen": "shelf", "to_screen": "help", "objective": "nice"},
            "objective: Input should be",
        ),
        ("get_scren", {"website_id": "pantry"}, 'did you mean "get_screen"'),
    ],
)
async def test_arguments_that_do_not_fit_are_told_by_name_with_what_would(tool, arguments, said):
    async with Client(server()) as client:
        result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert said in text_of(result)
    assert "pydantic" not in text_of(result)


async def test_a_call_that_reads_means_the_only_website():
    async with Client(server()) as client:
        result = await client.call_tool("list_tasks", {})
        same = await client.call_tool("list_tasks", {"website_id": "pantry"})
    assert not result.is_error, text_of(result)
    assert result.structured_content == same.structured_content


async def test_of_two_websites_none_is_meant():
    async with Client(server(cellar())) as client:
        result = await client.call_tool("list_tasks", {})
    assert result.is_error
    assert "website_id missing" in text_of(result)
    assert "websites are cellar, pantry" in text_of(result)


async def test_a_read_only_server_says_that_it_is_one():
    outcome = {"outcome_id": "o1", "transition_id": "open_new", "succeeded": True}
    async with Client(server(read_only=True)) as client:
        result = await client.call_tool("record_outcome", {"website_id": "pantry", "outcome": outcome})
    assert result.structured_content["error"] == "read_only"


async def test_a_refusal_does_not_repeat_what_was_sent():
    async with Client(server()) as client:
        result = await client.call_tool("get_screen", {"website_id": "pantry", "screen_id": ["hunter2"]})
    assert result.is_error
    assert "hunter2" not in text_of(result)


async def test_objects_sent_as_text_are_taken_as_objects():
    arguments = {"website_id": "pantry", "from_screen": "shelf", "to_screen": "jar_new"}
    async with Client(server()) as client:
        plain = await client.call_tool("find_path", {**arguments, "facts": {"authenticated": True}})
        as_text = await client.call_tool("find_path", {**arguments, "facts": '{"authenticated": true}'})
        broken = await client.call_tool("find_path", {**arguments, "facts": '{"authenticated": '})
    assert PathSearchResult.model_validate(as_text.structured_content) == PathSearchResult.model_validate(
        plain.structured_content
    )
    assert broken.is_error


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_person_is_asked_for_what_is_missing_where_the_client_can(mode):
    asked = []

    async def fill_in(_context, params):
        asked.append(params)
        return ElicitResult(action="accept", content={"website_id": "pantry", "screen_id": "shelf"})

    async with Client(server(cellar()), mode=mode, elicitation_callback=fill_in) as client:
        result = await client.call_tool("get_screen", {"detail": "summary"})
    assert not result.is_error, text_of(result)
    found = DocumentAnswer.model_validate(result.structured_content)
    assert (found.id, found.detail) == ("shelf", "summary")
    (params,) = asked
    assert params.message == "get_screen needs website_id and screen_id"
    assert params.requested_schema["properties"]["website_id"]["enum"] == ["cellar", "pantry"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_who_does_not_want_to_say_is_not_asked_again(mode, action):
    asked = []

    async def refuse(_context, params):
        asked.append(params)
        return ElicitResult(action=action)

    async with Client(server(), mode=mode, elicitation_callback=refuse) as client:
        result = await client.call_tool("get_screen", {"website_id": "pantry"})
    assert result.is_error
    assert "declined" in text_of(result)
    assert len(asked) == 1


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_what_was_filled_in_is_checked_and_does_not_overrule_the_call(mode):
    async def fill_in(_context, params):
        return ElicitResult(
            action="accept", content={"screen_id": "nowhere", "website_id": "x", "nonsense": "1"}
        )

    async with Client(server(), mode=mode, elicitation_callback=fill_in) as client:
        result = await client.call_tool("get_screen", {"website_id": "pantry"})
    assert result.is_error
    assert "no screen 'nowhere'" in text_of(result)


async def test_nobody_is_asked_for_a_page():
    async def never(_context, params):
        raise AssertionError(params)

    async with Client(server(), elicitation_callback=never) as client:
        result = await client.call_tool("identify_current_screen", {"website_id": "pantry"})
    assert "snapshot missing" in text_of(result)


async def test_a_client_that_wants_progress_hears_of_a_long_call():
    heard = threading.Event()
    told = []

    def waits(snapshot, probes):
        assert heard.wait(20), "no progress came"
        return answer_probes(snapshot, probes)

    async def progress(done, total, message):
        told.append((done, total, message))
        heard.set()

    slow = server(prober=waits, limits=CallLimits(progress_seconds=0.01))
    async with Client(slow) as client:
        result = await client.call_tool(
            "identify_current_screen",
            {"website_id": "pantry", "snapshot": LONG_SHELF},
            progress_callback=progress,
        )
        quick = await client.call_tool(
            "get_screen", {"website_id": "pantry", "screen_id": "nowhere"}, progress_callback=progress
        )
    assert Identification.model_validate(result.structured_content).screen_id == "shelf"
    done, total, message = told[0]
    assert 0 < done < total == 30
    assert message.startswith("identify_current_screen: working")
    assert "no screen 'nowhere'" in text_of(quick)  # refusals stay themselves beside the progress


async def test_a_call_that_takes_too_long_is_given_up_and_says_so():
    go_on = threading.Event()

    def hangs(snapshot, probes):
        go_on.wait(60)
        return {}

    slow = server(prober=hangs, limits=CallLimits(call_seconds=0.05))
    try:
        async with Client(slow) as client:
            result = await client.call_tool(
                "identify_current_screen", {"website_id": "pantry", "snapshot": LONG_SHELF}
            )
    finally:
        go_on.set()
    assert result.is_error
    assert result.structured_content["error"] == "took_too_long"


async def test_more_calls_at_once_than_allowed_are_told_when_to_come_back():
    begun, go_on = threading.Event(), threading.Event()

    def holds(snapshot, probes):
        begun.set()
        assert go_on.wait(20)
        return answer_probes(snapshot, probes)

    busy = server(prober=holds, limits=CallLimits(calls_per_client=1))
    asked = {"website_id": "pantry", "snapshot": LONG_SHELF}
    async with Client(busy) as client, anyio.create_task_group() as group:
        group.start_soon(client.call_tool, "identify_current_screen", asked)
        await anyio.to_thread.run_sync(begun.wait, 20)
        refused = await client.call_tool("list_tasks", {"website_id": "pantry"})
        go_on.set()
    assert refused.is_error
    assert "call again in 1 s" in text_of(refused)


def test_the_guard_counts_each_client_and_all_of_them():
    async def run():
        guard = CallGuard(CallLimits(calls_at_once=2, calls_per_client=1))
        with guard.admitted("a"):
            with pytest.raises(ServerBusy), guard.admitted("a"):
                pass
            with guard.admitted("b"), pytest.raises(ServerBusy), guard.admitted("c"):
                pass
        with guard.admitted("a"), guard.admitted("c"):
            pass  # everything was given back
        with pytest.raises(CallTimeout), CallGuard(CallLimits(call_seconds=0)).admitted("a"):
            await anyio.sleep_forever()

    anyio.run(run)


async def test_a_defect_tells_the_client_nothing_of_the_inside():
    def breaks(snapshot, probes):
        raise RuntimeError("the password is hunter2")

    async with Client(server(prober=breaks)) as client:
        result = await client.call_tool(
            "identify_current_screen", {"website_id": "pantry", "snapshot": SHELF}
        )
    assert result.is_error
    assert "hunter2" not in text_of(result)
    assert "log" in text_of(result)


def test_schemas_say_names_types_and_choices_and_no_more():
    schema = {
        "$defs": {"Inner": {"type": "object", "title": "Inner", "properties": {"a": {"type": "string"}}}},
        "title": "Arguments",
        "type": "object",
        "properties": {
            "one": {"$ref": "#/$defs/Inner", "description": "said"},
            "two": {
                "anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}],
                "default": None,
                "title": "T",
            },
            "three": {"enum": ["x", "y"], "type": "string", "default": "x"},
            "four": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "five": {"type": "array", "items": {"$ref": "#/$defs/Inner"}, "default": []},
        },
        "required": ["one"],
    }
    inner = {"type": "object", "properties": {"a": {"type": "string"}}}
    assert input_schema(schema) == {
        "type": "object",
        "required": ["one"],
        "properties": {
            "one": {**inner, "description": "said"},
            "two": {"type": "string"},
            "three": {"type": "string", "enum": ["x", "y"], "default": "x"},
            "four": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "five": {"type": "array", "items": inner},
        },
    }
    assert output_schema(schema)["properties"] == {
        "one": {"type": "object"},
        "two": {"type": "string"},
        "three": {"type": "string"},
        "four": {"type": ["string", "integer"]},
        "five": {"type": "array"},
    }
    step = {"properties": {"step": {"anyOf": [{"type": "object"}, {"type": "null"}]}}}
    always = output_schema({**step, "required": ["step"]})
    assert always["properties"] == {"step": {"type": ["object", "null"]}}
    assert output_schema(step)["properties"] == {"step": {"type": "object"}}


async def test_answers_fit_the_schemas_that_clients_are_told():
    # The SDK's client checks every structured answer against the listed schema; that it does is shown here.
    async with Client(server()) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tools["find_path"].output_schema["properties"]["paths"] == {"type": "array"}
        result = await client.call_tool(
            "find_path", {"website_id": "pantry", "from_screen": "shelf", "to_screen": "jar_new"}
        )
        assert not result.is_error


async def test_the_thread_of_a_call_that_was_given_up_ends_at_its_next_step(monkeypatch):
    go_on, begun, judged = threading.Event(), [], []
    monkeypatch.setattr(identifying, "judge", lambda *each: judged.append(each))

    def hangs(snapshot, probes):
        begun.append(snapshot)
        assert go_on.wait(60)
        return answer_probes(snapshot, probes)

    slow = server(prober=hangs, limits=CallLimits(call_seconds=0.2))
    await slow.server_context.open_request("pantry")
    asked = {"website_id": "pantry", "snapshot": LONG_SHELF}
    try:
        async with Client(slow) as client:
            for tool in ("identify_current_screen", "get_available_actions", "explain_failure"):
                result = await client.call_tool(tool, asked)
                assert result.structured_content["error"] == "took_too_long"
            assert slow.server_context.guard.in_threads >= len(begun) > 0
            go_on.set()
            while slow.server_context.guard.in_threads:
                await anyio.lowlevel.checkpoint()
    finally:
        go_on.set()
    assert not judged


@pytest.mark.parametrize(
    ("page", "place"),
    [(SHELF, "loop"), (LONG_SHELF, "thread"), ({"url": SHELF["url"], "file": "page.yml"}, "thread")],
    ids=["small", "large", "in a file"],
)
async def test_only_a_page_that_is_read_quickly_is_read_without_a_thread(page, place, tmp_path):
    (tmp_path / "page.yml").write_text('- heading "Your jars"')
    places = []

    def notes(snapshot, probes):
        places.append("loop" if threading.current_thread() is threading.main_thread() else "thread")
        return answer_probes(snapshot, probes)

    async with Client(server(prober=notes, snapshots=tmp_path)) as client:
        await client.call_tool("identify_current_screen", {"website_id": "pantry", "snapshot": page})
    assert set(places) == {place}


def test_what_is_not_in_a_thread_is_always_wanted():
    assert [*iterate_until_cancelled("abc")] == ["a", "b", "c"]


async def test_no_more_pages_are_explained_at_once_than_the_guard_has_places_for():
    begun, go_on = threading.Event(), threading.Event()

    def holds(snapshot, probes):
        begun.set()
        assert go_on.wait(60)
        return answer_probes(snapshot, probes)

    busy = server(prober=holds)
    async with Client(busy) as client, anyio.create_task_group() as group:
        group.start_soon(client.call_tool, "explain_failure", {"website_id": "pantry", "snapshot": SHELF})
        await anyio.to_thread.run_sync(begun.wait, 20)
        assert busy.server_context.guard.in_threads == 1
        go_on.set()


async def test_a_page_that_is_asked_about_again_is_parsed_once(monkeypatch):
    parsed = []
    monkeypatch.setattr(
        stored_pages, "parse_roots", lambda *args, **more: parsed.append(args) or parse(*args, **more)
    )
    asked = {"website_id": "pantry", "snapshot": SHELF}
    async with Client(server()) as client:
        where = await client.call_tool("identify_current_screen", asked)
        what = await client.call_tool("get_available_actions", asked)
        again = await client.call_tool("identify_current_screen", asked)
        assert len(parsed) == 1
        other = {**SHELF, "html": SHELF["html"].replace("Your jars", "No jars")}
        elsewhere = await client.call_tool("identify_current_screen", {**asked, "snapshot": other})
    assert len(parsed) == 2
    assert where.structured_content == again.structured_content != elsewhere.structured_content
    assert what.structured_content["screen_id"] == "shelf"


def test_the_shelf_keeps_few_pages_and_lends_each_to_one_call_at_a_time():
    folder = ParsedPageCache(most_pages=2, most_characters=100)
    pages = [PageSnapshot(url=f"http://x.test/{n}", html="<p>" * 10) for n in range(3)]
    for snapshot in pages:
        with folder.lent(snapshot) as page, folder.lent(snapshot) as at_the_same_time:
            assert page is not at_the_same_time
    assert len(folder) == 2
    with folder.lent(PageSnapshot(url="", html="x" * 101)):
        pass
    assert len(folder) == 0
    with pytest.raises(PageRefused), folder.lent(pages[0]):
        raise PageRefused("half-way")
    assert len(folder) == 0
