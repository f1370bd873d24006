"""People whom the recorder watches at small pages, and what it wrote of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, BrowserContext, Page, Route

from agent.recording.demonstration_recorder import DemonstrationRecorder, DemonstrationRecording
from agent.run_context import RunContext
from kb_schema.execution_traces import ExecutionTrace
from kb_schema.session_reader import read_session
from tests.support.pages import SITE

FORM = """<!doctype html><title>Form</title><h1>Form</h1><form action=/done>
<label>Name <input name=n></label> <label>Word <input type=password name=p></label>
<select name=s aria-label=Size><option>One<option>Two</select> <label><input type=checkbox name=c> Agree</label>
<input type=file name=f> <textarea aria-label=Notes></textarea> <button data-testid=go><span>Go</span></button></form>
<p style="height:40px">nothing here</p> <button id=twice>Twice</button> <a href=/other target=_blank>Other</a>
<iframe srcdoc="<button>In frame</button>"></iframe> <div id=host></div>
<div id=menu onmousedown="this.remove()">Vanish</div> <button onclick="history.back()">Page's own back</button>
<script>host.attachShadow({mode: "open"}).innerHTML = "<button>Deep</button>"</script>"""


@dataclass
class Person:
    """A person at a page, with the recorder that watches."""

    browser: BrowserContext
    page: Page
    recorder: DemonstrationRecorder
    folder: Path
    pages: dict[str, str] = field(default_factory=dict)

    async def done(self) -> tuple[DemonstrationRecording, ExecutionTrace]:
        for page in self.browser.pages:
            await page.close()
        await asyncio.wait_for(self.recorder.closed.wait(), 10)
        return await self.recorder.finish(), read_session(self.folder)


@asynccontextmanager
async def watched(
    browser: Browser,
    folder: Path,
    html: str = FORM,
    secrets: tuple[str, ...] = (),
    on_problem: Callable[[str], None] = lambda _: None,
    *,
    ahead: int = 0,
) -> AsyncIterator[Person]:
    """`ahead`: how many tabs are open before the recorder starts; the person works in the last of them."""
    context = await browser.new_context(viewport={"width": 1280, "height": 720})
    await context.route(f"{SITE}/**", answer_with(html))
    recorder = DemonstrationRecorder(
        context, folder, context=RunContext(), name="Fill it in", secrets=secrets, on_problem=on_problem
    )
    open_before = [await context.new_page() for _ in range(ahead)]
    await recorder.start()
    page = open_before[-1] if open_before else await context.new_page()
    await page.goto(SITE)
    try:
        yield Person(context, page, recorder, folder)
    finally:
        await context.close()


def answer_with(html: str) -> Any:
    """Return a route handler that answers everything with this page."""

    async def answer(route: Route) -> None:
        await route.fulfill(content_type="text/html; charset=utf-8", body=html)

    return answer


def told(trace: ExecutionTrace) -> list[tuple[str, Any, str]]:
    return [
        (
            step.action_type,
            (step.args or {}).get("value", (step.args or {}).get("url")),
            step.metadata.get("said", ""),
        )
        for step in trace.steps
    ]
