"""`periplus map`: explore a website and write its knowledge base."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.markup import escape

from kb_schema import KnowledgeBase
from kb_schema.documents import describe_invalid_value
from kb_schema.explorations import MapLimits
from kb_schema.url_patterns import is_web_address, origin_of
from kb_store import LoadReport, Stores, load_knowledge, read_knowledge
from kb_store.runs.run_store import RunStore
from loaders import read_knowledge_folder
from loaders.exploration_import import ExploredKnowledge
from loaders.map_updates.update_report import to_json as update_to_json
from periplus.commands.command_options import (
    AllowRemoteCdp,
    CdpEndpoint,
    Channel,
    Headed,
    ProxyServer,
    choose_browser,
    choose_import_budget,
    parse_inputs,
)
from periplus.commands.command_output import print_json
from periplus.commands.map_sign_in import SignInOptions, use_given_session
from periplus.commands.map_update_options import MapUpdateOptions
from periplus.errors import UserError
from periplus.exit_codes import ExitCode
from periplus.exploration.map_folder import MAPS, MapFolder, find_map_folder
from periplus.exploration.map_knowledge_base import write_knowledge_base
from periplus.exploration.map_run import MapRunPlan, SignInFunction, map_website
from periplus.exploration.map_summary import print_map_summary
from periplus.exploration.map_summary import summary_to_json as summary_json
from periplus.exploration.map_update import MapUpdate, apply_update, print_update, propose_update, update_map
from periplus.exploration.map_view import MapView
from periplus.exploration.sitemap_addresses import select_sitemap_addresses
from periplus.fleet.workers_option import WorkerSelection, WorkersOption, parse_workers
from periplus.foreign_input import read_foreign
from periplus.run_store_adapters import open_run_store
from periplus.session_setup import BrowserOptions, start_browser
from periplus.settings import load_settings
from periplus.store_selection import ArangoUrl, MongoUrl, open_selected_stores
from periplus.terminal.command_console import CommandConsole
from periplus.website_selection import list_websites, select_website, suggest_website_id

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
        typer.Option(
            "--sign-in-url",
            metavar="URL",
            help="The URL of the form, or of a page that leads to it; default: the start page.",
        ),
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
    confirmations: Annotated[
        bool,
        typer.Option(
            "--confirmations/--no-confirmations",
            help="Open the dialogs that ask before something is deleted, paid or sent, where nothing can be sent.",
        ),
    ] = True,
    resume: Annotated[bool, typer.Option("--resume", help="Resume an earlier exploration.")] = False,
    update: Annotated[
        bool,
        typer.Option(
            "--update", help="Tell what has changed on the site since it was mapped, and explore what is new."
        ),
    ] = False,
    apply: Annotated[
        bool, typer.Option("--apply", help="With --update: make the changes in the map's knowledge base.")
    ] = False,
    propose: Annotated[
        bool,
        typer.Option(
            "--propose",
            help="With --update: compare with the website in the store, and store the changes as proposals.",
        ),
    ] = False,
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
    headed: Headed = None,
    cdp_endpoint: CdpEndpoint = None,
    allow_remote_cdp: AllowRemoteCdp = False,
    channel: Channel = None,
    proxy_server: ProxyServer = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print only the summary, as JSON.")] = False,
    mongodb_url: MongoUrl = None,
    arangodb_url: ArangoUrl = None,
) -> None:
    """Explore a website and write its knowledge base: screens, elements, transitions and recovery edges.

    [bold]periplus map https://app.example.com --sign-in-form -i email=me@example.com -i password=...[/]

    The exploration changes nothing on the site: it does not use controls that submit, delete, pay, send
    or sign out, unless --allow names them. Buttons that may ask first are pressed in a copy of the page
    from which nothing is sent, and the dialog is not confirmed (--no-confirmations: not even that). Every page is stored as soon as it is seen: after Ctrl-C or
    a crash, --resume continues.

    [bold]periplus map --redraw .periplus/maps/example[/]

    Writes the knowledge base again from the stored pages, without a browser.

    [bold]periplus map https://app.example.com --workers 4[/]

    Four browsers explore in parallel. Each control named with --allow is still used only once.

    [bold]periplus map --update --website example --apply[/]

    Opens each known screen again, explores what is new, and says what is new, gone or renamed.

    [bold]periplus map https://app.example.com --cdp-endpoint http://127.0.0.1:9222[/]

    Explores in a window of its own of your running Chrome, with a copy of its session for this site.

    Exit codes: 0 done, 1 the browser ended (the pages so far were written) or no page became a screen, 2 an error to
    correct, 130 interrupted (the pages so far were written).
    """
    console = CommandConsole(stderr=as_json)
    using = choose_browser(cdp_endpoint, allow_remote_cdp, None, channel, proxy_server, headed)
    if not using.given:
        using = replace(using, headed=bool(headed))
    opening = open_selected_stores(mongodb_url, arangodb_url) if load or sign_in is not None else None
    if update or apply or propose:
        alone = not (resume or redraw is not None or force or workers != "1")
        chosen = MapUpdateOptions(update, apply, propose, load, alone=alone)
        asked = SignInOptions(storage_state, sign_in, sign_in_form, sign_in_url, parse_inputs(inputs or []))
        plan = _plan_update(chosen, asked, url, website, name, out, robots=not ignore_robots)
        given = {"depth": depth, "states": states, "seconds": time, "per_second": rate}
        plan = _apply_limits(_add_rules(plan, allow, reads), given, resume=True)
        plan = _add_start_pages(plan, also or [], sitemap, console)
        journey = _MapCommand(plan, asked, opening, open_run_store(mongodb_url), None, using)
        stores = (lambda: open_selected_stores(mongodb_url, arangodb_url)) if propose or load else None
        _update(journey, chosen, stores, console, as_json=as_json)
        return
    if redraw is not None:
        if url is not None or resume:
            raise UserError(
                "--redraw cannot be combined with URL or --resume", fix="periplus map --redraw DIR"
            )
        folder = find_map_folder(redraw)
        chart, stopped = asyncio.run(write_knowledge_base(folder, name=name, force=force)), False
    else:
        asked = SignInOptions(storage_state, sign_in, sign_in_form, sign_in_url, parse_inputs(inputs or []))
        plan = _plan(url, website, name, out, allow, origin, seed, robots=not ignore_robots)
        plan = replace(plan, reads=_check_reads(reads or []), confirmations=confirmations)
        given = {"depth": depth, "states": states, "seconds": time, "per_second": rate}
        plan = replace(_apply_limits(plan, given, resume=resume), force=force)
        plan = _add_start_pages(plan, also or [], sitemap, console)
        folder = plan.folder
        who = parse_workers(workers)
        alone = who.kind == "contexts" and who.count == 1
        if not alone and using != BrowserOptions(headed=False):
            option = (
                "--cdp-endpoint" if using.given else "--headed" if headed else "--channel or --proxy-server"
            )
            raise UserError(f"{option} cannot be combined with --workers", fix="leave out one of them")
        journey = _MapCommand(
            plan, asked, opening, open_run_store(mongodb_url), None if alone else who, using
        )
        chart, stopped = asyncio.run(journey.go(console))
        opening = open_selected_stores(mongodb_url, arangodb_url) if load else None
    if load and opening is not None:
        loaded = asyncio.run(_load(chart.knowledge, opening))
        if not as_json:
            console.print(f"loaded       {escape(loaded.website_id)}, generation {loaded.generation}")
    if as_json:
        print_json(CommandConsole(), summary_json(chart, folder))
    else:
        print_map_summary(console, chart, folder, loaded=load)
    if stopped:
        raise typer.Exit(ExitCode.INTERRUPTED)


@dataclass(frozen=True, slots=True)
class _MapCommand:
    """One exploration with its stores and workers."""

    plan: MapRunPlan
    sign_in: SignInOptions
    opening: MapStoresContext | None
    run_store: AbstractAsyncContextManager[RunStore]
    workers: WorkerSelection | None
    """The workers; None: explore in this process only."""
    browser: BrowserOptions

    def _choose_sign_in(
        self, stores: Stores | None, runs: RunStore | None, view: MapView
    ) -> SignInFunction | None:
        chosen = self.sign_in.choose(self.plan, stores, runs, view)
        return use_given_session(self.plan) if chosen is None and self.browser.given else chosen

    def _with_page_tools(self) -> BrowserOptions:
        """Return how the browser is started: pages may offer tools, which are recorded."""
        return replace(self.browser, webmcp=True)

    async def go(self, console: Console) -> tuple[ExploredKnowledge, bool]:
        """Explore and write the knowledge base. Raises `UserError` and `KnowledgeError`."""
        self.sign_in.check()
        async with AsyncExitStack() as stack:
            stores = runs = None
            if self.sign_in.task is not None and self.opening is not None:
                stores = await stack.enter_async_context(self.opening)
                runs = await stack.enter_async_context(self.run_store)
            browser = await stack.enter_async_context(start_browser(options=self._with_page_tools()))
            parts = None
            if self.workers is not None:
                from periplus.fleet.exploration_jobs import FleetExplorationParts  # noqa: PLC0415 - only needed with --workers
                from periplus.fleet.fleet_setup import open_fleet  # noqa: PLC0415

                parts = FleetExplorationParts(await stack.enter_async_context(open_fleet(self.workers)))
            with MapView(console, f"map of {self.plan.website_id}") as view:
                return await map_website(
                    browser, self.plan, self._choose_sign_in(stores, runs, view), view, parts
                )

    async def update(self, before: KnowledgeBase, console: Console) -> tuple[MapUpdate, bool]:
        """Compare the website with its map, and explore what is new. Raises `UserError` and `KnowledgeError`."""
        async with AsyncExitStack() as stack:
            stores = runs = None
            if self.sign_in.task is not None and self.opening is not None:
                stores = await stack.enter_async_context(self.opening)
                runs = await stack.enter_async_context(self.run_store)
            browser = await stack.enter_async_context(start_browser(options=self._with_page_tools()))
            with MapView(console, f"update of {self.plan.website_id}") as view:
                return await update_map(
                    browser, self.plan, before, self._choose_sign_in(stores, runs, view), view
                )


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


def _plan_update(
    chosen: MapUpdateOptions,
    asked: SignInOptions,
    url: str | None,
    website: str | None,
    name: str | None,
    out: Path | None,
    *,
    robots: bool,
) -> MapRunPlan:
    """Return the plan of an update: that of the map in the folder. Raises `UserError`."""
    chosen.check()
    asked.check()
    website_id = website or (suggest_website_id(url) if url is not None else None)
    if out is None and website_id is None:
        raise UserError(
            "--update needs to know which map",
            fix="name it: --website ID, --out DIR, or the URL that was mapped",
        )
    folder = MapFolder(out or load_settings().data_dir / MAPS / (website_id or ""))
    if not folder.exploration.exists:
        raise UserError(
            f"{folder.path} contains no map to update", fix="map the website first: periplus map URL"
        )
    before = folder.exploration.exploration
    if before.signed_in_by and not (asked.form or asked.task or asked.storage_state):
        raise UserError(
            f"the map was made signed in ({before.signed_in_by}); signed out, its screens would not be found",
            fix="sign in again: --sign-in TASK, --sign-in-form, or --storage-state",
        )
    return _plan(
        before.starts[0], before.website_id, name, folder.path, None, None, before.seed, robots=robots
    )


def _add_rules(plan: MapRunPlan, allow: list[str] | None, reads: list[str] | None) -> MapRunPlan:
    """Return the plan with the controls that may be used and the requests that read. Raises `UserError`."""
    return replace(plan, allowed=tuple(allow or ()), reads=_check_reads(reads or []))


def _update(
    journey: _MapCommand,
    chosen: MapUpdateOptions,
    open_stores: Callable[[], MapStoresContext] | None,
    console: Console,
    *,
    as_json: bool,
) -> None:
    """Update the map, and make or propose the changes. Raises `UserError` and `KnowledgeError`."""
    plan = journey.plan
    if chosen.propose and open_stores is not None:
        before = asyncio.run(_read_stored(open_stores(), plan.website_id))
    else:
        at = plan.folder.knowledge
        before, _ = read_foreign(at, choose_import_budget(None, None), read_knowledge_folder, at)
    update, stopped = asyncio.run(journey.update(before, console))
    proposed = None
    if chosen.apply:
        apply_update(update)
    elif chosen.propose and open_stores is not None:
        proposed = asyncio.run(_propose(update, open_stores()))
    if chosen.load and open_stores is not None:
        asyncio.run(_load(update.edit.knowledge, open_stores()))
    if as_json:
        print_json(
            CommandConsole(), update_to_json(update.report) | {"proposals": proposed, "applied": chosen.apply}
        )
    else:
        print_update(console, update, applied=chosen.apply, proposed=proposed)
    if stopped:
        raise typer.Exit(ExitCode.INTERRUPTED)


async def _read_stored(opening: MapStoresContext, website_id: str) -> KnowledgeBase:
    async with opening as stores:
        selected = select_website(website_id, await list_websites(stores))
        return (await read_knowledge(stores.documents, stores.graph, selected))[0]


async def _propose(update: MapUpdate, opening: MapStoresContext) -> int:
    async with opening as stores:
        return await propose_update(update, stores)


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
