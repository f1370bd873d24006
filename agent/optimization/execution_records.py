"""Reads the probe's records of an execution as models: outcomes, failures, remembered elements.

The probe runs in a foreign process and writes JSON lines; here they become `FailedTest` and
`ExecutionResult`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from agent.locators.page_fingerprints import PageFingerprints
from agent.locators.page_scan import parse_page_index
from kb_schema.fingerprints import Fingerprint
from kb_schema.locator_expressions import LocatorLink, Span
from kb_schema.suite_optimization import (
    ExecutionRequest,
    ExecutionResult,
    ExecutionSummary,
    FailedTest,
    UsedLocator,
)
from kb_schema.verification import ConsoleLine, FailureEvidence, FailureKind, NetworkRequest

Json = Mapping[str, Any]
"""A line of the probe's file, or a part of one."""
TAIL = 1_500
"""Characters of pytest's last output in a reason."""
_WHAT: dict[str, Literal["action", "outcome", "page"]] = {
    "action": "action",
    "assertion": "outcome",
    "navigation": "page",
    "other": "outcome",
}
_NO_TESTS = 5
_USAGE = 4


@dataclass(frozen=True, slots=True)
class PytestExit:
    """How pytest's process ended."""

    code: int | None
    """None: it had to be ended."""
    timeout_s: float
    output: Path
    """What it said."""


@dataclass(frozen=True, slots=True)
class RememberedElement:
    """What a locator led to in a test."""

    test_id: str
    action: str
    selector: str
    links: tuple[LocatorLink, ...]
    called_at: Span | None
    url: str
    fingerprint: Fingerprint


def build_result(
    request: ExecutionRequest,
    root: Path,
    folder: Path,
    ended: PytestExit,
    evidence: Mapping[str, FailureEvidence],
) -> ExecutionResult:
    """Return the result of an execution from the files of the probe and of pytest. `evidence`: by failure."""
    lines = list(_lines(folder))
    tests = {line["test_id"]: line for line in lines if line["record"] == "test"}
    problem = _problem(lines, tests, ended)
    failed = tuple(list_failed_tests(folder, evidence))
    counts = [each["status"] for each in tests.values()]
    summary = ExecutionSummary(
        passed=counts.count("passed"),
        failed=counts.count("failed"),
        skipped=counts.count("skipped"),
        errors=counts.count("error") + bool(problem),
        duration_ms=sum(each["duration_ms"] for each in tests.values()),
    )
    if problem is not None:
        told = build_unrunnable_result(request, root, problem[1], error_type=problem[0])
        return told.model_copy(update={"summary": summary, "failed_tests": (*told.failed_tests, *failed)})
    return ExecutionResult(
        execution_id=request.execution_id,
        status="failed" if failed else "passed",
        summary=summary,
        failed_tests=failed,
        attempt=request.attempt,
    )


def list_failed_tests(
    folder: Path, evidence: Mapping[str, FailureEvidence] | None = None
) -> Iterator[FailedTest]:
    """Return the tests that failed in an execution, each with its final outcome."""
    tests = {line["test_id"]: line for line in _lines(folder) if line["record"] == "test"}
    for each in tests.values():
        if each["status"] in ("failed", "error"):
            failed = build_failed_test(each["test_id"], each["file"], each["failure"] or {}, each, evidence)
            yield _with_artifacts(failed, each, folder)


def build_unrunnable_result(
    request: ExecutionRequest, root: Path, reason: str, *, error_type: str = "SuiteUnrunnable"
) -> ExecutionResult:
    """Return the result of a suite that could not be run, and why."""
    failed = FailedTest(test_id="", file=str(root), error_type=error_type, message=reason)
    return ExecutionResult(
        execution_id=request.execution_id,
        status="error",
        summary=ExecutionSummary(errors=1),
        failed_tests=(failed,),
        attempt=request.attempt,
    )


def read_remembered_elements(folder: Path) -> Iterator[RememberedElement]:
    """Return what the locators of an execution led to (`run_suite(..., remember=True)`)."""
    for line in _lines(folder):
        if line["record"] != "remembered":
            continue
        said = json.loads(line["look"])
        at = said.pop("at")
        if at < 0:
            continue
        yield RememberedElement(
            test_id=line["test_id"],
            action=line["action"],
            selector=line["selector"],
            links=_links(line),
            called_at=_span(line["called_at"]),
            url=line["url"] or "",
            fingerprint=PageFingerprints(parse_page_index(said)).of(at),
        )


def build_failed_test(
    test_id: str,
    file: str,
    failure: Json,
    beside: Json,
    evidence: Mapping[str, FailureEvidence] | None = None,
) -> FailedTest:
    """Build a failure from the probe's record. `beside`: the file with console lines and responses."""
    selector = failure.get("selector")
    kind = failure.get("kind", "other")
    seen = (evidence or {}).get(failure.get("failure_id", ""))
    return FailedTest(
        test_id=test_id,
        file=file,
        action=failure.get("action", ""),
        kind=kind,
        locator=UsedLocator(links=_links(failure), selector=selector, frame=failure.get("frame_url"))
        if selector is not None and kind in ("action", "assertion")
        else None,
        error_type=failure.get("error_type", ""),
        message=failure.get("message", ""),
        called_at=_span(failure.get("called_at")),
        stack=tuple(span for each in failure.get("stack", ()) if (span := _span(each)) is not None),
        url=failure.get("url", ""),
        evidence=seen or _evidence(failure, beside),
    )


def _evidence(failure: Json, beside: Json) -> FailureEvidence:
    return FailureEvidence(
        failure=FailureKind.TIMEOUT,
        what=_WHAT[failure.get("kind", "other")],
        action=failure.get("action", ""),
        element=failure.get("selector") or "",
        message=failure.get("message", ""),
        expected=failure.get("expected"),
        received=failure.get("received"),
        url=failure.get("url", ""),
        status=failure.get("status"),
        console=tuple(ConsoleLine.model_validate(each) for each in beside.get("console", ())),
        answers=tuple(NetworkRequest.model_validate(each) for each in beside.get("answers", ())),
    )


def _links(said: Json) -> tuple[LocatorLink, ...]:
    return tuple(LocatorLink.model_validate(each) for each in said.get("links", ()))


def _span(said: Json | None) -> Span | None:
    return None if said is None else Span.model_validate(said)


def _with_artifacts(failed: FailedTest, test: Json, folder: Path) -> FailedTest:
    """Add Playwright's trace and screenshot of the attempt."""
    named = dict(test.get("artifacts", ()))
    slug = re.sub(r"[^a-z0-9]+", "-", failed.test_id.lower()).strip("-")
    traces = [each for each in (folder / "artifacts").glob("*/trace*.zip") if each.parent.name == slug]
    trace = named.get("playwright_trace") or (str(traces[-1]) if traces else None)
    return failed.model_copy(update={"trace": trace, "screenshot": named.get("playwright_screenshot")})


def _problem(lines: Sequence[Json], tests: Mapping[str, Json], ended: PytestExit) -> tuple[str, str] | None:
    """Return why no tests were run, if so: a name, and a sentence."""
    sessions = [line for line in lines if line["record"] == "session"]
    said = next((line["problem"] for line in sessions if "problem" in line), None)
    uncollected = [line for line in lines if line["record"] == "collect_error"]
    ran = [each for each in tests.values() if each["status"] != "skipped"]
    if ended.code is None:
        found = (
            "SuiteTimeout",
            f"the suite was ended after {ended.timeout_s:.0f} s{_unfinished(lines, tests)}",
        )
    elif said is not None:
        found = "SuiteUnrunnable", said
    elif uncollected:
        names = ", ".join(line["node"] for line in uncollected)
        found = "CollectionError", f"{names} cannot be collected: {uncollected[0]['message'][-TAIL:]}"
    elif ended.code == _NO_TESTS or (not tests and ended.code == 0):
        found = "NoTests", "pytest found no tests; name files or folders that hold some"
    elif not sessions or ended.code not in (0, 1):
        why = "did not take its arguments" if ended.code == _USAGE else f"broke off with code {ended.code}"
        found = "SuiteCrashed", f"pytest {why}{_unfinished(lines, tests)}: {_tail(ended.output)}"
    elif ran and not sum(line.get("launched", 0) for line in sessions):
        found = (
            "NotPlaywright",
            f"none of the {len(ran)} tests used Playwright: there are no locators to mend",
        )
    else:
        return None
    return found


def _unfinished(lines: Sequence[Json], tests: Mapping[str, Json]) -> str:
    began = [line["test_id"] for line in lines if line["record"] == "began" and line["test_id"] not in tests]
    return f" in {began[-1]}" if began else ""


def _tail(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace").strip()[-TAIL:]


def _lines(folder: Path) -> Iterator[dict[str, Any]]:
    for file in sorted(folder.glob("probe-*.jsonl")):
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                said = json.loads(line)
            except ValueError:
                continue  # a process that was ended in mid-line
            if isinstance(said, dict):
                yield said
