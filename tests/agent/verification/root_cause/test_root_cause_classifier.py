"""Which root cause which evidence leads to: every rule, and the combinations in which two of them speak."""

from dataclasses import dataclass

import pytest

from agent.verification.root_cause import build_success, classify, collect_findings
from agent.verification.root_cause.rule_findings import RULES
from kb_schema.selectors import Selector
from kb_schema.verification import (
    ConsoleLine,
    ExpectedOutcome,
    FailureEvidence,
    NetworkRequest,
    OfferedElement,
    RootCause,
)

SITE = "http://shop.example"
TOAST = ExpectedOutcome(kind="message", said="message:Saved", value="Saved")
TOTAL = ExpectedOutcome(kind="text", said="text:Total=16", element="Total", value="16")
SEEN_BUTTON = ExpectedOutcome(kind="visible", said="visible:Pay", element="Pay")
NAME_REFUSED = ExpectedOutcome(
    kind="invalid", said="invalid:Name=Enter a name", element="Name", value="Enter a name"
)


def told(**fields):
    """Evidence of step 4, a click on Save."""
    known = {
        "step_idx": 3,
        "action": "click",
        "element": "Save",
        "url": f"{SITE}/orders",
        "failure": "timeout",
    }
    return FailureEvidence.model_validate(known | fields)


def answer(status=None, path="/orders/new", method="POST", kind="document", step=3, failure=None, site=SITE):
    return NetworkRequest(
        method=method,
        url=f"{site}{path}",
        status=status,
        failure=failure,
        resource_type=kind,
        step_idx=step,
    )


def thrown(text="TypeError: total is undefined", url=f"{SITE}/app.js", step=3, kind="pageerror"):
    return ConsoleLine(kind=kind, text=text, url=url, step_idx=step)


DRIFTED = {"nearest": 'button "Store"', "nearest_score": 0.8, "nearest_verdict": "same", "matched": 0}
GONE = {"nearest": 'link "Cancel"', "nearest_score": 0.4, "nearest_verdict": "other", "matched": 0}
OFFERED = {
    "nearest": "button 'Store'", "nearest_score": 0.6, "nearest_verdict": "offered", "matched": 0,
    "offered": OfferedElement(
        req_id="orders", step_idx=3, element="Save", description="button 'Store'", likeness=0.6, support=("place",),
        against=("no identifier stayed",), selector=Selector(strategies=[{"type": "id", "value": "store"}]),
    ),
}  # fmt: skip
LATER = {"what": "outcome", "outcome": TOAST, "expected": "Saved"}


@dataclass(frozen=True)
class Row:
    what: str
    evidence: FailureEvidence
    cause: str
    at_least: float = 0.5
    says: str = ""
    """Stands in the message, the evidence or the recommendation."""


ROWS = [
    # -- the application --------------------------------------------------------------------------
    Row("form answered with 500", told(**LATER, answers=(answer(500),)), "app_defect", 0.95, "POST /orders/new"),
    Row("500 then timeout of an action", told(answers=(answer(500),)), "app_defect", 0.95),
    Row("500 at the step before", told(answers=(answer(500, step=2),)), "app_defect", 0.95, "at step 3"),
    Row("500 of a request a script made", told(answers=(answer(500, "/api/total", "GET", "fetch"),)), "app_defect", 0.9),
    Row("the page is an error page", told(status=500), "app_defect", 0.95),
    Row("500 although the page was redesigned", told(**DRIFTED, drifted=3, compared=3, answers=(answer(500),)),
        "app_defect", 0.95),
    Row("500 and the browser waits", told(answers=(answer(500),), came_late_s=2.0, moving=True), "app_defect", 0.95),
    Row("500 and the value refused", told(**LATER, alerts=("Invalid",), answers=(answer(500), answer(422)),
                                          held_before=False), "app_defect", 0.95),
    Row("only a script failed", told(failure="none", what="outcome", console=(thrown(),)), "app_defect", 0.9,
        "total is undefined"),
    Row("only a script failed, never ran before", told(failure="none", what="outcome", held_before=False,
                                                       console=(thrown(),)), "app_defect", 0.75),
    Row("script failed, button not found, green before", told(**DRIFTED, held_before=True, console=(thrown(),)),
        "app_defect", 0.9),
    Row("script fails as in green runs, button renamed", told(**DRIFTED, held_before=True,
        console=(thrown().model_copy(update={"usual": True}),)), "selector_drift", 0.85),
    Row("no console errors expected", told(what="outcome", outcome=ExpectedOutcome(kind="no_console_errors", said="no_errors"),
        held_before=False, console=(thrown(kind="error"),)), "app_defect", 0.85),
    Row("message missing that was there", told(**LATER, held_before=True), "app_defect", 0.85, "Saved"),
    Row("message missing after a redesign", told(**LATER, held_before=True, drifted=5, compared=6), "app_defect", 0.85),
    Row("wrong total that was right", told(what="outcome", outcome=TOTAL, expected="16", received="17", matched=1,
                                           held_before=True), "app_defect", 0.9, "“17” instead of “16”"),
    Row("wrong total in a renamed place", told(what="outcome", outcome=TOTAL, expected="16", received="17", drifted=4,
        compared=5, held_before=True, nearest="dd", nearest_verdict="same"), "app_defect", 0.9),
    Row("wrong total, and its place not surely found", told(what="outcome", outcome=TOTAL, expected="16", drifted=4,
        compared=5, held_before=True, matched=0, nearest="definition '17'", nearest_verdict="ambiguous"),
        "app_defect", 0.75, "definition '17'"),
    Row("right total, and its place not surely found", told(what="outcome", outcome=TOTAL, expected="16", drifted=4,
        compared=5, held_before=True, matched=0, nearest="definition '16'", nearest_verdict="ambiguous"),
        "selector_drift", 0.65),
    Row("wrong words of a refusal", told(what="outcome", outcome=NAME_REFUSED, expected="Enter a name",
        received="Invalid input", refused_fields=("Name: Invalid input",), answers=(answer(422),), held_before=True),
        "app_defect", 0.9, "Invalid input"),
    Row("nothing is refused any more", told(what="outcome", outcome=NAME_REFUSED, expected="Enter a name",
        held_before=True, alerts=()), "app_defect", 0.85),
    Row("hidden row is still there", told(what="outcome", outcome=ExpectedOutcome(kind="hidden", said="hidden:Ada",
        element="Ada"), matched=1, held_before=True), "app_defect", 0.85),
    Row("lands elsewhere", told(what="outcome", outcome=ExpectedOutcome(kind="navigates_to", said="navigates_to:Dashboard",
        value="Dashboard"), expected="/dashboard", received="/settings", held_before=True), "app_defect", 0.9),
    Row("element gone, others stayed", told(**GONE, compared=4, held_before=True), "app_defect", 0.9, "is gone"),
    Row("element gone in a redesign", told(**GONE, compared=4, drifted=4, held_before=True), "app_defect", 0.75),
    Row("element gone, nothing compared", told(**GONE, held_before=True), "app_defect", 0.65),
    Row("element gone, healing looked, others stayed", told(matched=0, heal_rounds=3, compared=2, held_before=True),
        "app_defect", 0.9),
    Row("expected element gone", told(what="outcome", outcome=SEEN_BUTTON, **GONE, compared=3, held_before=True),
        "app_defect", 0.9),
    Row("click changes nothing", told(**LATER, page_changed=False, held_before=True), "app_defect", 0.9, "does nothing"),
    Row("click whose request has no answer yet", told(**LATER, page_changed=False, pending=(
        answer(None, "/rates", "GET", "fetch"),)), "timing_instability", 0.75, "`Timeout` of the step"),
    Row("click before opened nothing", told(failure="not_visible", matched=1, previous_changed=False,
                                            held_before=True), "app_defect", 0.9, "step 3"),
    Row("link to nowhere", told(status=404, held_before=True, matched=0, nearest_verdict="other"), "app_defect", 0.85),
    Row("link to nowhere, never tried", told(status=404), "app_defect", 0.65),
    Row("form sent to an address that is not there", told(**LATER, held_before=True, answers=(answer(404),)),
        "app_defect", 0.9, "nothing that answers POST /orders/new"),
    Row("form sent where nothing takes it", told(**LATER, held_before=True, answers=(answer(405),)), "app_defect", 0.9,
        "405"),
    Row("harmful words in its place", told(**OFFERED | {"offered": OFFERED["offered"].model_copy(
        update={"harmful": True})}, held_before=True), "healing_declined", 0.85, "does something else"),
    Row("nothing alike is left, other words stand in its place", told(**OFFERED, held_before=True), "healing_declined",
        0.85, "--accept orders:4"),
    Row("other words in its place, and the server failed", told(**OFFERED, answers=(answer(500),)), "app_defect", 0.95),
    Row("other words in its place, and it came late", told(**OFFERED, came_late_s=2.0), "timing_instability", 0.85),
    Row("outcome about an element, other words in its place", told(what="outcome", outcome=SEEN_BUTTON, held_before=True,
        matched=0, nearest="button 'Store'", nearest_verdict="offered"), "healing_declined", 0.85),
    Row("an option is gone", told(failure="timeout", matched=1, missing_option="Blood", options=("Serum", "Blood test"),
        held_before=True), "data_issue", 0.9, "choose “Blood test”"),
    Row("all options are gone", told(failure="timeout", matched=1, missing_option="Blood"), "data_issue", 0.9, "no options"),
    # -- drift --------------------------------------------------------------------------------------
    Row("renamed", told(**DRIFTED, held_before=True), "selector_drift", 0.85, "Store"),
    Row("renamed, past unknown", told(**DRIFTED), "selector_drift", 0.85),
    Row("renamed, the whole page too", told(**DRIFTED, drifted=3, compared=3, held_before=True), "selector_drift", 0.9,
        "3 of 3"),
    Row("renamed, and healing did not help", told(**DRIFTED, heal_rounds=3, held_before=True), "selector_drift", 0.75,
        "could not act on it"),
    Row("expected element renamed", told(what="outcome", outcome=SEEN_BUTTON, **DRIFTED, held_before=True),
        "selector_drift", 0.85),
    Row("foreign assertion on a renamed element", FailureEvidence.model_validate(
        {"failure": "timeout", "what": "outcome", "expected": "visible", **DRIFTED}), "selector_drift", 0.85),
    Row("perhaps renamed", told(matched=0, nearest="button", nearest_verdict="ambiguous", drifted=2, compared=2,
                                held_before=True), "selector_drift", 0.65),
    Row("several fit", told(failure="not_unique", matched=2), "selector_drift", 0.75, "2 elements"),
    Row("another frame", told(failure="not_scoped"), "selector_drift", 0.6),
    Row("not there, nobody looked", told(matched=0), "selector_drift"),
    Row("renamed, and an icon is missing", told(**DRIFTED, held_before=True, answers=(
        answer(404, "/favicon.ico", "GET", "other"), answer(500, "/hero.png", "GET", "image"))), "selector_drift", 0.85),
    Row("renamed, noise of third parties", told(**DRIFTED, held_before=True, console=(
        thrown(url="https://ads.example.net/a.js"), thrown("Script error."),
        thrown("ResizeObserver loop limit exceeded")), answers=(answer(503, "/px", "POST", "xhr",
        site="https://ads.example.net"),)), "selector_drift", 0.85),
    Row("renamed, warnings", told(**DRIFTED, console=(thrown("deprecated", kind="warning"),)), "selector_drift", 0.85),
    Row("renamed, console error", told(**DRIFTED, console=(thrown("Failed to load resource: 404", kind="error"),
                                                           thrown("oops", kind="error"))), "selector_drift", 0.85),
    Row("renamed, script error of an unknown past", told(**DRIFTED, console=(thrown(),)), "selector_drift", 0.85),
    # -- timing ---------------------------------------------------------------------------------------
    Row("came late", told(**LATER, came_late_s=3.2, held_before=True), "timing_instability", 0.9, "3.2 s"),
    Row("element came late", told(matched=0, came_late_s=1.0, held_before=True), "timing_instability", 0.9),
    Row("moving", told(failure="unstable", moving=True, held_before=True), "timing_instability", 0.9),
    Row("unstable, no more known", FailureEvidence.model_validate({"failure": "unstable"}), "timing_instability", 0.8),
    Row("answer still out", told(**LATER, held_before=True, pending=(answer(),)), "timing_instability", 0.9,
        "POST /orders/new"),
    Row("element of a page that is being replaced", told(**GONE, compared=4, held_before=True,
        pending=(answer(path="/orders", method="GET"),)), "timing_instability", 0.9, "GET /orders"),
    Row("wrong page while the right one is still out", told(what="outcome", expected="Orders", received="/orders/new",
        held_before=True, pending=(answer(),)), "timing_instability", 0.9),
    Row("answer still out, told as an answer", told(**LATER, held_before=True, answers=(answer(),)),
        "timing_instability", 0.9),
    Row("element there, action took too long", told(matched=1), "timing_instability", 0.5),
    # -- seen and usable --------------------------------------------------------------------------------
    Row("covered", told(failure="not_scoped", cover="div.overlay", matched=1, held_before=True), "visibility_issue", 0.9,
        "div.overlay"),
    Row("covered, told by Playwright", FailureEvidence.model_validate({"failure": "timeout", "matched": 1, "message":
        '<div class="shade"></div> from <body>…</body> subtree intercepts pointer events'}), "visibility_issue", 0.9,
        "shade"),
    Row("disabled, told by Playwright", FailureEvidence.model_validate({"failure": "timeout", "message": "Locator.click: "
        "Timeout 5000ms exceeded.\n  - element is not stable\n  - waiting 100ms\n  - element is not enabled"}),
        "enablement_issue", 0.9),
    Row("moving, told by Playwright", FailureEvidence.model_validate({"failure": "timeout", "message": "Locator.click: "
        "Timeout 5000ms exceeded.\n  - element is not stable"}), "timing_instability", 0.8),
    Row("several, told by Playwright", FailureEvidence.model_validate({"failure": "timeout", "what": "outcome", "message":
        "Error: strict mode violation: get_by_text('Total') resolved to 3 elements"}), "selector_drift", 0.75),
    Row("hidden", told(failure="not_visible", matched=1, held_before=True), "visibility_issue", 0.85),
    Row("hidden, and the click before did something", told(failure="not_visible", previous_changed=True),
        "visibility_issue", 0.85),
    Row("disabled", told(failure="disabled", matched=1, held_before=True), "enablement_issue", 0.9),
    Row("disabled with an empty field beside", told(failure="disabled", refused_fields=("Name: required",),
                                                    held_before=True), "enablement_issue", 0.9),
    # -- expectations -----------------------------------------------------------------------------------
    Row("never said", told(**LATER, held_before=False), "assertion_mismatch", 0.85, "never met"),
    Row("nothing said, and what is there", told(**LATER, held_before=False, alike=("Save as",)), "assertion_mismatch",
        0.85, "/orders has “Save as”"),
    Row("misspelt name", told(element="Savee", held_before=False, alike=("Save", "Store")), "data_issue", 0.7,
        "perhaps a typo: “Save”?"),
    Row("named in another row", told(element="Edit@INV-7", held_before=False, matched=0, alike=("Edit", "Delete")),
        "data_issue", 0.7, "there is no “Edit” in “INV-7”"),
    Row("the message in other words", told(**LATER | {"expected": "Order was saved"}, held_before=True,
        in_its_place=("Order was stored",)), "assertion_mismatch", 0.7, "write “Order was stored”"),
    Row("the message in other words, and the server failed", told(**LATER | {"expected": "Order was saved"},
        held_before=True, in_its_place=("Order was stored",), answers=(answer(500),)), "app_defect", 0.95),
    Row("removed when the elements were found", told(**LATER, held_before=False, done_before=3), "data_issue", 0.85,
        "step 4 was done once already in this run"),
    Row("removed then, and the server failed now", told(**LATER, held_before=False, done_before=3, answers=(answer(500),)),
        "app_defect", 0.95),
    Row("sent only after the step that failed", told(**LATER, held_before=False, done_before=5), "assertion_mismatch", 0.65),
    Row("a question in other words that names the entry, too", told(**LATER | {"expected": "Are you sure you want to delete the group"},
        held_before=True, in_its_place=('Do you really want to delete the group "crew"? This cannot be undone.',), expected_data=()),
        "assertion_mismatch", 0.7, "Do you really want"),
    Row("a refusal that is expected, in other words", told(what="outcome", outcome=ExpectedOutcome(kind="message",
        said="message:The group couldn't be created", value="The group couldn't be created"), held_before=True,
        expected="The group couldn't be created", alerts=("The group couldn't be stored",),
        in_its_place=("The group couldn't be stored",), answers=(answer(422),)), "assertion_mismatch", 0.7),
    Row("a refusal that is expected, in another sentence", told(what="outcome", outcome=ExpectedOutcome(kind="message",
        said="message:The group couldn't be created", value="The group couldn't be created"), held_before=True,
        expected="The group couldn't be created", in_its_place=("We could not create the group. Please check the form.",)),
        "assertion_mismatch", 0.7),
    Row("the message about another entry", told(**LATER | {"expected": "Emma was returned"}, held_before=True,
        in_its_place=("Cosmos was returned",), expected_data=("Emma",)), "app_defect", 0.85),
    Row("the message with another number", told(**LATER | {"expected": "2 orders saved"}, received="1 order saved",
        held_before=True, in_its_place=("1 order saved",)), "app_defect", 0.9, "“1 order saved” instead of"),
    Row("another text of the page is nearest to the message", told(**LATER | {"expected": "Watch added"},
        received="Watch", held_before=True), "app_defect", 0.85, "does not meet"),
    Row("another number than expected", told(what="outcome", outcome=TOTAL, expected="7", received="2",
                                             held_before=False), "assertion_mismatch", 0.85, "Expect “2”"),
    Row("foreign assertion, past unknown", FailureEvidence.model_validate({"failure": "timeout", "what": "outcome",
        "expected": "Orders (3)", "received": "Orders (2)", "matched": 1}), "assertion_mismatch", 0.6),
    Row("never said beside a success message", told(**LATER, held_before=False, alerts=("Order created",)),
        "assertion_mismatch", 0.85),
    Row("refused as wanted, in other words", told(what="outcome", outcome=NAME_REFUSED, expected="Enter a name",
        received="Invalid input", refused_fields=("Name: Invalid input",), answers=(answer(422),), held_before=False),
        "assertion_mismatch", 0.85),
    # -- data -------------------------------------------------------------------------------------------
    Row("field refused", told(**LATER, held_before=False, refused_fields=("Date: use MM/DD/YYYY",)), "data_issue", 0.9,
        "MM/DD/YYYY"),
    Row("sign-in refused", told(**LATER, held_before=False, alerts=("The password is not right",),
                                answers=(answer(422),)), "data_issue", 0.9, "password is not right"),
    Row("refused with status 200", told(**LATER, held_before=False, alerts=("Please correct the error below.",)),
        "data_issue", 0.89),
    Row("refused, past unknown", told(**LATER, refused_fields=("Date: use MM/DD/YYYY",)), "data_issue", 0.75),
    Row("name taken by an earlier run", told(**LATER, held_before=True, answers=(answer(409),),
        refused_fields=("Name: an order of this name already exists",)), "data_issue", 0.89, "{unique}"),
    Row("refused, click without effect", told(**LATER, held_before=False, page_changed=False,
        refused_fields=("Date: use MM/DD/YYYY",)), "data_issue", 0.9),
    Row("not let in", told(answers=(answer(403, "/admin", "GET"),), matched=0), "data_issue", 0.65, "GET /admin"),
    Row("address that never was", FailureEvidence.model_validate({"what": "page", "failure": "timeout", "status": 404,
        "url": f"{SITE}/ordres", "held_before": False}), "data_issue", 0.65, "/ordres"),
    # -- environment --------------------------------------------------------------------------------------
    Row("site down", FailureEvidence.model_validate({"what": "page", "failure": "timeout", "reachable": False, "url": SITE,
                                              "held_before": True}), "env_fault", 0.95, SITE),
    Row("connection dropped", told(**LATER, held_before=True, answers=(
        answer(failure="net::ERR_EMPTY_RESPONSE"),), url="chrome-error://chromewebdata/"), "env_fault", 0.9,
        "ERR_EMPTY_RESPONSE"),
    Row("connection refused, by the message alone", FailureEvidence.model_validate({"what": "page", "failure": "timeout",
        "message": "Page.goto: net::ERR_CONNECTION_REFUSED at http://shop.example/"}), "env_fault", 0.9),
    Row("browser gone", told(browser_alive=False, held_before=True), "env_fault", 0.95),
    Row("page without end", told(page_ended="the page did not answer for 30 s and was ended"), "app_defect", 0.85),
    Row("browser gone, by the message alone", FailureEvidence.model_validate({"failure": "timeout", "message":
        "Locator.click: Target page, context or browser has been closed"}), "env_fault", 0.9),
    Row("application behind the proxy is down", told(**LATER, held_before=True, answers=(answer(503),)), "env_fault", 0.9,
        "503"),
    Row("page did not open in time", FailureEvidence.model_validate({"what": "page", "failure": "timeout", "url": SITE}),
        "env_fault", 0.5),
    Row("too many requests", told(matched=0, answers=(answer(429, "/api", "GET", "fetch"),)), "env_fault", 0.75),
    Row("request called off by a navigation", told(**DRIFTED, answers=(answer(failure="net::ERR_ABORTED"),)),
        "selector_drift", 0.85),
    # -- nothing known -------------------------------------------------------------------------------------
    Row("nothing known at all", FailureEvidence(), "assertion_mismatch", 0.3),
    Row("nothing but the kind", FailureEvidence.model_validate({"failure": "disabled"}), "enablement_issue", 0.5),
    Row("nothing but the kind, hidden", FailureEvidence.model_validate({"failure": "not_visible"}), "visibility_issue", 0.5),
    Row("nothing but the kind, several", FailureEvidence.model_validate({"failure": "not_unique"}), "selector_drift", 0.5),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.what)
def test_evidence_leads_to_its_root_cause(row):
    cause = classify(row.evidence)
    assert cause.class_ == row.cause, cause
    assert cause.confidence >= row.at_least, cause
    assert row.says in " | ".join((cause.message, *cause.evidence, cause.recommendation))


def test_every_rule_speaks_in_some_row_and_wins_or_is_told_there():
    spoke = {rule.__name__ for row in ROWS for rule in RULES.values() for _ in rule(_case(row.evidence))}
    assert set(RULES) == spoke


def _case(evidence):
    from agent.verification.root_cause.step_failure_case import StepFailureCase  # noqa: PLC0415 - only this test looks inside

    return StepFailureCase(evidence)


def test_recommendation_names_what_to_look_at():
    for row in ROWS:
        advice = classify(row.evidence).recommendation
        assert advice.endswith("."), advice
        named = ("“", "/", "step", "`")
        assert any(sign in advice for sign in named), advice


def test_recommendation_names_the_element_that_the_step_acts_on_and_not_the_one_of_the_outcome():
    evidence = told(
        what="outcome", outcome=SEEN_BUTTON, matched=0, page_changed=False, held_before=True, element="Open",
        difference={"subject": "Store", "expected": "visible", "received": "not on the page"},
    )  # fmt: skip
    root = classify(evidence)
    assert (root.class_, root.message) == ("app_defect", "“Open” does nothing")
    assert "step 4 (click “Open”)" in root.recommendation


def test_what_was_expected_and_received_is_told_once():
    total = told(
        what="outcome", outcome=TOTAL, expected="16", received="17", held_before=True,
        difference={"subject": "Total", "expected": '"16"', "received": '"17"'},
    )  # fmt: skip
    assert sum("17" in each for each in classify(total).evidence) == 1


def test_runner_up_is_told_and_sentences_are_not_repeated():
    cause = classify(told(**DRIFTED, answers=(answer(500), answer(500))))
    assert cause.evidence[-1].startswith("less likely: selector_drift (0.88)")
    assert len(set(cause.evidence)) == len(cause.evidence)


def test_healing_in_vain_is_told():
    assert "3 rounds of healing did not help" in classify(told(**GONE, heal_rounds=3)).evidence


def test_findings_are_told_surest_first_and_the_cautious_one_first_where_two_are_as_sure():
    found = collect_findings(told(answers=(answer(500),), browser_alive=False))
    assert [each.cause for each in found[:2]] == ["app_defect", "env_fault"]
    assert [each.confidence for each in found] == sorted((each.confidence for each in found), reverse=True)


def test_success_has_its_metrics():
    cause = build_success(duration_ms=812.0, heal_rounds=1.0)
    assert isinstance(cause, RootCause)
    assert (cause.class_, cause.metrics) == ("success", {"duration_ms": 812.0, "heal_rounds": 1.0})
    assert cause.model_dump(by_alias=True)["class"] == "success"
