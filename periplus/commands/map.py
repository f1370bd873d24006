"""`periplus map`: from a website to its knowledge base, by exploring it."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer
from playwright.async_api import Browser
from pydantic import ValidationError
from rich.console import Console
from rich.markup import escape

from agent.context import Asker
from kb_schema import KnowledgeBase
from kb_schema.mapping import MapLimits
from kb_schema.urls import is_web_address, origin_of
from kb_store import Stores, load_knowledge
from kb_store.runs import RunStore
from loaders.cartography import Chart
from periplus.commands.on_a_site import Headed, read_inputs
from periplus.commands.wording import print_json
from periplus.errors import EXIT_INTERRUPTED, UserError
from periplus.fleet.workers import Workers, WorkersOption, read_workers
from periplus.logbook import open_logbook
from periplus.mapping.composing import Plan, SigningIn, mapped
from periplus.mapping.drawing import drawn
from periplus.mapping.hints import hints_of
from periplus.mapping.places import MAPS, MapFolder, map_folder, website_id_of
from periplus.mapping.signing_in import SignedIn, TaskSignIn, by_form, by_task, kept_session
from periplus.mapping.summary import as_json as summary_json
from periplus.mapping.summary import tell
from periplus.mapping.view import MapView
from periplus.settings import load_settings
from periplus.shelves import ArangoUrl, MongoUrl, open_chosen
from periplus.voyage import started_browser

app = typer.Typer(add_completion=False, rich_markup_mode="rich")

Opening = AbstractAsyncContextManager[Stores]


@app.command()
def map_(
    url: Annotated[
        str | None, typer.Argument(metavar="URL", help="Where to begin.", show_default=False)
    ] = None,
    *,
    website: Annotated[
        str | None, typer.Option(metavar="ID", help="What the website is called; else by its domain.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Its name for people; else the id.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for exploration and knowledge; else in the data directory."),
    ] = None,
    load: Annotated[bool, typer.Option("--load", help="Load the knowledge into the store, too.")] = False,
    storage_state: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A session to be signed in with, as Playwright keeps it."),
    ] = None,
    sign_in: Annotated[
        str | None,
        typer.Option(metavar="TASK", help="Sign in by this task of knowledge that is loaded."),
    ] = None,
    sign_in_form: Annotated[
        bool, typer.Option("--sign-in-form", help="Sign in by the form that the site shows.")
    ] = False,
    sign_in_url: Annotated[
        str | None,
        typer.Option("--sign-in-url", metavar="URL", help="Where that form is, if not at the beginning."),
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", "-i", metavar="NAME=VALUE", help="What to sign in with; may be repeated."),
    ] = None,
    depth: Annotated[int | None, typer.Option(min=0, help="Steps from where it begins.")] = None,
    states: Annotated[int | None, typer.Option(min=1, help="Pages to keep at most.")] = None,
    time: Annotated[float | None, typer.Option(metavar="SECONDS", min=1, help="How long at most.")] = None,
    rate: Annotated[
        float | None, typer.Option(metavar="N", min=0.01, help="Pages asked for in a second, on the mean.")
    ] = None,
    also: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="Begin there as well; may be repeated."),
    ] = None,
    sitemap: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A sitemap of it: in the end, places that nothing led to are opened."
        ),
    ] = None,
    origin: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="Another origin that belongs to the site; may be repeated."),
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A control that may be used although it may change something; may be repeated.",
        ),
    ] = None,
    ignore_robots: Annotated[
        bool, typer.Option("--ignore-robots", help="Also what robots.txt asks to leave alone.")
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an exploration that ended.")] = False,
    redraw: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Only draw the knowledge of this exploration anew.", show_default=False
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Draw over knowledge that was changed since it was drawn.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Of the values that fields are filled with.")] = 0,
    workers: WorkersOption = "1",
    headed: Headed = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary as JSON and nothing else.")
    ] = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
) -> None:
    """Explore a website and draw its knowledge base: screens, elements, transitions, ways out.

    [bold]periplus map https://app.example.com --sign-in-form -i email=me@example.com -i password=...[/]

    Nothing is changed on the site: what submits, deletes, pays, sends or signs out is recognised and left
    alone, unless it is named with --allow. What was explored is kept as it is seen: Ctrl-C, or a crash,
    loses nothing, and --resume goes on.

    [bold]periplus map --redraw .periplus/maps/example[/]

    Draws the knowledge base anew from what was seen, without a browser.

    [bold]periplus map https://app.example.com --workers 4[/]

    Four look around at the same time. What was allowed with --allow is still done by one, once.

    Exit code 0 done, 2 something to put right, 130 stopped (what is there was drawn).
    """
    console = Console(stderr=as_json)
    opening = open_chosen(mongodb_url, arangodb_url) if load or sign_in is not None else None
    if redraw is not None:
        if url is not None or resume:
            raise UserError("--redraw needs no URL and resumes nothing", fix="periplus map --redraw DIR")
        folder = map_folder(redraw)
        chart, stopped = drawn(folder, name=name, force=force), False
    else:
        asked = _SignIn(storage_state, sign_in, sign_in_form, sign_in_url, read_inputs(inputs or []))
        plan = _plan(url, website, name, out, allow, origin, seed, robots=not ignore_robots)
        given = {"depth": depth, "states": states, "seconds": time, "per_second": rate}
        plan = replace(_bounded(plan, given, resume=resume), force=force)
        plan = _with_more(plan, also or [], sitemap, console)
        folder = plan.folder
        who = read_workers(workers)
        alone = who.kind == "contexts" and who.count == 1
        if headed and not alone:
            raise UserError("workers have no window", fix="leave out --headed, or --workers")
        journey = _Journey(
            plan, asked, opening, open_logbook(mongodb_url), None if alone else who, headed=headed
        )
        chart, stopped = asyncio.run(journey.go(console))
        opening = open_chosen(mongodb_url, arangodb_url) if load else None
    if load and opening is not None:
        asyncio.run(_load(chart.knowledge, opening))
    if as_json:
        print_json(Console(), summary_json(chart, folder))
    else:
        tell(console, chart, folder, loaded=load)
    if stopped:
        raise typer.Exit(EXIT_INTERRUPTED)


@dataclass(frozen=True, slots=True)
class _SignIn:
    """How to sign in, as it was asked for."""

    storage_state: Path | None
    task: str | None
    form: bool
    at: str | None
    """The address of the form; None: where the map begins."""
    inputs: dict[str, str]

    def check(self) -> None:
        """Raises `UserError` where it was asked for in several ways, or values are for nothing."""
        ways = [self.storage_state is not None, self.task is not None, self.form]
        if sum(ways) > 1:
            raise UserError(
                "several ways to sign in", fix="give one of --storage-state, --sign-in and --sign-in-form"
            )
        if self.inputs and not (self.task or self.form):
            raise UserError("--input is for signing in", fix="give --sign-in TASK or --sign-in-form, too")
        if self.at is not None and not self.form:
            raise UserError("--sign-in-url is the address of a form", fix="give --sign-in-form, too")
        if self.at is not None and not is_web_address(self.at):
            raise UserError(f"{self.at} is no address of a website", fix="--sign-in-url https://...")
        if self.form and not self.inputs:
            raise UserError(
                "--sign-in-form needs what to fill in", fix="--input email=... --input password=..."
            )


@dataclass(frozen=True, slots=True)
class _Journey:
    """One map, with what it needs."""

    plan: Plan
    sign_in: _SignIn
    opening: Opening | None
    logbook: AbstractAsyncContextManager[RunStore]
    workers: Workers | None
    """Who helps; None: nobody."""
    headed: bool | None

    async def go(self, console: Console) -> tuple[Chart, bool]:
        """Explore and draw. Raises `UserError` and `KnowledgeError`."""
        self.sign_in.check()
        async with AsyncExitStack() as stack:
            stores = runs = None
            if self.sign_in.task is not None and self.opening is not None:
                stores = await stack.enter_async_context(self.opening)
                runs = await stack.enter_async_context(self.logbook)
            browser = await stack.enter_async_context(started_browser(headed=self.headed))
            parts = None
            if self.workers is not None:
                from periplus.fleet.mapping import FleetParts  # noqa: PLC0415 - only where it is asked for
                from periplus.fleet.opening import open_fleet  # noqa: PLC0415

                parts = FleetParts(await stack.enter_async_context(open_fleet(self.workers)))
            with MapView(console, f"map of {self.plan.website_id}") as view:
                return await mapped(browser, self.plan, self._signing_in(stores, runs, view), view, parts)

    def _signing_in(self, stores: Stores | None, runs: RunStore | None, view: MapView) -> SigningIn | None:
        asked, plan = self.sign_in, self.plan
        if asked.storage_state is not None:
            session = kept_session(asked.storage_state)

            async def kept(_: Browser) -> SignedIn:
                return session

            return kept
        if asked.form:
            return lambda browser: by_form(browser, asked.at or plan.url, asked.inputs)
        if asked.task is not None and stores is not None and runs is not None:
            task = TaskSignIn(asked.task, plan.website_id, origin_of(plan.url), asked.inputs)
            folder = plan.folder.path / "signing-in"
            folder.mkdir(parents=True, exist_ok=True)
            return lambda browser: by_task(browser, task, stores, runs, folder, _asker(view))
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
) -> Plan:
    """Raises `UserError` for addresses that are none."""
    if url is None:
        raise UserError(
            "name the website to map", fix="periplus map https://app.example.com, or --redraw DIR"
        )
    for each in (url, *(origin or ())):
        if not is_web_address(each):
            raise UserError(f"{each} is no address of a website", fix="write it like https://app.example.com")
    website_id = website or website_id_of(url)
    folder = MapFolder(out or load_settings().data_dir / MAPS / website_id)
    others = tuple(origin_of(each) for each in origin or ())
    return Plan(
        website_id,
        url,
        folder,
        origins=others,
        allowed=tuple(allow or ()),
        robots=robots,
        seed=seed,
        name=name,
    )


def _with_more(plan: Plan, also: list[str], sitemap: Path | None, console: Console) -> Plan:
    """The plan with other places to begin at, and to look at in the end. Raises `UserError`."""
    origins = plan.exploration("", plan.limits).origins
    for each in also:
        if origin_of(each) not in origins:
            raise UserError(
                f"{each} is not of {', '.join(origins)}", fix="name its origin with --origin, too"
            )
    hints: tuple[str, ...] = plan.hints
    if sitemap is not None:
        found, notes = hints_of(sitemap, origins)
        hints = tuple(dict.fromkeys((*hints, *found)))
        for note in notes:
            console.print(f"[yellow]{escape(str(sitemap))}: {escape(note)}[/]", soft_wrap=True)
    return replace(plan, also=(*plan.also, *also), hints=hints)


def _bounded(plan: Plan, given: dict[str, float | None], *, resume: bool) -> Plan:
    """The plan with its limits: of what is gone on with, those it had. Raises `UserError`."""
    there = plan.folder.exploration
    if there.exists and not resume:
        raise UserError(
            f"{plan.folder.path} holds a map already",
            fix="--resume goes on with it, --redraw draws it anew, --out DIR makes another",
        )
    if resume and not there.exists:
        raise UserError(f"{plan.folder.path} holds no map to go on with", fix="leave --resume out")
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
        raise UserError(f"{where}: {first['msg']}", fix="see periplus map --help") from exc
    return planned


async def _load(knowledge: KnowledgeBase, opening: Opening) -> None:
    async with opening as stores:
        await load_knowledge(stores.documents, stores.graph, knowledge)


def _asker(view: MapView) -> Asker | None:
    """Somebody to ask for what signing in still needs, where there is a terminal."""
    if sys.platform == "win32" or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    from periplus.terminal import Terminal  # noqa: PLC0415 - not to be had on every platform

    return Terminal(Console(stderr=True), fd=sys.stdin.fileno(), room=view.paused)
