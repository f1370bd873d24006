"""What an error is called, which rules are for it and in which order; what a field takes."""

from __future__ import annotations

import pytest

from agent.errors import Lost, NoWay, StepFailed
from agent.page.complaints import Complaints, RefusedField
from agent.page.errors import ActionFailed, ActionMisused, GateFailed, Point
from agent.recovering import recovering, retrying
from agent.recovering.cases import RECOVERIES
from agent.recovering.names import Signs, names_of
from agent.recovering.rules import of_document, of_rule
from kb_schema import parse_document, vocabulary
from kb_schema.conditions import condition_types
from kb_schema.documents import Document
from kb_schema.errors import Severity
from kb_schema.graph import ErrorState
from kb_schema.handling import ERRORS, ErrorRecovery, ErrorRule
from kb_schema.knowledge import Sourced, assemble
from kb_schema.screens import FieldValidation
from kb_schema.validating import refusal

UNSEEN = StepFailed("not seen", error="postcondition", acted=True)
MARKED = RefusedField(
    label="Name", message="taken", marked=True, value="Ada", kind="text", required=True, placeholder="",
    min_length=None, max_length=None, pattern=None, options=(), element="name",
)  # fmt: skip
NATIVE = MARKED.model_copy(update={"marked": False})


def test_every_named_recovery_is_there_and_no_other():
    assert set(recovering.RECOVERIES) == set(vocabulary.RECOVERIES)
    with pytest.raises(ValueError, match="there already"):
        retrying.recovery("retry")(RECOVERIES["retry"])


@pytest.mark.parametrize(
    ("error", "signs", "action", "first", "also"),
    [
        (GateFailed(Point.NOT_FOUND, "0 match", "#x"), Signs(), "click", "element_not_found", "timeout"),
        (GateFailed(Point.DISABLED, "", "#x"), Signs(), "click", "element_not_editable", "timeout"),
        (GateFailed(Point.NOT_SCOPED, "", "#x"), Signs(), "click", "element_covered", "click_intercepted"),
        (UNSEEN, Signs(complaints=Complaints(status=422, fields=(MARKED,))), "click", "validation_failed", "timeout"),
        (UNSEEN, Signs(complaints=Complaints(status=200, fields=(NATIVE,))), "click", "validation_failed", "timeout"),
        (UNSEEN, Signs(complaints=Complaints(status=200, fields=(NATIVE,))), "fill", "postcondition", "timeout"),
        (UNSEEN, Signs(complaints=Complaints(status=503)), "click", "server_error", "http_503"),
        (UNSEEN, Signs(complaints=Complaints(status=500), signed_out=True), "click", "server_error", "timeout"),
        (UNSEEN, Signs(signed_out=True), "click", "session_expired", "not_authenticated"),
        (UNSEEN, Signs(url="chrome-error://chromewebdata/"), "click", "connection_lost", "timeout"),
        (UNSEEN, Signs(states=(ErrorState(screen_id="x", reason="sold_out"),)), "click", "sold_out", "timeout"),
        (StepFailed("", error="authenticated"), Signs(), "click", "session_expired", "precondition_failed"),
        (NoWay("a", "b"), Signs(), "navigate", "navigation_failed", "navigation_failed"),
        (Lost("http://x", ()), Signs(), "navigate", "screen_recognition_failed", "navigation_failed"),
        (ActionFailed("fill", "no"), Signs(), "fill", "action_failed", "action_failed"),
        (ActionFailed("select_option", "no"), Signs(), "select_option", "option_not_found", "action_failed"),
        (ActionMisused("upload_file", "no"), Signs(), "upload_file", "file_not_found", "file_not_found"),
    ],
)  # fmt: skip
def test_an_error_is_called_by_what_the_page_shows_first(error, signs, action, first, also):
    names = names_of(error, signs, action)
    assert names[0] == first
    assert also in names
    own = {state.reason for state in signs.states}
    known = {*ERRORS, *condition_types(), *own}
    assert [name for name in names if name not in known and not name.startswith("http_")
            and name not in {point.value for point in Point}] == []  # fmt: skip


def test_a_rule_is_its_recovery_as_often_as_it_says_then_its_fallback():
    rule = ErrorRule(condition="timeout", recovery="retry", retry=True, max_retries=3, fallback="abort")
    assert [(r.recovery, r.tries, r.again) for r in of_rule(rule, "step")] == [
        ("retry", 3, True), ("abort", 1, True)
    ]  # fmt: skip
    once = ErrorRule(condition="timeout", recovery="check_current_state", max_retries=3)
    assert [(r.tries, r.again) for r in of_rule(once, "step")] == [(1, False)]


def test_a_strategy_document_is_what_it_lists_in_its_order():
    document = parse_document(
        {"type": "error_recovery", "recovery_id": "r", "conditions": ["timeout"],
         "strategies": [{"recovery": "retry", "max_retries": 2}, {"action": "refresh", "wait_time": 1}]}
    )  # fmt: skip
    assert isinstance(document, ErrorRecovery)
    found = of_document(document)
    assert [(r.key, r.recovery, r.tries, r.wait_time) for r in found] == [
        ("r[0]", "retry", 2, None), ("r[1]", None, 1, 1.0)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("rules", "value", "rule"),
    [
        ({"max_length": 3}, "four", "max_length: 3"),
        ({"min_length": 1}, "", "min_length: 1"),
        ({"pattern": "^[a-z]+$"}, "A", "pattern: ^[a-z]+$"),
        ({"min": 1, "max": 5}, "6", "max: 5"),
        ({"min": 1}, 0, "min: 1"),
        ({"min": 1, "max": 5}, "many", "min: 1, max: 5"),
        ({"max": 5}, "nan", "max: 5"),
    ],
)
def test_a_value_that_breaks_a_rule_is_told_with_the_rule_and_what_to_do(rules, value, rule):
    told = refusal(FieldValidation(**rules), value)
    assert told is not None
    assert told.rule == rule
    assert told.fix


@pytest.mark.parametrize(
    ("rules", "value"),
    [({}, "x"), ({"max_length": 4}, "four"), ({"min": 1, "max": 5}, "5"), ({"max": 5}, -1.5)],
)
def test_a_value_within_the_rules_is_taken(rules, value):
    assert refusal(FieldValidation(**rules), value) is None


SITE = {"type": "website", "website_id": "s", "name": "S", "base_url": "https://s.test"}


def _checked(*documents):
    told: list[Document] = [parse_document(each) for each in (SITE, *documents)]
    return assemble([Sourced(document, "x.yaml") for document in told])


def _task(**rule):
    step = {"step_id": "a", "action": "no_op", "error_handling": [{"condition": "timeout", **rule}]}
    return {"type": "task", "task_id": "t", "steps": [step]}


@pytest.mark.parametrize("field", ["recovery", "fallback"])
def test_a_recovery_that_there_is_not_is_refused_with_what_was_meant(field):
    with pytest.raises(ValueError, match=r'no recovery "refresh_and_rety".*did you mean "refresh_and_retry"'):
        _checked(_task(**{"recovery": "retry", field: "refresh_and_rety"}))


def test_a_rule_for_an_error_that_there_is_not_is_warned_of():
    _, problems = _checked(_task(condition="validation_faild", recovery="abort"))
    (problem,) = problems
    assert problem.severity is Severity.WARNING
    assert "validation_failed" in (problem.fix or "")


def test_strategies_that_lead_back_to_themselves_are_refused():
    def strategy(name, leads_to):
        return {"type": "error_recovery", "recovery_id": name, "conditions": ["timeout"],
                "strategies": [{"recovery": leads_to}]}  # fmt: skip

    with pytest.raises(ValueError, match="leads back to itself"):
        _checked(strategy("a", "b"), strategy("b", "a"))
