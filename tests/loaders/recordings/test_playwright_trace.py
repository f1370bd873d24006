"""Traces of Playwright: one that it just wrote itself, and what an old or broken one is like."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.async_api import Error as PlaywrightError

from kb_schema.page_snapshots import PageSnapshot
from kb_schema.selectors import Selector
from loaders.recordings.formats import read_recording
from loaders.recordings.imported_traces import LEFT_OUT, UnreadableRecording
from tests.support.pages import SITE, show
from web_pages.stored_pages import StoredPage

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext

FORM = """<form action=/done onsubmit="return false"><label>Name <input name=n></label>
<input type=password name=p><select id=s><option value=1>One<option value=2>Two</select>
<input type=checkbox id=c><button data-testid=go>Go</button></form><div id=h></div>
<iframe srcdoc="<button>In frame</button>"></iframe>
<script>h.attachShadow({mode:'open'}).innerHTML='<button>Deep</button>'</script>"""


async def test_what_playwright_traced_becomes_a_trace_with_our_selectors(context: BrowserContext, tmp_path):
    file = tmp_path / "trace.zip"
    await context.tracing.start(snapshots=True)
    page = await context.new_page()
    await show(page, FORM)
    await page.get_by_label("Name").fill("Ada O'Brien")
    await page.fill("[name=p]", "open sesame")
    await page.select_option("#s", label="Two")
    await page.check("#c")
    await page.get_by_role("button", name="Deep").click()
    await page.frame_locator("iframe").get_by_role("button").click()
    await page.get_by_test_id("go").press("Enter")
    with pytest.raises(PlaywrightError):
        await page.click("#missing", timeout=100)
    await context.tracing.stop(path=file)

    (imported,) = read_recording(file)

    trace = imported.trace
    assert [(step.action_type, step.args) for step in trace.steps] == [
        ("navigate", {"url": f"{SITE}/"}),
        ("fill", {"value": "Ada O'Brien"}),
        ("fill", {"value": LEFT_OUT}),
        ("select_option", {"value": "Two"}),
        ("check", None),
        ("click", None),
        ("click", None),
        ("press", {"value": "Enter"}),
        ("click", None),
    ]
    assert imported.secrets == {"open sesame"}
    assert "open sesame" not in trace.model_dump_json()
    assert trace.error is not None
    assert [step.result.success for step in trace.steps if step.result] == [True] * 8 + [False]
    for step, tag in zip(
        trace.steps[1:8], ["input", "input", "select", "input", "button", "button", "button"], strict=True
    ):
        stored = StoredPage(PageSnapshot(url=f"{SITE}/", html=step.html_before or ""))
        found = stored.resolve(Selector.model_validate(step.target))
        assert found.element is not None, step
        assert found.element.tag == tag
    deep, framed = (step.target["strategies"] for step in trace.steps[5:7])
    assert [each["type"] for each in deep] == ["shadow_pierce"]
    assert framed[0]["type"] == "xpath-text"


def _zip(folder: Path, events: list[Any]) -> Path:
    file = folder / "old.zip"
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr(
            "trace.trace", "\n".join(each if isinstance(each, str) else json.dumps(each) for each in events)
        )
    return file


def test_an_older_trace_without_pages_keeps_what_playwrights_selectors_say(tmp_path):
    def call(number: int, method: str, **params: Any) -> list[Any]:
        before = {"type": "before", "callId": f"call@{number}", "startTime": number, "apiName": f"page.{method}",
                  "class": "Frame", "method": method, "params": params}  # fmt: skip
        return [before, {"type": "after", "callId": f"call@{number}", "endTime": number + 1}]

    events = [
        {"version": 6, "type": "context-options", "browserName": "chromium", "wallTime": 1_700_000_000_000, "monotonicTime": 0},
        *call(1, "goto", url="https://a.test/"),
        "{broken",
        *call(2, "click", selector='internal:role=button[name="Save \\"it\\""i]'),
        *call(3, "fill", selector='internal:label="Password"s', value="open sesame"),
        *call(4, "click", selector="css=#a >> nth=1"),
        *call(5, "mouseMove", x=1, y=2),
        *call(6, "dragAndDrop", source="css=#card", target="css=#done", targetPosition={"x": 1, "y": 2}),
    ]  # fmt: skip
    (imported,) = read_recording(_zip(tmp_path, events))
    trace = imported.trace
    assert [step.action_type for step in trace.steps] == ["navigate", "click", "fill", "drag"]
    assert trace.steps[3].args["drop"]["target"]["strategies"][0]["value"] == "#done"
    assert "middle of both elements" in trace.metadata["notes"][0]
    assert trace.steps[1].target["strategies"][0]["name"] == 'Save "it"'
    assert trace.steps[2].args == {"value": LEFT_OUT}
    assert trace.start_time is not None
    assert [problem.split(": ")[0] for problem in trace.metadata["problems"]] == [
        "trace.trace:4", "trace.trace:11", "trace.trace:9",
    ]  # fmt: skip


def test_a_zip_without_a_trace_is_refused(tmp_path):
    with pytest.raises(UnreadableRecording, match="contains no Playwright trace"):
        read_recording(_zip(tmp_path, []))


def test_snapshots_that_refer_to_nothing_leave_a_gap_and_not_an_error(tmp_path):
    snapshot = {"callId": "c", "phase": "before", "frameId": "f", "frameUrl": "https://a.test/", "isMainFrame": True,
                "html": ["HTML", {}, [[7, 3]], [[0, 99]], ["BODY", {}, "left"]]}  # fmt: skip
    events = [
        {"type": "before", "callId": "c", "class": "Frame", "method": "click", "params": {"selector": "#a"}},
        {"type": "frame-snapshot", "snapshot": snapshot},
        {"type": "after", "callId": "c"},
    ]
    (imported,) = read_recording(_zip(tmp_path, events))
    assert imported.trace.steps[0].html_before == "<html><body>left</body></html>"


def test_answers_downloads_and_tabs_belong_to_the_calls_that_led_to_them(tmp_path):
    def call(name: str, page: str) -> list[Any]:
        snapshot = {"callId": name, "phase": "before", "frameId": page, "pageId": page, "frameUrl": f"{SITE}/",
                    "isMainFrame": True, "html": ["HTML", {}, ["BODY", {}]]}  # fmt: skip
        return [
            {
                "type": "before",
                "callId": name,
                "class": "Frame",
                "method": "click",
                "params": {"selector": "#a"},
            },
            {"type": "frame-snapshot", "snapshot": snapshot},
        ]

    def event(method: str, **params: Any) -> dict[str, Any]:
        return {"type": "event", "class": "BrowserContext", "method": method, "params": params}

    def answer(method: str, **params: Any) -> dict[str, Any]:
        return {"type": "before", "callId": "x", "class": "Dialog", "method": method, "params": params}

    events = [
        event("page", pageId="p1"),
        *call("yes", "p1"), event("dialog", type="confirm"), answer("accept"),
        *call("text", "p1"), event("dialog", type="prompt"), answer("accept", promptText="Ann"),
        *call("nobody", "p1"), event("dialog", type="confirm"),
        *call("told", "p1"), event("dialog", type="alert"), answer("accept"),
        *call("file", "p1"), event("download", suggestedFilename="a.csv"),
        *call("tab", "p1"), event("page", pageId="p2", openerPageId="p1"),
        *call("there", "p2"),
    ]  # fmt: skip
    (imported,) = read_recording(_zip(tmp_path, events))
    assert [(step.args, step.metadata) for step in imported.trace.steps] == [
        ({"on_dialog": "accept"}, {}),
        ({"on_dialog": {"accept": True, "text": "Ann"}}, {}),
        ({"on_dialog": "dismiss"}, {}),
        (None, {}),
        (None, {"download": "a.csv"}),
        (None, {"opens_tab": 1}),
        (None, {"tab": 1}),
    ]
