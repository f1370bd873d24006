"""The page under verification: one context, its current page, what is watched and written down of it.

Finding, acting, judging and healing are functions over a `Bench` in the modules beside this one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from playwright.async_api import Browser, BrowserContext, Page, StorageState
from playwright.async_api import Error as DriverError

from agent.events import DialogAnswered, Event
from agent.media.veil import Veil
from agent.page import library
from agent.page.acting import perform
from agent.page.errors import Cover, NavigationFailed, PageError
from agent.page.happenings import Expected, Happenings, Said, watch
from agent.page.snapshot import revision_of
from agent.ports import Locators
from agent.redaction import Secrets
from agent.telemetry import span
from agent.verifying.bench import evidence
from agent.verifying.bench.policy import BenchPolicy
from agent.verifying.bench.results import Undone
from agent.verifying.bench.watching import Watch
from kb_schema.base import Model
from kb_schema.fingerprints import Fingerprint
from kb_schema.placeholders import fill
from kb_schema.selectors import Selector
from kb_schema.urls import relative_path, resolve
from kb_schema.verification import Answer, ConsoleLine, Evidence, Obstacle

M = TypeVar("M", bound=Model)
VIEWPORT = (1280, 720)
SHORTEST_UNIQUE = 4
"""Letters of `{unique}` that are told from other text."""
_SERVER_FAILED = 500


@dataclass
class Bench:
    """One browser context and its current page. `open_bench` makes it; one requirement at a time."""

    context: BrowserContext
    page: Page
    """The one that is worked on: another one where a step opened a tab."""
    base_url: str
    website_id: str
    unique: str
    values: Mapping[str, str]
    """Secrets by the name of their environment variable."""
    policy: BenchPolicy
    locators: Locators | None
    folder: Path | None
    tell: Callable[[Event], None]
    hidden: Secrets
    watch: Watch
    step_idx: int = 0
    started: str | None = None
    """The address it was opened with."""
    acted: int | None = None
    """The step whose action came off: only its outcomes are open, and it is not done again."""
    compared: int = 0
    drifted: int = 0
    known: list[tuple[str, Selector, Fingerprint]] = field(default_factory=list)
    """Elements that were acted on, with the path of their page and what led to them."""
    healed: dict[tuple[str, str], Selector] = field(default_factory=dict)
    """What leads to elements that were found again: by path of the page, and the selector of the plan."""
    before: tuple[str, str | None] = ("", None)
    """Address and revision before the last action."""
    previous_changed: bool | None = None
    """Whether the action of the step before changed anything; None: not known."""
    pressed: bool = False
    """The last action is one that should change something: what fields hold is no change of a page."""
    _documents: int = 0
    _led_on: bool = False
    """A dialog or a download came of the step before."""
    cover: Cover | None = None
    """What lay over the element that was last tried."""
    obstacles: list[Obstacle] = field(default_factory=list)
    """What lay over the page and was put away."""
    heal_began: dict[int, float] = field(default_factory=dict)
    happenings_of_step: list[Said] = field(default_factory=list)
    """Dialogs since the step began."""
    _openers: list[Page] = field(default_factory=list)
    _veils: dict[Page, Veil] = field(default_factory=dict)

    # -- what it says

    @property
    def console(self) -> tuple[ConsoleLine, ...]:
        """Everything the pages said that is worth telling, without secrets."""
        return tuple(self.watch.console)

    @property
    def answers(self) -> tuple[Answer, ...]:
        """HTTP answers of 400 and above, and requests that failed."""
        return tuple(self.watch.answers)

    @property
    def path(self) -> str:
        """Where the page is, without origin, without secrets."""
        return self.path_of(self.page.url)

    def path_of(self, url: str) -> str:
        """The path of an address below the base URL, without its query; routes behind a `#` belong to it."""
        path, _, fragment = relative_path(url, self.base_url).partition("#")
        route = f"#{fragment}" if fragment.startswith(("/", "!")) else ""
        return self.redact(path.partition("?")[0] + route)

    @property
    def happenings(self) -> Happenings:
        """Dialogs, tabs and downloads of the current page."""
        return watch(self.page)

    def redact(self, text: str) -> str:
        """A text without secrets."""
        return str(self.hidden.redact(text))

    # -- values

    def filled(self, text: str) -> str:
        """A text of a requirement with its values. Raises `SecretMissing`."""
        return fill(text, secrets=self.values, unique=self.unique)

    def usable(self, model: M) -> M:
        """A part of a plan with the values of this run."""
        return _swapped(model, self._filled)

    def keepable(self, model: M) -> M:
        """A part of a plan with placeholders where this run's own values stood: another run has others."""
        return _swapped(model, self.kept)

    def redacted(self, model: M) -> M:
        """The same of a whole model."""
        return _swapped(model, self.redact) if self.hidden else model

    def kept(self, text: str) -> str:
        """The same of a text."""
        if len(self.unique) >= SHORTEST_UNIQUE:
            text = text.replace(self.unique, "{unique}")
        for name, value in self.values.items():
            if len(value) >= SHORTEST_UNIQUE:
                text = text.replace(value, f"{{secret:{name}}}")
        return text

    def _filled(self, text: str) -> str:
        return self.filled(text) if "{" in text else text

    def healed_before(self, selector: Selector | None) -> Selector | None:
        """What led to the element of this page when it was lost before in this test."""
        return None if selector is None else self.healed.get((self.path, selector.model_dump_json()))

    # -- the page

    async def start(self, url: str) -> Undone | None:
        """Open the first page: absolute, or a path below the base URL. `Undone` where it does not come."""
        began = time.monotonic()
        self.started, self.acted = url, None
        self.begin(self.step_idx)
        where = resolve(self.filled(url), authored_base="", base=self.base_url)
        with span("bench.start"):
            try:
                await perform(self.page, "navigate", url=where)
            except PageError as exc:
                return await evidence.unopened(self, exc, began)
            status = await evidence.status_of(self)
            if status is not None and status >= _SERVER_FAILED:
                failed = NavigationFailed(where, f"the site answered {status}")
                return await evidence.unopened(self, failed, began)
        return None

    async def evidence_now(self, **known: Any) -> Evidence:
        """Evidence of this moment; `known` are fields that whoever failed knows better."""
        return await evidence.evidence_now(self, **known)

    def begin(self, step_idx: int, expected: Expected | None = None) -> None:
        """A step begins: what comes from now on belongs to it."""
        self.step_idx = self.watch.step_idx = step_idx
        self._led_on = bool(self.happenings_of_step or self.happenings.downloads)
        self.happenings_of_step.clear()
        self.happenings.expect(expected or Expected())

    @property
    def replaced(self) -> bool:
        """Whether the page is there, and another document came since the last action began."""
        return not self.page.is_closed() and self.watch.documents > self._documents

    async def about_to_act(self, *, pressing: bool) -> None:
        """Take note of the page as it is before an action. Raises `PageGone`."""
        url, revision = self.page.url, await revision_of(self.page)
        self.previous_changed = self._differs(url, revision) if self.pressed else None
        self._documents = self.watch.documents
        self.before, self.pressed, self._led_on = (url, revision), pressing, False

    async def changed(self) -> bool | None:
        """Whether the last action changed anything on the page; None: not known. Raises `PageGone`."""
        if not self.before[0]:
            return None
        if self.happenings_of_step or self.happenings.downloads:
            return True
        return self._differs(self.page.url, await revision_of(self.page))

    def _differs(self, url: str, revision: str | None) -> bool | None:
        before, was = self.before
        if url != before or self._led_on:
            return True
        return None if revision is None or was is None else revision != was

    async def arrived(self, timeout_s: float | None = None) -> bool:
        """What the last action began has come: the navigation, and the tab it opened. False where the site
        has not answered in that time.
        """
        self.note_dialogs()
        await self.follow()
        await self.watch.arrived(self.page, self.policy.outcome_s if timeout_s is None else timeout_s)
        return not self.watch.leaving(self.page)

    async def follow(self) -> bool:
        """Go on in a tab that opened, or back where the current one was closed; whether one opened."""
        if self.page.is_closed():
            left = [each for each in (*self.context.pages, *self._openers) if not each.is_closed()]
            if left:
                self.page = left[-1]
        came = self.happenings
        if not came.tabs:
            return False
        tab = came.tabs[-1]
        came.tabs.clear()
        self._openers.append(self.page)
        with suppress(DriverError):
            await tab.wait_for_load_state("domcontentloaded", timeout=self.policy.tab_s * 1000)
        self.page = tab
        watch(tab)
        return True

    @property
    def tabs(self) -> int:
        """How many tabs were followed."""
        return len(self._openers)

    def note_dialogs(self) -> None:
        """Take note of the dialogs that were answered since, and tell of them."""
        for said in self.happenings.said[len(self.happenings_of_step) :]:
            self.happenings_of_step.append(said)
            self.tell(DialogAnswered(said.kind, self.redact(said.message), said.accepted))

    async def shoot(self, name: str) -> str | None:
        """A picture of the page, with its secrets covered; its file name in the folder. None where none is
        wanted, and where the page cannot be shown safely.
        """
        if self.folder is None:
            return None
        with suppress(DriverError, PageError):
            if self.hidden:
                veil = self._veils.setdefault(self.page, Veil(self.page, self.hidden))
                await veil.draw()
            file = f"{name}.jpg"
            await self.page.screenshot(path=self.folder / file, type="jpeg", quality=70, timeout=5_000)
            return file
        return None


@asynccontextmanager
async def open_bench(
    browser: Browser,
    *,
    base_url: str,
    website_id: str = "",
    storage: StorageState | None = None,
    secrets: Mapping[str, str] | None = None,
    unique: str,
    policy: BenchPolicy | None = None,
    locators: Locators | None = None,
    folder: Path | None = None,
    tell: Callable[[Event], None] = lambda _event: None,
) -> AsyncIterator[Bench]:
    """A context of its own: it knows nothing, or what another one knew (`storage`).

    `unique` is this run's word for `{unique}`; `folder` is where a picture of every step goes.
    """
    hidden = Secrets()
    for value in (secrets or {}).values():
        hidden.keep(value)
    if folder is not None:
        await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    context = await browser.new_context(
        viewport={"width": VIEWPORT[0], "height": VIEWPORT[1]}, storage_state=storage
    )
    try:
        await library.install(context)
        watching = Watch(context, lambda text: str(hidden.redact(text)))
        page = await context.new_page()
        watch(page)
        yield Bench(
            context, page, base_url.rstrip("/"), website_id, unique, dict(secrets or {}),
            policy or BenchPolicy(), locators, folder, tell, hidden, watching,
        )  # fmt: skip
    finally:
        if browser.is_connected():
            with suppress(DriverError):
                await context.close()


def _swapped(model: M, swap: Callable[[str], str]) -> M:
    """The model with every text in it swapped."""
    data = model.model_dump(mode="json")
    swapped = _texts(data, swap)
    return model if swapped == data else type(model).model_validate(swapped)


def _texts(data: Any, swap: Callable[[str], str]) -> Any:
    if isinstance(data, str):
        return swap(data)
    if isinstance(data, list):
        return [_texts(each, swap) for each in data]
    if isinstance(data, dict):
        return {name: _texts(value, swap) for name, value in data.items()}
    return data
