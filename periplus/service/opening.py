"""Wiring the service: stores, verifier, queue and door, opened and closed in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent.engine.stopping import Stop
from agent.events import Event
from kb_schema.verification import Requirement, VerdictReport
from kb_store import Stores
from kb_store.runs import RunStore
from mcp_server.addresses import LOOPBACK
from mcp_server.errors import DeskError
from mcp_server.security.door import Door, FirstOf, http_app
from mcp_server.security.tokens import OwnTokens, TokensUnusable
from mcp_server.server import create_server
from mcp_server.store_source import StoreSource
from mcp_server.views import Views
from periplus.console.pictures import Pictures
from periplus.console.shell import ConsoleParts
from periplus.desk import path_engines
from periplus.errors import UserError
from periplus.mcp_settings import McpSettings
from periplus.service.access import Access
from periplus.service.app import Parts, Service
from periplus.service.health import BrowserState, HealthReport, browser_starts
from periplus.service.ports import BrowserCheck, Verifier, VerifierOpener
from periplus.service.queue import QueueLimits, RunQueue
from periplus.service.runs import Desk
from periplus.service.sessions import Sessions, session_key
from periplus.service.settings import ServeSettings
from periplus.service.submissions import Lending
from periplus.service.visiting.book import Visits

if TYPE_CHECKING:
    from periplus.verifying.verifier import Verifier as BrowserVerifier  # brings LangGraph


READ_AHEAD = 20
"""Websites that are read when the service starts; more would hold memory that perhaps nobody needs."""
SESSION_KEY = "console-session.key"
"""Beside the tokens: what sessions of the console are signed with."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line and the environment say."""

    host: str
    settings: ServeSettings
    mcp: McpSettings
    folder: Path
    """Of runs."""
    files: Path
    """From which files may be uploaded."""
    limits: QueueLimits = field(default_factory=QueueLimits)
    base_urls: Mapping[str, str] = field(default_factory=dict)
    """Where websites run, for the desk at /mcp."""
    read_only: bool = False
    maps: Path | None = None
    """Where `periplus map` leaves what it saw, pictures of screens among it."""


def access_of(wanted: Wanted) -> Access:
    """Who is let in. Raises `UserError` where that would be everybody."""
    given = wanted.settings.key_entries()
    try:
        own = OwnTokens(given, wanted.mcp.token_file())
        keyed = bool(own.entries())
    except TokensUnusable as exc:
        raise UserError(exc.message, fix=exc.hint) from exc
    if not keyed and wanted.host not in LOOPBACK:
        raise UserError(
            f"--host {wanted.host}: without keys, everybody who reaches this address could use the service",
            fix="set PERIPLUS_API_KEY (`openssl rand -hex 24` makes one), or use --host 127.0.0.1",
        )
    return Access(
        verifier=own if keyed else None,
        sessions=Sessions(session_key(wanted.mcp.token_file().path.with_name(SESSION_KEY)), own),
        hosts=frozenset({*LOOPBACK, *wanted.mcp.allowed_hosts}),
        per_minute=wanted.settings.serve_rate_per_minute,
    )


@asynccontextmanager
async def open_service(
    wanted: Wanted,
    stores: Stores,
    runs: RunStore,
    opener: VerifierOpener,
    *,
    browser: BrowserCheck = browser_starts,
    visits: Visits | None = None,
) -> AsyncIterator[tuple[Service, RunQueue]]:
    """The app and its queue, for as long as one is inside. Raises `UserError`, `StoreError`."""
    access = access_of(wanted)
    wanted.folder.mkdir(parents=True, exist_ok=True)
    async with AsyncExitStack() as stack:
        queue = await stack.enter_async_context(RunQueue(runs, opener, wanted.folder, wanted.limits))
        state = BrowserState(browser)
        stack.push_async_callback(state.close)
        state.look()
        asked = {"documents": stores.documents.health, "graph": stores.graph.health, "runs": runs.health}
        engines = path_engines(stores, None)
        source = StoreSource(stores.documents, stores.graph)
        views = await stack.enter_async_context(Views(source, engines.compiled).following())
        await stack.enter_async_context(_read_ahead(views))
        server = create_server(
            views,
            base_urls=wanted.base_urls,
            read_only=wanted.read_only,
            learned=stores.learned,
            proposals=stores.proposals,
            runs=runs,
            limits=wanted.mcp.call_limits,
            engines=engines,
        )
        health = HealthReport(asked, state, queue)
        console = ConsoleParts(
            desk=server.desk, stores=stores, runs=runs, folder=wanted.folder, queue=queue, health=health,
            sessions=access.sessions, pictures=Pictures(wanted.maps), visits=visits,
        )  # fmt: skip
        parts = Parts(
            desk=Desk(runs, queue, wanted.folder, Lending(wanted.settings.serve_secrets, wanted.files)),
            health=health,
            access=access,
            console=console,
            mcp=http_app(server, _door(wanted, access), server.write_tools),
            origins=wanted.settings.cors_origins,
            visits=visits,
            max_body_bytes=wanted.settings.serve_max_body_bytes,
        )
        yield Service(parts), queue


@asynccontextmanager
async def _read_ahead(views: Views) -> AsyncIterator[None]:
    """The first who asks about a website need not wait until it is read and compiled: that begins now."""
    task = asyncio.create_task(_read(views))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _read(views: Views) -> None:
    with suppress(DeskError):  # whoever asks is told
        for website in (await views.websites())[:READ_AHEAD]:
            with suppress(DeskError):
                await views.current(website)


def _door(wanted: Wanted, access: Access) -> Door:
    """MCP's own, which the service's keys open, too."""
    door = wanted.mcp.door(wanted.host)
    if access.verifier is None:
        return door
    verifiers = [each for each in (access.verifier, door.verifier) if each is not None]
    return replace(door, verifier=FirstOf(*verifiers))


class InFolders:
    """A verifier that gives each run a folder of its own."""

    def __init__(self, verifier: BrowserVerifier, folder: Path) -> None:
        self._verifier, self._folder = verifier, folder

    async def verify(
        self, requirement: Requirement, *, run_id: str, tell: Callable[[Event], None], stop: Stop
    ) -> VerdictReport:
        """As `Verifier` has it."""
        folder = self._folder / run_id
        return await self._verifier.verify(requirement, run_id=run_id, tell=tell, stop=stop, folder=folder)


@asynccontextmanager
async def open_browser_verifier(
    folder: Path, *, mongodb_url: str | None = None, headed: bool = False
) -> AsyncIterator[Verifier]:
    """The verifier that drives a browser. Raises `UserError` where there is none, `StoreError`."""
    from periplus.verifying.verifier import VerifySettings, open_verifier  # noqa: PLC0415 - brings LangGraph

    settings = VerifySettings(out=folder, mongodb_url=mongodb_url, headed=headed, title="periplus serve")
    async with open_verifier(settings) as verifier:
        yield InFolders(verifier, folder)
