"""The test is at fault: the page was redesigned and the test still uses the old names, it expects what was
never so, or it fills in what the page does not accept.
"""

from __future__ import annotations

from collections.abc import Iterator

from agent.verifying.root_cause.case import Case, path_of, quoted, request_of
from agent.verifying.root_cause.findings import (
    GUESS,
    KIND,
    LIKELY,
    SEEN,
    STRONG,
    TOLD,
    Finding,
    rule,
)
from kb_schema.verification import Failure

# -- drift: the same element under another name ---------------------------------------------------


def _drift(case: Case, confidence: float, message: str, evidence: tuple[str, ...], advice: str) -> Finding:
    others = (
        (f"{case.told.drifted} of {case.told.compared} other elements were found under another selector",)
        if case.told.drifted
        else ()
    )
    return Finding("selector_drift", confidence, message, (*evidence, *others), advice)


@rule
def _renamed(case: Case) -> Iterator[Finding]:
    if not case.renamed or (case.is_outcome and case.wrong_value):
        return
    nearest = quoted(case.told.nearest or "another element")
    if case.told.heal_rounds:
        yield _drift(
            case,
            LIKELY,
            f"{case.element} is now {nearest}, which could not be used",
            (
                f"the selector of {case.element} leads {_leads(case)}",
                f"{nearest} is the same element{_score(case)}",
            ),
            f"Look why {nearest} cannot be used at {case.step}: healing found it and did not get through to it.",
        )
        return
    yield _drift(
        case,
        SEEN if case.told.drifted else STRONG,
        f"{case.element} is now found as {nearest}",
        (
            f"the selector of {case.element} leads {_leads(case)}",
            f"{nearest} is the same element{_score(case)}",
        ),
        f"Use {nearest} for {case.element}: let healing do it (`PERIPLUS_MAX_HEAL_ROUNDS` above 0), or find it anew with `--rediscover`.",
    )


@rule
def _perhaps_renamed(case: Case) -> Iterator[Finding]:
    if not case.about_element or case.told.nearest_verdict != "ambiguous":
        return
    nearest = quoted(case.told.nearest or "another element")
    yield _drift(
        case,
        TOLD if case.told.drifted else KIND + 0.1,
        f"{case.element} may now be {nearest}",
        (f"the selector of {case.element} leads {_leads(case)}", f"{nearest} may be it{_score(case)}"),
        f"Look whether {nearest} is {case.element}, and say so in the requirement with its name or region.",
    )


@rule
def _lost(case: Case) -> Iterator[Finding]:
    """Not there, and nothing is known of what is."""
    if not case.missing:
        return
    looked = case.nothing_similar
    yield _drift(
        case,
        (KIND if case.told.drifted else 0.45) if looked else KIND,
        f"{case.element} is not found",
        (f"the selector of {case.element} leads {_leads(case)}",),
        f"Look at {_here(case)} for {case.element}, and name it as the page does now.",
    )


@rule
def _several(case: Case) -> Iterator[Finding]:
    many = case.failure is Failure.NOT_UNIQUE or (
        (case.told.matched or 0) > 1 and case.about_element and case.failure is not Failure.NONE
    )
    if not many:
        return
    count = f"{case.told.matched} elements" if (case.told.matched or 0) > 1 else "several elements"
    yield _drift(
        case,
        LIKELY if case.failure is Failure.NOT_UNIQUE else KIND,
        f"{count} fit {case.element}",
        (f"the selector of {case.element} leads to {count}",),
        f"Say which {case.element} is meant: with its region (`{case.told.element or 'Element'}@Region`), or with a "
        "locator that has only one match.",
    )


@rule
def _elsewhere(case: Case) -> Iterator[Finding]:
    if case.failure is Failure.NOT_SCOPED and not case.told.cover:
        yield _drift(
            case,
            TOLD,
            f"{case.element} is in another frame or part of the page",
            (f"{case.element} is not where it is looked for",),
            f"Say where {case.element} is now: its region or frame changed.",
        )


def _leads(case: Case) -> str:
    matched = case.told.matched
    return "to nothing" if not matched else f"to {matched} element{'s' if matched > 1 else ''}"


def _score(case: Case) -> str:
    return "" if case.told.nearest_score is None else f" (likeness {case.told.nearest_score:.2f})"


def _here(case: Case) -> str:
    return path_of(case.told.url) if case.told.url else "the page"


# -- expectations ------------------------------------------------------------------------------------


@rule
def _never_so(case: Case) -> Iterator[Finding]:
    """An outcome that does not hold and was never seen to."""
    if not case.is_outcome or case.held or case.only_a_script_failed:
        return
    told = case.told
    seen = (
        f"the page says {quoted(told.received)}" if told.received else f"nothing like it is on {_here(case)}"
    )
    past = "it was never seen to hold" if case.never_held else "whether it ever held is not known"
    instead = f" Expect {quoted(told.received)} if that is right." if told.received else ""
    yield Finding(
        "assertion_mismatch",
        STRONG if case.never_held else TOLD,
        f"{case.expectation} is expected and does not hold",
        (f"{case.expectation} does not hold after {case.step}", seen, past),
        f"Compare {case.expectation} with what the page really says after {case.step}.{instead}",
    )


@rule
def _expected_before(case: Case) -> Iterator[Finding]:
    """Somebody may have changed the application on purpose: told beside, never first."""
    if case.is_outcome and case.held and not case.only_a_script_failed:
        yield Finding(
            "assertion_mismatch",
            GUESS,
            f"{case.expectation} may not be wanted any more",
            (f"{case.expectation} does not hold after {case.step}",),
            f"If the new behaviour is wanted, change {case.expectation} in the requirement.",
        )


# -- data --------------------------------------------------------------------------------------------


@rule
def _refused(case: Case) -> Iterator[Finding]:
    """The page, or the server, does not accept what was filled in."""
    told = case.told
    refused = (*told.refused_fields, *(case.told.alerts if case.says_no or case.refusing else ()))
    if case.wants_refusal or not (refused or case.refusing or told.alerts):
        return
    evidence = [f"the page does not accept {quoted(each)}" for each in told.refused_fields]
    evidence += [f"the page says {quoted(each)}" for each in told.alerts]
    evidence += [f"{request_of(each)} was answered with {each.status}" for each in case.refusing]
    evidence += ["it never held with these values"] if case.never_held else []
    what = refused[0] if refused else (told.alerts or (request_of(case.refusing[0]),))[0]
    yield Finding(
        "data_issue",
        _refusal_weight(case),
        f"the page refuses a value: {quoted(what)}",
        tuple(evidence),
        f"Change the value that {case.step} depends on: the page says {quoted(what)}."
        + (" Use `{unique}` in it, so that every run makes another one." if case.taken else ""),
    )


def _refusal_weight(case: Case) -> float:
    told = case.told
    firm = bool(case.refusing or told.refused_fields)
    if not firm and not case.says_no:
        return GUESS
    if not case.is_outcome and case.failure is not Failure.DISABLED:
        return KIND  # an element that is not found or not usable is rarely so for a value
    if case.held:
        return STRONG + 0.02 if case.taken and not case.wrong_value else KIND
    if case.never_held:
        return SEEN if firm else LIKELY + 0.1
    return LIKELY if firm else TOLD + 0.05


@rule
def _not_let_in(case: Case) -> Iterator[Finding]:
    for answer in case.forbidden:
        yield Finding(
            "data_issue",
            TOLD if not case.held else KIND,
            f"{request_of(answer)} is not allowed to whoever is signed in",
            (f"{request_of(answer)} was answered with {answer.status}",),
            f"Check the account and the session the test uses: {request_of(answer)} answered {answer.status}.",
        )


@rule
def _address_of_the_test(case: Case) -> Iterator[Finding]:
    if case.told.what == "page" and case.told.status in (404, 410) and not case.held:
        yield Finding(
            "data_issue",
            TOLD,
            f"there is nothing at {_here(case)}",
            (f"{_here(case)} was answered with {case.told.status}",),
            f"Check the address the requirement begins at: {_here(case)}.",
        )
