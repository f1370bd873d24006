"""Reads what an earlier execution left, for `simulate`: the probe's records, else Playwright's own traces.

From data only: the error of the failing call, its stack, the console, the answers, the page as it was then.
Printed text is never parsed. What is looked for on such a page is `live.py`'s.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from agent.optimizing import records
from agent.optimizing.snapshots import Snapshots
from agent.optimizing.trace_selectors import links_of
from kb_schema.optimizing import ExecutionRequest, ExecutionResult, ExecutionSummary, FailedTest, UsedLocator
from kb_schema.playwright_calls import Span
from kb_schema.verification import Answer, ConsoleLine, Evidence, Failure

Json = Mapping[str, Any]
LARGEST = 200_000_000
"""Bytes of events, unpacked."""
MOST = 200
"""Console lines, and answers."""
_CLASSES = frozenset({"Frame", "Page", "ElementHandle", "Locator"})
_NAVIGATIONS = frozenset({"goto", "reload", "go_back", "go_forward", "wait_for_url", "wait_for_load_state"})
_NAMES = {"wait_for_selector": "wait_for", "wait_for_load_state_event": "wait_for_load_state"}


@dataclass(frozen=True, slots=True)
class Moment:
    """A page as it was when a call failed."""

    html: str
    url: str


@dataclass(slots=True)
class _Call:
    call_id: str
    owner: str
    method: str
    params: Json
    error: Json | None = None
    result: Json = field(default_factory=dict)


@dataclass(slots=True)
class _Trace:
    title: str = ""
    calls: dict[str, _Call] = field(default_factory=dict)
    stacks: dict[str, list[Span]] = field(default_factory=dict)
    console: list[ConsoleLine] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    snapshots: Snapshots = field(default_factory=Snapshots)

    @property
    def failed(self) -> _Call | None:
        """The last call that failed: what came before it did not end the test."""
        return next((each for each in reversed(self.calls.values()) if each.error is not None), None)


def read_results(folder: Path) -> list[FailedTest]:
    """The failed tests of an earlier execution: of our own where its records are there, else one for every
    trace of Playwright's in which a call failed.
    """
    own = sorted(
        {each.parent for each in folder.rglob("probe-*.jsonl")}, key=lambda each: each.stat().st_mtime
    )
    if own:
        return list(records.failed_tests(own[-1]))
    found = (from_trace(file) for file in sorted(folder.rglob("*.zip")))
    return [each for each in found if each is not None]


async def replay(
    request: ExecutionRequest,
    folder: Path,
    *,
    on_failure: Callable[[FailedTest], Awaitable[object]] | None = None,
) -> ExecutionResult:
    """An earlier execution's result, as `run_suite` would give it; nothing is run."""
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


def from_trace(file: Path) -> FailedTest | None:
    """The failure in a trace; None where no call failed in it, or it is no trace."""
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
            "test_id": trace.title or file.parent.name, "file": stack[0].file if stack else "", "action": action,
            "kind": kind, "error_type": str(error.get("name", "")), "message": message, "stack": tuple(stack),
            "called_at": stack[-1] if stack else None, "url": url, "trace": str(file),
            "locator": UsedLocator(links=links_of(selector), selector=selector) if isinstance(selector, str) else None,
            "evidence": _evidence(trace, call, action, kind, message, url),
        }
    )  # fmt: skip


def moment_of_failure(file: Path) -> Moment | None:
    """The page as it was when the failing call of a trace was given up."""
    trace = _read(file)
    call = trace.failed if trace is not None else None
    if trace is None or call is None:
        return None
    for phase in ("after", "action", "before"):
        html = trace.snapshots.html(call.call_id, phase)
        if html is not None:
            return Moment(html, trace.snapshots.url(call.call_id))
    return None


def _evidence(trace: _Trace, call: _Call, action: str, kind: str, message: str, url: str) -> Evidence:
    expected = [
        each.get("string") for each in call.params.get("expectedText") or () if isinstance(each, dict)
    ]
    received = call.result.get("received")
    return Evidence(
        failure=Failure.TIMEOUT,
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


def _action(call: _Call) -> str:
    if call.method == "expect":
        name = str(call.params.get("expression", "")).replace(".", "_")
        return f"expect.{'not_' if call.params.get('isNot') else ''}{name}"
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", call.method).lower()
    return _NAMES.get(name, name)


# -- the file ----------------------------------------------------------------------------------------


def _read(file: Path) -> _Trace | None:
    try:
        with zipfile.ZipFile(file) as packed:
            names = [each for each in packed.namelist() if "/" not in each]
            if sum(packed.getinfo(each).file_size for each in names) > LARGEST:
                return None
            trace = _Trace()
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


def _event(trace: _Trace, event: Json) -> None:
    kind = event.get("type")
    call = trace.calls.get(str(event.get("callId")))
    if kind == "context-options":
        trace.title = str(event.get("title") or "")
    elif kind == "before" and event.get("class") in _CLASSES and isinstance(event.get("params"), dict):
        call_id = str(event["callId"])
        trace.calls[call_id] = _Call(call_id, event["class"], str(event.get("method")), event["params"])
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


def _answer(snapshot: Json) -> Iterator[Answer]:
    request, response = snapshot.get("request") or {}, snapshot.get("response") or {}
    status = response.get("status")
    failure = response.get("_failureText")
    if isinstance(status, int) and (status >= 400 or failure):
        yield Answer(
            method=str(request.get("method", "")),
            url=str(request.get("url", "")),
            status=status if status > 0 else None,
            failure=str(failure) if failure else None,
            resource_type=str(snapshot.get("_resourceType") or ""),
        )


def _stacks(trace: _Trace, text: str) -> None:
    """The suite's own frames of every call, outermost first."""
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
