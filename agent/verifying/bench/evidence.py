"""Completes the evidence of a failure from the page, while it still is what it was then.

Only asked for where something failed. What it means is `agent/verifying/root_cause`'s business.
"""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from playwright.async_api import Error as DriverError

from agent.page.changing import wait_for_change
from agent.page.complaints import NO_COMPLAINTS, Complaints, complaints
from agent.page.errors import GateFailed, NavigationFailed, PageError, PageGone, Point
from agent.page.locating import locate, summary
from agent.verifying.bench import likeness
from agent.verifying.bench.results import Undone
from kb_schema.fingerprints import Fingerprint
from kb_schema.selectors import Selector
from kb_schema.verification import Evidence, ExecutedStep, Failure, PlanStep

if TYPE_CHECKING:
    from agent.verifying.bench.bench import Bench

BROWSERS_OWN_ERROR = "chrome-error:"
_POINTS = {
    Point.NOT_FOUND: Failure.TIMEOUT,
    Point.NOT_UNIQUE: Failure.NOT_UNIQUE,
    Point.NOT_VISIBLE: Failure.NOT_VISIBLE,
    Point.DISABLED: Failure.DISABLED,
    Point.UNSTABLE: Failure.UNSTABLE,
    Point.NOT_SCOPED: Failure.NOT_SCOPED,
}


def failure_of(error: Exception) -> Failure:
    """PACTS 7.1's word for an error of the page layer."""
    return _POINTS[error.point] if isinstance(error, GateFailed) else Failure.TIMEOUT


def executed(
    bench: Bench,
    step: PlanStep,
    began: float,
    heal_round: int,
    *,
    checks: tuple[str, ...] = (),
    error: str | None = None,
    screenshot: str | None = None,
) -> ExecutedStep:
    """A step as reports tell it: without secrets, values as the requirement has them."""
    intent = step.intent
    hidden = step.password and intent.value is not None
    return ExecutedStep(
        step_idx=step.step_idx,
        element=bench.redact(intent.element),
        region=intent.region,
        action=intent.action,
        value="\u2022\u2022\u2022"
        if hidden
        else None
        if intent.value is None
        else bench.redact(intent.value),
        selector=None if step.selector is None else bench.redact(summary(step.selector)),
        strategy=step.strategy,
        confidence=step.confidence,
        status="success" if error is None else "failed",
        heal_round=heal_round,
        checks=tuple(bench.redact(each) for each in checks),
        error=None if error is None else bench.redact(error),
        duration_ms=(time.monotonic() - began) * 1000,
        timestamp=datetime.now(UTC),
        screenshot=screenshot,
    )


async def unopened(bench: Bench, error: PageError, began: float) -> Undone:
    """The first page did not come."""
    reached = not isinstance(error, NavigationFailed) or await reachable(bench)
    evidence = await evidence_now(
        bench, failure=Failure.TIMEOUT, what="page", action="navigate", message=str(error), reachable=reached
    )
    told = ExecutedStep(
        step_idx=bench.step_idx,
        element="",
        action="navigate",
        value=bench.redact(bench.started or ""),
        status="failed",
        error=bench.redact(str(error)),
        duration_ms=(time.monotonic() - began) * 1000,
        timestamp=datetime.now(UTC),
        screenshot=await bench.shoot("start"),
    )
    return Undone(Failure.TIMEOUT, evidence, told)


async def status_of(bench: Bench) -> int | None:
    """The HTTP status of the document; None where it is not known."""
    return (await _complaints(bench)).status or None


async def evidence_now(bench: Bench, **known: Any) -> Evidence:
    """What the page says of itself now, completed by what is known already."""
    said = await _complaints(bench)
    url = bench.page.url
    found: dict[str, Any] = {
        "step_idx": bench.step_idx,
        "url": url,
        "status": said.status or None,
        "console": bench.console,
        "answers": bench.answers,
        "refused_fields": tuple(
            f"{each.label}: {each.message}" for each in said.fields if each.marked or (each.value and each.message)
        ),
        "alerts": said.alerts,
        "drifted": bench.drifted,
        "compared": bench.compared,
        "page_changed": await _changed(bench),
        "previous_changed": bench.previous_changed,
        "pending": bench.watch.owed(),
        "browser_alive": _alive(bench),
    }  # fmt: skip
    if url.startswith(BROWSERS_OWN_ERROR) and "reachable" not in known:
        found["reachable"] = await reachable(bench)
    return bench.redacted(Evidence(**{**found, **known}))


async def of_action(bench: Bench, step: PlanStep, error: PageError) -> Evidence:
    """Why an action did not come off; `step` has its values filled in."""
    known: dict[str, Any] = {
        "failure": failure_of(error),
        "what": "page" if isinstance(error, NavigationFailed) else "action",
        "step_idx": step.step_idx,
        "action": step.intent.action,
        "element": step.intent.intent or step.intent.element,
        "message": str(error),
    }
    known["pending"] = bench.watch.owed()
    if isinstance(error, GateFailed):
        bench.cover = error.cover
        known["cover"] = error.cover.described if error.cover else None
        known["moving"] = error.point is Point.UNSTABLE
    if isinstance(error, PageGone | NavigationFailed):
        known["reachable"] = await reachable(bench)
    if step.selector is not None and _alive(bench):
        with suppress(PageError):
            known["matched"] = (await locate(bench.page, step.selector)).count
            known.update(await nearest_known(bench, step.fingerprint, step.selector))
            if known.get("nearest_verdict") != "same":  # else it is known where it is
                known["came_late_s"] = await _came_late(bench, step.selector, error)
    return await evidence_now(bench, **known)


async def nearest_known(bench: Bench, known: Fingerprint | None, selector: Selector | None) -> dict[str, Any]:
    """The most similar element that is there, as evidence tells it."""
    found = await likeness.nearest(bench, known, selector)
    if found is None:
        return {}
    return {"nearest": found.told, "nearest_score": found.score, "nearest_verdict": found.verdict}


async def reachable(bench: Bench) -> bool:
    """Whether the site answers at all: anything it says counts."""
    try:
        answer = await bench.context.request.head(bench.base_url or "/", timeout=bench.policy.reach_s * 1000)
    except DriverError:
        return False
    await answer.dispose()
    return True


async def _came_late(bench: Bench, selector: Selector, error: PageError) -> float | None:
    """Whether what was not there, or not to be used, came after all: so long after it was given up."""
    if not isinstance(error, GateFailed) or error.point not in (Point.NOT_FOUND, Point.NOT_VISIBLE):
        return None
    began = time.monotonic()
    longest = bench.policy.late_pending_s if bench.watch.pending else bench.policy.late_s
    while (left := longest - (time.monotonic() - began)) > 0:
        await bench.watch.arrived(bench.page, left)
        found = await locate(bench.page, selector)
        if found.visible == 1:
            return time.monotonic() - began
        await wait_for_change(bench.page, left)
        if not bench.watch.pending:
            longest = min(longest, time.monotonic() - began + bench.policy.late_s)
    return None


async def _complaints(bench: Bench) -> Complaints:
    with suppress(PageError, DriverError):
        return await complaints(bench.page, {})
    return NO_COMPLAINTS


async def _changed(bench: Bench) -> bool | None:
    with suppress(PageError, DriverError):
        changed = await bench.changed()
        return changed if changed or bench.pressed else None  # what a field holds is no change of the page
    return None


def _alive(bench: Bench) -> bool:
    browser = bench.context.browser
    return (browser is None or browser.is_connected()) and not bench.page.is_closed()
