"""The examples run: an agent with a scripted model, our server, and a browser's MCP server."""

from __future__ import annotations

import importlib.util
import json
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters, stdio_client

from benchmarks import tokens
from kb_store import load_knowledge, open_stores
from loaders import read_knowledge_folder
from periplus.knowledge_server import connect_knowledge_client
from periplus.seed_sites.seed_manifests import find_seed
from periplus.seed_sites.site_process import start_seed_site

pytest.importorskip("pydantic_ai", reason="the extra `llm` is not installed")

from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

from tests.support.needs import lacking

pytestmark = pytest.mark.sampled(0.4)

ROOT = Path(__file__).resolve().parents[2]
PLAYWRIGHT_MCP = "@playwright/mcp@0.0.83"


def example():
    spec = importlib.util.spec_from_file_location("example", ROOT / "docs/examples/agent_with_browser.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Scripted:
    """A model that is a generator: it yields tool calls, is sent what they answered, returns its last words."""

    def __init__(self, script):
        self._script = script
        self.calls = []

    def __call__(self, messages, info):
        try:
            call = next(self._script) if not self.calls else self._script.send(self._answer(messages))
        except StopIteration as done:
            return ModelResponse(parts=[TextPart(done.value)])
        assert call[0] in {tool.name for tool in info.function_tools}
        self.calls.append(call)
        return ModelResponse(parts=[ToolCallPart(tool_name=call[0], args=call[1])])

    def _answer(self, messages):
        (part,) = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
        return part.content


def target_of(screen, element_id):
    """The selector that `get_screen` tells for an element, as the browser's tools take it."""
    (line,) = [each for each in screen["document"]["elements"] if each.startswith(f"{element_id}:")]
    selector = line.rpartition(" @ ")[2]
    assert selector[0] in "#[", f"{element_id} has no selector a browser takes"
    return selector


def sailor(base_url, inputs):
    """A plain but honest model: it looks, asks what is next, and does that; it knows nothing of the site."""

    def ask(tool, **arguments):
        return (yield tool, {"website_id": "spadeworks", **arguments})

    def look():
        seen = yield "browser_snapshot", {}
        url = seen.partition("Page URL: ")[2].partition("\n")[0]
        return (
            yield from ask("get_available_actions", snapshot={"url": url, "text": seen}, detail="summary")
        )

    def do(step, screen_id):
        action = step["action"]
        if action["action_type"] in ("navigate", "goto"):
            path = yield from ask("get_screen", screen_id=action["target_screen"])
            url = path["document"].get("url", action.get("url"))
            return (yield "browser_navigate", {"url": base_url + url.partition(".co")[2]})
        screen = yield from ask("get_screen", screen_id=screen_id)
        place = {"target": target_of(screen, action["target"])}
        value = str(action.get("value", "")).format(**inputs)
        if "select" in action["action_type"]:
            return (yield "browser_select_option", {**place, "values": [value]})
        if "type" in action["action_type"]:
            return (yield "browser_type", {**place, "text": value})
        answer = yield "browser_click", place
        if answer.startswith("### Error"):
            yield from uncover(answer)
            answer = yield "browser_click", place
        assert not answer.startswith("### Error"), answer
        return answer

    def uncover(error):
        """Ask why a click failed, and do what the first cause says."""
        why = yield from ask("explain_failure", error=error)
        assert why["causes"][0]["cause"] == "covered_by_overlay"
        website = yield from ask(why["causes"][0]["next"][0]["tool"])
        (overlay,) = [
            each
            for each in website["document"]["overlays"]
            if each["overlay_id"] in why["causes"][0]["message"]
        ]
        yield "browser_click", {"target": f'[id="{overlay["dismiss"]["target"]["strategies"][0]["value"]}"]'}

    def needs(step):
        said = json.dumps(step["action"])
        return [word for word in ("voice", "greeting", "expiry_date") if f"{{{word}}}" in said]

    def task(task_id):
        after, given = None, {}
        while True:
            step = yield from ask("get_next_step", task_id=task_id, **given)
            if step.get("step") is None:
                return
            after = step["path"]
            given = {"after_step": after}
            if step["step"].get("can_skip") and (needs(step["step"]) or "/" in after):
                continue
            here = step.get("screen_id") or (yield from look())["screen_id"]
            yield from do(step["step"], here)
            if (
                task_id == "login"
                and (yield from look()).get("screen_id") != "login"
                and after != "open_login"
            ):
                return

    yield "browser_navigate", {"url": base_url}
    found = yield from ask("search_knowledge", query="create an agent", kinds=["task"])
    task_id = found["hits"][0]["id"]
    if (yield from look())["screen_id"] == "login":
        yield from task("login")
    yield from task(task_id)
    here = yield from look()
    seen = yield "browser_snapshot", {}
    made = inputs["agent_name"] in seen
    return f"{task_id}: on {here['screen_id']}, {inputs['agent_name']} is {'there' if made else 'missing'}"


@asynccontextmanager
async def playwright_mcp(chromium, folder):
    try:
        node = tokens.npm_install(ROOT / ".tools" / "playwright-mcp", PLAYWRIGHT_MCP)
    except tokens.NoTokenizer as exc:
        lacking(exc.reason)
    script = ROOT / ".tools/playwright-mcp/node_modules/@playwright/mcp/cli.js"
    quick = ["--timeout-action", "2000", "--timeout-settle", "100"]
    arguments = [
        str(script),
        "--headless",
        "--isolated",
        "--no-sandbox",
        *quick,
        "--executable-path",
        chromium,
    ]
    async with Client(
        stdio_client(StdioServerParameters(command=node, args=arguments, cwd=folder))
    ) as client:
        yield client


async def test_an_agent_carries_out_a_task_with_our_server_and_a_browsers(tmp_path, chromium_path):
    seed = find_seed("spadeworks")
    knowledge, _ = read_knowledge_folder(seed.knowledge_folder)
    inputs = {"agent_name": "Harbour Pilot", "language": "en-US", **seed.context}
    async with start_seed_site(seed) as base_url, open_stores(tmp_path) as stores:
        await load_knowledge(stores.documents, stores.graph, knowledge)
        async with (
            connect_knowledge_client(stores) as desk,
            playwright_mcp(chromium_path, tmp_path) as browser,
        ):
            model = Scripted(sailor(base_url, inputs))
            said = await example().carry_out(
                "Create an agent called Harbour Pilot",
                FunctionModel(model),
                desk,
                browser,
                website_id="spadeworks",
                base_url=base_url,
            )
    assert said == "create_agent: on agent_list, Harbour Pilot is there"
    used = {tool for tool, _ in model.calls}
    assert {"browser_click", "get_next_step", "get_available_actions", "explain_failure"} <= used
