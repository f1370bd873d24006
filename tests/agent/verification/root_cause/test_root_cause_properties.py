"""What holds of root causes whatever the evidence is."""

from typing import get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from agent.verification.root_cause import classify, collect_findings
from kb_schema.expected_outcomes import OUTCOMES
from kb_schema.verification import (
    ConsoleLine,
    ExpectedOutcome,
    FailureEvidence,
    FailureKind,
    NetworkRequest,
    OfferedElement,
    OutcomeDifference,
    RootCauseClass,
)
from tests.agent.verification.root_cause.test_root_cause_classifier import ROWS

SITE = "http://shop.example"
ORIGINS = st.sampled_from([SITE, f"{SITE}:8080", "https://ads.example.net", "", "about:blank", "http://[bad"])
TEXTS = st.sampled_from(
    ["", "Saved", "Enter a name", "Name: Enter a name", "already taken", "net::ERR_FAILED"]
) | st.text(max_size=20)
STEPS = st.none() | st.integers(0, 5)


@st.composite
def addresses(draw):
    return draw(ORIGINS) + draw(
        st.sampled_from(["", "/", "/new", "/favicon.ico", "/a.css?v=2", "/api/total"])
    )


ANSWERS = st.builds(
    NetworkRequest,
    method=st.sampled_from(["GET", "POST", "", "delete"]),
    url=addresses(),
    status=st.none() | st.sampled_from([400, 401, 403, 404, 409, 422, 429, 500, 502, 503, 599]),
    failure=st.none() | st.sampled_from(["net::ERR_ABORTED", "net::ERR_EMPTY_RESPONSE", "cancelled"]),
    resource_type=st.sampled_from(["", "document", "xhr", "fetch", "image", "script", "other"]),
    step_idx=STEPS,
)
LINES = st.builds(
    ConsoleLine,
    kind=st.sampled_from(["error", "warning", "pageerror"]),
    text=TEXTS | st.sampled_from(["Script error.", "ResizeObserver loop limit exceeded", "TypeError: x"]),
    url=addresses(),
    step_idx=STEPS,
)
EXPECTED = st.builds(
    ExpectedOutcome,
    kind=st.sampled_from([*OUTCOMES, "unheard_of"]),
    said=TEXTS,
    element=st.none() | TEXTS,
    value=st.none() | TEXTS,
)


def few(strategy):
    return st.lists(strategy, max_size=3).map(tuple)


FACTS = {
    "failure": st.sampled_from(list(FailureKind)),
    "what": st.sampled_from(["action", "outcome", "page"]),
    "step_idx": st.integers(0, 5),
    "action": st.sampled_from(["", "click", "fill", "press"]),
    "element": TEXTS,
    "outcome": EXPECTED,
    "message": TEXTS,
    "expected": TEXTS,
    "received": TEXTS,
    "difference": st.builds(OutcomeDifference, subject=TEXTS, expected=TEXTS, received=TEXTS),
    "url": addresses(),
    "status": st.sampled_from([0, 200, 404, 422, 500, 503]),
    "console": few(LINES),
    "answers": few(ANSWERS),
    "refused_fields": few(TEXTS),
    "alerts": few(TEXTS),
    "cover": TEXTS,
    "matched": st.integers(0, 3),
    "nearest": TEXTS,
    "alike": st.lists(TEXTS, max_size=3),
    "appeared": few(TEXTS),
    "in_its_place": few(TEXTS),
    "expected_data": few(TEXTS),
    "error_page": st.booleans(),
    "nearest_score": st.floats(0, 1),
    "nearest_verdict": st.sampled_from(["same", "offered", "ambiguous", "other"]),
    "offered": st.builds(
        OfferedElement,
        req_id=st.just("sign_in"),
        step_idx=st.integers(0, 5),
        element=TEXTS.filter(bool),
        description=TEXTS.filter(bool),
        likeness=st.floats(0, 1),
        against=few(TEXTS),
        harmful=st.booleans(),
    ),
    "missing_option": TEXTS,
    "options": few(TEXTS),
    "drifted": st.integers(0, 4),
    "compared": st.integers(0, 4),
    "heal_rounds": st.integers(0, 3),
    "held_before": st.booleans(),
    "done_before": st.none() | st.integers(0, 5),
    "came_late_s": st.floats(0, 60),
    "page_changed": st.booleans(),
    "previous_changed": st.booleans(),
    "pending": few(ANSWERS),
    "moving": st.booleans(),
    "page_idle": st.booleans(),
    "reachable": st.booleans(),
    "browser_alive": st.booleans(),
    "page_ended": st.none() | st.just("the page did not answer for 30 s and was ended"),
}
assert set(FACTS) == set(FailureEvidence.model_fields)


@st.composite
def evidences(draw):
    """Any few of the facts, as troubles and foreign suites give them."""
    known = draw(st.lists(st.sampled_from(sorted(FACTS)), max_size=9, unique=True))
    return FailureEvidence(**{name: draw(FACTS[name]) for name in known})


EVIDENCE = evidences()


@given(EVIDENCE)
def test_every_failure_has_a_root_cause_with_evidence_and_advice_and_it_is_never_success(evidence):
    cause = classify(evidence)
    assert cause.class_ in set(get_args(RootCauseClass)) - {"success"}
    assert 0 < cause.confidence <= 1
    assert cause.message
    assert cause.evidence
    assert all(cause.evidence)
    assert cause.recommendation


@given(EVIDENCE)
def test_the_same_evidence_has_the_same_root_cause(evidence):
    assert classify(evidence) == classify(evidence.model_copy(deep=True))


@given(EVIDENCE, st.sampled_from(["document", "form"]), st.sampled_from([500, 501, 505, 520]))
def test_server_error_of_the_page_or_of_its_form_is_never_drift_or_timing(evidence, what, status):
    sent = NetworkRequest(
        method="GET" if what == "document" else "POST",
        url="/orders",
        status=status,
        resource_type="document",
        step_idx=evidence.step_idx,
    )
    cause = classify(evidence.model_copy(update={"answers": (*evidence.answers, sent)}))
    assert cause.class_ == "app_defect" or (cause.class_ == "env_fault" and not evidence.browser_alive)


@given(EVIDENCE)
def test_what_held_before_and_is_wrong_now_is_never_drift(evidence):
    wrong = {
        "what": "outcome",
        "held_before": True,
        "expected": "16 people",
        "received": "17 people",
        "failure": "timeout",
        "matched": 1,
    }
    broken = FailureEvidence.model_validate(evidence.model_dump() | wrong)
    assert classify(broken).class_ != "selector_drift"


@given(EVIDENCE, st.integers(1, 9))
def test_a_defect_stays_one_or_anything_but_drift_where_the_page_was_redesigned_too(evidence, count):
    redesigned = evidence.model_copy(update={"drifted": count, "compared": count})
    if classify(evidence).class_ == "app_defect":
        assert classify(redesigned).class_ != "selector_drift"


@given(EVIDENCE)
def test_favicons_pictures_warnings_and_what_was_called_off_change_nothing(evidence):
    noise = (
        NetworkRequest(method="GET", url=f"{SITE}/favicon.ico", status=500, resource_type="other"),
        NetworkRequest(method="GET", url=f"{SITE}/hero.png", status=404),
        NetworkRequest(
            method="POST", url=f"{SITE}/save", failure="net::ERR_ABORTED", resource_type="document"
        ),
    )
    warning = ConsoleLine(kind="warning", text="TypeError: deprecated", url=SITE)
    noisy = evidence.model_copy(
        update={"answers": (*evidence.answers, *noise), "console": (*evidence.console, warning)}
    )
    assert classify(noisy) == classify(evidence)


def _more(**lists):
    """Evidence with these added to its lists."""

    def add(evidence):
        return evidence.model_copy(
            update={name: (*getattr(evidence, name), each(evidence)) for name, each in lists.items()}
        )

    return add


def _now(**fields):
    return lambda evidence: evidence.model_copy(update=fields)


def _post(**fields):
    def sent(evidence):
        return NetworkRequest.model_validate(
            {"method": "POST", "url": "/save", "resource_type": "document", "step_idx": evidence.step_idx}
            | fields
        )

    return sent


SUPPORT = {
    "app_defect": [
        _more(answers=_post(status=500)),
        _more(
            console=lambda evidence: ConsoleLine(
                kind="pageerror", text="TypeError: x", step_idx=evidence.step_idx
            )
        ),
        _now(page_changed=False),
    ],
    "selector_drift": [_now(nearest_verdict="same", nearest="button")],
    "timing_instability": [_now(came_late_s=2.0), _now(moving=True), _more(pending=_post())],
    "visibility_issue": [_now(cover="div.shade")],
    "env_fault": [
        _now(browser_alive=False),
        _now(reachable=False),
        _more(answers=_post(failure="net::ERR_EMPTY_RESPONSE")),
    ],
    "healing_declined": [_now(matched=0, nearest_verdict="offered", nearest="button")],
    "data_issue": [
        _now(missing_option="Blood"),
        _more(answers=_post(status=422)),
        _more(refused_fields=lambda _: "Zip: 5 digits"),
    ],
    "assertion_mismatch": [_now(held_before=False)],
}


@settings(max_examples=300)
@given(EVIDENCE, st.sampled_from([(cause, each) for cause, several in SUPPORT.items() for each in several]))
def test_more_evidence_for_a_class_never_lowers_it(evidence, added):
    cause, support = added

    def sure(told):
        return max((each.confidence for each in collect_findings(told) if each.cause == cause), default=0.0)

    assert sure(support(evidence)) >= sure(evidence)


def test_more_evidence_for_the_class_found_leaves_it_found():
    for row in ROWS:
        for support in SUPPORT.get(row.cause, []):
            before, after = classify(row.evidence), classify(support(row.evidence))
            assert (row.what, after.class_) == (row.what, row.cause)
            assert after.confidence >= before.confidence
