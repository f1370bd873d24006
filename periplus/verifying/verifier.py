"""Verifying requirements: the graph with its page, stores, checkpoints and files, opened and closed in order.

One `Verifier` verifies many requirements at once, each in contexts of its own, in one browser that is
started again where it dies. What is asked for on the command line is `periplus/commands/verify.py`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from langgraph.checkpoint.base import BaseCheckpointSaver
from playwright.async_api import Browser
from playwright.async_api import Error as PlaywrightError

from agent.context import Context
from agent.engine.stopping import Stop, Stopped
from agent.errors import AgentError
from agent.events import Event
from agent.inferring import Inferencer
from agent.page.errors import PageError
from agent.run_log import RunLog, run_of
from agent.telemetry import span
from agent.verifying.bench import BenchPolicy
from agent.verifying.flow import Nodes, of_error, report_of, run_graph, without_secrets
from agent.verifying.flow.suite import Suite
from agent.verifying.flow.working import Plans, Site, WorkingHands
from agent.verifying.reporting import write_verdict
from agent.verifying.root_cause import classify
from kb_schema.placeholders import secret_names
from kb_schema.runs import EvidenceLevel, RunEnding, RunStatus, StoredStep
from kb_schema.verification import Evidence, Failure, Requirement, RootCause, RunState, VerdictReport
from kb_store import StoreError
from kb_store.run_leases import holding_run
from kb_store.runs import RunStore, open_runs
from periplus.errands import TAKEN_OVER, new_run_id
from periplus.errors import UserError
from periplus.logbook import LocatorCache
from periplus.logs import asked_for, of_run
from periplus.settings import load_settings
from periplus.verifying.login_tasks import LoginFailed
from periplus.verifying.logins import Logins
from periplus.verifying.memory import FolderPlans, open_checkpointer
from periplus.voyage import started_browser

VERDICT_FILE = "verdict_report"
TEST_FILE = "test_file"
"""PACTS 9.1's `artifact_type`."""
_STATUS = {"pass": RunStatus.SUCCESS, "partial": RunStatus.PARTIAL, "fail": RunStatus.FAILURE}
_EVIDENCE = {
    "pass": EvidenceLevel.VERIFIED,
    "partial": EvidenceLevel.UNVERIFIED,
    "fail": EvidenceLevel.CONTRADICTED,
}


@dataclass(frozen=True, slots=True)
class VerifySettings:
    """What a verifier works with; everything has a default."""

    out: Path = Path("out/verify")
    """Where reports, tests and pictures go."""
    base_url: str | None = None
    """Where the site is; None: where each requirement's own address says."""
    website_id: str | None = None
    """Under which name it is remembered; None: its host."""
    login: str | None = None
    """What signs in for every requirement that names no login itself: a task of the knowledge base, or the
    `req_id` of a requirement."""
    requirements: tuple[Requirement, ...] = ()
    """All that belong to one suite, in their order, where that is known beforehand."""
    values: Mapping[str, object] = field(default_factory=dict, repr=False)
    """Inputs of a task that signs in."""
    secrets: Mapping[str, str] | None = field(default=None, repr=False)
    """By name; None: the environment."""
    headed: bool | None = False
    max_heal_rounds: int | None = None
    """None: `PERIPLUS_MAX_HEAL_ROUNDS`."""
    tests: bool = True
    """Whether tests are written."""
    rediscover: bool = False
    """Every element is looked for anew, also where the plan of an earlier pass is known."""
    pictures: bool = True
    inferencer: Inferencer | None = field(default=None, repr=False)
    """The language model that explains root causes; None: nobody does. It decides none."""
    title: str = ""
    data_dir: Path | None = None
    """None: `PERIPLUS_DATA_DIR`."""
    mongodb_url: str | None = field(default=None, repr=False)
    """None: `PERIPLUS_MONGODB_URL`; without either: the data directory."""


@asynccontextmanager
async def open_verifier(settings: VerifySettings) -> AsyncIterator[Verifier]:
    """Stores, checkpoints and browser for as long as one is inside.

    Raises `UserError` where there is no browser, `StoreError` where a store does not answer.
    """
    environment = load_settings(mongodb_url=settings.mongodb_url)
    url = environment.mongodb_url.get_secret_value() if environment.mongodb_url else None
    data_dir = settings.data_dir or environment.data_dir
    rounds = settings.max_heal_rounds
    async with AsyncExitStack() as stack:
        runs = await stack.enter_async_context(open_runs(data_dir, url))
        saver = await stack.enter_async_context(open_checkpointer(data_dir, url))
        browsers = await stack.enter_async_context(_Browsers(settings.headed))
        await browsers.get()
        yield Verifier(
            settings,
            runs,
            saver,
            browsers,
            FolderPlans(data_dir),
            environment.max_heal_rounds if rounds is None else rounds,
        )


class _Browsers:
    """One browser, started again where it died."""

    def __init__(self, headed: bool | None) -> None:
        self._headed, self._stack = headed, AsyncExitStack()
        self._browser: Browser | None = None
        self._starting = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        with suppress(PlaywrightError):
            await self._stack.aclose()

    @property
    def alive(self) -> bool:
        """Whether there is one that answers."""
        return self._browser is not None and self._browser.is_connected()

    async def get(self) -> Browser:
        """One that is alive. Raises `UserError`."""
        async with self._starting:
            if self._browser is None or not self._browser.is_connected():
                self._browser = await self._stack.enter_async_context(started_browser(headed=self._headed))
            return self._browser


class Verifier:
    """Verifies requirements, several at a time if one likes."""

    def __init__(
        self,
        settings: VerifySettings,
        runs: RunStore,
        saver: BaseCheckpointSaver[Any],
        browsers: _Browsers,
        plans: Plans,
        max_heal_rounds: int,
    ) -> None:
        self._settings, self.runs, self._saver, self._browsers = settings, runs, saver, browsers
        self._plans, self._max_heal_rounds = plans, max_heal_rounds
        self._policy = BenchPolicy(max_heal_rounds=max_heal_rounds)
        self._logins = Logins(settings, self._browsers.get, self._policy, runs)
        self._suites: dict[Path, Suite] = {}

    @property
    def browser_alive(self) -> bool:
        """Whether the browser answers."""
        return self._browsers.alive

    def environment(self, folder: Path) -> dict[str, str]:
        """What the tests of a folder read from the environment: the secrets of its requirements."""
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
        stop: Stop | None = None,
        folder: Path | None = None,
    ) -> VerdictReport:
        """Verify one requirement, or carry on with the run of that id; its report, which is also in `folder`.

        A run that was asked to stop gives the report of how far it came (`partial`) and can be carried on.
        Raises `UserError` for what a person can put right before anything begins (a secret that is missing,
        no site), `RunHeld` where another process is at it, `StoreError`.
        """
        run_id, stop = run_id or new_run_id(), stop or Stop()
        folder = folder or self._settings.out
        requirement, base_url = placed(requirement, self._settings.base_url)
        secrets = find_secrets((requirement,), self._settings.secrets)
        context = Context(run_id=run_id)
        context.keep_secret(list(secrets.values()))
        website_id = self._settings.website_id or urlsplit(base_url).netloc
        run = run_of(
            context, website_id=website_id, url=base_url, kind="verification",
            subject=requirement.req_id, req_id=requirement.req_id,
        )  # fmt: skip
        lease = holding_run(self.runs.leases, run_id, on_lost=lambda: stop.ask(TAKEN_OVER))
        async with lease:
            log = RunLog(self.runs, run, context)
            await log.begin()
            listeners: tuple[Callable[[Event], None], ...] = (log, tell, *asked_for())

            def heard(event: Event) -> None:
                for listener in listeners:
                    listener(event)

            try:
                with (
                    of_run(run_id, req_id=requirement.req_id),
                    span("verification", run_id=run_id),
                    self._logins.lane() as lane,
                ):
                    report = await self._verified(
                        requirement, base_url, website_id, secrets, folder,
                        run_id=run_id, tell=heard, stop=stop, lane=lane, redact=context.redact,
                    )  # fmt: skip
                context.keep_secret(list(self._logins.environment.values()))
                report = without_secrets(report, context.redact)
                path = write_verdict(report, folder)
                if stop.reason != TAKEN_OVER:
                    await self._recorded(log, report, folder, path)
            finally:
                await log.close()
        return report

    async def _verified(
        self,
        requirement: Requirement,
        base_url: str,
        website_id: str,
        secrets: Mapping[str, str],
        folder: Path,
        *,
        run_id: str,
        tell: Callable[[Event], None],
        stop: Stop,
        lane: int,
        redact: Callable[[Any], Any],
    ) -> VerdictReport:
        began = datetime.now(UTC)
        try:
            others = find_secrets(self._settings.requirements, self._settings.secrets, strict=False)
            known = {**others, **secrets}
            signed_in = await self._logins.of(requirement, base_url, website_id, known, lane=lane)
            site = Site(base_url, website_id, signed_in.storage, signed_in.by)
            suite = self._suite(folder, base_url)
            suite.login = signed_in.plan or suite.login
            hands = WorkingHands(
                requirement, site, self._browsers.get, suite, self._plans, folder, secrets, self._policy,
                LocatorCache(self.runs), self._settings.tests,
                self._settings.pictures, tell, self._settings.inferencer, redact,
            )  # fmt: skip
            rounds = self._max_heal_rounds
            async with Nodes(
                requirement,
                hands,
                base_url=base_url,
                max_heal_rounds=rounds,
                rediscover=self._settings.rediscover,
                tell=tell,
            ) as nodes:
                state = await run_graph(
                    nodes,
                    requirement,
                    run_id=run_id,
                    checkpointer=self._saver,
                    stop=stop,
                    max_heal_rounds=rounds,
                )
        except Stopped as stopped:
            state = await self._kept(run_id, requirement)
            note = (f"stopped: {stopped.reason}",)
            return report_of(state, requirement, run_id=run_id, base_url=base_url, notes=note)
        except LoginFailed as exc:
            root = RootCause(
                class_="env_fault", confidence=0.5, message=exc.message, recommendation=exc.fix or "",
                evidence=("nobody could be signed in, so nothing was verified",),
            )  # fmt: skip
            return of_error(requirement, root, run_id=run_id, began=began)
        except (AgentError, PageError, PlaywrightError) as exc:
            evidence = Evidence(
                failure=Failure.TIMEOUT, what="page", message=str(exc), url=base_url,
                browser_alive=self._browsers.alive,
            )  # fmt: skip
            return of_error(requirement, classify(evidence), run_id=run_id, began=began)
        notes = (signed_in.note,) if signed_in.note else ()
        return report_of(state, requirement, run_id=run_id, base_url=base_url, notes=notes)

    async def _kept(self, run_id: str, requirement: Requirement) -> RunState:
        """How far a run came that was stopped."""
        kept = await self._saver.aget({"configurable": {"thread_id": run_id}})
        values = kept["channel_values"] if kept is not None else {}
        known = {name: values[name] for name in RunState.model_fields if name in values}
        return RunState.model_validate({"req_id": requirement.req_id, **known})

    def _suite(self, folder: Path, base_url: str) -> Suite:
        """The suite of a folder; the verifier's own grows with every requirement."""
        if folder in self._suites:
            return self._suites[folder]
        own = folder == self._settings.out
        known = self._settings.requirements if own else ()
        wanted = {each.req_id: placed(each, self._settings.base_url)[0] for each in known}
        suite = Suite(folder, base_url=base_url, requirements=wanted, title=self._settings.title)
        suite.recall()
        if own:
            self._suites[folder] = suite
        return suite

    async def _recorded(self, log: RunLog, report: VerdictReport, folder: Path, path: Path) -> None:
        """Keep what was done, measured and left; then there is nothing to carry on any more."""
        for step in (
            report.steps if report.verdict != "partial" else ()
        ):  # what is carried on is told at its end
            await self.runs.append_step(
                StoredStep(
                    run_id=report.run_id, step_idx=step.step_idx, element=step.element, action=step.action,
                    selector=step.selector, strategy=step.strategy or None, confidence=step.confidence,
                    status=step.status, heal_round=step.heal_round, error_message=step.error,
                    executed_at=step.timestamp, task_id=report.req_id, step_id=f"step_{step.step_idx + 1}",
                    duration_ms=step.duration_ms,
                )
            )  # fmt: skip
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


def placed(requirement: Requirement, base_url: str | None) -> tuple[Requirement, str]:
    """A requirement with its address below the base URL, and that. Raises `UserError` where there is none."""
    parts = urlsplit(requirement.url)
    own = f"{parts.scheme}://{parts.netloc}" if parts.scheme and parts.netloc else None
    if base_url is None and own is None:
        raise UserError(
            f"{requirement.req_id} begins at {requirement.url!r}, and no site is named",
            fix="give --base-url URL (or --seed NAME for a site that comes with Periplus)",
        )
    if own is None:
        return requirement, (base_url or "").rstrip("/")
    path = requirement.url[len(own) :] or "/"
    return requirement.model_copy(update={"url": path}), (base_url or own).rstrip("/")


def find_secrets(
    requirements: tuple[Requirement, ...], known: Mapping[str, str] | None = None, *, strict: bool = True
) -> dict[str, str]:
    """The secrets these requirements read, by name. Raises `UserError` naming all that have no value; those
    are left out where it is not `strict`.
    """
    source: Mapping[str, str] = os.environ if known is None else known
    wanted: dict[str, str] = {}
    for requirement in requirements:
        texts = [requirement.url]
        for step in requirement.steps:
            texts += [step.value or "", *(each.value or "" for each in step.expected)]
        for name in secret_names(*texts):
            wanted.setdefault(name, requirement.req_id)
    if not strict:
        return {name: source[name] for name in wanted if source.get(name)}
    missing = {name: req_id for name, req_id in wanted.items() if not source.get(name)}
    if missing:
        told = ", ".join(f"{name} ({req_id})" for name, req_id in missing.items())
        names = " ".join(f"{name}=..." for name in missing)
        raise UserError(
            f"{len(missing)} secret{'s have' if len(missing) > 1 else ' has'} no value: {told}",
            fix=f"set in the environment: {names}",
        )
    return {name: source[name] for name in wanted}
