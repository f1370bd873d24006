"""People at work on a site, for recordings: scripts with what people do beside what they mean to.

Every site's own people are in the tests that need them; here is what all of them do.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, Page

from agent.recording.demonstration_recorder import DemonstrationRecorder
from agent.run_context import RunContext
from agent.synthesis.synthesis_pipeline import PipelineResult, add_workflow_documents
from agent.synthesis.workflows.workflow_documents import WorkflowDocuments
from periplus.synthesis.workflow_synthesis import induce_workflow, read_traces
from tests.support.live_spadeworks import ACCOUNT, Controls
from tests.support.rotation import SEED

Person = Callable[[Page, Mapping[str, str], random.Random], Awaitable[None]]
"""Works on a page with what is given, rolling the dice for the noise."""


class Noise:
    """What people do beside what they mean to."""

    def __init__(self, page: Page, dice: random.Random) -> None:
        self._page, self._dice = page, dice

    async def type(self, field: str, text: str) -> None:
        """With a slip that is corrected, now and then."""
        await self._page.click(field)
        if self._dice.random() < 0.5:
            await self._page.keyboard.type(f"{text[:2]}q")
            for _ in range(len(text[:2]) + 1):
                await self._page.keyboard.press("Backspace")
        await self._page.keyboard.type(text)
        for _ in range(3):
            held = await self._page.evaluate("document.activeElement?.value ?? ''")
            if text in held or not text[1:] or text[1:] not in held:
                return
            await self._page.keyboard.press("ControlOrMeta+A")  # a busy page lost the first key
            await self._page.keyboard.press("Delete")
            await self._page.keyboard.type(text)

    async def retype(self, field: str, text: str) -> None:
        """In place of what stands there."""
        await self._page.click(field)
        await self._page.keyboard.press("ControlOrMeta+A")
        await self._page.keyboard.press("Delete")
        await self.type(field, text)

    async def wander(self) -> None:
        """A click on nothing."""
        if self._dice.random() < 0.5:
            await self._page.mouse.click(640, 700)


async def signs_in(page: Page, noise: Noise, *, into: str | re.Pattern[str] = "**/dashboard") -> None:
    """Says yes to cookies where that is asked, and signs in to Spadeworks."""
    if await page.locator("#cookie-accept").is_visible():
        await page.click("#cookie-accept")
    await noise.type("#email", ACCOUNT["email"])
    await noise.type("#password", ACCOUNT["password"])
    await page.click("#sign-in")
    await page.wait_for_url(into)


async def recorded(
    browser: Browser, base: str, folder: Path, person: Person, given: Mapping[str, str], dice: random.Random,
    *, asked: bool, start: str = "/login",
) -> None:  # fmt: skip
    """`asked`: this person is asked about cookies; others have said yes before. `start`: where they begin."""
    context = await browser.new_context(viewport={"width": 1280, "height": 720})
    if not asked:
        await context.add_cookies([{"name": "sw_consent", "value": "accepted", "url": base}])
    try:
        recorder = DemonstrationRecorder(
            context, folder, context=RunContext(), name=person.__name__.replace("_", " ")
        )
        await recorder.start()
        page = await context.new_page()
        await page.goto(f"{base}{start}")
        await person(page, given, dice)
        await recorder.rest()
        await page.close()
        await asyncio.wait_for(recorder.closed.wait(), 10)
        await recorder.finish()
    finally:
        await context.close()


async def shown(
    browser: Browser, live: Controls, folder: Path, person: Person, given: Sequence[Mapping[str, str]],
    prepare: Callable[[int], None] = lambda _: None, asked: Callable[[int], bool] = lambda number: number != 1,
) -> PipelineResult:  # fmt: skip
    """What synthesis makes of one recording for each of `given`. No password is in any of their files.

    `prepare` and `asked` are called with a recording's number: what to do before it, and whether this
    person is asked about cookies.
    """
    rolled = random.Random(SEED)
    for number, each in enumerate(given):
        prepare(number)
        await recorded(
            browser, live.base, folder / f"pass-{number}", person, each, rolled, asked=asked(number)
        )
    for file in folder.rglob("*"):
        assert file.is_dir() or ACCOUNT["password"].encode() not in file.read_bytes(), file
    return add_workflow_documents(await induce_workflow(read_traces([folder]), person.__name__, ""))


def secrets(lowered: WorkflowDocuments) -> dict[str, Any]:
    """The password for every secret input."""
    return {spec.name: ACCOUNT["password"] for spec in lowered.workflow.io_spec.inputs if spec.secret}
