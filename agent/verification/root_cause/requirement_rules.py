"""Rules for problems of the test: outdated names after a redesign, wrong expectations, refused values."""

from __future__ import annotations

from collections.abc import Iterator

from agent.verification.root_cause.rule_findings import (
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
from kb_schema.text_similarity import words_likeness
from kb_schema.verification import FailureKind

_MOST_ALIKE = 5
_MOST_OPTIONS = 10

# -- drift: the same element under another name ---------------------------------------------------


def _drift(
    case: StepFailureCase, confidence: float, message: str, evidence: tuple[str, ...], advice: str
) -> RuleFinding:
    others = (
        (
            f"{case.evidence.drifted} of {case.evidence.compared} other elements were found under another selector",
        )
        if case.evidence.drifted
        else ()
    )
    return RuleFinding("selector_drift", confidence, message, (*evidence, *others), advice)


@register_rule
def _renamed(case: StepFailureCase) -> Iterator[RuleFinding]:
    if not case.renamed or (case.is_outcome and case.wrong_value) or case.evidence.page_ended:
        return
    nearest = quote_excerpt(case.evidence.nearest or "another element")
    if case.evidence.heal_rounds:
        yield _drift(
            case,
            LIKELY,
            f"{case.element} is now {nearest}, which could not be used",
            (
                f"the selector of {case.element} leads {_leads(case)}",
                f"{nearest} is the same element{_score(case)}",
            ),
            f"Find out why {nearest} cannot be used at {case.step}: healing found it and could not act on it.",
        )
        return
    yield _drift(
        case,
        SEEN if case.evidence.drifted else STRONG,
        f"{case.element} is now found as {nearest}",
        (
            f"the selector of {case.element} leads {_leads(case)}",
            f"{nearest} is the same element{_score(case)}",
        ),
        f"Use {nearest} for {case.element}: let healing do it (`PERIPLUS_MAX_HEAL_ROUNDS` above 0), or find it again with `--rediscover`.",
    )


@register_rule
def _perhaps_renamed(case: StepFailureCase) -> Iterator[RuleFinding]:
    if not case.about_element or case.evidence.nearest_verdict != "ambiguous" or case.evidence.page_ended:
        return
    nearest = quote_excerpt(case.evidence.nearest or "another element")
    yield _drift(
        case,
        TOLD if case.evidence.drifted else KIND + 0.1,
        f"{case.element} may now be {nearest}",
        (f"the selector of {case.element} leads {_leads(case)}", f"{nearest} may be it{_score(case)}"),
        f"Look whether {nearest} is {case.element}, and say so in the requirement with its name or region.",
    )


@register_rule
def _declined(case: StepFailureCase) -> Iterator[RuleFinding]:
    """Another element may be the one, but the evidence was not enough to use it."""
    facts = case.evidence
    if not case.missing or facts.nearest_verdict != "offered" or case.late or case.owed:
        return
    nearest, offered = quote_excerpt(facts.nearest or "another element"), facts.offered
    support = f"; what agrees: {', '.join(offered.support)}" if offered and offered.support else ""
    against = tuple(f"against it: {each}" for each in offered.against) if offered else ()
    accept = "write its name in the requirement, or in the test"
    if offered is not None and offered.selector is not None:
        accept = f"accept it: periplus verify FILES --accept {offered.req_id}:{offered.step_idx + 1}"
    advice = f"If {nearest} is {case.element}, {accept}; else find out why {case.element} is not there."
    if offered is not None and offered.harmful:
        advice = (
            f"Find out why {case.element} is not there: what stands in its place, {nearest}, does something else. "
            f"Only if that was changed on purpose, {accept}."
        )
    yield RuleFinding(
        "healing_declined",
        STRONG,
        f"{case.element} is not found; {nearest} may be it",
        (
            f"the selector of {case.element} leads {_leads(case)}",
            f"{nearest} may be it{_score(case)}{support}",
            *against,
        ),
        advice,
    )


@register_rule
def _lost(case: StepFailureCase) -> Iterator[RuleFinding]:
    """The element is missing, and nothing is known of what is there instead."""
    if not case.missing:
        return
    looked = case.nothing_similar
    yield _drift(
        case,
        (KIND if case.evidence.drifted else 0.45) if looked else KIND,
        f"{case.element} is not found",
        (_not_found(case),),
        f"Look at {_here(case)} for {case.element}, and write the name that it has there.",
    )


@register_rule
def _misspelt(case: StepFailureCase) -> Iterator[RuleFinding]:
    """A name that was never found on this site, and is nearly a name on the page."""
    if case.perhaps_meant is None:
        return
    meant = quote_excerpt(case.perhaps_meant)
    yield RuleFinding(
        "data_issue",
        TOLD,
        f"{case.element} is not found; perhaps a typo: {meant}?",
        (_not_found(case), f"{_here(case)} has {meant}"),
        f"Write {meant} at {case.step}, if that is meant.",
    )


@register_rule
def _not_in_its_region(case: StepFailureCase) -> Iterator[RuleFinding]:
    """The page has an element of this name, but not in the row or region that the requirement names."""
    if not case.is_elsewhere:
        return
    name, _, region = case.name.partition("@")
    yield RuleFinding(
        "data_issue",
        TOLD,
        f"there is no {quote_excerpt(name)} in {quote_excerpt(region)}",
        (_not_found(case), f"{_here(case)} has {quote_excerpt(name)} elsewhere"),
        f"Look at {_here(case)} whether {quote_excerpt(region)} is there at {case.step}: if it is a row, the data may be "
        "missing; else write the region as the page calls it.",
    )


@register_rule
def _several(case: StepFailureCase) -> Iterator[RuleFinding]:
    many = case.failure is FailureKind.NOT_UNIQUE or (
        (case.evidence.matched or 0) > 1 and case.about_element and case.failure is not FailureKind.NONE
    )
    if not many:
        return
    count = f"{case.evidence.matched} elements" if (case.evidence.matched or 0) > 1 else "several elements"
    yield _drift(
        case,
        LIKELY if case.failure is FailureKind.NOT_UNIQUE else KIND,
        f"{count} fit {case.element}",
        (
            f"{case.element} may mean {', '.join(map(quote_excerpt, case.evidence.alike[:_MOST_ALIKE])) or count}"
            if case.evidence.matched is None
            else f"the selector of {case.element} leads to {count}",
        ),
        f"Say which {case.element} is meant: with its region (`{case.name.partition('@')[0] or 'Element'}@Region`), or with a "
        "locator that has only one match.",
    )


@register_rule
def _elsewhere(case: StepFailureCase) -> Iterator[RuleFinding]:
    if case.failure is FailureKind.NOT_SCOPED and not case.evidence.cover:
        yield _drift(
            case,
            TOLD,
            f"{case.element} is in another frame or part of the page",
            (f"{case.element} is not where it is looked for",),
            f"Say where {case.element} is now: its region or frame changed.",
        )


def _not_found(case: StepFailureCase) -> str:
    if case.evidence.matched is None:
        return f"no element on {_here(case)} has the name {case.element}"
    return f"the selector of {case.element} leads {_leads(case)}"


def _leads(case: StepFailureCase) -> str:
    matched = case.evidence.matched
    return "to no element" if not matched else f"to {matched} element{'s' if matched > 1 else ''}"


def _score(case: StepFailureCase) -> str:
    return "" if case.evidence.nearest_score is None else f" (similarity {case.evidence.nearest_score:.2f})"


def _here(case: StepFailureCase) -> str:
    return path_of(case.evidence.url) if case.evidence.url else "the page"


# -- expectations ------------------------------------------------------------------------------------


@register_rule
def _never_so(case: StepFailureCase) -> Iterator[RuleFinding]:
    """An outcome that does not hold and never held."""
    if not case.is_outcome or case.held or case.only_a_script_failed:
        return
    facts = case.evidence
    past = "it was never met on this site" if case.never_held else "no earlier run is known"
    if facts.done_before is not None:
        past = "it was met when the elements were found"
    instead = f" Expect {quote_excerpt(facts.received)} if that is right." if facts.received else ""
    yield RuleFinding(
        "assertion_mismatch",
        STRONG if case.never_held and facts.done_before is None else TOLD,
        f"the page does not meet {case.expectation}",
        (f"{case.expectation} is not met after {case.step}", _seen_instead(case), past),
        f"Compare {case.expectation} with what the page says after {case.step}.{instead}",
    )


def _seen_instead(case: StepFailureCase) -> str:
    facts = case.evidence
    if facts.received:
        return f"the page says {quote_excerpt(facts.received)}"
    if facts.alike:
        return f"{_here(case)} has {', '.join(map(quote_excerpt, facts.alike[:_MOST_ALIKE]))}"
    return f"nothing like it is on {_here(case)}"


@register_rule
def _done_already(case: StepFailureCase) -> Iterator[RuleFinding]:
    """Everything held when the elements were found; since then the requirement's own step has changed the data."""
    first = case.evidence.done_before
    about = case.is_outcome or case.missing or case.says_no
    if first is None or first > case.evidence.step_idx or not about or case.late or case.renamed:
        return
    yield RuleFinding(
        "data_issue",
        STRONG + 0.01,
        f"step {first + 1} was done once already in this run, when the elements were found",
        (
            f"all steps were done and all outcomes were met then; step {first + 1} sent data",
            f"{case.expectation if case.is_outcome else case.element} is not so after it is done again",
        ),
        "Let the requirement make the data that it changes, with `{unique}` in a name, so that it can be done again; put the "
        "site back before the next run.",
    )


@register_rule
def _says_it_otherwise(case: StepFailureCase) -> Iterator[RuleFinding]:
    """A text that was expected did not come; one that says the same in other words did."""
    now = case.other_words
    refused = bool(case.refusing) and not case.wants_refusal
    if now is None or not case.held or case.late or case.script_errors or case.broken or refused:
        return
    said = quote_excerpt(now)
    yield RuleFinding(
        "assertion_mismatch",
        TOLD,
        f"the page says {said}, where {case.expectation} is expected",
        (
            f"{case.expectation} was met before on this site and is not met now",
            f"{said} is new on the page after {case.step}, and says it in other words",
        ),
        f"If the new words are wanted, write {said} in the requirement; else put the old ones back.",
    )


@register_rule
def _expected_before(case: StepFailureCase) -> Iterator[RuleFinding]:
    """The application may have been changed on purpose: an alternative, never the first explanation."""
    if case.is_outcome and case.held and not case.only_a_script_failed and case.other_words is None:
        yield RuleFinding(
            "assertion_mismatch",
            GUESS,
            f"{case.expectation} may be out of date",
            (f"{case.expectation} is not met after {case.step}",),
            f"If the new behaviour is wanted, change {case.expectation} in the requirement.",
        )


# -- data --------------------------------------------------------------------------------------------


@register_rule
def _refused(case: StepFailureCase) -> Iterator[RuleFinding]:
    """The page, or the server, refuses a value that was entered."""
    facts = case.evidence
    refused = (*facts.refused_fields, *(case.evidence.alerts if case.says_no or case.refusing else ()))
    if case.wants_refusal or not (refused or case.refusing or facts.alerts):
        return
    evidence = [f"the page does not accept {quote_excerpt(each)}" for each in facts.refused_fields]
    evidence += [f"the page says {quote_excerpt(each)}" for each in facts.alerts]
    evidence += [f"{request_of(each)} was answered with {each.status}" for each in case.refusing]
    evidence += ["it was never met with these values"] if case.never_held else []
    what = refused[0] if refused else (facts.alerts or (request_of(case.refusing[0]),))[0]
    yield RuleFinding(
        "data_issue",
        _refusal_weight(case),
        f"the page refuses a value: {quote_excerpt(what)}",
        tuple(evidence),
        f"Change the value that {case.step} depends on: the page says {quote_excerpt(what)}."
        + (" Use `{unique}` in it, so that every run makes another one." if case.taken else ""),
    )


def _refusal_weight(case: StepFailureCase) -> float:
    facts = case.evidence
    firm = bool(case.refusing or facts.refused_fields)
    if not firm and not case.says_no:
        return GUESS
    if not case.is_outcome and case.failure is not FailureKind.DISABLED:
        return KIND  # an element that is not found or not usable is rarely so for a value
    if case.held:
        return STRONG + 0.02 if case.taken and not case.wrong_value else KIND
    if case.never_held:
        return SEEN if firm else LIKELY + 0.1
    return LIKELY if firm else TOLD + 0.05


@register_rule
def _no_such_option(case: StepFailureCase) -> Iterator[RuleFinding]:
    """The list is there, and does not have the option."""
    facts = case.evidence
    if facts.missing_option is None:
        return
    wanted = quote_excerpt(facts.missing_option)
    there = ", ".join(map(quote_excerpt, facts.options[:_MOST_OPTIONS])) or "no options"
    near = max(facts.options, key=lambda each: words_likeness(each, facts.missing_option or ""), default=None)
    like = near is not None and words_likeness(near, facts.missing_option) > 0
    advice = f"choose {quote_excerpt(near)} if it is meant" if near and like else "choose one that is there"
    yield RuleFinding(
        "data_issue",
        SEEN,
        f"{case.element} has no option {wanted}; it has {there}",
        (
            f"{case.element} is there, and its options are {there}",
            *(("this test passed before on this site",) if case.held else ()),
        ),
        f"At {case.step}, {advice}. If {wanted} was removed by mistake, put it back.",
    )


@register_rule
def _not_let_in(case: StepFailureCase) -> Iterator[RuleFinding]:
    for answer in case.forbidden:
        yield RuleFinding(
            "data_issue",
            TOLD if not case.held else KIND,
            f"{request_of(answer)} is not allowed for the account that is signed in",
            (f"{request_of(answer)} was answered with {answer.status}",),
            f"Check the account and the session the test uses: {request_of(answer)} answered {answer.status}.",
        )


@register_rule
def _address_of_the_test(case: StepFailureCase) -> Iterator[RuleFinding]:
    if case.evidence.what == "page" and case.evidence.status in (404, 410) and not case.held:
        yield RuleFinding(
            "data_issue",
            TOLD,
            f"there is nothing at {_here(case)}",
            (f"{_here(case)} was answered with {case.evidence.status}",),
            f"Check the address the requirement begins at: {_here(case)}.",
        )
