"""The work of `periplus verify`: reads the requirements, opens the site and the verifier, writes the
reports.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import typer
from pydantic import JsonValue
from rich.console import Console
from rich.markup import escape

from agent.execution.stop_request import StopRequest
from agent.inferencer import InferenceFailed
from agent.verification.graph.passed_plans import NothingOffered, PassedPlans
from agent.verification.planning import RequirementsInvalid, read_requirements
from agent.verification.reports import JUNIT, REPORT, write_html, write_junit
from kb_schema.verification import Requirement, VerdictReport
from loaders.markup_escapes import one_line
from periplus.errors import UserError
from periplus.exit_codes import ExitCode
from periplus.fleet.fleet_setup import choose_store_addresses, open_fleet, write_folder_mark
from periplus.fleet.jobs import Fleet
from periplus.fleet.workers_option import WorkerSelection, parse_workers
from periplus.foreign_input import ImportBudget, read_foreign
from periplus.language_model import load_inferencer, write_model_calls
from periplus.settings import load_settings
from periplus.signals import on_signals
from periplus.verification.generated_test_proof import check_reset
from periplus.verification.login_checks import check_logins_known
from periplus.verification.offer_questions import ask_offers
from periplus.verification.pytest_proof import PytestProof, check_pytest_available, run_pytest_proof
from periplus.verification.requirement_verifier import RequirementVerifier, open_verifier
from periplus.verification.site_under_test import SiteUnderTest, open_site_under_test
from periplus.verification.verification_batch import VerificationBatch, read_finished_reports, verify_all
from periplus.verification.verification_view import VerificationView, print_verdict_reports
from periplus.verification.verifier_settings import VerifierSettings, find_secrets, resolve_requirement_url
from periplus.verifier_ports import VerifierPort as AnyVerifier

LONGEST_SHOWN = 500
"""Characters of a problem in a requirement."""
AHEAD = 2
"""Requirements sent ahead for each place of a fleet, so that none is idle."""

__all__ = [
    "VerificationRun",
    "VerificationRunResult",
    "check_pytest_available",
    "check_runnable",
    "check_worker_support",
    "print_verification_result",
    "read_batch_requirements",
    "read_requested_requirements",
]


def read_requested_requirements(batch: VerificationBatch, console: Console) -> list[Requirement]:
    """Return the requirements to verify. Prints all problems and ends the command if some are invalid."""
    try:
        found = asyncio.run(read_batch_requirements(batch))
    except RequirementsInvalid as exc:
        count = len(exc.problems)
        console.print(f"[bold red]Error:[/] {count} problem{'s' if count != 1 else ''} in the requirements")
        for problem in exc.problems:
            place = f"[cyan]{_shown(str(problem.place))}[/] " if str(problem.place) else ""
            console.print(
                f"  [red]x[/] {place}{_shown(problem.message)} [green]-> {_shown(problem.fix)}[/]",
                soft_wrap=True,
                highlight=False,
            )
        raise typer.Exit(ExitCode.USER_ERROR) from exc
    except InferenceFailed as exc:
        raise UserError(
            str(exc), fix=exc.hint or "write the steps in the pipe format, or in a table"
        ) from exc
    if not batch.only:
        return found
    kept = keep_chosen(found, batch.only, batch.login)
    if not kept:
        known = ", ".join(each.req_id for each in found)
        raise UserError(f"no requirement has the id or tag {' or '.join(batch.only)}", fix=f"known: {known}")
    return kept


def keep_chosen(found: Sequence[Requirement], only: Sequence[str], login: str | None) -> list[Requirement]:
    """Return the requirements with these ids or tags, and those by which they sign in, in the order of the files."""
    chosen = {each.req_id for each in found if {each.req_id, *each.tags} & set(only)}
    needed = set(chosen)
    while True:
        by = {each.login or login for each in found if each.req_id in needed}
        more = {each.req_id for each in found if each.req_id in by} - needed
        if not more:
            return [each for each in found if each.req_id in needed]
        needed |= more


def _shown(text: str) -> str:
    """Return a text of a file for the terminal: on one line, without control characters."""
    return escape(one_line(text, LONGEST_SHOWN))


def check_worker_support(batch: VerificationBatch) -> None:
    """Check the options against the kind of workers. Raises `UserError` for what worker processes cannot
    do.
    """
    workers = parse_workers(batch.workers)
    in_contexts = workers.kind == "contexts"
    check_reset(batch.reset, workers=workers.count if in_contexts else None, choice=batch.prove)
    if in_contexts:
        return
    if batch.run_tests:
        raise UserError(
            "--run-tests runs pytest in this process, but the login sessions are with the worker processes",
            fix=f"remove --run-tests, then run: pytest {batch.out}/generated_tests",
        )
    if batch.cdp_endpoint or batch.channel or batch.proxy_server:
        raise UserError(
            "worker processes start browsers of their own",
            fix="remove --cdp-endpoint, --channel and --proxy-server, or use --workers N",
        )
    if batch.headed:
        raise UserError("worker processes run without a window", fix="remove --headed, or use --workers N")
    if workers.elsewhere and batch.seed is not None and batch.base_url is None:
        raise UserError(
            f"workers at {workers.address} cannot reach a site that is started on this machine",
            fix="start the site where the workers reach it, and give its address with --base-url",
        )
    choose_store_addresses(workers)


def check_runnable(batch: VerificationBatch, wanted: list[Requirement], given: Mapping[str, object]) -> None:
    """Raises `UserError` if no site is given, a secret has no value, or a login or an input of it is unknown, before
    anything is started. `given`: inputs.
    """
    if batch.seed is None:
        for each in wanted:
            resolve_requirement_url(each, batch.base_url)
    find_secrets(tuple(wanted))
    asyncio.run(check_logins_known(batch, wanted, given))


async def read_batch_requirements(batch: VerificationBatch) -> list[Requirement]:
    """Return the requirements of all files. Raises `RequirementsInvalid`, `InferenceFailed` and `UserError`."""
    default_url = batch.url or ("/" if batch.base_url or batch.seed else None)
    files = [Path(each) for each in batch.files]
    budget = ImportBudget(batch.import_memory_mb, batch.import_seconds)
    return await read_requirements(
        files,
        inferencer=load_inferencer("judge", batch.model),
        default_url=default_url,
        read=lambda function, paths: read_foreign(paths, budget, function, paths),
    )


class VerificationRunResult:
    """The reports of a run, and the result of its tests."""

    def __init__(
        self, reports: list[VerdictReport], wanted: int, proof: PytestProof | None, stopped: str | None
    ) -> None:
        self.reports, self.wanted, self.proof, self.stopped = reports, wanted, proof, stopped

    @property
    def passed(self) -> bool:
        """Whether every requirement, and pytest if it ran, passed."""
        every = len(self.reports) == self.wanted and all(each.verdict == "pass" for each in self.reports)
        return every and (self.proof is None or self.proof.passed)


class VerificationRun:
    """Opens the site and a verifier, verifies the requirements and writes the reports."""

    def __init__(
        self,
        batch: VerificationBatch,
        wanted: list[Requirement],
        console: Console,
        given: dict[str, str],
        accepted: Sequence[tuple[str, int]] = (),
        *,
        ask: bool = False,
    ) -> None:
        """`accepted`: steps, from 1, whose offered element is used from now on. `ask`: ask about further ones."""
        self._ask = ask
        self._accepted = accepted
        self._batch, self._wanted, self._console, self._given = batch, wanted, console, given
        self._stop = StopRequest()
        self._fleet: Fleet | None = None

    async def done(self) -> VerificationRunResult:
        """Verify all requirements and return the result."""
        batch, done = self._batch, read_finished_reports(self._batch, self._wanted)
        async with AsyncExitStack() as stack:
            where = await stack.enter_async_context(
                open_site_under_test(
                    batch.seed, batch.base_url, batch.website, knowledge=self._needs_knowledge()
                )
            )
            await self._accept_offers(where)
            model = load_inferencer("judge", batch.model)
            if model is not None:
                stack.callback(write_model_calls, model, Path(batch.out))
            settings = VerifierSettings(
                out=Path(batch.out),
                base_url=where.base_url,
                origins=batch.origins,
                website_id=where.website_id,
                login=batch.login,
                requirements=tuple(self._wanted),
                values={**where.values, **self._given},
                browser=batch.browser_options(),
                profile=batch.profile,
                max_heal_rounds=batch.max_heal_rounds,
                timeout_s=batch.timeout,
                requirement_s=batch.requirement_timeout or load_settings().requirement_timeout,
                tests=batch.tests,
                prove=batch.prove,
                reset=batch.reset,
                rediscover=batch.rediscover,
                title=where.title,
                inferencer=model,
            )
            own: RequirementVerifier | None = None
            workers = parse_workers(batch.workers)
            if workers.kind == "contexts":
                own = await stack.enter_async_context(open_verifier(settings))
                verifiers, width = cast("AnyVerifier", own), workers.count
            else:
                verifiers, width = await self._elsewhere(workers, settings, stack)
            with VerificationView(self._console, self._wanted) as view:
                for each in done.values():
                    view.ended(each)
                reports = await self._watched(verifiers, width, done, view)
            if self._ask and own is not None and self._stop.reason is None:
                reports = await self._ask_offers(reports, own, where)
            proof = None
            if batch.run_tests and self._stop.reason is None and reports and own is not None:
                proof = await run_pytest_proof(
                    Path(batch.out), own.environment(Path(batch.out)), where.base_url
                )
        self._written(reports, where, proof)
        return VerificationRunResult(reports, len(self._wanted), proof, self._stop.reason)

    async def _ask_offers(
        self, reports: list[VerdictReport], own: RequirementVerifier, where: SiteUnderTest
    ) -> list[VerdictReport]:
        wanted = {each.req_id: each for each in self._wanted}

        async def verify_again(report: VerdictReport) -> VerdictReport:
            with VerificationView(self._console, [wanted[report.req_id]]) as view:
                return await own.verify(wanted[report.req_id], tell=view, stop=self._stop)

        def find_website(report: VerdictReport) -> str:
            _, url = resolve_requirement_url(wanted[report.req_id], where.base_url)
            return where.website_id or urlsplit(url).netloc

        plans = PassedPlans(load_settings().data_dir)
        return await ask_offers(reports, plans, find_website, verify_again, self._console)

    async def _accept_offers(self, where: SiteUnderTest) -> None:
        """Use the accepted elements. Raises `UserError` if one was not offered."""
        plans = PassedPlans(load_settings().data_dir)
        for req_id, number in self._accepted:
            requirement = next((each for each in self._wanted if each.req_id == req_id), None)
            if requirement is None:
                known = ", ".join(each.req_id for each in self._wanted)
                raise UserError(f"--accept: no requirement has the id {req_id}", fix=f"known: {known}")
            _, url = resolve_requirement_url(requirement, where.base_url)
            try:
                offered = await plans.accept(where.website_id or urlsplit(url).netloc, req_id, number - 1)
            except NothingOffered as exc:
                other = exc.offered
                at = (
                    f"step {other.step_idx + 1} of {req_id} has an offer"
                    if other is not None
                    else "verify it first"
                )
                raise UserError(f"nothing is offered for step {number} of {req_id}", fix=at) from exc
            self._console.print(
                f"accepted: {escape(offered.element)} is {escape(offered.description)}", highlight=False
            )

    async def _elsewhere(
        self, workers: WorkerSelection, settings: VerifierSettings, stack: AsyncExitStack
    ) -> tuple[AnyVerifier, int]:
        """Open worker processes; return their verifier, and how many requirements to send at a time."""
        from periplus.verification.verification_jobs import (  # noqa: PLC0415
            FleetVerifier,
            VerificationJobBatch,
            requirements_to_json,
        )

        store_addresses = choose_store_addresses(workers)
        self._fleet = await stack.enter_async_context(open_fleet(workers))
        mark = stack.enter_context(
            write_folder_mark(settings.out, requirements_to_json(settings.requirements))
        )
        work = VerificationJobBatch(
            store_addresses=store_addresses,
            mark=mark,
            base_url=settings.base_url,
            origins=settings.origins,
            website_id=settings.website_id,
            login=settings.login,
            values=cast("dict[str, JsonValue]", dict(settings.values)),
            secrets=find_secrets(settings.requirements),
            profile=settings.profile,
            max_heal_rounds=settings.max_heal_rounds,
            timeout_s=settings.timeout_s,
            requirement_s=settings.requirement_s,
            tests=settings.tests,
            prove=settings.prove,
            rediscover=settings.rediscover,
            title=settings.title,
            model=self._batch.model,
        )
        return FleetVerifier(self._fleet, work), max(self._fleet.width, 1) * AHEAD

    def _needs_knowledge(self) -> bool:
        own = {each.req_id for each in self._wanted}
        return any((each.login or self._batch.login) not in (None, *own) for each in self._wanted)

    async def _watched(
        self, verifier: AnyVerifier, width: int, done: dict[str, VerdictReport], view: VerificationView
    ) -> list[VerdictReport]:
        """Verify, stopping after the current steps on Ctrl-C; a second Ctrl-C stops at once."""
        work = asyncio.create_task(
            verify_all(
                self._batch, self._wanted, verifier, width=width, done=done, tell=view, stop=self._stop
            )
        )

        told: list[asyncio.Task[None]] = []

        def interrupted() -> None:
            if self._stop.reason is not None:
                work.cancel()
            self._stop.ask("interrupted")
            if self._fleet is not None:
                told.append(asyncio.create_task(self._fleet.stop("interrupted")))

        with on_signals(interrupted, signal.SIGINT, signal.SIGTERM):
            reports = await work
        await asyncio.gather(*told)
        return reports

    def _written(self, reports: list[VerdictReport], where: SiteUnderTest, proof: PytestProof | None) -> None:
        folder = Path(self._batch.out)
        write_junit(reports, folder / JUNIT)
        title = f"Verification of {where.title}" if where.title else "Verification"
        site = where.base_url or (reports[0].url if reports else "")
        write_html(
            reports,
            folder / REPORT,
            folder=folder,
            title=title,
            site=site,
            proof=proof.said if proof else None,
        )


def print_verification_result(
    batch: VerificationBatch, result: VerificationRunResult, console: Console, *, as_json: bool
) -> None:
    """Print the verdicts and the paths of the files."""
    if as_json:
        told = {
            "run": batch.batch_id,
            "passed": result.passed,
            "out": batch.out,
            "requirements": [each.model_dump(mode="json", by_alias=True) for each in result.reports],
        }
        if result.proof is not None:
            told["tests"] = {"passed": result.proof.passed, "summary": result.proof.summary}
        sys.stdout.write(json.dumps(told, indent=2, ensure_ascii=False) + "\n")
    else:
        print_verdict_reports(console, result.reports)
        if result.proof is not None:
            style = "green" if result.proof.passed else "red"
            console.print(f"pytest: [{style}]{escape(result.proof.summary)}[/]", highlight=False)
        folder = Path(batch.out)
        for name in (REPORT, JUNIT, *(["generated_tests"] if batch.tests else [])):
            if (folder / name).exists():
                console.print(f"  {escape(str(folder / name))}", soft_wrap=True, highlight=False)
    if result.stopped is not None:
        console.print(
            f"[yellow]stopped: {escape(result.stopped)}[/]; resume with: periplus verify --resume {batch.batch_id}",
            soft_wrap=True,
            highlight=False,
        )
