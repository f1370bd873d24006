"""Verifies requirements: opens stores, checkpoints and the browser, runs the graph, records runs and reports.

One `RequirementVerifier` can verify many requirements at once, each in browser contexts of its own, in one
browser that is restarted if it dies. The command is in `periplus/commands/verify.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from langgraph.checkpoint.base import BaseCheckpointSaver
from playwright.async_api import Browser
from playwright.async_api import Error as PlaywrightError

from agent.browser.browser_life import is_alive, wait_until_usable
from agent.browser.browser_profile import Engine
from agent.errors import AgentError
from agent.events import Event
from agent.execution.stop_request import RunStopped, StopRequest
from agent.inferencer import ModelInferencer
from agent.page.errors import PageError
from agent.run_context import RunContext
from agent.run_records.run_log import RunLog, build_run_record
from agent.telemetry import span
from agent.verification.graph import (
    PassedPlans,
    VerificationNodes,
    VerificationTarget,
    build_error_report,
    build_report,
    open_phase_page,
    redact_report,
    run_graph,
)
from agent.verification.graph.suite_folder import SuiteFolder
from agent.verification.page_checks import VerificationTimeouts
from agent.verification.reports import write_verdict
from agent.verification.root_cause import classify
from kb_schema.run_records import EvidenceLevel, RunEnding, RunStatus, StoredStep
from kb_schema.verification import (
    FailureEvidence,
    FailureKind,
    GeneratedTestProof,
    Requirement,
    RootCause,
    VerdictReport,
    VerificationPlan,
    VerificationRunState,
)
from kb_store import StoreError
from kb_store.audit.audit_recorder import record_async
from kb_store.runs.run_leases import hold_run_lease
from kb_store.runs.run_store import RunStore
from kb_store.store_factory import open_runs
from periplus.audit_setup import start_audit_log
from periplus.log_setup import bind_run_id, requested_log_listeners
from periplus.run_store_adapters import RunStoreLocatorCache
from periplus.runs.task_runs import TAKEN_OVER, new_run_id
from periplus.session_setup import BrowserOptions, start_browser
from periplus.settings import PeriplusSettings, load_settings
from periplus.verification.generated_test_proof import GeneratedTestProver
from periplus.verification.login_tasks import LoginFailed
from periplus.verification.shared_logins import SharedLogins
from periplus.verification.verification_checkpointer import open_checkpointer
from periplus.verification.verifier_settings import VerifierSettings, find_secrets, resolve_requirement_url
from periplus.verifier_ports import SiteGrant

VERDICT_FILE = "verdict_report"
TEST_FILE = "test_file"
"""PACTS 9.1's `artifact_type`."""
_STATUS = {"pass": RunStatus.SUCCESS, "partial": RunStatus.PARTIAL, "fail": RunStatus.FAILURE}
_EVIDENCE = {
    "pass": EvidenceLevel.VERIFIED,
    "partial": EvidenceLevel.UNVERIFIED,
    "fail": EvidenceLevel.CONTRADICTED,
}


@asynccontextmanager
async def open_verifier(settings: VerifierSettings) -> AsyncIterator[RequirementVerifier]:
    """Open a verifier with its stores, checkpoints and browser.

    Raises `UserError` if no browser starts, `StoreError` if a store does not answer.
    """
    environment = load_settings(mongodb_url=settings.mongodb_url)
    url = environment.mongodb_url.get_secret_value() if environment.mongodb_url else None
    data_dir = settings.data_dir or environment.data_dir
    start_audit_log(data_dir)
    async with AsyncExitStack() as stack:
        runs = await stack.enter_async_context(open_runs(data_dir, url))
        saver = await stack.enter_async_context(open_checkpointer(data_dir, url))
        browsers = await stack.enter_async_context(
            _RestartableBrowser(settings.browser, settings.profile.engine)
        )
        await browsers.get()
        yield RequirementVerifier(
            settings,
            runs,
            saver,
            browsers,
            PassedPlans(data_dir),
            choose_timeouts(settings, environment),
        )


def choose_timeouts(settings: VerifierSettings, environment: PeriplusSettings) -> VerificationTimeouts:
    """Return the bounds of the settings, else those of the environment."""
    rounds, milliseconds = settings.max_heal_rounds, environment.playwright_timeout
    policy = VerificationTimeouts(
        max_heal_rounds=environment.max_heal_rounds if rounds is None else rounds,
        heal_s=environment.heal_timeout_ms / 1_000,
    )
    own = settings.timeout_s
    return policy.allowing(milliseconds / 1_000 if own is None and milliseconds is not None else own)


class _RestartableBrowser:
    """A browser that is started again if it died, or attached to again."""

    def __init__(self, options: BrowserOptions, engine: Engine) -> None:
        self._options, self._engine, self._stack = options, engine, AsyncExitStack()
        self._browser: Browser | None = None
        self._starting = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        with suppress(PlaywrightError):
            await self._stack.aclose()

    @property
    def alive(self) -> bool:
        """Whether the browser is connected."""
        return self._browser is not None and is_alive(self._browser)

    async def get(self) -> Browser:
        """Return a connected browser. Raises `UserError` if none starts."""
        async with self._starting:
            if self._browser is None or not await wait_until_usable(self._browser):
                self._browser = await self._stack.enter_async_context(
                    start_browser(options=self._options, engine=self._engine)
                )
            return self._browser


class RequirementVerifier:
    """Verifies requirements, one call each; calls may run at the same time."""

    def __init__(
        self,
        settings: VerifierSettings,
        runs: RunStore,
        saver: BaseCheckpointSaver[Any],
        browsers: _RestartableBrowser,
        plans: PassedPlans,
        policy: VerificationTimeouts,
    ) -> None:
        self._settings, self.runs, self._saver, self._browsers = settings, runs, saver, browsers
        self._plans, self._policy = plans, policy
        self._logins = SharedLogins(settings, self._browsers.get, self._policy, runs)
        self._suites: dict[Path, SuiteFolder] = {}
        self._prover = GeneratedTestProver(settings.prove, settings.reset)

    @property
    def browser_alive(self) -> bool:
        """Whether the browser is connected."""
        return self._browsers.alive

    def environment(self, folder: Path) -> dict[str, str]:
        """Return the environment variables that the tests of a folder read: the secrets of its requirements."""
        found = dict(self._logins.environment)
        if folder in self._suites:
            found |= self._suites[folder].hidden
        return found

    async def verify(
        self,
        requirement: Requirement,
        *,
        run_id: str | None = None,
        tell: Callable[[Event], None] = lambda _: None,
        stop: StopRequest | None = None,
        folder: Path | None = None,
        site: SiteGrant | None = None,
    ) -> VerdictReport:
        """Verify one requirement, or resume the run of that id. Returns the report, also written to `folder`.
        `site`: what it may use of its website; None: what the settings and the environment have.

        A stopped run returns a `partial` report and can be resumed. Raises `UserError` for problems the caller
        can fix before anything begins (a missing secret, no site), `RunHeld` if another process executes this
        run, `StoreError`.
        """
        run_id, stop = run_id or new_run_id(), stop or StopRequest()
        folder = folder or self._settings.out
        requirement, base_url = resolve_requirement_url(requirement, self._settings.base_url)
        secrets = find_secrets((requirement,), self._settings.secrets if site is None else site.secrets)
        origins = self._settings.origins if site is None else site.origins
        context = RunContext(run_id=run_id)
        context.keep_secret(list(secrets.values()))
        website_id = self._settings.website_id or urlsplit(base_url).netloc
        for name in secrets:
            await record_async("secret_used", f"{name} (run {run_id})", website=website_id)
        run = build_run_record(
            context,
            website_id=website_id,
            url=base_url,
            kind="verification",
            subject=requirement.req_id,
            req_id=requirement.req_id,
        )
        lease = hold_run_lease(self.runs.leases, run_id, on_lost=lambda: stop.ask(TAKEN_OVER))
        async with lease:
            log = RunLog(self.runs, run, context)
            await log.begin()
            listeners: tuple[Callable[[Event], None], ...] = (log, tell, *requested_log_listeners())

            def publish(event: Event) -> None:
                for listener in listeners:
                    listener(event)

            try:
                with (
                    bind_run_id(run_id, req_id=requirement.req_id),
                    span("verification", run_id=run_id),
                    self._logins.lane() as lane,
                ):
                    report = await self._run_in_time(
                        requirement,
                        base_url,
                        website_id,
                        secrets,
                        folder,
                        origins=origins,
                        for_client=site is not None,
                        login_website=(site and site.website_id) or website_id,
                        run_id=run_id,
                        tell=publish,
                        stop=stop,
                        lane=lane,
                        redact=context.redact,
                    )
                context.keep_secret(list(self._logins.environment.values()))
                report = redact_report(report, context.redact)
                path = write_verdict(report, folder)
                if stop.reason != TAKEN_OVER:
                    await self._record(log, report, folder, path)
            finally:
                await log.close()
        return report

    async def _run_in_time(self, requirement: Requirement, *where: Any, **more: Any) -> VerdictReport:
        """Return the report of `_run_graph`, or one that says that the requirement took too long."""
        began, deadline = datetime.now(UTC), asyncio.timeout(self._settings.requirement_s)
        try:
            async with deadline:
                return await self._run_graph(requirement, *where, **more)
        except TimeoutError:
            if not deadline.expired():
                raise
        root = RootCause(
            class_="env_fault",
            confidence=0.5,
            message=f"the requirement took more than {self._settings.requirement_s:g} s and was ended",
            recommendation="look at which of its steps waits, split it, or raise --requirement-timeout",
        )
        return build_error_report(requirement, root, run_id=more["run_id"], began=began)

    @property
    def _judge(self) -> ModelInferencer | None:
        """Return the model for judged outcomes; None if it may not get the texts of pages."""
        model = self._settings.inferencer
        return model if isinstance(model, ModelInferencer) and load_settings().model_page_text else None

    async def _run_graph(
        self,
        requirement: Requirement,
        base_url: str,
        website_id: str,
        secrets: Mapping[str, str],
        folder: Path,
        *,
        origins: tuple[str, ...],
        for_client: bool,
        login_website: str,
        run_id: str,
        tell: Callable[[Event], None],
        stop: StopRequest,
        lane: int,
        redact: Callable[[Any], Any],
    ) -> VerdictReport:
        began = datetime.now(UTC)
        try:
            others = find_secrets(self._settings.requirements, self._settings.secrets, strict=False)
            known = {**others, **secrets}
            login = await self._logins.sign_in(requirement, base_url, login_website, known, lane=lane)
            target = VerificationTarget(
                base_url, website_id, login.storage, login.by, origins, secret_fields_only=for_client
            )
            suite = self._suite(folder, base_url)
            suite.login = login.plan or suite.login
            open_page = partial(
                open_phase_page,
                req_id=requirement.req_id,
                target=target,
                get_browser=self._browsers.get,
                folder=folder,
                secrets=secrets,
                policy=self._policy,
                locators=RunStoreLocatorCache(self.runs),
                pictures=self._settings.pictures,
                tell=tell,
                profile=self._settings.profile,
                judge=self._judge,
            )
            nodes = VerificationNodes(
                requirement,
                target,
                open_page,
                plans=self._plans,
                write_test=suite.write_test if self._settings.tests else None,
                prove_test=partial(self._prove_test, suite, folder, base_url, known),
                max_heal_rounds=self._policy.max_heal_rounds,
                rediscover=self._settings.rediscover,
                inferencer=self._settings.inferencer,
                redact=redact,
                tell=tell,
            )
            state = await run_graph(nodes, run_id=run_id, checkpointer=self._saver, stop=stop)
        except RunStopped as stopped:
            state = await self._load_state(run_id, requirement)
            note = (f"stopped: {stopped.reason}",)
            return build_report(state, requirement, run_id=run_id, base_url=base_url, notes=note)
        except LoginFailed as exc:
            root = RootCause(
                class_="env_fault",
                confidence=0.5,
                message=exc.message,
                recommendation=exc.fix or "",
                evidence=("the login failed, so nothing was verified",),
            )
            return build_error_report(requirement, root, run_id=run_id, began=began)
        except (AgentError, PageError, PlaywrightError) as exc:
            evidence = FailureEvidence(
                failure=FailureKind.TIMEOUT,
                what="page",
                message=str(exc),
                url=base_url,
                browser_alive=self._browsers.alive,
            )
            return build_error_report(requirement, classify(evidence), run_id=run_id, began=began)
        notes = (login.note,) if login.note else ()
        return build_report(state, requirement, run_id=run_id, base_url=base_url, notes=notes)

    async def _prove_test(
        self,
        suite: SuiteFolder,
        folder: Path,
        base_url: str,
        secrets: Mapping[str, str],
        plan: VerificationPlan,
        test: str,
        began: Callable[[], None],
    ) -> GeneratedTestProof:
        """Run the generated test of a requirement with the secrets that it reads."""
        environment = {**secrets, **self.environment(folder), **suite.hidden}
        return await self._prover.prove(suite, plan, test, base_url, environment, began)

    async def _load_state(self, run_id: str, requirement: Requirement) -> VerificationRunState:
        """Return the last saved state of a stopped run."""
        kept = await self._saver.aget({"configurable": {"thread_id": run_id}})
        values = kept["channel_values"] if kept is not None else {}
        known = {name: values[name] for name in VerificationRunState.model_fields if name in values}
        return VerificationRunState.model_validate({"req_id": requirement.req_id, **known})

    def _suite(self, folder: Path, base_url: str) -> SuiteFolder:
        """Return the suite of a folder. The suite of the verifier's own folder is kept and grows."""
        if folder in self._suites:
            return self._suites[folder]
        own = folder == self._settings.out
        known = self._settings.requirements if own else ()
        wanted = {each.req_id: resolve_requirement_url(each, self._settings.base_url)[0] for each in known}
        suite = SuiteFolder(
            folder,
            base_url=base_url,
            requirements=wanted,
            title=self._settings.title,
            profile=self._settings.profile,
        )
        suite.load_plans()
        if own:
            self._suites[folder] = suite
        return suite

    async def _record(self, log: RunLog, report: VerdictReport, folder: Path, path: Path) -> None:
        """Store the steps, measures and files of the run. Deletes the checkpoint unless the run can be resumed."""
        # The steps of a run that can be resumed are stored when it ends.
        for step in report.steps if report.verdict != "partial" else ():
            await self.runs.append_step(
                StoredStep(
                    run_id=report.run_id,
                    step_idx=step.step_idx,
                    element=step.element,
                    action=step.action,
                    selector=step.locator or step.selector,
                    strategy=step.strategy or None,
                    confidence=step.confidence,
                    status=step.status,
                    heal_round=step.heal_round,
                    error_message=step.error,
                    executed_at=step.timestamp,
                    task_id=report.req_id,
                    step_id=f"step_{step.step_idx + 1}",
                    duration_ms=step.duration_ms,
                )
            )
        for name, value in report.rca.metrics.items():
            await log.measure(name, value)
        await log.measure("duration_ms", report.duration_ms)
        await log.add_file(path.name, VERDICT_FILE, path)
        test = report.artifacts.get("test_file")
        if test is not None:
            await log.add_file(Path(test).name, TEST_FILE, folder / test)
        failed = next((step for step in report.steps if step.status == "failed"), None)
        await log.finish(
            RunEnding(
                status=_STATUS[report.verdict],
                evidence=_EVIDENCE[report.verdict],
                finished_at=report.timestamp,
                duration_ms=report.duration_ms,
                error=None if report.verdict == "pass" else (failed and failed.error) or report.rca.message,
                hint=report.rca.recommendation or None,
                heal_rounds=report.summary.heal_rounds,
                rca_class=report.rca.class_,
                rca_message=report.rca.message,
            )
        )
        if report.verdict != "partial":
            with suppress(StoreError):
                await self._saver.adelete_thread(report.run_id)
