"""Opens and closes the parts of the service in order: stores, verifier, queue, access control, MCP and visits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from agent.events import Event
from agent.execution.stop_request import StopRequest
from kb_schema.owner_folders import make_owner_folder
from kb_schema.url_patterns import LOOPBACK
from kb_schema.verification import Requirement, VerdictReport
from kb_schema.websites import Website
from kb_store import Stores
from kb_store.runs.run_store import RunStore
from mcp_server.errors import KnowledgeServerError
from mcp_server.knowledge.store_source import StoreSource
from mcp_server.knowledge.view_cache import ViewCache
from mcp_server.security.bearer_tokens import FileTokenVerifier, TokenSetupError
from mcp_server.security.http_app import HttpAccessPolicy, TokenVerifierChain, create_http_app
from mcp_server.security.key_lockout import KeyLockout
from mcp_server.server import create_server
from periplus.console.console_framework import ConsoleContext
from periplus.console.screen_pictures import ScreenPictures
from periplus.errors import UserError
from periplus.fleet.worker_resources import StoreAddresses
from periplus.jobs.job_checks import OrderChecker
from periplus.jobs.job_performers import JobPlaces, build_performers
from periplus.jobs.service_jobs import open_service_jobs
from periplus.jobs.webhook_delivery import WebhookSender
from periplus.knowledge_server import choose_path_engines
from periplus.mcp_settings import McpSettings
from periplus.service.access_control import AccessControl
from periplus.service.collection_runner import open_collection_runner
from periplus.service.console_sessions import ConsoleSessions, load_session_key
from periplus.service.offered_elements import OfferedElements
from periplus.service.requirement_requests import ClientPermissions
from periplus.service.run_queue import RunQueue, RunQueueLimits
from periplus.service.run_routes import RunRoutesContext
from periplus.service.served_secrets import ServedSecrets
from periplus.service.service_health import BrowserState, HealthReport, check_browser_start
from periplus.service.service_settings import ServeSettings
from periplus.service.single_sign_on import OidcSettings, SingleSignOn
from periplus.service.visits.visit_registry import VisitRegistry
from periplus.session_setup import BrowserOptions
from periplus.settings import load_settings
from periplus.verifier_ports import NO_SITE, BrowserCheck, SiteGrant, SubmissionVerifierPort, VerifierOpener
from periplus.web_server.asgi_app import ServiceApp, ServiceParts

if TYPE_CHECKING:
    from periplus.verification.requirement_verifier import (
        RequirementVerifier as BrowserVerifier,  # imports LangGraph
    )


READ_AHEAD = 20
"""Maximum number of websites loaded at startup; more might use memory without need."""
SESSION_KEY = "console-session.key"
ENDED_SESSIONS = "console-sessions-ended.txt"
"""File next to the tokens file, with the key that signs console sessions."""
WEBHOOK_KEY = "webhooks.key"
"""File beside it, with the key that the secrets of webhooks are derived of."""


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """The options of the command line and the environment."""

    host: str
    settings: ServeSettings
    mcp: McpSettings
    folder: Path
    """The folder of runs."""
    files: Path
    """The folder with files for uploads."""
    limits: RunQueueLimits = field(default_factory=RunQueueLimits)
    base_urls: Mapping[str, str] = field(default_factory=dict)
    """Base URLs of websites, for the knowledge server at /mcp."""
    read_only: bool = False
    maps: Path | None = None
    """The folder of `periplus map`, with the screenshots of screens."""
    data_dir: Path | None = None
    """The folder of the plans of verified requirements; None: `PERIPLUS_DATA_DIR`."""
    oidc: OidcSettings = field(default_factory=OidcSettings)
    """Single sign-on."""
    store_addresses: StoreAddresses | None = None
    """The stores for the runs of collections and jobs; None: the service has none."""


def build_access_control(wanted: ServiceOptions) -> AccessControl:
    """Return the access rules. Raises `UserError` if other machines would have access without a key."""
    given = wanted.settings.key_entries()
    try:
        own = FileTokenVerifier(given, wanted.mcp.token_file())
        keyed = bool(own.entries())
    except TokenSetupError as exc:
        raise UserError(exc.message, fix=exc.hint) from exc
    sign_on = wanted.oidc if wanted.oidc.issuer is not None else None
    keyed = keyed or sign_on is not None
    if not keyed and wanted.host not in LOOPBACK:
        raise UserError(
            f"--host {wanted.host}: without keys, anyone who reaches this address could use the service",
            fix="set PERIPLUS_API_KEY (create one with `openssl rand -hex 24`), or use --host 127.0.0.1",
        )
    beside = wanted.mcp.token_file().path
    return AccessControl(
        verifier=own if keyed else None,
        sessions=ConsoleSessions(
            load_session_key(beside.with_name(SESSION_KEY)),
            own,
            sign_on=sign_on,
            ended_file=beside.with_name(ENDED_SESSIONS),
        ),
        hosts=frozenset({*LOOPBACK, *wanted.mcp.allowed_hosts}),
        per_minute=wanted.settings.serve_rate_per_minute,
        origins=frozenset(each.lower() for each in wanted.settings.cors_origins),
        lockout=KeyLockout(wanted.settings.serve_wrong_keys),
    )


@asynccontextmanager
async def open_service(
    wanted: ServiceOptions,
    stores: Stores,
    runs: RunStore,
    opener: VerifierOpener,
    *,
    browser: BrowserCheck = check_browser_start,
    visits: VisitRegistry | None = None,
) -> AsyncIterator[tuple[ServiceApp, RunQueue]]:
    """Open the app and its queue (an async context manager). Raises `UserError`, `StoreError`."""
    access = build_access_control(wanted)
    make_owner_folder(wanted.folder)
    async with AsyncExitStack() as stack:
        state = BrowserState(browser)
        stack.push_async_callback(state.close)
        state.look()
        source = StoreSource(stores.documents, stores.graph, stores.views_folder)
        engines = choose_path_engines(stores, None)
        views = await stack.enter_async_context(ViewCache(source, engines.compiled).following())
        grants = ServedSecrets(
            wanted.settings.serve_secrets, partial(_read_websites, views, wanted.base_urls)
        )
        queue = await stack.enter_async_context(
            RunQueue(runs, opener, wanted.folder, wanted.limits, grants.grant_or_fail)
        )
        asked = {"documents": stores.documents.health, "graph": stores.graph.health, "runs": runs.health}
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
        collections = None
        if wanted.store_addresses is not None:
            collections = await stack.enter_async_context(
                open_collection_runner(
                    wanted.store_addresses, views, wanted.folder, wanted.base_urls, wanted.files
                )
            )
        jobs = None
        if wanted.store_addresses is not None:
            websites = partial(_read_websites, views, wanted.base_urls)
            places = JobPlaces(wanted.store_addresses, wanted.folder, wanted.files, wanted.base_urls)
            key = load_session_key(wanted.mcp.token_file().path.with_name(WEBHOOK_KEY))
            jobs = await stack.enter_async_context(
                open_service_jobs(
                    runs,
                    OrderChecker(
                        stores,
                        views,
                        websites,
                        wanted.files,
                        runs.service_records,
                        _list_loadable(wanted, access),
                    ),
                    build_performers(places, runs),
                    WebhookSender(runs, key, wanted.settings.serve_webhooks),
                    workers=wanted.settings.serve_jobs,
                )
            )
        offers = OfferedElements(wanted.data_dir or load_settings().data_dir)
        console = ConsoleContext(
            knowledge_server=server.server_context,
            stores=stores,
            runs=runs,
            folder=wanted.folder,
            queue=queue,
            health=health,
            sessions=access.sessions,
            offers=offers,
            lockout=access.lockout,
            pictures=ScreenPictures(wanted.maps),
            visits=visits,
            jobs=jobs,
            sign_on=None if wanted.oidc.issuer is None else SingleSignOn(wanted.oidc),
        )
        parts = ServiceParts(
            run_routes=RunRoutesContext(
                runs, queue, wanted.folder, ClientPermissions(grants, wanted.files), offers
            ),
            health=health,
            access=access,
            console=console,
            mcp=create_http_app(server, _build_mcp_policy(wanted, access), server.write_tools),
            origins=wanted.settings.cors_origins,
            visits=visits,
            max_body_bytes=wanted.settings.serve_max_body_bytes,
            collections=collections,
            jobs=jobs,
        )
        yield ServiceApp(parts), queue


@asynccontextmanager
async def _read_ahead(views: ViewCache) -> AsyncIterator[None]:
    """Load and compile websites in the background, so that the first request does not have to wait."""
    task = asyncio.create_task(_read(views))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _read(views: ViewCache) -> None:
    with suppress(KnowledgeServerError):  # the next request reports the error
        for website in (await views.websites())[:READ_AHEAD]:
            with suppress(KnowledgeServerError):
                await views.current(website)


async def _read_websites(views: ViewCache, base_urls: Mapping[str, str]) -> list[Website]:
    """Return the websites of the knowledge base, at their base URLs; without those that cannot be read now."""
    found = []
    with suppress(KnowledgeServerError):
        for website in await views.websites():
            with suppress(KnowledgeServerError):
                known = (await views.current(website)).view.website
                found.append(known.model_copy(update={"base_url": base_urls.get(website, known.base_url)}))
    return found


def _list_loadable(wanted: ServiceOptions, access: AccessControl) -> frozenset[str]:
    """Return the origins of new websites that jobs may load; any, if only this machine can use the service."""
    return frozenset("*") if access.verifier is None else wanted.settings.serve_maps


def _build_mcp_policy(wanted: ServiceOptions, access: AccessControl) -> HttpAccessPolicy:
    """Return the access policy of MCP; the service's keys are valid, too, and wrong ones are counted together."""
    policy = wanted.mcp.access_policy(wanted.host)
    if access.verifier is None:
        return policy
    verifiers = [each for each in (access.verifier, policy.verifier) if each is not None]
    return replace(policy, verifier=TokenVerifierChain(*verifiers), lockout=access.lockout)


class RunFolderVerifier:
    """A verifier that gives each run its own folder."""

    def __init__(self, verifier: BrowserVerifier, folder: Path) -> None:
        self._verifier, self._folder = verifier, folder

    async def verify(
        self,
        requirement: Requirement,
        *,
        run_id: str,
        tell: Callable[[Event], None],
        stop: StopRequest,
        site: SiteGrant = NO_SITE,
    ) -> VerdictReport:
        """See `SubmissionVerifierPort.verify`."""
        folder = self._folder / run_id
        return await self._verifier.verify(
            requirement, run_id=run_id, tell=tell, stop=stop, folder=folder, site=site
        )


@asynccontextmanager
async def open_browser_verifier(
    folder: Path, *, mongodb_url: str | None = None, headed: bool = False
) -> AsyncIterator[SubmissionVerifierPort]:
    """Open the verifier with a browser. Raises `UserError` without a browser, `StoreError`."""
    from periplus.verification.requirement_verifier import open_verifier  # noqa: PLC0415 - brings LangGraph
    from periplus.verification.verifier_settings import VerifierSettings  # noqa: PLC0415 - used with it

    settings = VerifierSettings(
        out=folder, mongodb_url=mongodb_url, browser=BrowserOptions(headed=headed), title="periplus serve"
    )
    async with open_verifier(settings) as verifier:
        yield RunFolderVerifier(verifier, folder)
