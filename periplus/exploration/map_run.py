"""Runs `periplus map`: sign in, explore, explore signed out, and build the knowledge base."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from playwright.async_api import Browser

from agent.exploration.pages.page_addresses import build_place
from agent.exploration.shared_exploration import ExplorationWorkers
from agent.exploration.website_exploration import (
    BrowserEnded,
    ExplorationMismatch,
    ExplorationNotSignedIn,
    SignInRenewal,
    StartNotOpened,
    explore,
)
from kb_schema.explorations import Exploration, MapLimits
from kb_schema.url_patterns import origin_of
from loaders.exploration_import import ExploredKnowledge
from loaders.markup_escapes import format_count
from periplus.errors import UserError
from periplus.exit_codes import ExitCode
from periplus.exploration.map_folder import EXPLORATION, SIGNED_OUT, MapFolder
from periplus.exploration.map_knowledge_base import check_unedited, write_knowledge_base
from periplus.exploration.map_view import MapView
from periplus.exploration.sign_in_methods import ExplorationSignIn
from periplus.signals import on_signals

OUTSIDE = MapLimits(depth=3, states=30, seconds=180.0)
"""Limits of the exploration without sign-in, which records the login pages, besides the places that were seen signed in."""
OUTSIDE_PLACE_S = 2.0
"""Seconds for opening one such place."""

NO_SESSION = "the browser has no session for this site: exploring as a visitor"
SignInFunction = Callable[[Browser], Awaitable[ExplorationSignIn | None]]
"""Signs in; None: there was nothing to sign in with."""


@dataclass(frozen=True, slots=True)
class MapRunPlan:
    """The options of a map run."""

    website_id: str
    url: str
    folder: MapFolder
    limits: MapLimits = field(default_factory=MapLimits)
    origins: tuple[str, ...] = ()
    """Allowed origins in addition to that of the URL."""
    allowed: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    """Paths of requests by POST that read."""
    also: tuple[str, ...] = ()
    """Additional start pages."""
    hints: tuple[str, ...] = ()
    """Addresses to open at the end, if they were not reached."""
    robots: bool = True
    confirmations: bool = True
    """Whether to open dialogs that ask before something is changed, where nothing can be sent."""
    seed: int = 0
    name: str | None = None
    force: bool = False
    """Whether to overwrite edited knowledge."""

    def exploration(self, signed_in_by: str, limits: MapLimits) -> Exploration:
        """Return the exploration as it is stored."""
        base = origin_of(self.url)
        return Exploration(
            website_id=self.website_id,
            base_url=base,
            starts=tuple(dict.fromkeys((self.url, *self.also))),
            hints=self.hints,
            origins=tuple(dict.fromkeys((base, *self.origins))),
            limits=limits,
            allowed=self.allowed if signed_in_by or limits is self.limits else (),
            reads=self.reads,
            signed_in_by=signed_in_by,
            robots=self.robots,
            confirmations=self.confirmations,
            seed=self.seed,
            started_at=datetime.now(UTC),
        )


async def map_website(
    browser: Browser,
    plan: MapRunPlan,
    sign_in: SignInFunction | None,
    view: MapView,
    workers: ExplorationWorkers | None = None,
) -> tuple[ExploredKnowledge, bool]:
    """Explore the website and build the knowledge base; return whether the exploration was stopped.

    Ctrl-C ends the exploration; the knowledge base is built from what was found. Another one ends that, too, with a
    `UserError` that says how it is built later. `workers` perform the signed-in
    exploration, or all of it without sign-in. Raises `UserError` and `KnowledgeError`.
    """
    if not plan.force:
        check_unedited(plan.folder)  # fail early, not after an hour
    stop = asyncio.Event()
    signed = None
    if sign_in is not None:
        view.say("signing in")
        signed = await sign_in(browser)
        if signed is None:
            view.say(NO_SESSION)
    with on_signals(lambda: stop_exploring(stop, view), signal.SIGINT, signal.SIGTERM):
        await explore_website(browser, plan, signed, view, stop, workers)
        if signed is not None and not stop.is_set():
            view.say("exploring without sign-in")
            await _explore_signed_out(browser, plan, view, stop)
    view.say("building the knowledge base")
    chart = await write_knowledge_base(plan.folder, name=plan.name, force=plan.force)
    return chart, stop.is_set()


def stop_exploring(stop: asyncio.Event, view: MapView) -> None:
    """End the exploration after the control that is being tried, and say so."""
    stop.set()
    view.say("stopping; what was found is kept")


async def explore_website(
    browser: Browser,
    plan: MapRunPlan,
    signed: ExplorationSignIn | None,
    view: MapView,
    stop: asyncio.Event,
    workers: ExplorationWorkers | None,
    *,
    revisit: Sequence[str] | None = None,
    name: str = EXPLORATION,
) -> None:
    """Explore the website into a folder of the map; `revisit`: pages of that exploration to open again, to update it.

    Raises `UserError` and `KnowledgeError`.
    """
    wanted = plan.exploration(signed.by if signed is not None else "", plan.limits)
    if signed is not None and signed.home:
        wanted = wanted.model_copy(update={"starts": tuple(dict.fromkeys((signed.home, *plan.also)))})
    if signed is not None:
        wanted = wanted.model_copy(update={"sign_in_forms": signed.forms})
    keep = (
        SignInRenewal(sign_in_again=signed.again) if signed is not None and signed.again is not None else None
    )
    is_new = not plan.folder.path.exists()
    try:
        await explore(
            browser,
            wanted,
            plan.folder.path / name,
            tell=view,
            storage_state=None if signed is None else signed.state,
            keep_signed_in=keep,
            stop=stop,
            workers=workers,
            revisit=revisit,
        )
    except ExplorationNotSignedIn as exc:
        _remove_empty_folder(plan.folder.path, is_new=is_new)
        raise UserError(
            str(exc), fix="sign in again: --sign-in TASK, --sign-in-form, or a new --storage-state"
        ) from exc
    except ExplorationMismatch as exc:
        raise UserError(str(exc), fix="choose another folder with --out") from exc
    except StartNotOpened as exc:
        _remove_empty_folder(plan.folder.path, is_new=is_new)
        raise UserError(str(exc), fix=_advise_on_start(exc)) from exc
    except BrowserEnded as exc:
        raise _report_ended_browser(exc, plan) from exc


def _report_ended_browser(error: BrowserEnded, plan: MapRunPlan) -> UserError:
    """Return what a map says whose browser ended: no knowledge base is written of a part of the website."""
    again = f"periplus map {plan.url} --out {plan.folder.path} --resume"
    kept = (
        f"{format_count(error.pages, 'page')} that were found are stored in {plan.folder.path}"
        if error.pages
        else "no page was found"
    )
    return UserError(
        f"{error}; {kept}",
        fix=f"{again} continues; periplus map --redraw {plan.folder.path} writes the knowledge base of what was found"
        if error.pages
        else "start the command again; if it happens again, look at the page in a browser",
        code=ExitCode.FAILED,
    )


def _remove_empty_folder(folder: Path, *, is_new: bool) -> None:
    """Remove the folder of a map of which there is nothing, so that the same command can be given again."""
    if is_new:
        with suppress(OSError):  # a map of which there is something stays
            folder.rmdir()


def _advise_on_start(error: StartNotOpened) -> str:
    """Return what to do about a start page that could not be opened."""
    if error.reason.startswith("robots.txt disallows"):
        return "start at an allowed page, or explore with --ignore-robots"
    if "was ended" in error.reason:
        return (
            "look at the page in a browser: it hangs or floods the browser; begin at another page of the site"
        )
    return "start the site, or correct the URL"


async def _explore_signed_out(browser: Browser, plan: MapRunPlan, view: MapView, stop: asyncio.Event) -> None:
    """Explore without sign-in into a separate folder; every address seen signed in is opened once."""
    seen = [page.url for page in plan.folder.exploration.pages() if page.openable is not False]
    by_place = {build_place(url): url for url in reversed(seen)}
    hints = tuple(dict.fromkeys([*by_place.values(), *seen]))
    more = {"allowed": (), "starts": (plan.url,), "hints": hints}
    limits = OUTSIDE.model_copy(
        update={
            "states": OUTSIDE.states + len(by_place),
            "seconds": OUTSIDE.seconds + OUTSIDE_PLACE_S * len(by_place),
        }
    )
    wanted = plan.exploration("", limits).model_copy(update=more)
    try:
        await explore(browser, wanted, plan.folder.path / SIGNED_OUT, tell=view, stop=stop, hints_first=True)
    except StartNotOpened as exc:
        view.say(str(exc))
    except BrowserEnded as exc:
        raise _report_ended_browser(exc, plan) from exc
