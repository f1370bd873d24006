"""A screen that comes late is waited for as long as the step, or the screen's own signature, allows (KS 4.3, 4.7)."""

from __future__ import annotations

from typing import Any

import pytest

from agent.execution.task_runner import TaskRunner
from kb_schema import parse_document
from kb_schema.documents import Document
from tests.support.small_sites import WEBSITE, Answered, Asked, running_site, visiting

LATE_MS = 6_500
"""Later than a screen is waited for when nothing is said."""


def _answer(asked: Asked) -> Answered:
    if asked.path == "/late":
        script = f"setTimeout(() => document.body.insertAdjacentHTML('beforeend', '<p id=here>Here</p>'), {LATE_MS})"
        return Answered(f"<title>Late</title><body><h1>Late</h1><script>{script}</script></body>")
    return Answered("<title>Home</title><body><h1>Home</h1><a id=go href=/late>Late</a></body>")


def _documents(
    *, url: str | None, signature: dict[str, Any], step: dict[str, Any], edge: dict[str, Any] | None = None
) -> list[Document]:
    def screen(name: str, path: str, selector: str, **more: Any) -> dict[str, Any]:
        return {
            "type": "screen",
            "screen_id": name,
            "name": name,
            "url_patterns": [f"^{path}$"],
            "state_signature": {
                "required_indicators": [{"type": "dom_element", "selector": selector}],
                **more,
            },
        }

    raw = [
        {**screen("home", "/", "#go"), "url": "/"},
        {**screen("late", "/late", "#here", **signature), **({"url": url} if url else {})},
        {
            "type": "transition",
            "transition_id": "to_late",
            "from_screen": "home",
            "to_screen": "late",
            "triggered_by": {"action_type": "click", "target": "#go"},
            **(edge or {}),
        },
        {
            "type": "task",
            "task_id": "visit",
            "name": "Visit",
            "steps": [
                {
                    "step_id": "go",
                    "order": 1,
                    "action": {"action_type": "navigate", "target_screen": "late"},
                    **step,
                }
            ],
        },
    ]
    return [parse_document({"website_id": WEBSITE, **each}) for each in raw]


ALLOWED = {
    "step, by address": (
        "/late",
        {},
        {"validation": {"type": "on_screen", "screen_id": "late", "timeout": 20}},
    ),
    "step, along a path": (
        None,
        {},
        {"validation": {"type": "on_screen", "screen_id": "late", "timeout": 20}},
    ),
    "signature": (None, {"validation_timeout": 20}, {}),
}


@pytest.mark.parametrize(("url", "signature", "step"), ALLOWED.values(), ids=ALLOWED)
async def test_a_screen_that_comes_late_is_waited_for_as_long_as_is_allowed(
    browser, tmp_path, url, signature, step
):
    documents = _documents(url=url, signature=signature, step=step)
    with running_site(_answer) as site:
        async with visiting(browser, site, tmp_path, *documents) as session:
            result = await TaskRunner(session).run_task("visit")
            assert await session.page.locator("#here").count() == 1
    assert result.complete, result.error
    assert result.replans == 0
    assert result.tried == ()


async def test_nineteen_of_twenty_arrivals_are_waited_for_where_the_edge_says_how_long_they_take(
    browser, tmp_path
):
    documents = _documents(url=None, signature={}, step={}, edge={"duration": {"p95_duration_ms": 20_000}})
    with running_site(_answer) as site:
        async with visiting(browser, site, tmp_path, *documents) as session:
            result = await TaskRunner(session).run_task("visit")
    assert result.complete, result.error
    assert result.tried == ()
