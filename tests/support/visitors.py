"""Spadeworks' knowledge over MCP, without a browser: what a host asks of a session, and a narrator that notes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agent.context import Context
from agent.events import Bus, Event
from agent.knowledge import Knowledge
from agent.presenting.floor import Floor, Patience
from agent.presenting.visitor.conversation import Conversation
from agent.presenting.visitor.manners import Manners
from kb_schema.presentation import PresentationFlow
from kb_store import load_knowledge, open_stores
from loaders.files import read_knowledge_folder
from periplus.desk import desk_client

SEED = Path(__file__).parents[2] / "seeds" / "spadeworks"
AT_ONCE = Manners(follow_up_s=0.0, question_s=0.0, choice_s=0.0, pause_s=0.0)
"""Nobody is waited for: what is to be heard has been said before."""


@dataclass
class Spoken:
    text: str
    start_s: float = 0.0


@dataclass
class NotingNarrator:
    """Says everything at once."""

    pace: float = 1.0
    spoken: list[Spoken] = field(default_factory=list)
    hushed: int = 0

    async def say(self, text: str) -> Spoken | None:
        self.spoken.append(Spoken(text))
        return self.spoken[-1]

    async def finished(self) -> None:
        """Nobody speaks any more."""

    async def hush(self) -> None:
        self.hushed += 1

    @property
    def said(self) -> list[str]:
        return [each.text for each in self.spoken]


@dataclass
class Talk:
    """One visitor and one host."""

    session: Any
    narrator: NotingNarrator
    floor: Floor
    host: Conversation
    told: list[Event]

    def of(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.told if isinstance(event, kind)]


@pytest.fixture(scope="session")
async def shelf(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Knowledge]:
    """Spadeworks' knowledge over MCP; what was asked once is remembered for all tests."""
    # The client must be left by the task that entered it, and fixtures are set up and down in different ones.
    opened: asyncio.Future[Knowledge] = asyncio.get_running_loop().create_future()
    over = asyncio.Event()

    async def hold() -> None:
        try:
            knowledge, _ = read_knowledge_folder(SEED / "kb")
            async with open_stores(tmp_path_factory.mktemp("shelf")) as stores:
                await load_knowledge(stores.documents, stores.graph, knowledge)
                async with desk_client(stores, {}) as client:
                    opened.set_result(Knowledge(client, "spadeworks"))
                    await over.wait()
        except BaseException as exc:
            if opened.done():
                raise
            opened.set_exception(exc)

    holder = asyncio.create_task(hold())
    yield await opened
    over.set()
    await holder


@asynccontextmanager
async def spadeworks(shelf: Knowledge) -> AsyncIterator[Any]:
    """What a host asks of a session: one of its own, on the knowledge of all."""
    context, website = Context(), await shelf.website()
    yield SimpleNamespace(knowledge=shelf, context=context, website=website, bus=Bus(context.redact))


def talk(session: Any, flow: PresentationFlow, **options: Any) -> Talk:
    """A host on a floor of its own; `options` are the conversation's."""
    told: list[Event] = []
    session.bus.listen(told.append)
    narrator = NotingNarrator()
    floor = Floor(narrator, lambda: 0.0, session.bus, patience=Patience(words_s=0.01, utterance_s=0.2))
    options.setdefault("manners", AT_ONCE)
    floor.host = host = Conversation(session, narrator, floor, flow, **options)
    return Talk(session, narrator, floor, host, told)
