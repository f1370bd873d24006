"""Whatever a client sends, it gets an answer or one of the documented refusals."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client

from mcp_server import errors
from mcp_server.server import create_server
from mcp_server.source import MemorySource
from tests.mcp_server import pantry

SERVER = create_server(MemorySource(pantry.knowledge()))
NAMES = ["pantry", "shelf", "jar_new", "add_jar", "fill_jar", "tour", "forms", "open_new", "screen/shelf", ""]
TEXT = st.one_of(st.sampled_from(NAMES), st.text(max_size=40))
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXT)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXT, inner, max_size=4)),
    max_leaves=12,
)


def of_schema(schema):
    """Values that fit what a client is told, often enough, and anything else now and then."""
    if "enum" in schema:
        fitting = st.sampled_from(schema["enum"])
    elif "anyOf" in schema:
        fitting = st.one_of([of_schema(each) for each in schema["anyOf"]])
    elif schema.get("type") == "object" and "properties" in schema:
        required = schema.get("required", ())
        parts = {name: of_schema(part) for name, part in schema["properties"].items()}
        fitting = st.fixed_dictionaries(
            {name: part for name, part in parts.items() if name in required},
            optional={name: part for name, part in parts.items() if name not in required},
        )
    else:
        kinds = {
            "string": TEXT,
            "integer": st.integers(-1, 30),
            "number": st.floats(),
            "boolean": st.booleans(),
            "array": st.lists(TEXT, max_size=3),
            "object": st.dictionaries(TEXT, ANYTHING, max_size=3),
        }
        fitting = kinds.get(schema.get("type"), ANYTHING)
    return st.one_of(fitting, fitting, fitting, ANYTHING)


def codes():
    found, waiting = set(), [errors.DeskError]
    while waiting:
        kind = waiting.pop()
        found.add(kind.code)
        waiting += kind.__subclasses__()
    return found


def arguments_of(name):
    return of_schema({**SERVER.offered[name].parameters, "type": "object"}).filter(
        lambda v: isinstance(v, dict)
    )


DOCUMENTED = codes()


@pytest.mark.parametrize("name", sorted(SERVER.offered))
@settings(max_examples=12, deadline=None)
@given(data=st.data())
async def test_every_tool_answers_or_refuses_by_a_documented_error(name, data):
    arguments = data.draw(arguments_of(name))
    async with Client(SERVER) as client:
        result = await client.call_tool(name, arguments)
    if result.is_error:
        assert result.structured_content is not None, result.content
        assert result.structured_content["error"] in DOCUMENTED
        assert len(result.content[0].text) < 4_000
