"""Reads traces of Playwright (`trace.zip`): what was called on pages, and the pages as they were.

The element of an action is the one that the trace marks on its snapshot; its selectors come from there,
by our own code. Where there are no snapshots, Playwright's selector is taken over as far as it can be
said in ours.
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

from kb_schema.selectors import NameStrategy, Selector, Strategy, ValueStrategy
from loaders.recordings.building import TraceBuilder
from loaders.recordings.imported import Imported, RecordingUnreadable, listed, parsed
from loaders.recordings.placing import MarkedPage
from loaders.recordings.playwright_pages import Pages

SOURCE = "playwright_trace"
LARGEST = 500_000_000
"""Bytes of events, unpacked."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """What a method of Playwright's is with us."""

    action: str
    value: Callable[[dict[str, Any]], Any] = lambda _: None
    target: bool = True


def _chosen(params: dict[str, Any]) -> Any:
    options = [each for each in listed(params.get("options")) if isinstance(each, dict)]
    told = [each.get("label") or each.get("valueOrLabel") or each.get("value") for each in options]
    return told[0] if len(told) == 1 else told or None


def _files(params: dict[str, Any]) -> Any:
    given = listed(params.get("payloads") or params.get("files"))
    told = listed(params.get("localPaths")) or [each.get("name") for each in given if isinstance(each, dict)]
    return told[0] if len(told) == 1 else told or None


_METHODS = {
    "click": _Kind("click"),
    "tap": _Kind("click"),
    "dblclick": _Kind("double_click"),
    "hover": _Kind("hover"),
    "fill": _Kind("fill", lambda params: params.get("value")),
    "type": _Kind("append_text", lambda params: params.get("text")),
    "press": _Kind("press", lambda params: params.get("key")),
    "check": _Kind("check"),
    "uncheck": _Kind("uncheck"),
    "selectOption": _Kind("select_option", _chosen),
    "setInputFiles": _Kind("upload_file", _files),
    "goto": _Kind("navigate", target=False),
    "reload": _Kind("refresh", target=False),
    "goBack": _Kind("navigate_back", target=False),
    "keyboardPress": _Kind("press", lambda params: params.get("key"), target=False),
}
_UNREADABLE = frozenset({
    "mouseClick", "mouseDown", "mouseUp", "mouseMove", "mouseWheel", "keyboardType", "keyboardInsertText",
    "keyboardDown", "keyboardUp", "dragAndDrop", "goForward", "evaluateExpression", "dispatchEvent", "setContent",
})  # fmt: skip
"""What may have done something and cannot be taken over."""


def read(file: Path) -> list[Imported]:
    """One trace per file of events in the zip. Raises `RecordingUnreadable`."""
    found: list[Imported] = []
    with zipfile.ZipFile(file) as packed:
        names = [each for each in packed.namelist() if each.endswith(".trace") and "/" not in each]
        for name in sorted(names):
            if packed.getinfo(name).file_size > LARGEST:
                raise RecordingUnreadable(file, f"is larger than {LARGEST} bytes", name)
            text = packed.read(name).decode("utf-8", "replace")
            reading = _Reading(
                f"{file.stem}" if len(names) == 1 else f"{file.stem}-{name.removesuffix('.trace')}"
            )
            imported = reading.read(text.split("\n"), name)
            if imported.trace.steps:
                found.append(imported)
    if not found:
        raise RecordingUnreadable(file, "holds no trace of Playwright in which something was done on a page")
    return found


@dataclass(slots=True)
class _Call:
    """One call, from `before` to `after`."""

    call_id: str
    kind: _Kind
    params: dict[str, Any]
    page: str | None
    place: str
    at: datetime | None
    error: str | None = None
    beside: dict[str, Any] = field(default_factory=dict)
    """What it led to: `on_dialog`, `download`, `opens_tab`."""


class _Reading:
    def __init__(self, name: str) -> None:
        self._built = TraceBuilder(name, SOURCE)
        self._pages = Pages()
        self._calls: dict[str, _Call] = {}
        self._epoch: tuple[float, float] | None = None
        self._tabs: dict[str, int] = {}
        """Page -> number, in the order in which they were opened."""

    def read(self, lines: list[str], name: str) -> Imported:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                event = parsed(line)
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
                told = error.get("error", error)
                call.error = str(told.get("message") or "it failed").splitlines()[0]
        elif kind == "frame-snapshot" and isinstance(event.get("snapshot"), dict):
            self._pages.add(event["snapshot"], place, self._built.problem)

    def _begun(self, event: dict[str, Any], place: str) -> None:
        method, params = str(event.get("method")), event.get("params")
        if event.get("class") == "Dialog" and isinstance(params, dict):
            self._answered(method, params)
        if event.get("class") not in ("Frame", "Page", "ElementHandle", "Locator"):
            return
        if method in _UNREADABLE:
            self._built.problem(place, f"{method} cannot be taken over; left out")
            return
        if method not in _METHODS or not isinstance(params, dict):
            return
        call_id = str(event.get("callId"))
        self._calls[call_id] = _Call(
            call_id,
            _METHODS[method],
            params,
            event.get("pageId"),
            place,
            self._moment(event.get("startTime")),
        )

    def _happened(self, method: str, params: dict[str, Any]) -> None:
        """Something beside the page, which the last call led to."""
        last = next(reversed(self._calls.values()), None)
        if method == "page":
            number = self._tabs.setdefault(str(params.get("pageId")), len(self._tabs))
            if last is not None and params.get("openerPageId"):
                last.beside["opens_tab"] = number
        elif last is not None and method == "dialog" and params.get("type") in ("confirm", "prompt"):
            last.beside["on_dialog"] = "dismiss"  # unless a call says otherwise, the driver does that
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

    def _step(self, call: _Call) -> str | None:
        """Adds the step of a call; returns its error."""
        before, after = self._pages.html(call.call_id, "before"), self._pages.html(call.call_id, "after")
        url = self._pages.url(call.call_id)
        self._built.tab = self._tabs.get(self._pages.page(call.call_id) or call.page or "", 0)
        if call.kind.action == "navigate":
            self._built.add(
                "navigate", url=call.params.get("url"), error=call.error, html_after=after, at=call.at
            )
            return call.error
        self._built.url = url
        selector, secret = None, None
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
            call.kind.action, selector, value, secret=secret, error=call.error, html_before=before, html_after=after,
            at=call.at, **call.beside,
        )  # fmt: skip
        return call.error


# -- selectors of Playwright ------------------------------------------------------------------------

_STRING = r'("(?:[^"\\]|\\.)*")'
_NAMED: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Strategy]], ...] = (
    (re.compile(rf"internal:role=([a-z]+)\[name={_STRING}([is])?\]"),
     lambda match: NameStrategy(type="role_name", role=match[1], name=json.loads(match[2]), exact=match[3] == "s")),
    (re.compile(rf"internal:label={_STRING}([is])?"),
     lambda match: NameStrategy(type="label", name=json.loads(match[1]), exact=match[2] == "s")),
    (re.compile(rf"internal:attr=\[placeholder={_STRING}([is])?\]"),
     lambda match: NameStrategy(type="placeholder", name=json.loads(match[1]), exact=match[2] == "s")),
    (re.compile(rf"internal:testid=\[data-testid={_STRING}[is]?\]"),
     lambda match: ValueStrategy(type="data-testid", value=json.loads(match[1]))),
    (re.compile(r"xpath=(.+)|(//.+)"), lambda match: ValueStrategy(type="xpath", value=match[1] or match[2])),
    (re.compile(r"css=(.+)"), lambda match: ValueStrategy(type="css", value=match[1])),
)  # fmt: skip


def _translated(selector: str) -> Selector | None:
    """Playwright's selector as one of ours; None where it says what ours cannot."""
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
