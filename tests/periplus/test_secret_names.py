"""`{secret:NAME}` in what a caller gives is refused with its place, before anything is opened or started."""

from __future__ import annotations

import inspect
import json
from dataclasses import replace
from typing import Any, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client

from mcp_server.tool_server import ToolServer
from periplus import Site, UserError, open_store
from periplus.browser_tools.browser_tool_functions import TOOL_DEFINITIONS, build_browser_tools
from periplus.secret_names import check_no_secret_names
from tests.periplus.service.service_support import served
from tests.support import warm

SECRET = "{secret:SHOP_PASSWORD}"
NO_BROWSER = {"PERIPLUS_CHROMIUM": "/no/such/browser", "COLUMNS": "300"}

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def with_a_secret(draw):
    """JSON with a placeholder somewhere inside, and the path of the place."""
    value, path = draw(st.text(max_size=4)) + SECRET + draw(st.text(max_size=4)), ""
    for _ in range(draw(st.integers(0, 4))):
        if draw(st.booleans()):
            before = draw(st.lists(plain, max_size=2))
            value, path = [*before, value], f"[{len(before)}]{path}"
        else:
            name = draw(st.text("abc", min_size=1, max_size=4))
            value, path = {"other": draw(plain), name: value}, f".{name}{path}"
    return value, path


@given(with_a_secret(), st.dictionaries(st.text("xyz", min_size=1), plain, max_size=2))
def test_it_is_found_at_any_depth_and_its_place_is_named(made, others):
    value, path = made
    with pytest.raises(UserError) as refused:
        check_no_secret_names({**others, "name": value}, "the input")
    assert f"is not allowed in the input name{path}" in refused.value.message
    assert "docs/inputs.md" in str(refused.value)


@given(st.dictionaries(st.text(max_size=5), plain, max_size=3))
def test_other_values_are_left_alone(values):
    check_no_secret_names(values)


def _text_arguments():
    for definition in TOOL_DEFINITIONS:
        hints = get_type_hints(definition.function)
        _, *own = inspect.signature(definition.function).parameters
        for name in own:
            if any(kind in str(hints[name]) for kind in ("str", "dict")):
                yield definition.function.__name__, name, "dict" in str(hints[name])


@pytest.mark.parametrize(("tool", "argument", "holds_values"), list(_text_arguments()))
async def test_every_argument_of_the_browser_tools_refuses_it_without_a_tab(tool, argument, holds_values):
    given_value: Any = {"a": ["x", SECRET]} if holds_values else f"x {SECRET}"
    async with Client(ToolServer("tools", build_browser_tools(None), read_only=False)) as client:
        refused = await client.call_tool(tool, {argument: given_value})
    assert refused.is_error
    assert f"not allowed in `{argument}`" in refused.content[0].text


@pytest.mark.parametrize(
    "command",
    [
        ["run", "name_a_boat", "-i", f"boat_name={SECRET}"],
        ["run", "register a boat", "-i", f"boat_name=x{SECRET}"],
        ["collect", "name_a_boat", "--inputs", "rows.jsonl"],
        ["collect", "name_a_boat", "--runs", "1", "-i", f"boat_name={SECRET}"],
        ["verify", "accounts.feature", "-i", f"boat_name={SECRET}"],
        ["map", "http://127.0.0.1:9", "-i", f"password={SECRET}"],
    ],
)
def test_a_command_refuses_it_before_a_browser_starts(command, tmp_path):
    (tmp_path / "rows.jsonl").write_text(
        "\n".join(json.dumps({"boat_name": each}) for each in ("Tern", {"deep": [SECRET]}))
    )
    (tmp_path / "accounts.feature").write_text(
        'Feature: A\n\n  Scenario: a: B\n    Given I am on "http://127.0.0.1:9/"\n    When I click "Save"\n'
    )
    done = warm.run(
        "periplus", *command, cwd=tmp_path, env={**NO_BROWSER, "PERIPLUS_DATA_DIR": str(tmp_path)}
    )
    assert done.returncode == 2, done.stdout + done.stderr
    place = "row 2, input boat_name.deep[0]" if "--inputs" in command else "--input "
    assert f"{SECRET} is not allowed in" in done.stderr
    assert place in done.stderr
    assert "browser" not in done.stderr


async def test_the_python_api_refuses_it_before_anything_is_run(tmp_path):
    async with open_store(tmp_path) as store:
        site = Site(store, "harbour", page=None, base_url="http://127.0.0.1:9", values={"code": "1"})
        with pytest.raises(UserError, match=r"not allowed in the input boat_name\.a"):
            await site.run("register_boat", boat_name={"a": SECRET})
        with pytest.raises(UserError, match="not allowed in the input row"):
            await site.go_to("quay", row=SECRET)
        with pytest.raises(UserError, match="not allowed in the input code"):
            await replace(site, values={"code": SECRET}).run("register_boat")
        assert await store.runs.runs() == []


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"inputs": [{"name": "a"}, {"name": {"b": SECRET}}]}, "$.inputs[1].name.b"),
        ({"values": {"name": [SECRET]}}, "$.values.name[0]"),
        ({"make": {"name": ["a", SECRET]}}, "$.make.name[1]"),
        ({"make": {"name": SECRET}}, "$.make.name"),
        ({"task_id": SECRET}, "$.task_id"),
        ({"website_id": SECRET}, "$.website_id"),
    ],
)
async def test_a_collection_over_rest_names_the_place(service, body, place):
    asked = {"website_id": "shop", "task_id": "add", **body}
    answer = await service.client.post("/api/collections", json=asked)
    assert answer.status_code == 422
    assert f"{SECRET} is not allowed in {place}" in answer.text


@pytest.fixture(scope="module")
async def service(tmp_path_factory):
    async with served(tmp_path_factory.mktemp("rest")) as one:
        yield one
