"""Evaluates conditions on a live page: collects their probes, answers all of them in one round trip, judges."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from playwright.async_api import Page

from agent.page import in_page_library
from kb_schema.condition_evaluation import collect_probes, judge_conditions
from kb_schema.conditions import BaseCondition
from kb_schema.probes import ConditionScope, Probe, ProbeAnswer, ProbeFacts, Verdict, probe_key

PARSED_WITHIN_S = 10.0
"""Longest wait for a document to be parsed; a slower one is judged as it is."""


@dataclass(frozen=True, slots=True)
class PageFacts:
    """State of the page and answers to probes, all from the same moment."""

    url: str
    title: str
    ready_state: str
    revision: str | None = None
    """Identifies the state of the page; differs after every change. None where it cannot be determined."""
    answers: dict[str, ProbeAnswer] = field(default_factory=dict)


async def probe_page(page: Page, probes: Sequence[Probe]) -> PageFacts:
    """Return the answers to the probes, with URL, title and ready state of the same moment.

    Waits for a document that is still being parsed, because a missing element would count as gone.
    """
    return read_answers(await ask_probes(page, probes), probes)


async def ask_probes(page: Page, probes: Sequence[Probe], *rest: object) -> dict[str, Any]:
    """Return what the page says to the probes. `rest`: further arguments of the library's `answer`."""
    unique = {probe_key(probe): probe for probe in probes}
    asked = json.dumps([probe.model_dump(mode="json") for probe in unique.values()])
    said: dict[str, Any] = await in_page_library.call(page, "answer", asked, *rest)
    if said["ready_state"] == "loading":
        await in_page_library.document_ready(page, PARSED_WITHIN_S)
        said = await in_page_library.call(page, "answer", asked, *rest)
    return said


def read_answers(said: dict[str, Any], probes: Sequence[Probe]) -> PageFacts:
    """Return what the page said to the probes as facts."""
    keys = dict.fromkeys(probe_key(probe) for probe in probes)
    answers = {key: ProbeAnswer(**answer) for key, answer in zip(keys, said["answers"], strict=True)}
    return PageFacts(said["url"], said["title"], said["ready_state"], said["revision"], answers)


def answers_all(facts: PageFacts, probes: Sequence[Probe]) -> bool:
    """Return whether the facts have an answer to each of the probes."""
    return all(probe_key(probe) in facts.answers for probe in probes)


async def answer_probes(page: Page, probes: Sequence[Probe]) -> dict[str, ProbeAnswer]:
    """Return the answer to each probe by its `probe_key`; without probes no round trip. Raises `PageGone`."""
    return (await probe_page(page, probes)).answers if probes else {}


async def evaluate_conditions(
    page: Page, conditions: Sequence[BaseCondition], scope: ConditionScope, facts: ProbeFacts | None = None
) -> tuple[list[Verdict], PageFacts]:
    """Return the verdict on each condition, and the facts of the page that it rests on.

    `facts` carries what the page does not know (screen, events, time, context, base URLs); URL, title, ready
    state and answers are read from the page in one round trip. Raises `PageGone`.
    """
    seen = await probe_page(page, collect_probes(conditions, scope))
    known = replace(
        facts or ProbeFacts(),
        url=seen.url,
        title=seen.title,
        ready_state=seen.ready_state,
        answers=seen.answers,
    )
    return judge_conditions(conditions, known, scope), seen
