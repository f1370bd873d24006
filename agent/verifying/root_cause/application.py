"""The application is at fault: it answered 500, a script of it failed, it says the wrong thing or nothing,
an element of it is gone, a click on it does nothing. Nothing of this may be healed.
"""

from __future__ import annotations

from collections.abc import Iterator

from agent.verifying.root_cause.case import Case, path_of, quoted, request_of
from agent.verifying.root_cause.findings import (
    CERTAIN,
    GUESS,
    KIND,
    LIKELY,
    SEEN,
    STRONG,
    TOLD,
    Finding,
    rule,
)
from kb_schema.verification import Answer, ConsoleLine, Failure


def _defect(confidence: float, message: str, evidence: tuple[str, ...], recommendation: str) -> Finding:
    return Finding("app_defect", confidence, message, evidence, recommendation)


@rule
def _server_error(case: Case) -> Iterator[Finding]:
    for answer in case.broken:
        yield _defect(
            _weight(case, answer),
            f"the server failed at {request_of(answer)}",
            (f"{request_of(answer)} was answered with {answer.status}{_under(case, answer.step_idx)}",),
            f"Look into the server's log for {request_of(answer)}: it answered {answer.status} at {case.step}. "
            "The test is right to fail.",
        )


def _weight(case: Case, answer: Answer) -> float:
    if not case.ours(answer.url):
        return GUESS
    if not case.near(answer.step_idx):
        return KIND
    if case.weighty(answer):
        return CERTAIN
    return LIKELY if answer.resource_type in ("script", "other") else SEEN


def _under(case: Case, step_idx: int | None) -> str:
    if step_idx is None or step_idx == case.told.step_idx:
        return ""
    return f" (at step {step_idx + 1})"


@rule
def _error_page(case: Case) -> Iterator[Finding]:
    status, here = case.told.status or 0, path_of(case.told.url) if case.told.url else "the page"
    if status in (500, 501) or 505 <= status < 600:
        yield _defect(
            CERTAIN,
            f"{here} is an error page",
            (f"the page {here} came with HTTP status {status}",),
            f"Look into the server's log for {here}: it answered {status} at {case.step}. The test is right to fail.",
        )


@rule
def _page_not_found(case: Case) -> Iterator[Finding]:
    gone = [path_of(each.url) for each in case.not_found]
    if case.told.status in (404, 410) and case.told.url:
        gone.append(path_of(case.told.url))
    opened = case.told.what == "page"
    for here in dict.fromkeys(gone):
        sure = STRONG if case.held else KIND if opened else TOLD
        yield _defect(
            sure,
            f"{here} is not there",
            (f"{here} was answered with “not found”", *_was_green(case)),
            f"Find out why {here} is gone; if it moved on purpose, change the address where the requirement names it.",
        )


@rule
def _script_error(case: Case) -> Iterator[Finding]:
    """An error nobody caught. On its own it is what failed; beside another failure it may be old noise."""
    alone = case.failure is Failure.NONE
    for line in case.script_errors:
        yield _thrown(case, line, SEEN if alone or case.held else LIKELY)
    for line in case.foreign_errors:
        yield _thrown(case, line, GUESS)


def _thrown(case: Case, line: ConsoleLine, confidence: float) -> Finding:
    where = f" on {path_of(line.url)}" if line.url else ""
    return _defect(
        confidence,
        "a script of the page failed",
        (f"nobody caught {quoted(line.text)}{where}{_under(case, line.step_idx)}",),
        f"Fix the script that throws {quoted(line.text)}{where}; it was thrown at {case.step}.",
    )


@rule
def _said_on_the_console(case: Case) -> Iterator[Finding]:
    asked = case.told.outcome is not None and case.told.outcome.kind == "no_console_errors"
    for line in case.said_errors:
        yield _defect(
            STRONG if asked and case.is_outcome else GUESS,
            "the page writes an error to its console",
            (f"the console says {quoted(line.text)}{_under(case, line.step_idx)}",),
            f"Find out why the page writes {quoted(line.text)} to its console at {case.step}.",
        )


@rule
def _no_longer_holds(case: Case) -> Iterator[Finding]:
    """What this very test saw to hold before."""
    if not case.is_outcome or not case.held or case.late:
        return
    if case.missing and case.told.nearest_verdict in ("same", "ambiguous"):
        return
    if case.only_a_script_failed:
        return
    evidence = [f"{case.expectation} held before on this site and does not any more"]
    if case.wrong_value:
        evidence.append(
            f"expected was {quoted(case.told.expected or '')}, the page says {quoted(case.told.received or '')}"
        )
        message = (
            f"the page says {quoted(case.told.received or '')} instead of {quoted(case.told.expected or '')}"
        )
    else:
        message = f"{case.expectation} does not hold any more"
    yield _defect(
        SEEN if case.wrong_value else STRONG,
        message,
        tuple(evidence),
        f"Check {case.step} by hand: {case.expectation} should come of it, as it did before. If the new behaviour is "
        "wanted, change the requirement.",
    )


@rule
def _says_another_where_it_was(case: Case) -> Iterator[Finding]:
    """A wrong value in a redesigned page: what stands in its place says something else."""
    if case.held and case.says_another:
        nearest, value = (
            quoted(case.told.nearest or ""),
            quoted(case.told.outcome.value or "") if case.told.outcome else "",
        )
        yield _defect(
            LIKELY,
            f"what stands for {case.element} is {nearest} instead of {value}",
            (f"{case.element} said {value} before", f"what is like it now is {nearest}{_score(case)}"),
            f"Check {case.step} by hand: {case.element} should say {value}, as it did before.",
        )


@rule
def _wrong_value_of_an_unknown_past(case: Case) -> Iterator[Finding]:
    if case.is_outcome and case.told.held_before is None and not case.renamed:
        yield _defect(
            KIND - 0.05,
            f"{case.expectation} does not hold",
            (f"{case.expectation} does not hold; whether it ever did is not known",),
            f"Check {case.step} by hand: either the page is wrong, or {case.expectation} is.",
        )


@rule
def _dead_click(case: Case) -> Iterator[Finding]:
    if not case.is_outcome or case.told.page_changed is not False or not _presses(case.told.action):
        return
    sure = SEEN if case.held else GUESS if case.refusals else KIND if case.never_held else TOLD
    yield _defect(
        sure,
        f"{quoted(case.told.element)} does nothing",
        (f"{case.told.action} on {quoted(case.told.element)} changed nothing on the page", *_was_green(case)),
        f"Find out why {quoted(case.told.element)} does nothing: nothing on the page changed after {case.step}.",
    )


@rule
def _dead_click_before(case: Case) -> Iterator[Finding]:
    """A button that opens nothing is noticed by the step that needs what it opens."""
    hidden = case.failure in (Failure.NOT_VISIBLE, Failure.TIMEOUT) and not case.is_outcome
    if case.told.previous_changed is not False or case.told.cover or not hidden or case.renamed:
        return
    yield _defect(
        SEEN if case.held else KIND,
        f"the step before {case.step} did nothing",
        (
            f"step {case.told.step_idx} changed nothing on the page",
            f"{case.element} cannot be seen after it",
            *_was_green(case),
        ),
        f"Find out why step {case.told.step_idx} does nothing: {case.element} should come of it.",
    )


@rule
def _gone(case: Case) -> Iterator[Finding]:
    """Nothing similar is there, although other elements of the test are found where they were."""
    if not case.nothing_similar or case.late or case.owed:
        return
    told = case.told
    stayed = told.compared - told.drifted
    if told.compared and not told.drifted:
        sure, others = (
            (SEEN, LIKELY, TOLD)[_past(case)],
            f"the {stayed} other elements looked for are where they were",
        )
    elif told.compared:
        sure = (LIKELY, KIND, KIND)[_past(case)]
        others = (
            f"of {told.compared} other elements {told.drifted} are named anew, and this one is not among them"
        )
    else:
        sure, others = (TOLD, KIND, GUESS)[_past(case)], "no other element was looked for"
    nearest = (
        f"the most similar element there, {quoted(told.nearest)}, is another one{_score(case)}"
        if told.nearest
        else "nothing similar is on the page"
    )
    yield _defect(
        sure,
        f"{case.element} is gone",
        (f"{case.element} is not on the page", nearest, others, *_was_green(case)),
        f"Find out why {case.element} is not on {path_of(told.url) if told.url else 'the page'} any more. If it was "
        "taken away on purpose, change the requirement.",
    )


def _past(case: Case) -> int:
    """0: it was green before; 1: not known; 2: never."""
    return 0 if case.held else 2 if case.never_held else 1


def _score(case: Case) -> str:
    return "" if case.told.nearest_score is None else f" (likeness {case.told.nearest_score:.2f})"


def _was_green(case: Case) -> tuple[str, ...]:
    return ("this test passed before on this site",) if case.held else ()


def _presses(action: str) -> bool:
    return action in ("click", "double_click", "press", "press_key", "submit", "right_click")
