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

from agent.events import Event, EventBus
from agent.knowledge_client import KnowledgeClient
from agent.presentation.turn_manager import TurnManager, TurnTimeouts
from agent.presentation.visitor.conversation import Conversation, HostPolicy
from agent.run_context import RunContext
from kb_schema.presentation_flows import PresentationFlow
from kb_store import load_knowledge, open_stores
from loaders.files.folder_reader import read_knowledge_folder
from periplus.knowledge_server import connect_knowledge_client

SEED = Path(__file__).parents[2] / "seeds" / "spadeworks"
AT_ONCE = HostPolicy(follow_up_s=0.0, question_s=0.0, choice_s=0.0, pause_s=0.0)
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

    async def stop_speaking(self) -> None:
        self.hushed += 1

    @property
    def said(self) -> list[str]:
        return [each.text for each in self.spoken]


@dataclass
class Talk:
    """One visitor and one host."""

    session: Any
    narrator: NotingNarrator
    turns: TurnManager
    host: Conversation
    told: list[Event]

    def of(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.told if isinstance(event, kind)]


@pytest.fixture(scope="session")
async def shelf(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[KnowledgeClient]:
    """Spadeworks' knowledge over MCP; what was asked once is remembered for all tests."""
    # The client must be left by the task that entered it, and fixtures are set up and down in different ones.
    opened: asyncio.Future[KnowledgeClient] = asyncio.get_running_loop().create_future()
    over = asyncio.Event()

    async def hold() -> None:
        try:
            knowledge, _ = read_knowledge_folder(SEED / "kb")
            async with open_stores(tmp_path_factory.mktemp("shelf")) as stores:
                await load_knowledge(stores.documents, stores.graph, knowledge)
                async with connect_knowledge_client(stores, {}) as client:
                    opened.set_result(KnowledgeClient(client, "spadeworks"))
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
async def spadeworks(shelf: KnowledgeClient) -> AsyncIterator[Any]:
    """What a host asks of a session: one of its own, on the knowledge of all."""
    context, website = RunContext(), await shelf.website()
    yield SimpleNamespace(knowledge=shelf, context=context, website=website, bus=EventBus(context.redact))


def talk(session: Any, flow: PresentationFlow, **options: Any) -> Talk:
    """A host on a floor of its own; `options` are the conversation's."""
    told: list[Event] = []
    session.bus.listen(told.append)
    narrator = NotingNarrator()
    turns = TurnManager(
        narrator, lambda: 0.0, session.bus, patience=TurnTimeouts(words_s=0.01, utterance_s=0.2)
    )
    options.setdefault("manners", AT_ONCE)
    turns.host = host = Conversation(session, narrator, turns, flow, **options)
    return Talk(session, narrator, turns, host, told)
