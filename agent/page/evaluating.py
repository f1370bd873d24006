"""Judges conditions on a live page: collect the probes, one round trip, judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from playwright.async_api import Page

from agent.page.probing import PageFacts, look
from kb_schema.conditions import BaseCondition
from kb_schema.evaluation import questions, verdicts
from kb_schema.probes import Facts, Scope, Verdict


async def evaluate(
    page: Page, conditions: Sequence[BaseCondition], scope: Scope, facts: Facts | None = None
) -> tuple[list[Verdict], PageFacts]:
    """The verdict on each condition, and what the page said for it.

    `facts` carries what the page cannot say (screen, events, time, context, base URLs); URL,
    title, ready state and answers are read from the page in one round trip. Raises `PageGone`.
    """
    seen = await look(page, questions(conditions, scope))
    known = replace(
        facts or Facts(),
        url=seen.url,
        title=seen.title,
        ready_state=seen.ready_state,
        answers=seen.answers,
    )
    return verdicts(conditions, known, scope), seen
