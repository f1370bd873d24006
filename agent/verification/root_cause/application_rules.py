"""Rules for defects of the application: HTTP 500, a failed script, wrong or missing content, a missing
element, a click without effect. None of these may be healed.
"""

from __future__ import annotations

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
from kb_schema.verification import ConsoleLine, FailureKind, NetworkRequest

_MOST_NEW = 3


def _defect(confidence: float, message: str, evidence: tuple[str, ...], recommendation: str) -> RuleFinding:
    return RuleFinding("app_defect", confidence, message, evidence, recommendation)


@register_rule
def _page_without_end(case: StepFailureCase) -> Iterator[RuleFinding]:
    if case.evidence.page_ended:
        yield _defect(
            STRONG,
            f"the page stopped answering at {case.step}",
            (case.evidence.page_ended,),
            f"Look for a script of the page that does not end at {case.step}: a loop, or dialogs that open again.",
        )


@register_rule
def _server_error(case: StepFailureCase) -> Iterator[RuleFinding]:
    for answer in case.broken:
        yield _defect(
            _weight(case, answer),
            f"the server failed at {request_of(answer)}",
            (f"{request_of(answer)} was answered with {answer.status}{_under(case, answer.step_idx)}",),
            f"Look into the server's log for {request_of(answer)}: it answered {answer.status} at {case.step}. "
            "The test is right to fail.",
        )


def _weight(case: StepFailureCase, answer: NetworkRequest) -> float:
    if not case.ours(answer.url):
        return GUESS
    if not case.near(answer.step_idx):
        return KIND
    if case.weighty(answer):
        return CERTAIN
    return LIKELY if answer.resource_type in ("script", "other") else SEEN


def _under(case: StepFailureCase, step_idx: int | None) -> str:
    if step_idx is None or step_idx == case.evidence.step_idx:
        return ""
    return f" (at step {step_idx + 1})"


@register_rule
def _error_page(case: StepFailureCase) -> Iterator[RuleFinding]:
    status, here = case.evidence.status or 0, path_of(case.evidence.url) if case.evidence.url else "the page"
    if status in (500, 501) or 505 <= status < 600:
        yield _defect(
            CERTAIN,
            f"{here} is an error page",
            (f"the page {here} came with HTTP status {status}",),
            f"Look into the server's log for {here}: it answered {status} at {case.step}. The test is right to fail.",
        )


@register_rule
def _page_not_found(case: StepFailureCase) -> Iterator[RuleFinding]:
    sent = [each for each in case.not_found if each.method.upper() not in ("GET", "HEAD", "")]
    for answer in sent:
        asked = request_of(answer)
        yield _defect(
            SEEN if case.held else TOLD,
            f"the application has nothing that answers {asked}",
            (f"{asked} was answered with {answer.status}", *_was_green(case)),
            f"Find out why {case.step} sends to {path_of(answer.url)}: it answered {answer.status}.",
        )
    gone = [path_of(each.url) for each in case.not_found if each not in sent]
    if case.evidence.status in (404, 410) and case.evidence.url and not sent:
        gone.append(path_of(case.evidence.url))
    opened = case.evidence.what == "page"
    for here in dict.fromkeys(gone):
        sure = STRONG if case.held else KIND if opened else TOLD
        yield _defect(
            sure,
            f"{here} is not there",
            (f"{here} was answered with “not found”", *_was_green(case)),
            f"Find out why {here} is gone; if it moved on purpose, change the address where the requirement names it.",
        )


@register_rule
def _script_error(case: StepFailureCase) -> Iterator[RuleFinding]:
    """An uncaught error. It is the failure if nothing else failed; beside another failure it may be old
    noise.
    """
    alone = case.failure is FailureKind.NONE
    for line in case.script_errors:
        yield _thrown(case, line, SEEN if alone or case.held else LIKELY)
    for line in case.foreign_errors:
        yield _thrown(case, line, GUESS)


def _thrown(case: StepFailureCase, line: ConsoleLine, confidence: float) -> RuleFinding:
    where = f" on {path_of(line.url)}" if line.url else ""
    return _defect(
        confidence,
        "a script of the page failed",
        (f"uncaught error {quote_excerpt(line.text)}{where}{_under(case, line.step_idx)}",),
        f"Fix the script that throws {quote_excerpt(line.text)}{where}; it was thrown at {case.step}.",
    )


@register_rule
def _said_on_the_console(case: StepFailureCase) -> Iterator[RuleFinding]:
    expects_none = case.evidence.outcome is not None and case.evidence.outcome.kind == "no_console_errors"
    for line in case.said_errors:
        yield _defect(
            STRONG if expects_none and case.is_outcome else GUESS,
            "the page writes an error to its console",
            (f"the console says {quote_excerpt(line.text)}{_under(case, line.step_idx)}",),
            f"Find out why the page writes {quote_excerpt(line.text)} to its console at {case.step}.",
        )


@register_rule
def _no_longer_holds(case: StepFailureCase) -> Iterator[RuleFinding]:
    """An outcome that held before in this test."""
    if not case.is_outcome or not case.held or case.late:
        return
    if case.missing and case.evidence.nearest_verdict in ("same", "offered", "ambiguous"):
        return
    if case.only_a_script_failed:
        return
    evidence = [f"{case.expectation} was met before on this site and is not met now", *_list_new_texts(case)]
    message = f"the page does not meet {case.expectation} any more"
    if case.wrong_value:
        received, expected = case.evidence.received or "", case.evidence.expected or ""
        message = f"the page says {quote_excerpt(received)} instead of {quote_excerpt(expected)}"
        if case.evidence.difference is None:  # which says the same
            evidence.append(
                f"expected was {quote_excerpt(expected)}, the page says {quote_excerpt(received)}"
            )
    yield _defect(
        KIND if case.other_words else SEEN if case.wrong_value else STRONG,
        message,
        tuple(evidence),
        f"Check {case.step} by hand: {case.expectation} should come of it, as it did before. If the new behaviour is "
        "wanted, change the requirement.",
    )


def _list_new_texts(case: StepFailureCase) -> tuple[str, ...]:
    """Return what the page says since the step, as a sentence."""
    new = case.evidence.appeared[:_MOST_NEW]
    return (f"new on the page since then: {', '.join(map(quote_excerpt, new))}",) if new else ()


@register_rule
def _says_another_where_it_was(case: StepFailureCase) -> Iterator[RuleFinding]:
    """A wrong value on a redesigned page: the element in its place has another text."""
    if case.held and case.says_another:
        nearest, value = (
            quote_excerpt(case.evidence.nearest or ""),
            quote_excerpt(case.evidence.outcome.value or "") if case.evidence.outcome else "",
        )
        yield _defect(
            LIKELY,
            f"what stands for {case.element} is {nearest} instead of {value}",
            (f"{case.element} said {value} before", f"what is like it now is {nearest}{_score(case)}"),
            f"Check {case.step} by hand: {case.element} should say {value}, as it did before.",
        )


@register_rule
def _wrong_value_of_an_unknown_past(case: StepFailureCase) -> Iterator[RuleFinding]:
    if case.is_outcome and case.evidence.held_before is None and not case.renamed:
        yield _defect(
            KIND - 0.05,
            f"the page does not meet {case.expectation}",
            (f"{case.expectation} is not met; no earlier run is known",),
            f"Check {case.step} by hand: either the page is wrong, or {case.expectation} is.",
        )


@register_rule
def _dead_click(case: StepFailureCase) -> Iterator[RuleFinding]:
    if not case.is_outcome or case.evidence.page_changed is not False or not _presses(case.evidence.action):
        return
    if case.waiting:  # it sent a request whose response may still change the page
        return
    sure = SEEN if case.held else GUESS if case.refusals else KIND if case.never_held else TOLD
    yield _defect(
        sure,
        f"{quote_excerpt(case.evidence.element)} does nothing",
        (
            f"{case.evidence.action} on {quote_excerpt(case.evidence.element)} changed nothing on the page",
            *_was_green(case),
        ),
        f"Find out why {quote_excerpt(case.evidence.element)} does nothing: nothing on the page changed after {case.step}.",
    )


@register_rule
def _dead_click_before(case: StepFailureCase) -> Iterator[RuleFinding]:
    """A button without effect is noticed by the step that needs what it opens."""
    hidden = case.failure in (FailureKind.NOT_VISIBLE, FailureKind.TIMEOUT) and not case.is_outcome
    if case.evidence.previous_changed is not False or case.evidence.cover or not hidden or case.renamed:
        return
    yield _defect(
        SEEN if case.held else KIND,
        f"the step before {case.step} did nothing",
        (
            f"step {case.evidence.step_idx} changed nothing on the page",
            f"{case.element} cannot be seen after it",
            *_was_green(case),
        ),
        f"Find out why step {case.evidence.step_idx} does nothing: {case.element} should come of it.",
    )


@register_rule
def _gone(case: StepFailureCase) -> Iterator[RuleFinding]:
    """Nothing similar is on the page, although other elements of the test are where they were."""
    if not case.nothing_similar or case.late or case.owed:
        return
    facts = case.evidence
    stayed = facts.compared - facts.drifted
    if facts.compared and not facts.drifted:
        sure, others = (
            (SEEN, LIKELY, TOLD)[_past(case)],
            f"the other {stayed} elements of the test are where they were",
        )
    elif facts.compared:
        sure = (LIKELY, KIND, KIND)[_past(case)]
        others = (
            f"{facts.drifted} of {facts.compared} other elements were renamed, and this one is not among them"
        )
    else:
        sure, others = (TOLD, KIND, GUESS)[_past(case)], "no other element of the test is known"
    nearest = (
        f"the most similar element there, {quote_excerpt(facts.nearest)}, is another one{_score(case)}"
        if facts.nearest
        else "nothing similar is on the page"
    )
    yield _defect(
        sure,
        f"{case.element} is gone",
        (f"{case.element} is not on the page", nearest, others, *_was_green(case)),
        f"Find out why {case.element} is no longer on the page{f' {path_of(facts.url)}' if facts.url else ''}. If it was "
        "taken away on purpose, change the requirement.",
    )


def _past(case: StepFailureCase) -> int:
    """Return 0: it passed before; 1: not known; 2: never."""
    return 0 if case.held else 2 if case.never_held else 1


def _score(case: StepFailureCase) -> str:
    return "" if case.evidence.nearest_score is None else f" (similarity {case.evidence.nearest_score:.2f})"


def _was_green(case: StepFailureCase) -> tuple[str, ...]:
    return ("this test passed before on this site",) if case.held else ()


def _presses(action: str) -> bool:
    return action in ("click", "double_click", "press", "press_key", "submit", "right_click", "drag")
