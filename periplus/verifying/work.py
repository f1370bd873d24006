"""The work of `periplus verify` from the files that are read to the reports that are written and told."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import cast

import typer
from pydantic import JsonValue
from rich.console import Console
from rich.markup import escape

from agent.engine.stopping import Stop
from agent.inferring import InferenceFailed, Inferencer, ModelInferencer
from agent.verifying.planning import RequirementsInvalid, read_requirements
from agent.verifying.reporting import JUNIT, REPORT, write_html, write_junit
from kb_schema.verification import Requirement, VerdictReport
from periplus.errors import EXIT_USER, UserError
from periplus.fleet.opening import marked, open_fleet, shelf_for
from periplus.fleet.ports import Fleet
from periplus.fleet.workers import Workers, read_workers
from periplus.service.ports import Verifier as AnyVerifier
from periplus.settings import load_settings
from periplus.signals import on_signals
from periplus.verifying.batch import Batch, finished, verify_all
from periplus.verifying.proof import Proof, can_prove, prove
from periplus.verifying.sites import Where, opened_site
from periplus.verifying.verifier import Verifier, VerifySettings, find_secrets, open_verifier, placed
from periplus.verifying.view import VerifyView, tell_reports

AHEAD = 2
"""Requirements that are sent for each place of a fleet, so that none waits for the next."""

__all__ = ["Result", "Work", "can_prove", "fits_workers", "read_wanted", "tell", "unplaced"]


def read_wanted(batch: Batch, console: Console) -> list[Requirement]:
    """The requirements that are wanted. Ends the command where some are wrong, with all that is."""
    try:
        found = asyncio.run(_requirements(batch))
    except RequirementsInvalid as exc:
        count = len(exc.problems)
        console.print(f"[bold red]Error:[/] {count} problem{'s' if count != 1 else ''} in the requirements")
        for problem in exc.problems:
            place = f"[cyan]{escape(str(problem.place))}[/] " if str(problem.place) else ""
            console.print(
                f"  [red]x[/] {place}{escape(problem.message)} [green]-> {escape(problem.fix)}[/]",
                soft_wrap=True, highlight=False,
            )  # fmt: skip
        raise typer.Exit(EXIT_USER) from exc
    except InferenceFailed as exc:
        raise UserError(str(exc), fix=exc.hint or "write the steps with pipes, or in a table") from exc
    if not batch.only:
        return found
    kept = [each for each in found if {each.req_id, *each.tags} & set(batch.only)]
    if not kept:
        known = ", ".join(each.req_id for each in found)
        raise UserError(f"no requirement is {' or '.join(batch.only)}", fix=f"known: {known}")
    return kept


def fits_workers(batch: Batch) -> None:
    """Raises `UserError` for what worker processes cannot do, before anything is started."""
    workers = read_workers(batch.workers)
    if workers.kind == "contexts":
        return
    if batch.run_tests:
        raise UserError(
            "--run-tests runs here, and what its tests sign in with is with the workers",
            fix=f"leave it out, then: pytest {batch.out}/generated_tests",
        )
    if batch.headed:
        raise UserError("worker processes have no window", fix="leave out --headed, or --workers N")
    if workers.elsewhere and batch.seed is not None and batch.base_url is None:
        raise UserError(
            f"workers at {workers.address} do not reach a site that is started here",
            fix="start it where they do, and name it with --base-url",
        )
    shelf_for(workers)


def unplaced(batch: Batch, wanted: list[Requirement]) -> None:
    """Raises `UserError` where no site is named, or a secret has no value: before anything is started."""
    if batch.seed is None:
        for each in wanted:
            placed(each, batch.base_url)
    find_secrets(tuple(wanted))


async def _requirements(batch: Batch) -> list[Requirement]:
    default_url = batch.url or ("/" if batch.base_url or batch.seed else None)
    files = [Path(each) for each in batch.files]
    return await read_requirements(files, inferencer=_inferencer(batch.model), default_url=default_url)


def _inferencer(model: str | None) -> Inferencer | None:
    name = model or load_settings().model
    return ModelInferencer(name) if name else None


class Result:
    """What came of it."""

    def __init__(
        self, reports: list[VerdictReport], wanted: int, proof: Proof | None, stopped: str | None
    ) -> None:
        self.reports, self.wanted, self.proof, self.stopped = reports, wanted, proof, stopped

    @property
    def passed(self) -> bool:
        """Everything."""
        every = len(self.reports) == self.wanted and all(each.verdict == "pass" for each in self.reports)
        return every and (self.proof is None or self.proof.passed)


class Work:
    """From the site that is started to the reports that are written."""

    def __init__(
        self, batch: Batch, wanted: list[Requirement], console: Console, given: dict[str, str]
    ) -> None:
        self._batch, self._wanted, self._console, self._given = batch, wanted, console, given
        self._stop = Stop()
        self._fleet: Fleet | None = None

    async def done(self) -> Result:
        """Do it."""
        batch, done = self._batch, finished(self._batch, self._wanted)
        async with AsyncExitStack() as stack:
            where = await stack.enter_async_context(
                opened_site(batch.seed, batch.base_url, batch.website, knowledge=self._needs_knowledge())
            )
            settings = VerifySettings(
                out=Path(batch.out), base_url=where.base_url, website_id=where.website_id, login=batch.login,
                requirements=tuple(self._wanted), values={**where.values, **self._given}, headed=batch.headed,
                max_heal_rounds=batch.max_heal_rounds, tests=batch.tests, rediscover=batch.rediscover,
                title=where.title, inferencer=_inferencer(batch.model),
            )  # fmt: skip
            own: Verifier | None = None
            workers = read_workers(batch.workers)
            if workers.kind == "contexts":
                own = await stack.enter_async_context(open_verifier(settings))
                verifiers, width = cast("AnyVerifier", own), workers.count
            else:
                verifiers, width = await self._elsewhere(workers, settings, stack)
            with VerifyView(self._console, self._wanted) as view:
                for each in done.values():
                    view.ended(each)
                reports = await self._watched(verifiers, width, done, view)
            proof = None
            if batch.run_tests and self._stop.reason is None and reports and own is not None:
                proof = await prove(Path(batch.out), own, where.base_url)
        self._written(reports, where, proof)
        return Result(reports, len(self._wanted), proof, self._stop.reason)

    async def _elsewhere(
        self, workers: Workers, settings: VerifySettings, stack: AsyncExitStack
    ) -> tuple[AnyVerifier, int]:
        """Worker processes that verify, and how many requirements to send at a time."""
        from periplus.fleet.verifying import FleetVerifier, VerifyWork, all_of  # noqa: PLC0415

        shelf = shelf_for(workers)
        self._fleet = await stack.enter_async_context(open_fleet(workers))
        mark = stack.enter_context(marked(settings.out, all_of(settings.requirements)))
        work = VerifyWork(
            shelf=shelf, mark=mark, base_url=settings.base_url, website_id=settings.website_id,
            login=settings.login, values=cast("dict[str, JsonValue]", dict(settings.values)),
            secrets=find_secrets(settings.requirements), max_heal_rounds=settings.max_heal_rounds,
            tests=settings.tests, rediscover=settings.rediscover, title=settings.title, model=self._batch.model,
        )  # fmt: skip
        return FleetVerifier(self._fleet, work), max(self._fleet.width, 1) * AHEAD

    def _needs_knowledge(self) -> bool:
        own = {each.req_id for each in self._wanted}
        return any((each.login or self._batch.login) not in (None, *own) for each in self._wanted)

    async def _watched(
        self, verifier: AnyVerifier, width: int, done: dict[str, VerdictReport], view: VerifyView
    ) -> list[VerdictReport]:
        """Ctrl-C lets the steps that are being done come to their end; a second one ends it at once."""
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

    def _written(self, reports: list[VerdictReport], where: Where, proof: Proof | None) -> None:
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


def tell(batch: Batch, result: Result, console: Console, *, as_json: bool) -> None:
    """How it came out, and where everything is."""
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
        tell_reports(console, result.reports)
        if result.proof is not None:
            style = "green" if result.proof.passed else "red"
            console.print(f"pytest: [{style}]{escape(result.proof.summary)}[/]", highlight=False)
        folder = Path(batch.out)
        for name in (REPORT, JUNIT, *(["generated_tests"] if batch.tests else [])):
            if (folder / name).exists():
                console.print(f"  {escape(str(folder / name))}", soft_wrap=True, highlight=False)
    if result.stopped is not None:
        console.print(
            f"[yellow]stopped: {escape(result.stopped)}[/]; carry on: periplus verify --resume {batch.batch_id}",
            soft_wrap=True, highlight=False,
        )  # fmt: skip
