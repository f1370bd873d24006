"""A show that tells what a test says, on a real page, with a real floor and narrator; and the service around it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from agent.events import EventBus
from agent.media.voice import SilentVoice
from agent.presentation.narration.narrator import Narrator
from agent.presentation.presentation_records import (
    Answered,
    CaptionShown,
    Narrated,
    Presentation,
    SegmentEnded,
    SegmentStarted,
    SegmentStatus,
    Understood,
)
from agent.presentation.turn_manager import Detour, Heard, TurnManager
from kb_schema.presentation_flows import PresentationFlow
from periplus.demos.live_presentation import LivePresentationClock
from periplus.errors import UserError
from periplus.service.visits.visit_ports import VisitWish

FLOW = PresentationFlow.model_validate(
    {
        "flow_id": "tour",
        "name": "A Tour of the Works",
        "description": "What there is to see.",
        "presenter": "Robin",
        "duration": {"estimated": 120},
        "call_to_action": {
            "label": "Book a call",
            "url": "https://www.example.com/book",
            "translations": {"de": {"narration": "Termin buchen"}},
        },
        "lead_form": {
            "title": "Talk to us",
            "fields": [
                {"name": "name", "kind": "name", "label": "Your name"},
                {"name": "email", "kind": "email", "label": "E-mail", "required": True},
                {"name": "words", "kind": "words", "label": "What can we do?"},
            ],
            "consent": "I agree that the Works store this to answer me.",
            "translations": {"de": {"title": "Kontakt", "labels": {"email": "E-Mail-Adresse"}}},
        },
        "segments": [
            {
                "segment_id": name,
                "type": "conversational",
                "title": title,
                "required": name != "extra",
                "narration_template": f"This is {title}.",
                "translations": {"de": {"title": f"{title} (de)"}},
            }
            for name, title in (("hello", "Hello"), ("extra", "A detail"), ("end", "Goodbye"))
        ],
        "translations": {"de": {"name": "Ein Rundgang", "presenter": "Robin"}},
    }
)


@dataclass
class Puppet:
    """One show: goes on when a test says so."""

    page: Any
    run_id: str = "run-1"
    go_on: asyncio.Event = field(default_factory=asyncio.Event)
    heard: list[Heard] = field(default_factory=list)
    fails: BaseException | None = None

    def __post_init__(self) -> None:
        self.clock = LivePresentationClock()
        self.bus = EventBus()
        self.narrator = Narrator(SilentVoice(), self.clock)
        self.turns = TurnManager(self.narrator, self.clock, self.bus, self)
        self.session = SimpleNamespace(page=self.page, context=SimpleNamespace(run_id=self.run_id))
        self.flow = FLOW
        self.presentation = Presentation(FLOW.flow_id, FLOW.name, len(FLOW.segments))

    async def attend(self, heard: Heard) -> Detour | None:
        self.heard.append(heard)
        self.bus.tell(Understood("question", heard.text, f"Question: {heard.text}"))
        self.bus.tell(Answered(heard.text, f"About {heard.text}: it is so.", ("Agents",)))
        return None

    async def play(self) -> Presentation:
        self.bus.tell(SegmentStarted("hello", "Hello", 1, 3, 120.0))
        self.bus.tell(Narrated("This is Hello.", self.clock()))
        self.bus.tell(CaptionShown("This is\nHello."))
        while not self.go_on.is_set():
            going, wanted = (
                asyncio.ensure_future(each) for each in (self.go_on.wait(), self.turns.interrupted())
            )
            try:
                await asyncio.wait({going, wanted}, return_when=asyncio.FIRST_COMPLETED)
                await self.turns.safe_point()
            finally:
                going.cancel()
                wanted.cancel()
        if self.fails is not None:
            raise self.fails
        self.bus.tell(SegmentEnded("hello", SegmentStatus.SHOWN))
        self.bus.tell(SegmentEnded("extra", SegmentStatus.SKIPPED, "time_running_out: 12 s remain"))
        self.bus.tell(SegmentEnded("end", SegmentStatus.FAILED, "ElementNotFound: #secret-internals"))
        return self.presentation


class Puppets:
    """`ShowOpener`: a puppet for every show, each on a page of a context of its own."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser
        self.shown: list[Puppet] = []
        self.open_now = 0
        self.refuse: BaseException | None = None
        self.fails: BaseException | None = None
        self.go_on = False

    async def flow(self, website: str | None, flow: str | None) -> tuple[str, PresentationFlow]:
        if website not in (None, "works") or flow not in (None, "tour"):
            raise UserError(f"no flow {flow!r} of {website!r}", fix="see what there is")
        return "works", FLOW

    @asynccontextmanager
    async def open(self, wish: VisitWish) -> AsyncIterator[Any]:
        if self.refuse is not None:
            raise self.refuse
        context = await self.browser.new_context(viewport={"width": 1280, "height": 720})
        self.open_now += 1
        try:
            page = await context.new_page()
            await page.set_content("<body style='margin:0;background:rgb(0,0,200)'><h1>The works</h1>")
            puppet = Puppet(page, run_id=f"run-{len(self.shown) + 1}", fails=self.fails)
            if self.go_on:
                puppet.go_on.set()
            self.shown.append(puppet)
            yield puppet
        finally:
            self.open_now -= 1
            await context.close()
