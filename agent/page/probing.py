"""Asks a live page: all probes in one round trip."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from playwright.async_api import Page

from agent.page import library
from kb_schema.probes import Probe, ProbeAnswer, probe_key

PARSED_WITHIN_S = 10.0
"""How long one waits for a document to be parsed; a slower one is judged as it is."""


@dataclass(frozen=True, slots=True)
class PageFacts:
    """What the page said of itself in one look."""

    url: str
    title: str
    ready_state: str
    revision: str | None = None
    """A word for the state of the page, another one after every change; None where it is not to be told."""
    answers: dict[str, ProbeAnswer] = field(default_factory=dict)


async def look(page: Page, probes: Sequence[Probe]) -> PageFacts:
    """Answers to the probes with URL, title and ready state of the very same moment.

    A document that is still being parsed is asked again when it is whole: what is not there yet
    would pass for what is gone.
    """
    unique = {probe_key(probe): probe for probe in probes}
    asked = json.dumps([probe.model_dump(mode="json") for probe in unique.values()])
    said = await library.call(page, "answer", asked)
    if said["ready_state"] == "loading":
        await library.document_ready(page, PARSED_WITHIN_S)
        said = await library.call(page, "answer", asked)
    answers = {key: ProbeAnswer(**answer) for key, answer in zip(unique, said["answers"], strict=True)}
    return PageFacts(said["url"], said["title"], said["ready_state"], said["revision"], answers)


async def answer_probes(page: Page, probes: Sequence[Probe]) -> dict[str, ProbeAnswer]:
    """The answer to each probe by its `probe_key`. No probes: no round trip. Raises `PageGone`."""
    return (await look(page, probes)).answers if probes else {}
