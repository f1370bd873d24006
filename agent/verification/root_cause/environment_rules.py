"""Rules for faults of the environment (no answer, no browser), of timing (late, moving), and for elements
that are covered, hidden or disabled.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent.verification.root_cause.rule_findings import (
    CERTAIN,
    GUESS,
    KIND,
    LIKELY,
    SEEN,
    STRONG,
    TOLD,
    RuleFinding,
    register_rule,
)
from agent.verification.root_cause.step_failure_case import (
    StepFailureCase,
    path_of,
    quote_excerpt,
    request_of,
)
from kb_schema.verification import FailureKind

_NO_CONNECTION = re.compile(
    r"\b(net::ERR_(?!ABORTED|BLOCKED)[A-Z_]+|NS_ERROR_[A-Z_]+|ECONNREFUSED|ECONNRESET)\b"
)
_NO_BROWSER = re.compile(
    r"(browser|target page|page, context or browser|context)\b.{0,40}\bhas been closed|target crashed|page crashed"
    r"|browser (has )?disconnected",
    re.IGNORECASE,
)
_COVERED = re.compile(r"(<[^<>]{1,200}>|\S.{0,120}) (?:from .{1,120} )?intercepts pointer events")

# -- environment --------------------------------------------------------------------------------------


def _fault(confidence: float, message: str, evidence: tuple[str, ...], advice: str) -> RuleFinding:
    return RuleFinding("env_fault", confidence, message, evidence, advice)


@register_rule
def _no_browser(case: StepFailureCase) -> Iterator[RuleFinding]:
    match = _NO_BROWSER.search(case.evidence.message)
    if not case.evidence.browser_alive or match:
        yield _fault(
            CERTAIN if not case.evidence.browser_alive else SEEN,
            "the browser went away",
            ("the browser, or its page, is gone",),
            f"Run it again; if the browser is lost at {case.step} again, look at the machine's memory and at the "
            "browser's log.",
        )


@register_rule
def _no_answer(case: StepFailureCase) -> Iterator[RuleFinding]:
    if not case.evidence.reachable:
        where = case.evidence.url or "the site"
        yield _fault(
            CERTAIN,
            f"{where} does not answer",
            (f"{where} could not be reached at all",),
            f"Start the site, or check its address and the network: {where} does not answer.",
        )


@register_rule
def _connection_failed(case: StepFailureCase) -> Iterator[RuleFinding]:
    for answer in case.unanswered:
        own, near = case.ours(answer.url), case.near(answer.step_idx)
        if case.weighty(answer) and near:
            sure = SEEN + 0.02
        elif own and near:
            sure = TOLD
        else:
            sure = GUESS
        yield _fault(
            sure,
            f"{request_of(answer)} got no answer",
            (f"{request_of(answer)} got no answer: {answer.failure}",),
            f"Check that the server stays up while {request_of(answer)} is handled, and the network between; "
            "then run it again.",
        )


@register_rule
def _error_of_the_connection(case: StepFailureCase) -> Iterator[RuleFinding]:
    found = _NO_CONNECTION.search(case.evidence.message)
    if found or case.evidence.error_page or case.evidence.url.startswith("chrome-error:"):
        what = found[0] if found else "the browser shows its own error page"
        yield _fault(
            SEEN,
            "the connection to the site failed",
            (f"the browser says {what}" if found else what,),
            f"Check that the site is up and reachable from this machine at {case.step}: {what}. Then run it again.",
        )


@register_rule
def _gateway(case: StepFailureCase) -> Iterator[RuleFinding]:
    for answer in case.gateways:
        near = case.ours(answer.url) and case.near(answer.step_idx)
        yield _fault(
            (SEEN if case.weighty(answer) else TOLD) if near else GUESS,
            f"{request_of(answer)} did not reach the application",
            (f"{request_of(answer)} was answered with {answer.status} by what stands before it",),
            f"Check that the application behind {request_of(answer)} runs: {answer.status} means it did not answer.",
        )
    if case.evidence.status in (502, 503, 504):
        yield _fault(
            SEEN,
            "the application behind the server does not answer",
            (f"the page came with HTTP status {case.evidence.status}",),
            f"Check that the application runs: {path_of(case.evidence.url)} came with {case.evidence.status}.",
        )


@register_rule
def _too_many(case: StepFailureCase) -> Iterator[RuleFinding]:
    limited = [each for each in case.evidence.answers if each.status == 429 and case.ours(each.url)]
    for answer in limited[:1]:
        yield _fault(
            LIKELY,
            "the site refuses so many requests",
            (f"{request_of(answer)} was answered with 429",),
            f"Run with fewer workers, or raise the limit of the site under test for {request_of(answer)}.",
        )


@register_rule
def _page_never_came(case: StepFailureCase) -> Iterator[RuleFinding]:
    if case.evidence.what == "page" and case.failure is FailureKind.TIMEOUT:
        yield _fault(
            KIND,
            f"{case.evidence.url or 'the page'} did not open in time",
            (f"{case.evidence.url or 'the page'} did not open in time",),
            f"Open {case.evidence.url or 'the page'} by hand from this machine, and see how long it takes.",
        )


# -- timing -------------------------------------------------------------------------------------------


MORE_TIME = "in a requirement: `Timeout` of the step, `--timeout`, or PERIPLUS_PLAYWRIGHT_TIMEOUT"
"""Where a step gets more time."""


def _timing(confidence: float, message: str, evidence: tuple[str, ...], advice: str) -> RuleFinding:
    return RuleFinding("timing_instability", confidence, message, evidence, advice)


@register_rule
def _came_late(case: StepFailureCase) -> Iterator[RuleFinding]:
    if case.evidence.came_late_s is None:
        return
    what = case.expectation if case.is_outcome else case.element
    late = f"{case.evidence.came_late_s:.1f} s"
    yield _timing(
        SEEN + 0.02,
        f"{what} came, but late",
        (f"{what} came {late} after it was given up",),
        f"Give {case.step} {late} more ({MORE_TIME}), or find out what makes {what} come so late.",
    )


@register_rule
def _still_waiting(case: StepFailureCase) -> Iterator[RuleFinding]:
    pressed_in_vain = case.is_outcome and case.evidence.page_changed is False
    for answer in case.waiting[:3]:
        yield _timing(
            SEEN + 0.02 if case.weighty(answer) else LIKELY if pressed_in_vain else TOLD,
            f"{request_of(answer)} was not answered in time",
            (f"{request_of(answer)} still had no answer when {case.step} was given up",),
            f"Give {case.step} more time ({MORE_TIME}), or find out why {request_of(answer)} takes so long.",
        )


@register_rule
def _moving(case: StepFailureCase) -> Iterator[RuleFinding]:
    unstable = case.failure is FailureKind.UNSTABLE
    if not (unstable or case.evidence.moving):
        return
    seen = ("it was seen moving",) if case.evidence.moving else ()
    yield _timing(
        SEEN if unstable and case.evidence.moving else STRONG if unstable else LIKELY,
        f"{case.element} never came to rest",
        (f"{case.element}, or the page around it, did not come to rest in time", *seen),
        f"Wait for the end of the animation before {case.step}, or switch animations off in the site under test "
        "(`prefers-reduced-motion`).",
    )


@register_rule
def _in_time_perhaps(case: StepFailureCase) -> Iterator[RuleFinding]:
    if case.failure is FailureKind.TIMEOUT and not case.nothing_similar:
        there = bool(case.evidence.matched) and not case.is_outcome
        yield _timing(
            KIND if there else GUESS,
            f"{case.step} took longer than allowed",
            (f"{case.step} did not finish in time", *(("its element is there",) if there else ())),
            f"Run {case.step} once with more time ({MORE_TIME}) to see whether it is only late.",
        )


# -- seen and usable ----------------------------------------------------------------------------------


@register_rule
def _covered(case: StepFailureCase) -> Iterator[RuleFinding]:
    match = _COVERED.search(case.evidence.message)
    cover = case.evidence.cover or (match[1] if match else None)
    if cover is None or case.is_outcome:
        return
    yield RuleFinding(
        "visibility_issue",
        SEEN,
        f"{quote_excerpt(cover)} lies over {case.element}",
        (f"{quote_excerpt(cover)} lies over {case.element}",),
        f"Close {quote_excerpt(cover)} in a step before {case.step}; if nothing closes it, it is the page that is wrong.",
    )


@register_rule
def _hidden(case: StepFailureCase) -> Iterator[RuleFinding]:
    hidden = case.failure is FailureKind.NOT_VISIBLE
    if not hidden:
        return
    yield RuleFinding(
        "visibility_issue",
        LIKELY if case.is_outcome else STRONG,
        f"{case.element} is there and cannot be seen",
        (f"{case.element} is on the page and cannot be seen", *_why(case)),
        f"Add the step that shows {case.element} before {case.step}: open its menu, tab or section.",
    )


@register_rule
def _disabled(case: StepFailureCase) -> Iterator[RuleFinding]:
    if case.failure is not FailureKind.DISABLED:
        return
    yield RuleFinding(
        "enablement_issue",
        SEEN,
        f"{case.element} is disabled",
        (f"{case.element} is there and disabled", *_why(case)),
        f"Find out what {case.element} waits for: a field still to be filled, a right, or a step before {case.step}.",
    )


def _why(case: StepFailureCase) -> tuple[str, ...]:
    return (f"the gate says {quote_excerpt(case.evidence.message)}",) if case.evidence.message else ()
