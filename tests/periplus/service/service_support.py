"""A service in this process on a free port, with a verifier that does what a test says instead of driving a browser."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import httpx
import uvicorn

from agent.events import Event
from agent.execution.stop_request import StopRequest
from kb_schema.verification import ExecutedStep, Requirement, RootCause, VerdictReport, VerificationSummary
from kb_store import open_stores
from kb_store.store_factory import open_runs
from periplus.console.console_framework import ConsoleContext
from periplus.fleet.worker_resources import StoreAddresses
from periplus.mcp_settings import McpSettings
from periplus.server_sockets import open_listening_socket, proxy_options
from periplus.service.run_queue import RunQueue, RunQueueLimits
from periplus.service.service_settings import ServeSettings
from periplus.service.single_sign_on import OidcSettings
from periplus.verifier_ports import NO_SITE, SiteGrant
from periplus.web_server.service_setup import ServiceOptions, open_service

KEY = "a-key-for-the-tests-only"
STEPS = ["Email | fill | ada@example.com", "Sign in | click"]


@dataclass(frozen=True, slots=True)
class StepDone(Event):
    """What the quick verifier tells."""

    step_idx: int
    said: str = ""


@dataclass
class Quick:
    """Verifies at once; a requirement whose id is in `held` waits until it is let go, or stops."""

    folder: Path | None = None
    held: set[str] = field(default_factory=set)
    verdicts: dict[str, str] = field(default_factory=dict)
    errors: dict[str, list[BaseException]] = field(default_factory=dict)
    step_errors: dict[str, str] = field(default_factory=dict)
    """Requirement -> the error of its last step."""
    began: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    deaf: bool = False
    sites: list[SiteGrant] = field(default_factory=list)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def verify(
        self,
        requirement: Requirement,
        *,
        run_id: str,
        tell: Callable[[Event], None],
        stop: StopRequest,
        site: SiteGrant = NO_SITE,
    ) -> VerdictReport:
        self.sites.append(site)
        req_id = requirement.req_id
        await self._note(self.began, req_id)
        if self.errors.get(req_id):
            raise self.errors[req_id].pop(0)
        steps = []
        for number, step in enumerate(requirement.steps):
            stop.check()
            tell(StepDone(number, step.value or ""))
            steps.append(_done(number, step.element, step.action))
        while req_id in self.held:
            await asyncio.sleep(0.01)  # a stop is looked at, it is never told
            if not self.deaf:
                stop.check()
        if req_id in self.step_errors:
            steps[-1] = steps[-1].model_copy(update={"status": "failed", "error": self.step_errors[req_id]})
        await self._note(self.ended, req_id)
        return _report(
            requirement, run_id, self.verdicts.get(req_id, "pass"), steps, self._left(run_id, req_id)
        )

    async def until_began(self, req_id: str) -> None:
        async with self.changed:
            await self.changed.wait_for(lambda: req_id in self.began)

    async def let_go(self, *req_ids: str) -> None:
        async with self.changed:
            self.held -= set(req_ids or self.held)
            self.changed.notify_all()

    async def _note(self, where: list[str], req_id: str) -> None:
        async with self.changed:
            where.append(req_id)
            self.changed.notify_all()

    def _left(self, run_id: str, req_id: str) -> dict[str, str]:
        if self.folder is None:
            return {}
        path = self.folder / run_id / f"test_{req_id}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"def test_{req_id.lower()}(page): ...\n")
        return {
            "test_file": str(path.relative_to(self.folder)),
            "test_hash": f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}",
        }

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Quick]:
        yield self


def _done(number: int, element: str, action: str) -> ExecutedStep:
    return ExecutedStep(
        step_idx=number, element=element, action=action, selector=f"#{number}", strategy="label", confidence=0.9,
        status="success", timestamp=datetime.now(UTC),
    )  # fmt: skip


def _report(requirement, run_id, verdict, steps, artifacts) -> VerdictReport:
    cause = "success" if verdict == "pass" else "app_defect"
    return VerdictReport(
        req_id=requirement.req_id,
        run_id=run_id,
        title=requirement.title,
        url=requirement.url,
        verdict=verdict,
        timestamp=datetime.now(UTC),
        duration_ms=12.5,
        summary=VerificationSummary(total_steps=len(steps), executed_steps=len(steps)),
        rca=RootCause(
            class_=cause, confidence=1.0, message=f"it is a {verdict}", metrics={"total_steps": len(steps)}
        ),
        steps=tuple(steps),
        artifacts=artifacts,
    )


@dataclass
class Served:
    """A service that listens."""

    url: str
    client: httpx.AsyncClient
    queue: RunQueue
    quick: Quick
    folder: Path
    server: uvicorn.Server
    console: ConsoleContext | None = None

    async def submit(self, req_id: str, steps=STEPS, **more) -> httpx.Response:
        body = {"req_id": req_id, "url": "https://shop.example.com/login?token=abc", "steps": steps, **more}
        return await self.client.post("/api/run", json=body)

    async def run(self, req_id: str) -> dict:
        found = await self.client.get(f"/api/runs/{req_id}")
        assert found.status_code == 200, found.text
        return found.json()

    async def over(self, req_id: str) -> dict:
        """The run once it is over: its last event says so."""
        await self.told(req_id)
        return await self.run(req_id)

    async def told(self, req_id: str, **headers: str) -> list[tuple[str, str, str]]:
        """All events of a run: id, type, data."""
        found = []
        async with self.client.stream("GET", f"/api/runs/{req_id}/events", headers=headers) as stream:
            assert stream.status_code == 200
            event = {}
            async for line in stream.aiter_lines():
                if not line:
                    if "event" in event:
                        found.append((event.get("id", ""), event["event"], event["data"]))
                    event = {}
                elif not line.startswith(":"):
                    name, _, value = line.partition(": ")
                    event[name] = value
        return found


async def no_browser_needed() -> str | None:
    return None


@asynccontextmanager
async def served(
    data_dir: Path,
    *,
    quick: Quick | None = None,
    limits: RunQueueLimits | None = None,
    keyed: bool = True,
    mongodb_url: str | None = None,
    browser=no_browser_needed,
    visits=None,
    maps: Path | None = None,
    oidc: OidcSettings | None = None,
    base_urls: dict[str, str] | None = None,
    trusted_proxies: tuple[str, ...] = (),
    **settings,
) -> AsyncIterator[Served]:
    quick = quick or Quick()
    quick.folder = data_dir / "runs"
    known = ServeSettings(
        api_key=KEY if keyed else None,
        **{"serve_rate_per_minute": 100_000, "serve_wrong_keys": 100_000, **settings},
    )
    wanted = ServiceOptions(
        host="127.0.0.1", settings=known, mcp=McpSettings(tokens=data_dir / "tokens.json", burst=100_000, rate_per_second=100_000),
        folder=data_dir / "runs", files=data_dir / "files", maps=maps, data_dir=data_dir, oidc=oidc or OidcSettings(),
        limits=limits or RunQueueLimits(grace_s=2, stop_s=2, cancel_s=2), base_urls=base_urls or {},
        store_addresses=StoreAddresses(data_dir=str(data_dir), mongodb_url=mongodb_url),
    )  # fmt: skip
    async with AsyncExitStack() as stack:
        stores = await stack.enter_async_context(open_stores(data_dir, mongodb_url=mongodb_url))
        runs = await stack.enter_async_context(open_runs(data_dir, mongodb_url))
        opened = open_service(wanted, stores, runs, quick.opened, browser=browser, visits=visits)
        service, queue = await stack.enter_async_context(opened)
        listener = stack.enter_context(open_listening_socket("127.0.0.1", 0))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        server = uvicorn.Server(
            uvicorn.Config(
                service,
                log_config=None,
                access_log=False,
                timeout_graceful_shutdown=1,
                **proxy_options(trusted_proxies),
            )
        )
        server.capture_signals = nullcontext
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        headers = {"X-API-Key": KEY} if keyed else {}
        client = await stack.enter_async_context(httpx.AsyncClient(base_url=url, headers=headers, timeout=30))
        try:
            parts = service.api.state.console.parts
            yield Served(url, client, queue, quick, data_dir / "runs", server, parts)
        finally:
            await quick.let_go()
            queue.followers.close()
            server.should_exit = True
            await serving
