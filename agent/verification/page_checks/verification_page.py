"""The page under verification: one browser context, its current page, and what is recorded of it.

Finding, acting, checking and healing are functions that take a `VerificationPage`, in the other modules here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from playwright.async_api import Browser, BrowserContext, FloatRect, Locator, Page, StorageState
from playwright.async_api import Error as DriverError

from agent import retry_limits
from agent.browser.browser_life import is_alive
from agent.browser.browser_profile import BrowserProfile
from agent.browser.storage_state import open_with_session
from agent.events import DialogAnswered, Event
from agent.inferencer import ModelInferencer
from agent.judged_texts import TextJudgements
from agent.media.covered_pictures import take_covered_picture
from agent.media.secret_mask import SecretMask
from agent.page import in_page_library
from agent.page.errors import CoveringElement, PageError
from agent.page.page_side_effects import AnsweredDialog, ExpectedSideEffects, PageSideEffects, watch_page
from agent.page.page_watchdog import close_context, watch_context
from agent.page.snapshot_capture import read_page_revision
from agent.ports import LocatorCachePort
from agent.redaction import REDACTED, Secrets
from agent.verification.page_checks.context_monitor import ContextMonitor
from kb_schema.base import Model
from kb_schema.fingerprints import Fingerprint
from kb_schema.nested_models import change_texts
from kb_schema.placeholders import fill, fill_unique, find_secret_names
from kb_schema.probes import Verdict
from kb_schema.selectors import Selector
from kb_schema.url_patterns import origin_of, relative_path
from kb_schema.verification import (
    ConsoleLine,
    DismissedOverlay,
    ExpectedOutcome,
    NetworkRequest,
    PlanStep,
    RequirementStep,
)

M = TypeVar("M", bound=Model)
SHOT_MS = 5_000
QUALITY, QUALITY_AROUND = 70, 80
"""Of JPEG pictures of the page, and of those of one element."""
AROUND_PX = 80
"""What a picture of one element shows on each side of it, in CSS pixels."""
SHORTEST_UNIQUE = 4
"""Least length of `{unique}` and of secrets that are replaced in texts."""


@dataclass(frozen=True, slots=True)
class VerificationTimeouts:
    """Bounds of one page under verification, in seconds unless the name says otherwise."""

    find_s: float = 5.0
    """How long an element may take to appear after the step before it (KS 4.7: 5 s)."""
    gate_s: float = retry_limits.GATE_TIMEOUT_S
    """The gate's time for an action (PACTS 6; the page layer's own)."""
    rest_s: float = 0.4
    """After this time without changes and open requests, an element that is certainly elsewhere on the page is
    healed at once, instead of after the gate's whole time."""
    outcome_s: float = 5.0
    """How long an expected outcome may take to hold (Playwright's `expect` takes as long)."""
    max_heal_rounds: int = retry_limits.HEALING_ROUNDS
    """`PERIPLUS_MAX_HEAL_ROUNDS` (PACTS 4.5); 0 heals nothing."""
    healed_gate_s: float = 1.0
    """The gate's time for a healed element, and as much more every round (PACTS: base + 1 s a round)."""
    heal_s: float = 60.0
    """All healing of one step (PACTS 12's timeout of healing)."""
    same_page_s: float = 1.0
    """The expected page may be the one before the action; how long to wait for another one that matches."""
    late_s: float = 1.5
    """After giving up: how long to check whether it still appears."""
    late_pending_s: float = 15.0
    """The same while a request is open: until its answer, at most this."""
    tab_s: float = 5.0
    """How long a new tab may take to get a document."""
    download_s: float = 30.0
    """How long a download may take to begin."""
    answer_s: float = retry_limits.PAGE_ANSWER_S
    """How long a page may give no sign of life; then it is ended."""
    step_s: float = 180.0
    """One step with its outcomes, or one round of healing; then the page is ended."""
    reach_s: float = 2.0
    """How long a site that did not answer may take to answer a single HEAD request."""
    key_delay_s: float = 0.01
    """Pause between two keys of PACTS's `type`, which sends real keys one by one."""
    most_nearest: int = 5
    """Most names that are suggested for an element that was not found."""

    def allowing(self, seconds: float | None) -> VerificationTimeouts:
        """Return the bounds with this time for an element and for an outcome; None: as they are."""
        return self if seconds is None else replace(self, find_s=seconds, gate_s=seconds, outcome_s=seconds)


@dataclass(frozen=True, slots=True)
class TextToType:
    """A step's value as it is typed."""

    text: str = field(repr=False)
    secret: bool
    """It is typed only on the site's own origins, into the very element that was judged."""


@dataclass
class VerificationPage:
    """One browser context and its current page, for one requirement. Created by `open_verification_page`."""

    context: BrowserContext
    page: Page
    """The current page; another one after a step opened a tab."""
    base_url: str
    website_id: str
    unique: str
    values: Mapping[str, str]
    """Secrets by the name of their environment variable."""
    policy: VerificationTimeouts
    locators: LocatorCachePort | None
    folder: Path | None
    tell: Callable[[Event], None]
    hidden: Secrets
    monitor: ContextMonitor
    origins: frozenset[str] = frozenset()
    """Where secrets and passwords may be typed: the site's own origin and the configured ones."""
    secret_fields_only: bool = False
    """Whether secrets are typed only into fields that the page itself shows to be for secrets."""
    step_idx: int = 0
    started: str | None = None
    """The address it was opened with."""
    plan: tuple[PlanStep, ...] = ()
    """The steps that are executed; empty while they are found."""
    acted: int | None = None
    """The step whose action is done: healing repeats only its outcomes."""
    met: dict[int, Verdict] = field(default_factory=dict)
    """Outcomes of that step that have held, by their number: a message may be gone when the next one is looked for."""
    lines_before: frozenset[str] = frozenset()
    """The visible texts before the last action that presses; empty if they were not read."""
    entries_before: frozenset[str] = frozenset()
    """Those of them that may be values of the page's records."""
    compared: int = 0
    drifted: int = 0
    known: list[tuple[str, Selector, Fingerprint]] = field(default_factory=list)
    """Elements that were acted on: path of their page, selector, fingerprint."""
    healed: dict[tuple[str, str], Selector] = field(default_factory=dict)
    """Selectors of elements that were found again, by path of the page and selector of the plan."""
    renamed: dict[tuple[str, ...], str] = field(default_factory=dict)
    """What elements that were found again are called now, by the words of their former name."""
    before: tuple[str, str | None] = ("", None)
    """Address and revision before the last action."""
    previous_changed: bool | None = None
    """Whether the previous step's action changed the page; None: unknown."""
    expected: tuple[ExpectedOutcome, ...] = ()
    """What is expected of the last action."""
    pressed: bool = False
    """The last action is one that should change the page, unlike filling a field."""
    judgements: TextJudgements | None = None
    """Asks a language model about judged outcomes; None: they are unknown."""
    _begun: int | None = None
    """The step before whose action the state was recorded last."""
    _documents: int = 0
    _led_on: bool = False
    """The previous step caused a dialog or a download."""
    cover: CoveringElement | None = None
    """What covered the last element."""
    obstacles: list[DismissedOverlay] = field(default_factory=list)
    """Overlays that were closed."""
    heal_began: dict[int, float] = field(default_factory=dict)
    dialogs_of_step: list[AnsweredDialog] = field(default_factory=list)
    """Dialogs since the step began."""
    _openers: list[Page] = field(default_factory=list)
    _veils: dict[Page, SecretMask] = field(default_factory=dict)

    # -- state

    @property
    def console(self) -> tuple[ConsoleLine, ...]:
        """Console messages and uncaught errors of all pages, without secrets."""
        return tuple(self.monitor.console)

    @property
    def answers(self) -> tuple[NetworkRequest, ...]:
        """HTTP answers of 400 and above, and requests that failed."""
        return tuple(self.monitor.answers)

    @property
    def path(self) -> str:
        """The path of the current page, without origin and secrets."""
        return self.path_of(self.page.url)

    def path_of(self, url: str) -> str:
        """Return the path of an address below the base URL, without its query, with a route after `#`."""
        path, _, fragment = relative_path(url, self.base_url).partition("#")
        route = f"#{fragment}" if fragment.startswith(("/", "!")) else ""
        return self.redact(path.partition("?")[0] + route)

    @property
    def side_effects(self) -> PageSideEffects:
        """Dialogs, tabs and downloads of the current page."""
        return watch_page(self.page)

    def redact(self, text: str) -> str:
        """Return a text without secrets."""
        return str(self.hidden.redact(text))

    # -- values

    def text_to_type(self, intent: RequirementStep, *, password: bool) -> TextToType:
        """Return a step's value as it is typed: the only place where secrets are resolved.

        Raises `SecretMissing`.
        """
        said = intent.value or ""
        if not intent.types_value:
            return TextToType(self.filled(said), secret=False)
        text = fill(said, secrets=self.values, unique=self.unique)
        held = any(value in text for value in self.values.values() if value)
        return TextToType(text, secret=bool(text) and (password or held or bool(find_secret_names(said))))

    def filled(self, text: str) -> str:
        """Return a text of a requirement or a plan with this run's `{unique}`; secrets stay placeholders."""
        return fill_unique(text, self.unique)

    def usable(self, model: M) -> M:
        """Return a part of a plan with this run's `{unique}`; secrets stay placeholders."""
        return change_texts(model, self.filled)

    def keepable(self, model: M) -> M:
        """Return a part of a plan without this run's own values: `{unique}` in place of its word, no secrets."""
        selector = getattr(model, "selector", None)
        if isinstance(selector, Selector):
            model = model.model_copy(update={"selector": self._without_secrets(selector)})
        return change_texts(model, self.kept)

    def _without_secrets(self, selector: Selector) -> Selector:
        """Return a selector without the strategies that contain a secret, unless all do."""
        kept = [each for each in selector.strategies if REDACTED not in self.kept(each.model_dump_json())]
        return selector.model_copy(update={"strategies": tuple(kept)}) if kept else selector

    def redacted(self, model: M) -> M:
        """Return a model without secrets."""
        return change_texts(model, self.redact) if self.hidden else model

    def kept(self, text: str) -> str:
        """Return a text without secrets, with `{unique}` in place of this run's word.

        A placeholder that the page itself shows is taken out: it would be read as one of the requirement.
        """
        for name in find_secret_names(text):
            text = text.replace(f"{{secret:{name}}}", REDACTED)
        if len(self.unique) >= SHORTEST_UNIQUE:
            text = text.replace(self.unique, "{unique}")
        for value in self.values.values():
            if len(value) >= SHORTEST_UNIQUE:
                text = text.replace(value, REDACTED)
        return text

    def healed_before(self, selector: Selector | None) -> Selector | None:
        """Return the selector by which the element was found again earlier in this test."""
        return None if selector is None else self.healed.get((self.path, selector.model_dump_json()))

    # -- the page

    @contextmanager
    def within(self, intent: RequirementStep) -> Iterator[None]:
        """Give the step its own time, if it has one."""
        before = self.policy
        self.policy = before.allowing(intent.timeout_s)
        try:
            yield
        finally:
            self.policy = before

    def begin(self, step_idx: int, expected: ExpectedSideEffects | None = None) -> None:
        """Begin a step: what happens from now on belongs to it."""
        self.step_idx = self.monitor.step_idx = step_idx
        self._led_on = bool(self.dialogs_of_step or self.side_effects.downloads)
        self.dialogs_of_step.clear()
        self.side_effects.expect(expected or ExpectedSideEffects())

    @property
    def replaced(self) -> bool:
        """Whether the page is open and has loaded another document since the last action began."""
        return not self.page.is_closed() and self.monitor.documents > self._documents

    async def about_to_act(self, *, pressing: bool) -> None:
        """Record the page's state before an action. Raises `PageGone`."""
        url, revision = self.page.url, await read_page_revision(self.page)
        if self._begun != self.step_idx:  # not a step that is tried again after healing
            self.previous_changed = self._differs(url, revision) if self.pressed else None
            self._begun = self.step_idx
        self._documents = self.monitor.documents
        self.monitor.begin_action()
        self.before, self.pressed, self._led_on = (url, revision), pressing, False

    async def changed(self) -> bool | None:
        """Whether the last action changed the page; None: unknown. Raises `PageGone`."""
        if not self.before[0]:
            return None
        if self.dialogs_of_step or self.side_effects.downloads:
            return True
        return self._differs(self.page.url, await read_page_revision(self.page))

    def _differs(self, url: str, revision: str | None) -> bool | None:
        before, was = self.before
        if url != before or self._led_on:
            return True
        return None if revision is None or was is None else revision != was

    async def arrived(self, timeout_s: float | None = None) -> bool:
        """Wait for the navigation and the tab that the last action began; False at the timeout."""
        self.note_dialogs()
        await self.follow()
        await self.monitor.arrived(self.page, self.policy.outcome_s if timeout_s is None else timeout_s)
        return not self.monitor.leaving(self.page)

    async def follow(self) -> bool:
        """Switch to a new tab, or back if the current one was closed; return whether one opened."""
        if self.page.is_closed():
            left = [each for each in (*self.context.pages, *self._openers) if not each.is_closed()]
            if left:
                self.page = left[-1]
        came = self.side_effects
        if not came.tabs:
            return False
        tab = came.tabs[-1]
        came.tabs.clear()
        self._openers.append(self.page)
        with suppress(DriverError):
            await tab.wait_for_load_state("domcontentloaded", timeout=self.policy.tab_s * 1000)
        self.page = tab
        watch_page(tab)
        return True

    @property
    def tabs(self) -> int:
        """Number of tabs that were followed."""
        return len(self._openers)

    def note_dialogs(self) -> None:
        """Record and report the dialogs that were answered since the last call."""
        for said in self.side_effects.answered_dialogs[len(self.dialogs_of_step) :]:
            self.dialogs_of_step.append(said)
            self.tell(DialogAnswered(said.kind, self.redact(said.message), said.accepted))

    async def shoot(self, name: str, around: Locator | None = None) -> str | None:
        """Take a screenshot with its secrets covered; return its file name. None without a folder, and if the
        secrets cannot be covered. `around`: only this element, with `AROUND_PX` on each side.
        """
        if self.folder is None:
            return None
        with suppress(DriverError, PageError):
            if self.hidden:
                veil = self._veils.setdefault(self.page, SecretMask(self.page, self.hidden))
                await veil.draw()
            clip = None if around is None else await _frame_of(self.page, around)
            if around is not None and clip is None:
                return None
            quality = QUALITY if clip is None else QUALITY_AROUND
            content = await take_covered_picture(
                self.page, self.hidden, quality=quality, timeout_ms=SHOT_MS, clip=clip
            )
            if content is not None:
                (self.folder / f"{name}.jpg").write_bytes(content)
                return f"{name}.jpg"
        return None


@asynccontextmanager
async def open_verification_page(
    browser: Browser,
    *,
    base_url: str,
    website_id: str = "",
    origins: Iterable[str] = (),
    secret_fields_only: bool = False,
    storage: StorageState | None = None,
    secrets: Mapping[str, str] | None = None,
    unique: str,
    policy: VerificationTimeouts | None = None,
    locators: LocatorCachePort | None = None,
    folder: Path | None = None,
    tell: Callable[[Event], None] = lambda _event: None,
    profile: BrowserProfile | None = None,
    judge: ModelInferencer | None = None,
) -> AsyncIterator[VerificationPage]:
    """Open a browser context of its own, empty or with the cookies and storage of another one (`storage`).

    `origins` are those beside the base URL's own in which secrets may be typed (a sign-in service's). With
    `secret_fields_only` they are typed only into fields that the page shows to be for secrets.
    `unique` is this run's word for `{unique}`; `folder` is where a picture of every step goes.
    `judge` is asked about judged outcomes; it gets the page's text without the secrets.
    """
    hidden = Secrets()
    for value in (secrets or {}).values():
        hidden.keep(value)
    if folder is not None:
        await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    options = (profile or BrowserProfile()).context_options()
    context = await open_with_session(browser, storage, **options)
    try:
        watch_context(context, answer_s=(policy or VerificationTimeouts()).answer_s)
        await in_page_library.install(context)
        monitor = ContextMonitor(context, lambda text: str(hidden.redact(text)))
        page = await context.new_page()
        watch_page(page)
        yield VerificationPage(
            context,
            page,
            base_url.rstrip("/"),
            website_id,
            unique,
            dict(secrets or {}),
            policy or VerificationTimeouts(),
            locators,
            folder,
            tell,
            hidden,
            monitor,
            origins=frozenset(map(origin_of, (base_url, *origins))),
            judgements=None if judge is None else TextJudgements(judge, redact=hidden.redact),
            secret_fields_only=secret_fields_only,
        )
    finally:
        if is_alive(browser):
            await close_context(context)


async def _frame_of(page: Page, element: Locator) -> FloatRect | None:
    """Return the place of an element in its document, with what is around it; None if it has none."""
    box = await element.bounding_box(timeout=2_000)
    if box is None:
        return None
    scrolled = await page.evaluate("[window.scrollX, window.scrollY]")
    left, top = box["x"] + scrolled[0] - AROUND_PX, box["y"] + scrolled[1] - AROUND_PX
    return {
        "x": max(0.0, left),
        "y": max(0.0, top),
        "width": box["width"] + 2 * AROUND_PX + min(0.0, left),
        "height": box["height"] + 2 * AROUND_PX + min(0.0, top),
    }
