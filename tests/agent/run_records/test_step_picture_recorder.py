"""Pictures of steps: one between two steps, secrets covered, and what the page logged and requested meanwhile."""

from __future__ import annotations

import hashlib

import pytest

from agent.events import ActionDone, StepEnded, StepStarted
from agent.run_context import RunContext
from agent.run_records.step_picture_recorder import MOST_LINES, StepPictureRecorder
from kb_schema.step_pictures import STEPS_FILE, StepPictures
from tests.support.small_sites import Answered, running_site

DONE = ActionDone("click", None, {}, "", "", None, None, 1.0)
SHOWN = "<body style='font: 20px monospace'><p>The code is {}</p><input value='{}'>"


@pytest.fixture
async def page(browser):
    context = await browser.new_context()
    yield await context.new_page()
    await context.close()


def recorder(folder, page, *secrets):
    context = RunContext()
    for each in secrets:
        context.keep_secret(each)
    return StepPictureRecorder(folder, lambda: page, context)


async def step(made, page, name, content=None):
    """Do a step: it begins, waits for the picture before it, changes the page, and ends."""
    made(StepStarted("task", name, 1, 1, "click", None, 0))
    await made.finish()
    if content is not None:
        await page.set_content(content)
        made(DONE)
    made(StepEnded("task", name, "done", 5.0))


def listed(folder):
    lines = (folder / STEPS_FILE).read_text().splitlines()
    return [StepPictures.model_validate_json(each) for each in lines]


async def test_the_page_after_a_step_is_the_page_before_the_next_and_is_taken_once(page, tmp_path):
    await page.goto("data:text/html,<h1>one</h1>")
    made = recorder(tmp_path, page)
    await step(made, page, "a", "<h1>two</h1>")
    await step(made, page, "b")  # looks only
    await step(made, page, "c", "<h1>three</h1>")
    await made.finish()
    a, b, c = listed(tmp_path)
    assert [each.step_id for each in (a, b, c)] == ["a", "b", "c"]
    assert a.before is not None
    assert a.before != a.after == b.before == b.after == c.before != c.after
    assert len(list(tmp_path.glob("*.jpg"))) == 3
    for each in (a.before, c.after):
        assert hashlib.sha256((tmp_path / each.name).read_bytes()).hexdigest() == each.sha256


async def test_nothing_is_before_the_first_page(page, tmp_path):
    made = recorder(tmp_path, page)
    await step(made, page, "open", "<h1>one</h1>")
    await made.finish()
    (only,) = listed(tmp_path)
    assert (only.before, only.after is not None) == (None, True)


async def test_a_secret_cannot_be_read_in_a_picture(browser, tmp_path):
    """Two secrets of one length give the same picture, which two other texts do not."""
    texts, taken = ("hunter2-abc", "swordfis-xy"), {}
    for name, secrets in (("covered", texts), ("plain", ())):
        for number, text in enumerate(texts):
            folder = tmp_path / f"{name}{number}"
            context = await browser.new_context()  # a mask stays in the page that it was drawn in
            page = await context.new_page()
            made = recorder(folder, page, *secrets)
            await step(made, page, "show", SHOWN.format(text, text))
            await made.finish()
            (only,) = listed(folder)
            taken[name, number] = only.after.sha256
            await context.close()
    assert taken["covered", 0] == taken["covered", 1]
    assert taken["plain", 0] != taken["plain", 1]


async def test_what_the_page_logs_and_requests_is_listed_without_secrets_and_queries(page, tmp_path):
    def answer(asked):
        if asked.path.startswith("/none"):
            return Answered("gone", status=404)
        return Answered(
            "<script>console.log('hello hunter2-abc'); fetch('/none?token=t'); fetch('/data?q=1');"
            "setTimeout(() => { throw new Error('broken') })</script>"
        )

    with running_site(answer) as site:
        made = recorder(tmp_path, page, "hunter2-abc")
        made(StepStarted("task", "open", 1, 1, "navigate", None, 0))
        await page.goto(site.base)
        await page.wait_for_load_state("networkidle")
        made(DONE)
        made(StepEnded("task", "open", "done", 5.0))
        await made.finish()
    (only,) = listed(tmp_path)
    said = {(each.kind, each.text.replace(site.base, "")) for each in only.lines}
    assert ("failed", "GET /none 404") in said
    assert ("request", "GET /data 200") in said
    assert any(kind == "error" and "broken" in text for kind, text in said)
    (logged,) = [text for kind, text in said if kind == "console" and "hello" in text]
    assert "hunter2" not in logged
    assert "token" not in (tmp_path / STEPS_FILE).read_text()


async def test_a_page_that_logs_without_end_fills_no_disk(page, tmp_path):
    made = recorder(tmp_path, page)
    made(StepStarted("task", "open", 1, 1, "navigate", None, 0))
    await page.goto(
        "data:text/html,<script>for (let i = 0; i < 500; i++) console.log('x'.repeat(5000))</script>"
    )
    made(DONE)
    made(StepEnded("task", "open", "done", 5.0))
    await made.finish()
    (only,) = listed(tmp_path)
    assert len(only.lines) == MOST_LINES
    assert only.left_out >= 400
    assert (tmp_path / STEPS_FILE).stat().st_size < 40_000
