"""Reads the results of an earlier execution for `simulate`: the probe's records, otherwise Playwright's
traces.

Only data is read: the failing call's error and stack, the console, the responses, the page as it was. Printed
text is never parsed. `live_healing` looks for elements on such a page.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from agent.optimization import execution_records
from agent.optimization.trace_selectors import links_of
from agent.optimization.trace_snapshots import TraceSnapshots
from kb_schema.locator_expressions import Span
from kb_schema.suite_optimization import (
    ExecutionRequest,
    ExecutionResult,
    ExecutionSummary,
    FailedTest,
    UsedLocator,
)
from kb_schema.verification import ConsoleLine, FailureEvidence, FailureKind, NetworkRequest

Json = Mapping[str, Any]
LARGEST = 200_000_000
"""Bytes of events, unpacked."""
MOST = 200
"""Console lines, and answers."""
_CLASSES = frozenset({"Frame", "Page", "ElementHandle", "Locator"})
_NAVIGATIONS = frozenset({"goto", "reload", "go_back", "go_forward", "wait_for_url", "wait_for_load_state"})
_NAMES = {"wait_for_selector": "wait_for", "wait_for_load_state_event": "wait_for_load_state"}


@dataclass(frozen=True, slots=True)
class PageAtFailure:
    """A page as it was when a call failed."""

    html: str
    url: str


@dataclass(slots=True)
class _TraceCall:
    call_id: str
    owner: str
    method: str
    params: Json
    error: Json | None = None
    result: Json = field(default_factory=dict)


@dataclass(slots=True)
class _PlaywrightTrace:
    title: str = ""
    calls: dict[str, _TraceCall] = field(default_factory=dict)
    stacks: dict[str, list[Span]] = field(default_factory=dict)
    console: list[ConsoleLine] = field(default_factory=list)
    answers: list[NetworkRequest] = field(default_factory=list)
    snapshots: TraceSnapshots = field(default_factory=TraceSnapshots)

    @property
    def failed(self) -> _TraceCall | None:
        """The last call that failed: earlier failures did not end the test."""
        return next((each for each in reversed(self.calls.values()) if each.error is not None), None)


def read_results(folder: Path) -> list[FailedTest]:
    """Return the failed tests of an earlier execution: from the probe's records, otherwise one per trace with
    a failed call.
    """
    own = sorted(
        {each.parent for each in folder.rglob("probe-*.jsonl")}, key=lambda each: each.stat().st_mtime
    )
    if own:
        return list(execution_records.list_failed_tests(own[-1]))
    found = (read_trace_failure(file) for file in sorted(folder.rglob("*.zip")))
    return [each for each in found if each is not None]


async def replay_execution(
    request: ExecutionRequest,
    folder: Path,
    *,
    on_failure: Callable[[FailedTest], Awaitable[object]] | None = None,
) -> ExecutionResult:
    """Return an earlier execution's result in the form of `run_suite`; nothing is run."""
    failed = tuple(read_results(folder))
    for each in failed if on_failure is not None else ():
        assert on_failure is not None  # noqa: S101 - asked a line above
        await on_failure(each)
    return ExecutionResult(
        execution_id=request.execution_id,
        status="failed" if failed else "not_run",
        summary=ExecutionSummary(failed=len(failed)),
        failed_tests=failed,
        attempt=request.attempt,
    )


def read_trace_failure(file: Path) -> FailedTest | None:
    """Return the failure in a trace; None if no call failed, or it is no trace."""
    trace = _read(file)
    call = trace.failed if trace is not None else None
    if trace is None or call is None:
        return None
    error, selector = call.error or {}, call.params.get("selector")
    action = _action(call)
    stack = trace.stacks.get(call.call_id, [])
    kind = "assertion" if call.method == "expect" else "navigation" if action in _NAVIGATIONS else "action"
    message = str(error.get("message", ""))
    url = trace.snapshots.url(call.call_id)
    return FailedTest.model_validate(
        {
            "test_id": trace.title or file.parent.name,
            "file": stack[0].file if stack else "",
            "action": action,
            "kind": kind,
            "error_type": str(error.get("name", "")),
            "message": message,
            "stack": tuple(stack),
            "called_at": stack[-1] if stack else None,
            "url": url,
            "trace": str(file),
            "locator": UsedLocator(links=links_of(selector), selector=selector)
            if isinstance(selector, str)
            else None,
            "evidence": _evidence(trace, call, action, kind, message, url),
        }
    )


def find_page_at_failure(file: Path) -> PageAtFailure | None:
    """Return the page as it was when the failing call of a trace timed out."""
    trace = _read(file)
    call = trace.failed if trace is not None else None
    if trace is None or call is None:
        return None
    for phase in ("after", "action", "before"):
        html = trace.snapshots.html(call.call_id, phase)
        if html is not None:
            return PageAtFailure(html, trace.snapshots.url(call.call_id))
    return None


def _evidence(
    trace: _PlaywrightTrace, call: _TraceCall, action: str, kind: str, message: str, url: str
) -> FailureEvidence:
    expected = [
        each.get("string") for each in call.params.get("expectedText") or () if isinstance(each, dict)
    ]
    received = call.result.get("received")
    return FailureEvidence(
        failure=FailureKind.TIMEOUT,
        what="outcome" if kind == "assertion" else "page" if kind == "navigation" else "action",
        action=action,
        element=str(call.params.get("selector") or ""),
        message=message,
        expected=str(expected[0]) if len(expected) == 1 and expected[0] is not None else None,
        received=received if isinstance(received, str) else None,
        url=url,
        console=tuple(trace.console[:MOST]),
        answers=tuple(trace.answers[:MOST]),
    )


def _action(call: _TraceCall) -> str:
    if call.method == "expect":
        name = str(call.params.get("expression", "")).replace(".", "_")
        return f"expect.{'not_' if call.params.get('isNot') else ''}{name}"
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", call.method).lower()
    return _NAMES.get(name, name)


# -- the file ----------------------------------------------------------------------------------------


def _read(file: Path) -> _PlaywrightTrace | None:
    try:
        with zipfile.ZipFile(file) as packed:
            names = [each for each in packed.namelist() if "/" not in each]
            if sum(packed.getinfo(each).file_size for each in names) > LARGEST:
                return None
            trace = _PlaywrightTrace()
            for name in sorted(names, key=lambda each: not each.endswith(".trace")):
                text = packed.read(name).decode("utf-8", "replace")
                if name.endswith(".stacks"):
                    _stacks(trace, text)
                elif name.endswith((".trace", ".network")):
                    for event in _events(text):
                        _event(trace, event)
    except (OSError, zipfile.BadZipFile):
        return None
    return trace if trace.calls else None


def _events(text: str) -> Iterator[dict[str, Any]]:
    for line in text.split("\n"):
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            yield event


def _event(trace: _PlaywrightTrace, event: Json) -> None:
    kind = event.get("type")
    call = trace.calls.get(str(event.get("callId")))
    if kind == "context-options":
        trace.title = str(event.get("title") or "")
    elif kind == "before" and event.get("class") in _CLASSES and isinstance(event.get("params"), dict):
        call_id = str(event["callId"])
        trace.calls[call_id] = _TraceCall(call_id, event["class"], str(event.get("method")), event["params"])
    elif kind == "after" and call is not None:
        error, result = event.get("error"), event.get("result")
        if isinstance(error, dict):
            call.error = error["error"] if isinstance(error.get("error"), dict) else error
        call.result = result if isinstance(result, dict) else {}
    elif kind == "console" and event.get("messageType") in ("error", "warning"):
        trace.console.append(ConsoleLine(kind=event["messageType"], text=str(event.get("text"))))
    elif kind == "event" and event.get("method") == "pageError":
        trace.console.append(ConsoleLine(kind="pageerror", text=_thrown(event.get("params"))))
    elif kind == "resource-snapshot" and isinstance(event.get("snapshot"), dict):
        trace.answers += _answer(event["snapshot"])
    elif kind == "frame-snapshot" and isinstance(event.get("snapshot"), dict):
        trace.snapshots.take(event["snapshot"])


def _thrown(params: object) -> str:
    error = params.get("error") if isinstance(params, dict) else None
    inner = error.get("error", error) if isinstance(error, dict) else None
    return str(inner.get("message", "")) if isinstance(inner, dict) else str(error or "")


def _answer(snapshot: Json) -> Iterator[NetworkRequest]:
    request, response = snapshot.get("request") or {}, snapshot.get("response") or {}
    status = response.get("status")
    failure = response.get("_failureText")
    if isinstance(status, int) and (status >= 400 or failure):
        yield NetworkRequest(
            method=str(request.get("method", "")),
            url=str(request.get("url", "")),
            status=status if status > 0 else None,
            failure=str(failure) if failure else None,
            resource_type=str(snapshot.get("_resourceType") or ""),
        )


def _stacks(trace: _PlaywrightTrace, text: str) -> None:
    """Return the suite's own frames of every call, outermost first."""
    told = json.loads(text)
    files = [str(each) for each in told.get("files", ())]
    for call_id, frames in told.get("stacks", ()):
        named = str(call_id) if str(call_id) in trace.calls else f"call@{call_id}"
        trace.stacks[named] = [
            Span(
                file=files[at],
                line=max(1, line),
                column=0,
                end_line=max(1, line),
                end_column=0,
                function=str(name),
            )
            for at, line, _, name in reversed(frames)
            if _is_own(files[at])
        ]


def _is_own(file: str) -> bool:
    parts = PurePath(file).parts
    return (
        "site-packages" not in parts
        and "dist-packages" not in parts
        and PurePath(file).name != "periplus_probe.py"
    )
