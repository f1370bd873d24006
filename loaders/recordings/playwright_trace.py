"""Reads Playwright traces (`trace.zip`): the calls on pages, and the pages.

The trace marks an action's element on its snapshot, and our own code makes its selector. Without snapshots,
Playwright's selector is converted as far as possible.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from kb_schema.action_calls import DropPlace
from kb_schema.selectors import NameStrategy, Selector, Strategy, ValueStrategy
from loaders.recordings.field_names import MarkedFields
from loaders.recordings.imported_traces import ImportedTrace, UnreadableRecording, as_list, parse_json
from loaders.recordings.marked_pages import MarkedPage
from loaders.recordings.playwright_snapshots import PlaywrightTraceSnapshots
from loaders.recordings.trace_builder import TraceBuilder

SOURCE = "playwright_trace"
LARGEST = 500_000_000
"""The most bytes of unpacked events."""


@dataclass(frozen=True, slots=True)
class _TraceMethod:
    """Our action for a Playwright method."""

    action: str
    value: Callable[[dict[str, Any]], Any] = lambda _: None
    target: bool = True


def _chosen(params: dict[str, Any]) -> Any:
    options = [each for each in as_list(params.get("options")) if isinstance(each, dict)]
    values = [each.get("label") or each.get("valueOrLabel") or each.get("value") for each in options]
    return values[0] if len(values) == 1 else values or None


def _files(params: dict[str, Any]) -> Any:
    given = as_list(params.get("payloads") or params.get("files"))
    values = as_list(params.get("localPaths")) or [
        each.get("name") for each in given if isinstance(each, dict)
    ]
    return values[0] if len(values) == 1 else values or None


_METHODS = {
    "click": _TraceMethod("click"),
    "tap": _TraceMethod("click"),
    "dblclick": _TraceMethod("double_click"),
    "hover": _TraceMethod("hover"),
    "fill": _TraceMethod("fill", lambda params: params.get("value")),
    "type": _TraceMethod("append_text", lambda params: params.get("text")),
    "press": _TraceMethod("press", lambda params: params.get("key")),
    "check": _TraceMethod("check"),
    "uncheck": _TraceMethod("uncheck"),
    "selectOption": _TraceMethod("select_option", _chosen),
    "setInputFiles": _TraceMethod("upload_file", _files),
    "goto": _TraceMethod("navigate", target=False),
    "reload": _TraceMethod("refresh", target=False),
    "goBack": _TraceMethod("navigate_back", target=False),
    "dragAndDrop": _TraceMethod("drag"),
    "keyboardPress": _TraceMethod("press", lambda params: params.get("key"), target=False),
}
_UNREADABLE = frozenset(
    {
        "mouseClick",
        "mouseDown",
        "mouseUp",
        "mouseMove",
        "mouseWheel",
        "keyboardType",
        "keyboardInsertText",
        "keyboardDown",
        "keyboardUp",
        "goForward",
        "evaluateExpression",
        "dispatchEvent",
        "setContent",
    }
)
"""Methods that may have an effect and cannot be converted."""


def read(file: Path, marks: MarkedFields = MarkedFields()) -> list[ImportedTrace]:  # noqa: B008 - frozen
    """Return one trace per file of events in the zip. Raises `UnreadableRecording`."""
    found: list[ImportedTrace] = []
    with zipfile.ZipFile(file) as packed:
        names = [each for each in packed.namelist() if each.endswith(".trace") and "/" not in each]
        for name in sorted(names):
            if packed.getinfo(name).file_size > LARGEST:
                raise UnreadableRecording(file, f"is larger than {LARGEST} bytes", name)
            text = packed.read(name).decode("utf-8", "replace")
            reading = _PlaywrightTraceReader(
                f"{file.stem}" if len(names) == 1 else f"{file.stem}-{name.removesuffix('.trace')}", marks
            )
            imported = reading.read(text.split("\n"), name)
            if imported.trace.steps:
                found.append(imported)
    if not found:
        raise UnreadableRecording(file, "contains no Playwright trace with an action on a page")
    return found


@dataclass(slots=True)
class _PlaywrightTraceCall:
    """One call, from `before` to `after`."""

    call_id: str
    kind: _TraceMethod
    params: dict[str, Any]
    page: str | None
    place: str
    at: datetime | None
    error: str | None = None
    beside: dict[str, Any] = field(default_factory=dict)
    """Its side effects: `on_dialog`, `download`, `opens_tab`."""


class _PlaywrightTraceReader:
    def __init__(self, name: str, marks: MarkedFields) -> None:
        self._built = TraceBuilder(name, SOURCE, marks=marks)
        self._pages = PlaywrightTraceSnapshots()
        self._calls: dict[str, _PlaywrightTraceCall] = {}
        self._epoch: tuple[float, float] | None = None
        self._tabs: dict[str, int] = {}
        """Page -> number, in the order in which they were opened."""

    def read(self, lines: list[str], name: str) -> ImportedTrace:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                event = parse_json(line)
            except ValueError:
                self._built.problem(f"{name}:{number}", "not JSON; left out")
                continue
            if isinstance(event, dict):
                self._event(event, f"{name}:{number}")
        failed: str | None = None
        for call in self._calls.values():
            failed = self._step(call)
        return self._built.finished(error=failed)

    def _event(self, event: dict[str, Any], place: str) -> None:
        kind = event.get("type")
        if kind == "context-options" and isinstance(event.get("wallTime"), int | float):
            begun = event.get("monotonicTime")
            self._epoch = (event["wallTime"], begun if isinstance(begun, int | float) else 0)
        elif kind == "before":
            self._begun(event, place)
        elif kind == "event" and isinstance(event.get("params"), dict):
            self._happened(str(event.get("method")), event["params"])
        elif kind == "after" and (call := self._calls.get(str(event.get("callId")))):
            error = event.get("error")
            if isinstance(error, dict):
                values = error.get("error", error)
                call.error = str(values.get("message") or "it failed").splitlines()[0]
        elif kind == "frame-snapshot" and isinstance(event.get("snapshot"), dict):
            self._pages.add(event["snapshot"], place, self._built.problem)

    def _begun(self, event: dict[str, Any], place: str) -> None:
        method, params = str(event.get("method")), event.get("params")
        if event.get("class") == "Dialog" and isinstance(params, dict):
            self._answered(method, params)
        if event.get("class") not in ("Frame", "Page", "ElementHandle", "Locator"):
            return
        if method in _UNREADABLE:
            self._built.problem(place, f"{method} is not supported; left out")
            return
        if method not in _METHODS or not isinstance(params, dict):
            return
        call_id = str(event.get("callId"))
        self._calls[call_id] = _PlaywrightTraceCall(
            call_id,
            _METHODS[method],
            params,
            event.get("pageId"),
            place,
            self._moment(event.get("startTime")),
        )

    def _happened(self, method: str, params: dict[str, Any]) -> None:
        """Record a side effect of the last call."""
        last = next(reversed(self._calls.values()), None)
        if method == "page":
            number = self._tabs.setdefault(str(params.get("pageId")), len(self._tabs))
            if last is not None and params.get("openerPageId"):
                last.beside["opens_tab"] = number
        elif last is not None and method == "dialog" and params.get("type") in ("confirm", "prompt"):
            last.beside["on_dialog"] = "dismiss"  # the driver's default, unless a call handles it
        elif last is not None and method == "download":
            last.beside["download"] = str(params.get("suggestedFilename") or "download")

    def _answered(self, method: str, params: dict[str, Any]) -> None:
        last = next(reversed(self._calls.values()), None)
        if last is not None and method == "accept" and "on_dialog" in last.beside:
            text = params.get("promptText")
            last.beside["on_dialog"] = "accept" if text is None else {"accept": True, "text": str(text)}

    def _moment(self, at: Any) -> datetime | None:
        if self._epoch is None or not isinstance(at, int | float):
            return None
        wall, monotonic = self._epoch
        try:
            return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=wall + at - monotonic)
        except (OverflowError, ValueError):
            return None

    def _step(self, call: _PlaywrightTraceCall) -> str | None:
        """Add the step of a call; return its error."""
        before, after = self._pages.html(call.call_id, "before"), self._pages.html(call.call_id, "after")
        url = self._pages.url(call.call_id)
        self._built.tab = self._tabs.get(self._pages.page(call.call_id) or call.page or "", 0)
        if call.kind.action == "navigate":
            self._built.add(
                "navigate", url=call.params.get("url"), error=call.error, html_after=after, at=call.at
            )
            return call.error
        self._built.url, self._built.place = url, call.place
        selector, secret = None, None
        beside = dict(call.beside)
        if call.kind.action == "drag":
            call.params["selector"] = call.params.get("source")
            drop = _translated(str(call.params.get("target") or ""))
            if drop is None:
                self._built.problem(
                    call.place,
                    f"the selector {call.params.get('target')!r}, onto which it drags, cannot be read; left out",
                )
                return call.error
            beside["drop"] = DropPlace(target=drop).to_json()
            if {"sourcePosition", "targetPosition"} & call.params.keys():
                self._built.note(
                    call.place, "drags from and to the middle of both elements; the file has other places"
                )
        if call.kind.target:
            acted = self._pages.html(call.call_id, "action", marked=True)
            marked = MarkedPage(acted or "", url)
            selector, before = marked.selector, before or (marked.html if acted else None)
            secret = marked.is_password if acted else None
            selector = selector or _translated(str(call.params.get("selector") or ""))
            if selector is None:
                self._built.problem(
                    call.place, f"the selector {call.params.get('selector')!r} cannot be read; left out"
                )
                return call.error
        value = call.kind.value(call.params)
        self._built.add(
            call.kind.action,
            selector,
            value,
            secret=secret,
            error=call.error,
            html_before=before,
            html_after=after,
            at=call.at,
            **beside,
        )
        return call.error


# -- Playwright's selectors ----------------------------------------------------------------------------

_STRING = r'("(?:[^"\\]|\\.)*")'
_NAMED: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Strategy]], ...] = (
    (
        re.compile(rf"internal:role=([a-z]+)\[name={_STRING}([is])?\]"),
        lambda match: NameStrategy(
            type="role_name", role=match[1], name=json.loads(match[2]), exact=match[3] == "s"
        ),
    ),
    (
        re.compile(rf"internal:label={_STRING}([is])?"),
        lambda match: NameStrategy(type="label", name=json.loads(match[1]), exact=match[2] == "s"),
    ),
    (
        re.compile(rf"internal:attr=\[placeholder={_STRING}([is])?\]"),
        lambda match: NameStrategy(type="placeholder", name=json.loads(match[1]), exact=match[2] == "s"),
    ),
    (
        re.compile(rf"internal:testid=\[data-testid={_STRING}[is]?\]"),
        lambda match: ValueStrategy(type="data-testid", value=json.loads(match[1])),
    ),
    (re.compile(r"xpath=(.+)|(//.+)"), lambda match: ValueStrategy(type="xpath", value=match[1] or match[2])),
    (re.compile(r"css=(.+)"), lambda match: ValueStrategy(type="css", value=match[1])),
)


def _translated(selector: str) -> Selector | None:
    """Return Playwright's selector as one of ours; None if ours cannot express it."""
    strategy = next(_ways(selector), None)
    return None if strategy is None else Selector(strategies=(strategy,))


def _ways(selector: str) -> Iterator[Strategy]:
    if ">>" in selector or not selector:
        return
    for pattern, writer in _NAMED:
        if match := pattern.fullmatch(selector):
            yield writer(match)
            return
    if not re.match(r"(internal:|text=|_react|_vue|role=|nth=|id=|data-)", selector) and not re.search(
        r":(has-text|text|visible|nth-match|near|above|below|left-of|right-of)\b", selector
    ):
        yield ValueStrategy(type="css", value=selector)
