"""`periplus map`: explore a website and write its knowledge base."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer
from playwright.async_api import Browser
from pydantic import ValidationError
from rich.console import Console
from rich.markup import escape

from kb_schema import KnowledgeBase
from kb_schema.documents import describe_invalid_value
from kb_schema.explorations import MapLimits
from kb_schema.url_patterns import is_web_address, origin_of
from kb_store import LoadReport, Stores, load_knowledge
from kb_store.runs.run_store import RunStore
from loaders.exploration_import import ExploredKnowledge
from periplus.commands.command_options import Headed, choose_import_budget, parse_inputs
from periplus.commands.command_output import print_json
from periplus.errors import UserError
from periplus.exit_codes import ExitCode
from periplus.exploration.map_folder import MAPS, MapFolder, find_map_folder
from periplus.exploration.map_knowledge_base import write_knowledge_base
from periplus.exploration.map_run import MapRunPlan, SignInFunction, map_website
from periplus.exploration.map_summary import print_map_summary
from periplus.exploration.map_summary import summary_to_json as summary_json
from periplus.exploration.map_view import MapView
from periplus.exploration.sign_in_methods import (
    ExplorationSignIn,
    TaskSignIn,
    sign_in_by_storage_state,
    sign_in_by_task,
    sign_in_with_form,
)
from periplus.exploration.sitemap_addresses import select_sitemap_addresses
from periplus.fleet.workers_option import WorkerSelection, WorkersOption, parse_workers
from periplus.foreign_input import read_foreign
from periplus.run_store_adapters import open_run_store
from periplus.session_setup import start_browser
from periplus.settings import load_settings
from periplus.store_selection import ArangoUrl, MongoUrl, open_selected_stores
from periplus.terminal.live_view import find_terminal_prompts
from periplus.website_selection import suggest_website_id

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

MapStoresContext = AbstractAsyncContextManager[Stores]


@app.command()
def map_(
    url: Annotated[
        str | None, typer.Argument(metavar="URL", help="The start page.", show_default=False)
    ] = None,
    *,
    website: Annotated[
        str | None, typer.Option(metavar="ID", help="The website's id; default: from its domain.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="The website's display name; default: the id.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Folder for exploration and knowledge; default: in the data directory."
        ),
    ] = None,
    load: Annotated[bool, typer.Option("--load", help="Load the knowledge base into the store.")] = False,
    storage_state: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A Playwright storage state of a signed-in session."),
    ] = None,
    sign_in: Annotated[
        str | None,
        typer.Option(metavar="TASK", help="Sign in with this task from the store."),
    ] = None,
    sign_in_form: Annotated[
        bool, typer.Option("--sign-in-form", help="Sign in with the form on the site.")
    ] = False,
    sign_in_url: Annotated[
        str | None,
        typer.Option("--sign-in-url", metavar="URL", help="The URL of the form; default: the start page."),
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", "-i", metavar="NAME=VALUE", help="A value for signing in; may be repeated."),
    ] = None,
    depth: Annotated[
        int | None, typer.Option(min=0, help="Maximum number of steps from the start page.")
    ] = None,
    states: Annotated[int | None, typer.Option(min=1, help="Maximum number of pages to store.")] = None,
    time: Annotated[float | None, typer.Option(metavar="SECONDS", min=1, help="Time limit.")] = None,
    rate: Annotated[
        float | None, typer.Option(metavar="N", min=0.01, help="Average number of page requests per second.")
    ] = None,
    also: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="Another start page; may be repeated."),
    ] = None,
    sitemap: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A sitemap; pages in it that no link led to are opened at the end."
        ),
    ] = None,
    origin: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="Another origin of the same site; may be repeated."),
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A control to use although it may change data; may be repeated.",
        ),
    ] = None,
    reads: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help="The path of requests by POST that only read, like '/api/*/views'; may be repeated.",
        ),
    ] = None,
    ignore_robots: Annotated[
        bool, typer.Option("--ignore-robots", help="Also open pages that robots.txt disallows.")
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Resume an earlier exploration.")] = False,
    redraw: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write the knowledge base of this exploration again, without exploring.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Overwrite knowledge base files that were edited after they were written."
        ),
    ] = False,
    seed: Annotated[int, typer.Option(help="Random seed for the values typed into fields.")] = 0,
    workers: WorkersOption = "1",
    headed: Headed = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print only the summary, as JSON.")] = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
) -> None:
    """Explore a website and write its knowledge base: screens, elements, transitions and recovery edges.

    [bold]periplus map https://app.example.com --sign-in-form -i email=me@example.com -i password=...[/]

    The exploration changes nothing on the site: it does not use controls that submit, delete, pay, send
    or sign out, unless --allow names them. Every page is stored as soon as it is seen: after Ctrl-C or
    a crash, --resume continues.

    [bold]periplus map --redraw .periplus/maps/example[/]

    Writes the knowledge base again from the stored pages, without a browser.

    [bold]periplus map https://app.example.com --workers 4[/]

    Four browsers explore in parallel. Each control named with --allow is still used only once.

    Exit codes: 0 done, 2 an error to correct, 130 interrupted (the pages so far were written).
    """
    console = Console(stderr=as_json)
    opening = open_selected_stores(mongodb_url, arangodb_url) if load or sign_in is not None else None
    if redraw is not None:
        if url is not None or resume:
            raise UserError(
                "--redraw cannot be combined with URL or --resume", fix="periplus map --redraw DIR"
            )
        folder = find_map_folder(redraw)
        chart, stopped = write_knowledge_base(folder, name=name, force=force), False
    else:
        asked = _SignInOptions(storage_state, sign_in, sign_in_form, sign_in_url, parse_inputs(inputs or []))
        plan = _plan(url, website, name, out, allow, origin, seed, robots=not ignore_robots)
        plan = replace(plan, reads=_check_reads(reads or []))
        given = {"depth": depth, "states": states, "seconds": time, "per_second": rate}
        plan = replace(_apply_limits(plan, given, resume=resume), force=force)
        plan = _add_start_pages(plan, also or [], sitemap, console)
        folder = plan.folder
        who = parse_workers(workers)
        alone = who.kind == "contexts" and who.count == 1
        if headed and not alone:
            raise UserError("--headed cannot be combined with --workers", fix="leave out one of them")
        journey = _MapCommand(
            plan, asked, opening, open_run_store(mongodb_url), None if alone else who, headed=headed
        )
        chart, stopped = asyncio.run(journey.go(console))
        opening = open_selected_stores(mongodb_url, arangodb_url) if load else None
    if load and opening is not None:
        loaded = asyncio.run(_load(chart.knowledge, opening))
        if not as_json:
            console.print(f"loaded       {escape(loaded.website_id)}, generation {loaded.generation}")
    if as_json:
        print_json(Console(), summary_json(chart, folder))
    else:
        print_map_summary(console, chart, folder, loaded=load)
    if stopped:
        raise typer.Exit(ExitCode.INTERRUPTED)


@dataclass(frozen=True, slots=True)
class _SignInOptions:
    """The sign-in options of the command line."""

    storage_state: Path | None
    task: str | None
    form: bool
    at: str | None
    """The address of the form; None: the start page."""
    inputs: dict[str, str]

    def check(self) -> None:
        """Raise `UserError` for contradicting or unused options."""
        ways = [self.storage_state is not None, self.task is not None, self.form]
        if sum(ways) > 1:
            raise UserError(
                "--storage-state, --sign-in and --sign-in-form cannot be combined", fix="give one of them"
            )
        if self.inputs and not (self.task or self.form):
            raise UserError(
                "--input is only used for signing in", fix="also give --sign-in TASK or --sign-in-form"
            )
        if self.at is not None and not self.form:
            raise UserError("--sign-in-url needs --sign-in-form", fix="also give --sign-in-form")
        if self.at is not None and not is_web_address(self.at):
            raise UserError(
                f"--sign-in-url {self.at} is not a web address",
                fix="write it like https://app.example.com/login",
            )
        if self.form and not self.inputs:
            raise UserError(
                "--sign-in-form needs the values to type", fix="--input email=... --input password=..."
            )


@dataclass(frozen=True, slots=True)
class _MapCommand:
    """One exploration with its stores and workers."""

    plan: MapRunPlan
    sign_in: _SignInOptions
    opening: MapStoresContext | None
    run_store: AbstractAsyncContextManager[RunStore]
    workers: WorkerSelection | None
    """The workers; None: explore in this process only."""
    headed: bool | None

    async def go(self, console: Console) -> tuple[ExploredKnowledge, bool]:
        """Explore and write the knowledge base. Raises `UserError` and `KnowledgeError`."""
        self.sign_in.check()
        async with AsyncExitStack() as stack:
            stores = runs = None
            if self.sign_in.task is not None and self.opening is not None:
                stores = await stack.enter_async_context(self.opening)
                runs = await stack.enter_async_context(self.run_store)
            browser = await stack.enter_async_context(start_browser(headed=self.headed))
            parts = None
            if self.workers is not None:
                from periplus.fleet.exploration_jobs import FleetExplorationParts  # noqa: PLC0415 - only needed with --workers
                from periplus.fleet.fleet_setup import open_fleet  # noqa: PLC0415

                parts = FleetExplorationParts(await stack.enter_async_context(open_fleet(self.workers)))
            with MapView(console, f"map of {self.plan.website_id}") as view:
                return await map_website(
                    browser, self.plan, self._signing_in(stores, runs, view), view, parts
                )

    def _signing_in(
        self, stores: Stores | None, runs: RunStore | None, view: MapView
    ) -> SignInFunction | None:
        asked, plan = self.sign_in, self.plan
        if asked.storage_state is not None:
            session = sign_in_by_storage_state(asked.storage_state)

            async def kept(_: Browser) -> ExplorationSignIn:
                return session

            return kept
        if asked.form:
            return lambda browser: sign_in_with_form(browser, asked.at or plan.url, asked.inputs)
        if asked.task is not None and stores is not None and runs is not None:
            task = TaskSignIn(asked.task, plan.website_id, origin_of(plan.url), asked.inputs)
            folder = plan.folder.path / "signing-in"
            folder.mkdir(parents=True, exist_ok=True)
            return lambda browser: sign_in_by_task(
                browser, task, stores, runs, folder, find_terminal_prompts(view)
            )
        return None


def _plan(
    url: str | None,
    website: str | None,
    name: str | None,
    out: Path | None,
    allow: list[str] | None,
    origin: list[str] | None,
    seed: int,
    *,
    robots: bool,
) -> MapRunPlan:
    """Return the plan of the exploration. Raises `UserError` for invalid addresses."""
    if url is None:
        raise UserError(
            "URL is missing", fix="periplus map https://app.example.com, or periplus map --redraw DIR"
        )
    for each in (url, *(origin or ())):
        if not is_web_address(each):
            raise UserError(f"{each} is not a web address", fix="write it like https://app.example.com")
    website_id = website or suggest_website_id(url)
    folder = MapFolder(out or load_settings().data_dir / MAPS / website_id)
    others = tuple(origin_of(each) for each in origin or ())
    return MapRunPlan(
        website_id,
        url,
        folder,
        origins=others,
        allowed=tuple(allow or ()),
        robots=robots,
        seed=seed,
        name=name,
    )


def _check_reads(patterns: list[str]) -> tuple[str, ...]:
    """Return the patterns. Raises `UserError` for one that is no path, or any path."""
    for each in patterns:
        if not each.startswith("/") or not each.strip("/*?"):
            raise UserError(
                f"--reads {each}: expected a path such as '/api/*/views'",
                fix="write the path of the requests that read, without the domain; * stands for any text",
            )
    return tuple(patterns)


def _add_start_pages(plan: MapRunPlan, also: list[str], sitemap: Path | None, console: Console) -> MapRunPlan:
    """Return the plan with more start pages and the pages of the sitemap. Raises `UserError`."""
    origins = plan.exploration("", plan.limits).origins
    for each in also:
        if origin_of(each) not in origins:
            raise UserError(
                f"{each} does not belong to {', '.join(origins)}", fix="also name its origin with --origin"
            )
    hints: tuple[str, ...] = plan.hints
    if sitemap is not None:
        budget = choose_import_budget(None, None)
        found, notes = read_foreign(sitemap, budget, select_sitemap_addresses, sitemap, origins)
        hints = tuple(dict.fromkeys((*hints, *found)))
        for note in notes:
            console.print(f"[yellow]{escape(str(sitemap))}: {escape(note)}[/]", soft_wrap=True)
    return replace(plan, also=(*plan.also, *also), hints=hints)


def _apply_limits(plan: MapRunPlan, given: dict[str, float | None], *, resume: bool) -> MapRunPlan:
    """Return the plan with its limits; a resumed exploration keeps its own. Raises `UserError`."""
    there = plan.folder.exploration
    if there.exists and not resume:
        raise UserError(
            f"{plan.folder.path} already contains a map",
            fix="continue it with --resume, write its knowledge base again with --redraw, or choose another folder with --out",
        )
    if resume and not there.exists:
        raise UserError(f"{plan.folder.path} contains no map to resume", fix="leave --resume out")
    limits = MapLimits()
    if resume:
        before = there.exploration
        limits = before.limits
        plan = replace(
            plan,
            url=before.starts[0],
            also=before.starts[1:],
            hints=before.hints,
            website_id=before.website_id,
            origins=plan.origins or before.origins,
            allowed=plan.allowed or before.allowed,
            reads=plan.reads or before.reads,
            robots=plan.robots and before.robots,
            seed=before.seed,
        )
    try:
        limits = MapLimits.model_validate(
            limits.model_dump() | {name: value for name, value in given.items() if value is not None}
        )
        planned = replace(plan, limits=limits)
        planned.exploration("", limits)
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        option = {"website_id": "--website", "seconds": "--time", "per_second": "--rate"}.get(
            where, f"--{where}"
        )
        raise UserError(
            f"{option}: {describe_invalid_value(first)}", fix=f"correct {option}; see periplus map --help"
        ) from exc
    return planned


async def _load(knowledge: KnowledgeBase, opening: MapStoresContext) -> LoadReport:
    async with opening as stores:
        return await load_knowledge(stores.documents, stores.graph, knowledge)
