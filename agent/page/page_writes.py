"""Notes the writes that a page sends to its own website, and how they are answered.

A write is a POST, PUT, PATCH or DELETE by a form, `fetch` or XHR. What the page sends on its own (beacons, addresses
that it also writes to while nothing is pressed and that fail then too) is none of a press.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from playwright.async_api import Error as DriverError
from playwright.async_api import Page, Request, Response

from agent.page.page_listeners import listen_once
from agent.page.same_site import is_same_site
from kb_schema.probes import AcceptedWrite

WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_KINDS = frozenset({"document", "xhr", "fetch"})
_REFUSED = 400
BEGINS_S = 5.0
"""Seconds after a press in which a write may begin that belongs to it, unless something else is done before."""
_BODY_S = 1.0
"""Seconds the text of a refused write may take to be read."""
_LONGEST = 300
"""Characters of an answer's own message."""
_DEEPEST = 4
_TOLD = (
    "message",
    "error_description",
    "errors",
    "error",
    "detail",
    "details",
    "title",
    "description",
    "reason",
    "msg",
)
"""The keys under which answers in JSON say what is wrong, the most telling first."""


@dataclass(slots=True, eq=False)
class PageWrite:
    """One write and its answer."""

    method: str
    url: str
    """Without values in its query."""
    document: bool
    """Whether its answer becomes the page."""
    began_at: float = field(default_factory=time.monotonic)
    status: int | None = None
    """None: not answered yet; 0: it failed without an answer."""
    message: str | None = None
    """What a refused write's answer says, if it is JSON or short text."""

    @property
    def refused(self) -> bool:
        """Whether the application answered with an error."""
        return self.status is not None and self.status >= _REFUSED

    @property
    def address(self) -> tuple[str, str]:
        """What identifies the operation."""
        return self.method, self.url

    def to_json(self) -> dict[str, Any]:
        """Return it as it is stored in recordings."""
        return {"method": self.method, "url": self.url, "status": self.status}


@dataclass(slots=True)
class PressAnswers:
    """What the presses of one run sent, on all its pages, also what began a while after a press."""

    accepted: list[AcceptedWrite] = field(default_factory=list)
    """What the application accepted, in order."""
    forgotten: bool = False
    """The run was resumed: what was accepted before is not known."""
    held: bool = False
    """Whether the success criteria of the run held when the present press began."""
    held_at_write: bool = False
    """Whether they held when the last press began that sent something."""
    held_always: bool = False
    """Whether they held when every press so far began; False if there was none, or some are not known."""
    numbers: dict[str, int] = field(default_factory=dict)
    """What the counters of the success criteria showed when the run first saw them, by CSS."""
    idle_loop: bool = False
    """Whether a loop over what the page shows found nothing: nothing was there, or it is called otherwise now."""
    already: bool = False
    """Whether a step was not performed, as the page showed that what it is for is so already."""
    count: int = 0
    """Presses that were noted: of steps that must not be repeated."""

    @property
    def held_before(self) -> bool:
        """Whether the success criteria are no evidence of what was done, as they held before."""
        always = self.held_always and not (self.already and not self.accepted)
        return self.held_at_write or always or (self.idle_loop and not self.count)

    def note_criteria(self, *, held: bool) -> None:
        """A press begins while the success criteria hold or do not."""
        self.held, self.held_always = (
            held,
            held and (not self.count or self.held_always) and not self.forgotten,
        )
        self.count += 1


@dataclass
class PageWrites:
    """Notes the writes of one page. Created by `watch_writes`."""

    writes: list[PageWrite] = field(default_factory=list)
    """The writes since the press began."""
    accepted_at: float = 0.0
    """When the last write began that was accepted, of a press or not; 0: there was none."""
    pressing: bool = False
    presses: PressAnswers | None = None
    """Where it is noted what belongs to a press; None: nowhere."""
    began: Callable[[PageWrite], None] | None = None
    """Told of every write."""
    _pressed_at: float | None = None
    _late: set[Request] = field(default_factory=set)
    """Writes that began a while after a press."""
    _failing: set[tuple[str, str]] = field(default_factory=set)
    """Addresses to which the page writes on its own, and which answer with errors."""
    _habits: set[tuple[str, str]] = field(default_factory=set)
    """Addresses to which the page writes on its own: nothing waits for their answers, which may be held back."""
    _open: dict[Request, PageWrite] = field(default_factory=dict)
    _unasked: set[Request] = field(default_factory=set)
    _reading: set[asyncio.Task[None]] = field(default_factory=set)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def begin(self) -> None:
        """A press begins: what is sent from now on is its own."""
        self.writes, self.pressing, self._pressed_at = [], True, time.monotonic()

    def end(self) -> None:
        """The press is over."""
        self.pressing = False

    def do_something_else(self) -> None:
        """Another action begins, which is no press: what is sent from now on belongs to no press."""
        self._pressed_at = None

    @property
    def waiting(self) -> bool:
        """Whether a write of the press is not answered yet, or its answer not read."""
        missing = (write for write in self.writes if write.status is None)
        return any(write.address not in self._habits for write in missing) or bool(self._reading)

    def may_have_stored(self, since: float) -> bool:
        """Whether a write that began since that time was accepted, or is not answered yet."""
        return self.accepted_at >= since or any(each.began_at >= since for each in self._open.values())

    async def answered(self, timeout_s: float) -> None:
        """Wait until the writes of the press are answered, at most so long."""
        await self.wait_until(lambda: not self.waiting, timeout_s)

    async def wait_until(self, done: Callable[[], bool], timeout_s: float) -> None:
        """Wait for what depends on the answers, at most so long."""
        until = time.monotonic() + timeout_s
        while not done() and (left := until - time.monotonic()) > 0:
            self._changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._changed.wait()

    # -- listeners: called by the driver, which does not wait for them

    def on_request(self, request: Request) -> None:
        """Note a write."""
        if request.method not in WRITES or request.resource_type not in _KINDS or not is_own_request(request):
            return
        write = PageWrite(request.method, remove_query_values(request.url), request.is_navigation_request())
        self._open[request] = write
        if not self.pressing:
            self._unasked.add(request)
            self._habits.add(write.address)
            if self._pressed_at is not None and time.monotonic() - self._pressed_at < BEGINS_S:
                self._late.add(request)
        elif write.address not in self._failing:
            self.writes.append(write)
        if self.presses is not None and self._is_of_press(request, write):
            self.presses.held_at_write = self.presses.held
        if self.began is not None:
            self.began(write)

    def on_response(self, response: Response) -> None:
        """Note the answer of a write; read what a refused one says."""
        write = self._open.get(response.request)
        if write is None:
            return
        write.status = response.status
        if not write.refused:
            self.accepted_at = max(self.accepted_at, write.began_at)
        own = self._is_of_press(response.request, write)
        if own and not write.refused and self.presses is not None:
            self.presses.accepted.append(AcceptedWrite(write.method, write.url, write.status))
        if write.refused:
            if response.request in self._unasked:
                self._failing.add(write.address)
            task = asyncio.ensure_future(_read_message(response, write))
            self._reading.add(task)
            task.add_done_callback(self._read)
        self._changed.set()

    def on_end(self, request: Request) -> None:
        """Forget a request that is over."""
        self._unasked.discard(request)
        self._late.discard(request)
        write = self._open.pop(request, None)
        if write is not None and write.status is None:
            write.status = 0
        self._changed.set()

    def _is_of_press(self, request: Request, write: PageWrite) -> bool:
        return write in self.writes or request in self._late

    def _read(self, task: asyncio.Task[None]) -> None:
        self._reading.discard(task)
        self._changed.set()


def watch_writes(page: Page) -> PageWrites:
    """Return the notes of a page; always the same ones for the same page."""
    return listen_once(
        page,
        PageWrites,
        lambda one: {
            "request": one.on_request,
            "response": one.on_response,
            "requestfinished": one.on_end,
            "requestfailed": one.on_end,
        },
    )


def remove_query_values(url: str) -> str:
    """Return an address with the names of its query, without their values.

    >>> remove_query_values("http://a.test/save?id=7&token=abc#top")
    'http://a.test/save?id=&token='
    """
    parts = urlsplit(url)
    names = [each.partition("=")[0] for each in parts.query.split("&") if each]
    return urlunsplit((parts.scheme, parts.netloc, parts.path, "&".join(f"{name}=" for name in names), ""))


def find_message(data: Any, deep: int = 0) -> str | None:
    """Return what an answer in JSON says is wrong.

    >>> find_message({"errors": {"email": ["is invalid"]}, "code": 7})
    'email: is invalid'
    """
    if isinstance(data, str):
        return " ".join(data.split())[:_LONGEST] or None
    if deep > _DEEPEST:
        return None
    if isinstance(data, list):
        parts = (find_message(each, deep + 1) for each in data[:5])
        return "; ".join(dict.fromkeys(part for part in parts if part))[:_LONGEST] or None
    if not isinstance(data, dict):
        return None
    named = next((told for key in _TOLD if (told := find_message(data.get(key), deep + 1))), None)
    if named is not None or deep == 0:
        return named
    by_field = ((key, find_message(each, deep + 1)) for key, each in list(data.items())[:5])
    return "; ".join(f"{key}: {said}" for key, said in by_field if said)[:_LONGEST] or None


def is_own_request(request: Request) -> bool:
    """Whether it goes to the website of the page that sends it, on any of its hosts."""
    try:
        sender = request.frame.url
    except DriverError:  # a worker's, or of a page that is being opened
        return False
    return is_same_site(sender, request.url)


async def _read_message(response: Response, write: PageWrite) -> None:
    kind = response.headers.get("content-type", "")
    if "json" not in kind and "text/plain" not in kind:
        return
    with suppress(DriverError, TimeoutError, ValueError):
        async with asyncio.timeout(_BODY_S):
            text = await response.text()
        write.message = find_message(
            json.loads(text) if "json" in kind else text if len(text) <= _LONGEST else None
        )
