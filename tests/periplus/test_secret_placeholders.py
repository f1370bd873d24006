"""One rule at every door: `{secret:NAME}` anywhere but where it belongs is refused with its place, before anything starts.

Documents, request bodies and tools are walked by their types, so that a new field, body or tool is held by this test, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import cache
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client
from mcp.types import Tool
from pydantic import BaseModel, TypeAdapter, ValidationError

from kb_schema import KnowledgeError, SourcedDocument, assemble, parse_document
from kb_schema.secret_placement import find_misplaced_secrets, may_name_secret
from kb_store.audit.audit_log import AuditLog
from kb_store.audit.audit_recorder import use_audit_log
from mcp_server.knowledge.knowledge_sources import MemorySource
from mcp_server.knowledge.view_cache import ViewCache
from mcp_server.server import create_server
from mcp_server.tool_server import ToolServer
from periplus.agent_server.agent_tools import AgentToolContext, build_agent_tools
from periplus.browser_tools.browser_tool_functions import build_browser_tools
from periplus.service.visits.visit_registry import VisitRegistry
from periplus.service.visits.visit_settings import VisitSettings
from tests.kb_store.sample_knowledge import documents_of
from tests.periplus.service.service_support import served
from tests.periplus.service.visits.visit_support import Puppets

SECRET = "{secret:SHOP_PASSWORD}"
NAMES = st.from_regex(r"[A-Z][A-Z0-9_]{0,12}", fullmatch=True)
ROUND = st.text("abc /?&=", max_size=6)


@st.composite
def texts_with_a_secret(draw: Any) -> tuple[str, str]:
    """A text with a placeholder, and the name of its secret."""
    name = draw(NAMES)
    return f"{draw(ROUND)}{{secret:{name}}}{draw(ROUND)}", name


def _places(value: Any, way: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the way to each text in JSON."""
    if isinstance(value, str):
        yield way
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _places(each, (*way, key))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _places(each, (*way, number))


def _with(value: Any, way: tuple[str | int, ...], text: str) -> Any:
    """A copy of JSON with another text at a place."""
    if not way:
        return text
    if isinstance(value, dict):
        return {key: _with(each, way[1:], text) if key == way[0] else each for key, each in value.items()}
    return [_with(each, way[1:], text) if number == way[0] else each for number, each in enumerate(value)]


# -- documents -------------------------------------------------------------------------------------------


@cache
def _document_places() -> tuple[tuple[int, tuple[str | int, ...]], ...]:
    return tuple((number, way) for number, document in enumerate(documents_of()) for way in _places(document))


@given(st.data(), texts_with_a_secret())
@settings(max_examples=300, deadline=None)
def test_no_document_of_a_knowledge_base_has_one_in_any_text(data, secret):
    text, name = secret
    number, way = data.draw(st.sampled_from(_document_places()))
    documents = documents_of()
    documents[number] = _with(documents[number], way, text)
    _check_refused(documents, number, name)


def _check_refused(documents: list[dict[str, Any]], number: int, name: str) -> None:
    with pytest.raises((KnowledgeError, ValidationError)) as refused:
        assemble([SourcedDocument(parse_document(each), str(at)) for at, each in enumerate(documents)])
    if isinstance(refused.value, KnowledgeError):
        ours = [each for each in refused.value.problems if each.rule == "secret-placeholders"]
        assert all(name in each.message and each.source == str(number) for each in ours)


def _objects(value: Any, way: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the way to each object in JSON."""
    if isinstance(value, dict):
        yield way
    for key, each in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(each, dict | list):
            yield from _objects(each, (*way, key))


@given(st.data(), texts_with_a_secret())
@settings(max_examples=60, deadline=None)
def test_no_name_in_a_document_has_one_either(data, secret):
    text, name = secret
    documents = json.loads(json.dumps(documents_of()))  # without what they share
    number = data.draw(st.integers(0, len(documents) - 1))
    way = data.draw(st.sampled_from(list(_objects(documents[number]))))
    found = documents[number]
    for each in way:
        found = found[each]
    found[text] = "x"
    _check_refused(documents, number, name)


def _models(base: type[BaseModel]) -> set[type[BaseModel]]:
    return {base, *(found for each in base.__subclasses__() for found in _models(each))}


def _takes_text(field: Any) -> bool:
    try:
        TypeAdapter(field.rebuild_annotation()).validate_python("{secret:A}")
    except Exception:  # noqa: BLE001 - any refusal, also of a type that cannot be built alone
        return False
    return True


def test_every_text_field_of_every_model_is_seen_by_the_search():
    """By type: each field that takes a text, of every model there is, is found or is the one that is typed."""
    seen = 0
    for model in _models(BaseModel):
        if not model.__module__.startswith(("kb_schema.", "periplus.service.")):
            continue
        for name, field in model.model_fields.items():
            if not _takes_text(field):
                continue
            made = model.model_construct(**{**dict.fromkeys(model.model_fields), name: "{secret:A}"})
            found = [each.path for each in find_misplaced_secrets(made)]
            assert (found == []) is may_name_secret(field), f"{model.__name__}.{name}"
            seen += 1
    assert seen > 400


# -- tools -----------------------------------------------------------------------------------------------


@asynccontextmanager
async def clients_of_all_tools() -> AsyncIterator[dict[str, tuple[Client, Tool]]]:
    """A client for each tool of all three servers. They have no browser: one that starts would be an error."""
    knowledge, _ = assemble([SourcedDocument(parse_document(each)) for each in documents_of()])
    server = create_server(ViewCache(MemorySource(knowledge)))
    own = ToolServer(
        "own",
        [*build_browser_tools(None), *build_agent_tools(AgentToolContext(None, server.server_context.views))],
        read_only=False,
    )
    async with Client(server) as asked, Client(own) as agent:
        found = {}
        for client in (asked, agent):
            found |= {tool.name: (client, tool) for tool in (await client.list_tools()).tools}
        yield found


PAGE = "snapshot"
"""The argument that holds a page, whose text is data."""


def _schema_places(
    schema: dict[str, Any], defs: dict[str, Any], way: tuple[str, ...] = ()
) -> Iterator[tuple[str, ...]]:
    """Yield the way to each place of a JSON schema where a text may be; `*` is any name, `0` an entry."""
    schema = defs.get(str(schema.get("$ref", "")).rpartition("/")[2], schema)
    for part in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from _schema_places(part, defs, way)
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if "string" in kinds:
        yield way
    if len(way) > 4:
        return
    for name, part in schema.get("properties", {}).items():
        yield from _schema_places(part, defs, (*way, name))
    if "object" in kinds and "properties" not in schema:
        yield (*way, "*")
        if isinstance(schema.get("additionalProperties"), dict):
            yield from _schema_places(schema["additionalProperties"], defs, (*way, "*"))
    if "array" in kinds:
        yield from _schema_places(schema.get("items", {"type": "string"}), defs, (*way, "0"))


def _at(way: tuple[str, ...], text: str) -> Any:
    """JSON with a text at a place of a schema."""
    value: Any = text
    for each in reversed(way):
        value = [value] if each == "0" else {"any" if each == "*" else each: value}
    return value


async def test_every_argument_of_every_tool_refuses_it_at_every_depth():
    async with clients_of_all_tools() as clients:
        await _ask_all(clients)


async def _ask_all(clients: dict[str, tuple[Client, Tool]]) -> None:
    asked = 0
    for name, (client, tool) in clients.items():
        schema = tool.input_schema
        for way in _schema_places(schema, schema.get("$defs", {})):
            if way[0] == PAGE:
                continue
            refused = await client.call_tool(name, _at(way, "x {secret:SHOP_PASSWORD} y"))
            said = "\n".join(getattr(block, "text", "") for block in refused.content)
            place = f"`{way[0]}`" + "".join(
                "[0]" if each == "0" else f".{'any' if each == '*' else each}" for each in way[1:]
            )
            assert refused.is_error, (name, way)
            assert f"{{secret:SHOP_PASSWORD}} is not allowed in {place}" in said, (name, way, said)
            asked += 1
    assert asked > 80
    assert {"run_task", "act", "publish_workflow", "search_knowledge"} <= clients.keys()


@given(secret=texts_with_a_secret(), data=st.data())
@settings(max_examples=60, deadline=None)
def test_values_at_any_depth_of_an_argument_are_searched(secret, data):
    text, name = secret
    value: Any = text
    for _ in range(data.draw(st.integers(0, 5))):
        value = [None, value] if data.draw(st.booleans()) else {data.draw(st.text("ab", min_size=1)): value}
    (found,) = find_misplaced_secrets({"inputs": value}, "$")
    assert found.name == name


# -- requests --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
async def service(tmp_path_factory):
    async with served(tmp_path_factory.mktemp("rest")) as one:
        yield one


async def test_every_body_of_every_request_refuses_it_at_every_depth(service):
    described = (await service.client.get("/api/openapi.json")).json()
    defs, asked, typed = described["components"]["schemas"], 0, list[Any]()
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            content = operation.get("requestBody", {}).get("content", {})
            if "application/json" not in content:
                continue
            schema = content["application/json"]["schema"]
            base = _example(operation, schema, defs)
            for way in _schema_places(schema, defs):
                body = _put(base, way, "{secret:SHOP_PASSWORD}")
                answer = await service.client.request(method, re.sub(r"\{\w+\}", "A", path), json=body)
                asked += 1
                if answer.status_code == 403:  # the value that a step types: the name is no secret of clients
                    assert "clients may not use {secret:SHOP_PASSWORD}" in answer.text
                    typed.append(way)
                else:
                    assert answer.status_code == 422, (path, way, answer.text)
                    assert way[0] in answer.text, (path, way, answer.text)
    assert asked > 15
    assert all(way[0] == "steps" for way in typed)
    assert service.quick.began == []


@pytest.fixture
async def audited_service(tmp_path):
    """A service that keeps an audit log and invites visitors, so that all its requests are answered."""
    use_audit_log(AuditLog(tmp_path / "audit"))
    links = VisitRegistry(Puppets(browser=None), VisitSettings())
    async with served(tmp_path / "data", visits=links) as one:
        yield one
    use_audit_log(None)


async def test_every_part_of_an_address_and_every_header_of_a_request_refuses_it(audited_service):
    service = audited_service
    described = (await service.client.get("/api/openapi.json")).json()
    asked, searched = 0, []
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            for given_part in operation.get("parameters", []):
                answer = await _ask_with(service, method, path, given_part)
                asked += 1
                where = (method, path, given_part["name"])
                if answer.status_code == 200:
                    searched.append(given_part["name"])
                else:
                    assert answer.status_code in (404, 422), (where, answer.text)
                    assert answer.status_code == 404 or given_part["name"] in answer.text, (
                        where,
                        answer.text,
                    )
    assert asked > 40
    assert searched == ["actor"], "a part of a name that the entries of the log are compared with"
    assert service.quick.began == []


async def _ask_with(service: Any, method: str, path: str, parameter: dict[str, Any]) -> Any:
    """Send a request with a placeholder as one parameter."""
    name = parameter["name"]
    url = re.sub(r"\{(\w+)\}", lambda found: SECRET if found[1] == name else "A", path)
    given_at = {name: SECRET}
    return await service.client.request(
        method, quote(url), params=given_at if parameter["in"] == "query" else None,
        headers=given_at if parameter["in"] == "header" else None,
    )  # fmt: skip


def _put(value: Any, way: tuple[str, ...], text: str) -> Any:
    """A copy of JSON with a text at a place of its schema, which is made where it is missing."""
    if not way:
        return text
    if way[0] == "0":
        entries = value if isinstance(value, list) and value else [None]
        return [_put(entries[0], way[1:], text), *entries[1:]]
    known = value if isinstance(value, dict) else {}
    name = "any" if way[0] == "*" else way[0]
    return {**known, name: _put(known.get(name), way[1:], text)}


def _example(operation: dict[str, Any], schema: dict[str, Any], defs: dict[str, Any]) -> Any:
    examples = operation["requestBody"]["content"]["application/json"].get("examples", {})
    for each in examples.values():
        return each["value"]
    resolved = defs.get(str(schema.get("$ref", "")).rpartition("/")[2], schema)
    return (resolved.get("examples") or [{}])[0]
