"""Records what a person does in a browser context as a session folder (MA).

The pages report events immediately (`demonstration_recorder.js`). This module orders them, merges them into actions,
adds selectors and fingerprints, redacts secrets and writes them. A recording ends when its last tab is closed.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from weakref import WeakSet

from playwright.async_api import BrowserContext, CDPSession, Frame, Page, Request
from playwright.async_api import Error as DriverError

from agent.browser.browser_life import hear_driver_end
from agent.page import in_page_library
from agent.page.errors import PageError
from agent.page.page_changes import wait_for_change
from agent.page.page_channel import Answer, PageChannel
from agent.page.page_refusals import read_refusal_signs
from agent.page.snapshot_capture import take_snapshot
from agent.recording.added_texts import AddedTexts
from agent.recording.recorded_actions import ActionMerger, RecordedAction, as_key_press, had_no_effect
from agent.recording.recorded_events import (
    PageBeforeEvent,
    RecordedEvent,
    parse_page_before_event,
    parse_recorded_event,
)
from agent.recording.recorded_problems import (
    describe_lost,
    describe_unheard,
    describe_unlistened,
    find_problem,
    is_unheard_change,
)
from agent.recording.recorded_side_effects import RecordedSideEffects, watch_dialog_answers
from agent.recording.recorded_writes import RecordedWrites
from agent.recording.session_redaction import redact_session_files
from agent.recording.user_navigations import TabHistory
from agent.redaction import REDACTED
from agent.run_context import RunContext
from kb_schema.run_records import TraceEntry
from kb_schema.secret_fields import PAGE_RULE
from kb_schema.session_writer import SessionWriter

RESTS_S = 0.4
"""A page that has not changed for this long is idle."""
LONGEST_REST_S = 5.0
FINISH_S = 20.0
"""How long the end of a recording waits for the page. A page that hangs is never idle, and no page of a person is ended."""
MOVES_MS = 10_000
"""How long a navigation may take that a page began; later ones are others."""
_BLANK = ("about:blank", "chrome://", "chrome-error://")


_RECORDED: WeakSet[BrowserContext] = WeakSet()
"""Contexts whose pages have the script of a recorder; it cannot be taken out of them."""


class AlreadyRecorded(RuntimeError):
    """The context is or was recorded."""

    def __init__(self) -> None:
        super().__init__("its browser context is or was recorded")


@cache
def recorder_source(marked: tuple[str, ...] = ()) -> str:
    """Return the script that listens; fields with a `marked` name hold secrets whatever else says."""
    script, fields = (
        (Path(__file__).parent / name).read_text(encoding="utf-8").strip()
        for name in ("demonstration_recorder.js", "secret_fields.js")
    )
    given = f"({json.dumps(PAGE_RULE)}, {json.dumps(marked)})"
    return script.replace('"SECRET_FIELDS"', f"{fields.removesuffix(';')}{given}", 1)


@dataclass(slots=True)
class _QueuedMessage:
    tab: int
    what: RecordedEvent
    texts: list[str]
    order: int


@dataclass(slots=True)
class _QueuedNavigation:
    tab: int
    at: float
    order: int
    since_action_ms: float
    """Milliseconds since the last action in the tab, unless that has already caused a navigation."""
    loaded: bool
    """Whether a document was requested for it."""
    url: str
    """The address then: until it is looked at, the page may have replaced it by another."""
    by_page: str
    """The kind of navigation (`reload`, `traverse`) that the page's own script began before."""


@dataclass(slots=True)
class _QueuedSideEffect:
    """A side effect, such as a dialog, download or new tab."""

    tab: int
    beside: RecordedSideEffects | None
    """None: the tab itself was opened."""
    order: int


@dataclass(slots=True)
class _RecordedTab:
    page: Page
    history: TabHistory
    opener: bool
    acted_at: float = 0.0
    """Milliseconds since the epoch."""
    arrived: bool = False
    requested: bool = False
    """Whether a document was requested since the last navigation."""
    address: str | None = None
    """The last address of a website that it showed; None: it showed none."""
    by_page: tuple[str, float] = ("", 0.0)
    """The kind of navigation that the page's own script began last, and when (milliseconds since the epoch)."""
    listens: bool = False
    """Whether one of its documents told that the script listens."""


@dataclass
class DemonstrationRecording:
    """The result of a recording."""

    folder: Path
    actions: list[RecordedAction] = field(default_factory=list)
    """The actions including secrets, for an immediate replay. Never write them to disk."""
    ignored: int = 0
    """Number of dropped actions without effect, such as clicks on an empty area."""
    problems: list[str] = field(default_factory=list)
    presses: int = 0
    """So many presses of buttons and keys were seen, whatever became of them."""
    cut_off: str | None = None
    """Why it ended before the person was done; None: it did not."""
    lost: int = 0
    """So much that was done is not in `actions`, as the script failed or the page could not be read."""

    @property
    def done(self) -> int:
        """The number of actions that a person did: opening an address and going back are navigations."""
        return sum(action.what is not None for action in self.actions)

    @property
    def failure(self) -> str | None:
        """Why it shows no task, or not all of it; None for a recording that has what was done."""
        if self.cut_off is not None:
            return f"it ended before it was finished: {self.cut_off}"
        if self.lost:
            return f"{self.lost} of what was pressed or typed could not be recorded"
        if self.done:
            return None
        if self.presses:
            return f"no action was recorded, although {self.presses} presses of buttons and keys were seen"
        return "no action was recorded: no press of a button or key was seen"


class DemonstrationRecorder:
    """Records one browser context into one session folder."""

    def __init__(
        self,
        browser: BrowserContext,
        folder: Path,
        *,
        context: RunContext,
        name: str = "",
        website_id: str | None = None,
        secrets: Collection[str] = (),
        on_action: Callable[[RecordedAction], None] = lambda _: None,
        on_problem: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`secrets` are names, ids or labels of fields that hold secrets besides those that are recognised. `on_action`
        receives each action as soon as it is final, `on_problem` each sentence about what cannot be recorded or is
        asked. Raises `FileExistsError` if the folder contains a session.
        """
        self._marked = tuple(secrets)
        self._browser, self._context, self._on_action = browser, context, on_action
        self._on_problem = on_problem
        self._writer = SessionWriter(
            folder,
            session_id=context.run_id,
            website_id=website_id,
            clean=context.redact,
            task_description=name,
            recorded=True,
        )
        self._writer.begin_turn("", name)
        self.recording = DemonstrationRecording(folder)
        self._merging = ActionMerger()
        self._pending: RecordedAction | None = None
        self._writes = RecordedWrites()
        self._tabs: list[_RecordedTab] = []
        self._queue: asyncio.Queue[_QueuedMessage | _QueuedNavigation | _QueuedSideEffect] = asyncio.Queue()
        self._listening: set[asyncio.Task[CDPSession | None]] = set()
        self._resting: asyncio.Task[None] | None = None
        self._worker: asyncio.Task[None] | None = None
        self._added = AddedTexts()
        self._channel = PageChannel(self._hear, self._hear_late)
        self._order = 0
        self._lost_ids: set[str] = set()
        self.closed = asyncio.Event()
        """Set when the last tab is closed."""

    async def start(self) -> None:
        """Start recording; pages that open later are recorded from the beginning. Raises `AlreadyRecorded`."""
        if self._browser in _RECORDED:
            raise AlreadyRecorded
        _RECORDED.add(self._browser)
        for page in self._browser.pages:
            self._opened(page, new=False)
        self._browser.on("page", self._opened)
        await self._channel.open(self._browser)
        await in_page_library.install(self._browser)
        await self._channel.add_script(self._browser, recorder_source(self._marked))
        self._browser.on("close", lambda _: self.closed.set())
        hear_driver_end(self._browser, self._cut_off)
        self._worker = asyncio.create_task(self._work(), name="recorder")

    async def finish(self, *, complete: bool = True) -> DemonstrationRecording:
        """Write the remaining actions, after `FINISH_S` without what the page still owes. May be called after the browser has
        closed.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(FINISH_S):
                await self.rest()
        if self._resting is not None:
            self._resting.cancel()
            await asyncio.wait([self._resting])
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.wait([self._worker])
        for task in self._listening:
            task.cancel()
        await self._writes.answered()
        for action in self._merging.finish():
            self._final(action)
        self._flush(None)
        for tab in self._tabs:
            if tab.address is not None and not tab.listens:
                self._ask(describe_unlistened(tab.address))
        complete = complete and self.recording.failure is None
        self._writer.end_turn("success" if complete else "failure")
        self._writer.close(
            complete=complete, **({"problems": self.recording.problems} if self.recording.problems else {})
        )
        await asyncio.to_thread(redact_session_files, self.recording.folder, self._context)
        return self.recording

    def _cut_off(self) -> None:
        if not self.closed.is_set():
            self.recording.cut_off = "the driver that controls the browser ended"
            self.closed.set()

    async def rest(self) -> None:
        """Wait until all events are processed and the page is idle."""
        await self._queue.join()
        if self._resting is not None and not self._resting.done():
            await asyncio.wait([self._resting])

    # -- receiving events -------------------------------------------------------------------------------------

    def _hear(self, page: Page, text: str, _answer: Answer) -> None:
        tab = self._tab_of(page)
        if tab is None:
            return
        texts = [str(each) for each in json.loads(text)]
        what = parse_recorded_event(texts)
        self._tabs[tab].listens = True
        if what.kind == "listening":
            return
        if what.kind == "moved":
            self._tabs[tab].by_page = (what.unread, time.time() * 1000)
        elif what.kind == "pressed":
            self.recording.presses += 1
        elif what.kind == "lost":
            self._lose(describe_lost(what))
        else:
            self._put(_QueuedMessage(tab, what, texts, self._next()))

    def _hear_late(self, page: Page, text: str, pressed: bool) -> None:
        """Hear a document whose scripts ran before ours: it may tell what nobody did, so each step needs a press that was seen outside of it."""
        what = parse_recorded_event([str(each) for each in json.loads(text)])
        if pressed or what.kind in ("listening", "pressed", "moved", "lost"):
            self._hear(page, text, _no_answer)
        else:
            self._lose(f"{what.kind} was told in the first document of a window without a press in it")

    def _opened(self, page: Page, *, new: bool = True) -> None:
        """Record a tab. `new`: it opened while recording; what opened it is a step then, but for the first tab."""
        if self._tab_of(page) is not None:
            return
        tab = len(self._tabs)
        new = new and tab > 0
        self._tabs.append(_RecordedTab(page, TabHistory(page), opener=new))
        page.on("close", self._closed)
        self._writes.watch(page, tab)

        def moved(frame: Frame) -> None:
            if frame == page.main_frame:
                at, known = time.time() * 1000, self._tabs[tab]
                if frame.url.startswith(("http://", "https://")):
                    known.address = frame.url
                loaded, known.requested = known.requested, False
                since = at - known.acted_at
                if loaded:
                    known.acted_at = 0.0  # later navigations do not belong to the same action
                (began, began_at), known.by_page = known.by_page, ("", 0.0)
                by_page = began if at - began_at < MOVES_MS else ""
                self._put(_QueuedNavigation(tab, at, self._next(), since, loaded, frame.url, by_page))

        def requested(request: Request) -> None:
            # A tab that opens has no frame yet; its first navigation is never a reload.
            with suppress(DriverError):
                if request.is_navigation_request() and request.frame == page.main_frame:
                    self._tabs[tab].requested = True

        def came(beside: RecordedSideEffects) -> None:
            self._put(_QueuedSideEffect(tab, beside, self._next()))

        page.on("framenavigated", moved)
        page.on("request", requested)
        page.on("download", lambda download: came(RecordedSideEffects(download=download.suggested_filename)))
        self._listening.add(asyncio.create_task(watch_dialog_answers(page, came), name="dialogs"))
        if new:
            self._put(_QueuedSideEffect(tab, None, self._next()))

    def _closed(self, _page: Page) -> None:
        if all(tab.page.is_closed() for tab in self._tabs):
            self.closed.set()

    def _tab_of(self, page: Page) -> int | None:
        return next((number for number, tab in enumerate(self._tabs) if tab.page == page), None)

    def _next(self) -> int:
        self._order += 1
        return self._order

    def _put(self, item: _QueuedMessage | _QueuedNavigation | _QueuedSideEffect) -> None:
        if self._resting is not None:
            self._resting.cancel()
        if isinstance(item, _QueuedMessage):
            self._tabs[item.tab].acted_at = time.time() * 1000
        self._queue.put_nowait(item)

    # -- processing in order ------------------------------------------------------------------------------------

    async def _work(self) -> None:
        while True:
            item = await self._queue.get()
            try:
                if isinstance(item, _QueuedMessage):
                    await self._heard(item)
                elif isinstance(item, _QueuedNavigation):
                    await self._moved(item)
                else:
                    await self._came(item)
                if self._queue.empty():
                    self._resting = asyncio.create_task(self._rest(self._tabs[item.tab].page, self._order))
            finally:
                self._queue.task_done()

    async def _heard(self, item: _QueuedMessage) -> None:
        what = item.what
        if what.unread:
            if what.id is None or what.id not in self._lost_ids:
                self._lose(describe_lost(what))
            self._lost_ids |= {what.id} if what.id is not None else set()
            return
        seen = await asyncio.to_thread(parse_page_before_event, what, item.texts)
        if what.kind == "unheard":
            if seen is not None and is_unheard_change(seen):
                self._ask(describe_unheard(what, seen))
            return
        action = _action(what, item.tab, seen=seen)
        problem = None if seen is None else find_problem(what, seen)
        if problem is not None:
            self._ask(problem)
        if what.kind == "drag" and "drop" not in action.args:
            return
        if what.kind == "uploaded":
            action = await self._with_paths(action)
        if what.foreign:
            self._ask(
                f"{action.action_type} in a frame of another website ({what.url}): selectors cannot reach it"
            )
        self._add(action)

    async def _moved(self, item: _QueuedNavigation) -> None:
        tab, url = self._tabs[item.tab], item.url
        first, tab.arrived = (
            not tab.arrived and not url.startswith(_BLANK),
            tab.arrived or not url.startswith(_BLANK),
        )
        try:
            own = await tab.history.step(
                since_action_ms=item.since_action_ms, loaded=item.loaded, by_page=item.by_page
            )
        except DriverError:
            return
        if (
            url.startswith(_BLANK)
            or own is None
            or (first and tab.opener and await tab.page.opener() is not None)
        ):
            return
        kind, address = own
        args = {} if address is None else {"url": url if item.loaded else address}
        self._add(RecordedAction(kind, item.tab, url, item.at, args=args))

    async def _came(self, item: _QueuedSideEffect) -> None:
        """Assign a side effect to the last action in its tab, or in the tab that opened its tab."""
        tab, beside = item.tab, item.beside
        if beside is None:
            try:
                opener = await self._tabs[item.tab].page.opener()
            except DriverError:
                return
            known = None if opener is None else self._tab_of(opener)
            if known is None:
                return  # the person opened the tab
            tab, beside = known, RecordedSideEffects(opened=item.tab)
        if not self._merging.beside(tab, beside):
            told = "a tab opened" if beside.opened is not None else "a download or a dialog occurred"
            self._ask(f"{told} in tab {tab} without a recorded action that caused it")

    async def _with_paths(self, action: RecordedAction) -> RecordedAction:
        """Add the local paths of uploaded files, which pages cannot see, for the replay."""
        page = self._tabs[action.tab].page
        try:
            session = await self._browser.new_cdp_session(page)
            paths = await _paths_of_files(session, action.args["value"])
        except DriverError:
            return action
        action.args["value"] = paths
        return action

    def _ask(self, problem: str) -> None:
        self.recording.problems.append(problem)
        self._on_problem(problem)

    def _lose(self, problem: str) -> None:
        self.recording.lost += 1
        self._ask(problem)

    def _add(self, action: RecordedAction) -> None:
        for final in self._merging.add(action):
            self._final(final)

    def _final(self, action: RecordedAction) -> None:
        if action.secret is not None:  # only now: a partly typed secret would redact ordinary words
            self._context.keep_secret(action.secret)
        self._flush(action)
        self._pending = self._added.reduce(action)

    def _flush(self, following: RecordedAction | None) -> None:
        action, self._pending = self._pending, None
        if action is None:
            return
        after = action.html_after or (following.seen.html if following and following.seen else None)
        url = action.url_after or (following.url if following else None)
        writes = self._writes.describe(action, following)
        if not writes and had_no_effect(action, after, url):
            self.recording.ignored += 1
            return
        if not writes:
            action = as_key_press(action, after, url)
        self.recording.actions.append(action)
        entry = _entry(action, after, len(self._tabs))
        entry.metadata.update(writes)
        self._writer.write(entry)
        self._on_action(action)

    async def _rest(self, page: Page, order: int) -> None:
        """Store the page when it is idle, unless another action happens before."""
        with suppress(PageError, DriverError):
            until = time.monotonic() + LONGEST_REST_S
            html = (await take_snapshot(page)).html
            same_since = time.monotonic()
            while time.monotonic() < until and time.monotonic() - same_since < RESTS_S:
                await wait_for_change(page, RESTS_S)
                now = (await take_snapshot(page)).html
                if now != html:
                    html, same_since = now, time.monotonic()
            if order == self._order:
                self._merging.settled(html, page.url, await read_refusal_signs(page))


async def _no_answer(_text: str) -> None:
    """Documents that tell late are not answered."""


_TYPES = {
    "click": "click",
    "double_click": "double_click",
    "right_click": "right_click",
    "drag": "drag",
    "hover": "hover",
    "typed": "fill",
    "chosen": "select_option",
    "uploaded": "upload_file",
    "key": "press",
}


def _action(what: RecordedEvent, tab: int, *, seen: PageBeforeEvent | None) -> RecordedAction:
    name = _TYPES.get(what.kind) or ("check" if what.checked else "uncheck")
    args: dict[str, Any] = {}
    secret = what.value if what.kind == "typed" and what.secret else None
    if what.kind == "typed":
        args = {"value": REDACTED if secret is not None else what.value or ""}
    elif what.kind in ("chosen", "uploaded"):
        values = list(what.chosen or what.files)
        args = {"value": values[0] if len(values) == 1 else values}
    elif what.kind == "key":
        args = {"value": what.key}
    elif what.kind == "drag" and seen is not None and seen.drop is not None:
        args = {"drop": seen.drop.to_json()}
    elif what.kind in ("click", "double_click", "right_click"):
        args = {"modifiers": [*what.modifiers]} if what.modifiers else {}
        args |= {"place": [*what.spot]} if what.spot is not None else {}
    return RecordedAction(
        name,
        tab,
        seen.url if seen else what.url,
        what.time,
        seen,
        args,
        secret,
        what.id,
        what,
    )


def _entry(action: RecordedAction, html_after: str | None, tabs: int) -> TraceEntry:
    seen, what = action.seen, action.what
    selector = None if seen is None or (what is not None and not what.focused) else seen.selector
    metadata: dict[str, Any] = {}
    if seen is not None:
        metadata |= {"said": seen.said, **({"fingerprint": seen.fingerprint} if seen.fingerprint else {})}
    if what is not None and what.secret:
        metadata["secret"] = True
    if what is not None and what.foreign:
        metadata["foreign_frame"] = what.url
    if tabs > 1:
        metadata["tab"] = action.tab
    if action.url_after is not None:
        metadata["url_after"] = action.url_after
    metadata |= action.beside.metadata
    return TraceEntry(
        type="AgentActionResults",
        timestamp=datetime.fromtimestamp(action.time / 1000, UTC),
        action_type=action.action_type,
        target=None if selector is None else selector.model_dump(mode="json", exclude_defaults=True),
        args={**action.args, **action.beside.args},
        result={"success": True},
        source_url=action.url,
        body_html_before_last_action=None if seen is None else seen.html,
        body_html_after_last_action=html_after,
        metadata=metadata,
    )


_FILES_OF = """(() => { const { files } = window[Symbol.for("periplus.recording.1")];
  return files[%d]?.name === %s ? files[%d] : undefined; })()"""


async def _paths_of_files(session: CDPSession, names: Any) -> Any:
    several = names if isinstance(names, list) else [names]
    paths = []
    for number, name in enumerate(several):
        found = await session.send(
            "Runtime.evaluate", {"expression": _FILES_OF % (number, json.dumps(name), number)}
        )
        object_id = found["result"].get("objectId")
        told = await session.send("DOM.getFileInfo", {"objectId": object_id}) if object_id else {}
        paths.append(told.get("path") or name)
    return paths if isinstance(names, list) else paths[0]
