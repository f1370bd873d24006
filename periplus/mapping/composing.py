"""One map from the asking to the knowledge base: sign in, explore, look at the site signed out, draw."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from playwright.async_api import Browser

from agent.mapping.exploring import KeepSignedIn, NotSignedIn, OtherExploration, explore
from agent.mapping.sharing import Workers
from kb_schema.mapping import Exploration, MapLimits
from kb_schema.urls import origin_of
from loaders.cartography import Chart
from periplus.errors import UserError
from periplus.mapping.drawing import check_untouched, drawn
from periplus.mapping.places import EXPLORATION, SIGNED_OUT, MapFolder
from periplus.mapping.signing_in import SignedIn
from periplus.mapping.view import MapView
from periplus.signals import on_signals

OUTSIDE = MapLimits(depth=3, states=30, seconds=180.0)
"""Of the look at the site without being signed in: where one signs in, and what belongs to it."""

SigningIn = Callable[[Browser], Awaitable[SignedIn]]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked."""

    website_id: str
    url: str
    folder: MapFolder
    limits: MapLimits = field(default_factory=MapLimits)
    origins: tuple[str, ...] = ()
    """Beside the URL's own."""
    allowed: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    """Where to begin as well."""
    hints: tuple[str, ...] = ()
    """Where to look in the end, if nothing led there."""
    robots: bool = True
    seed: int = 0
    name: str | None = None
    force: bool = False
    """Draw over knowledge that somebody changed."""

    def exploration(self, signed_in_by: str, limits: MapLimits) -> Exploration:
        """As it is written down."""
        base = origin_of(self.url)
        return Exploration(
            website_id=self.website_id,
            base_url=base,
            starts=tuple(dict.fromkeys((self.url, *self.also))),
            hints=self.hints,
            origins=tuple(dict.fromkeys((base, *self.origins))),
            limits=limits,
            allowed=self.allowed if signed_in_by or limits is self.limits else (),
            signed_in_by=signed_in_by,
            robots=self.robots,
            seed=self.seed,
            started_at=datetime.now(UTC),
        )


async def mapped(
    browser: Browser, plan: Plan, sign_in: SigningIn | None, view: MapView, workers: Workers | None = None
) -> tuple[Chart, bool]:
    """Explore and draw; whether it was stopped. Ctrl-C ends exploring, what is there is drawn all the same.

    `workers` do the part of it that is done signed in, or all of it where nobody signs in.

    Raises `UserError` and `KnowledgeError`.
    """
    if not plan.force:
        check_untouched(plan.folder)  # rather than after an hour
    stop = asyncio.Event()
    signed = None
    if sign_in is not None:
        view.say("signing in")
        signed = await sign_in(browser)
    with on_signals(stop.set, signal.SIGINT, signal.SIGTERM):
        await _explored(browser, plan, signed, view, stop, workers)
        if signed is not None and not stop.is_set():
            view.say("looking at what those see who are not signed in")
            await _outside(browser, plan, view, stop)
    view.say("drawing the map")
    return await asyncio.to_thread(drawn, plan.folder, name=plan.name, force=plan.force), stop.is_set()


async def _explored(
    browser: Browser,
    plan: Plan,
    signed: SignedIn | None,
    view: MapView,
    stop: asyncio.Event,
    workers: Workers | None,
) -> None:
    wanted = plan.exploration(signed.by if signed is not None else "", plan.limits)
    keep = (
        KeepSignedIn(sign_in_again=signed.again) if signed is not None and signed.again is not None else None
    )
    try:
        await explore(
            browser,
            wanted,
            plan.folder.path / EXPLORATION,
            tell=view,
            storage_state=None if signed is None else signed.state,
            keep_signed_in=keep,
            stop=stop,
            workers=workers,
        )
    except NotSignedIn as exc:
        raise UserError(
            str(exc), fix="sign in anew: --sign-in TASK, --sign-in-form, or a fresh --storage-state"
        ) from exc
    except OtherExploration as exc:
        raise UserError(str(exc), fix="name another folder with --out") from exc


async def _outside(browser: Browser, plan: Plan, view: MapView, stop: asyncio.Event) -> None:
    """What it finds is kept apart: nothing of it can be used up by what is seen signed in."""
    more = {"allowed": (), "starts": (plan.url,), "hints": ()}
    wanted = plan.exploration("", OUTSIDE).model_copy(update=more)
    await explore(browser, wanted, plan.folder.path / SIGNED_OUT, tell=view, stop=stop)
