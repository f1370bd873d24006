"""What an error is called, which rules are for it and in which order; what a field takes."""

from __future__ import annotations

import pytest

from agent.errors import NoKnownScreen, NoPath, StepFailed
from agent.execution.recovery import recovery_runner, retry_recoveries
from agent.execution.recovery.failure_names import FailureSigns, list_error_names
from agent.execution.recovery.recovery_registry import RECOVERIES
from agent.execution.recovery.recovery_rules import list_document_remedies, list_rule_remedies
from agent.page.errors import ActionFailed, ActionMisused, GateFailed, GatePoint
from agent.page.page_problems import PageProblems, RefusedField
from kb_schema import SourcedDocument, action_types, assemble, parse_document
from kb_schema.conditions import condition_types
from kb_schema.documents import Document
from kb_schema.error_handling import ERRORS, ErrorRecovery, ErrorRule
from kb_schema.errors import Severity
from kb_schema.field_validation import find_violation
from kb_schema.graph_documents import ErrorState
from kb_schema.screens import FieldValidation

UNSEEN = StepFailed("not seen", error="postcondition", acted=True)
MARKED = RefusedField(
    label="Name", message="taken", marked=True, value="Ada", kind="text", required=True, placeholder="",
    min_length=None, max_length=None, pattern=None, options=(), element="name",
)  # fmt: skip
NATIVE = MARKED.model_copy(update={"marked": False})


def test_every_named_recovery_is_there_and_no_other():
    assert set(recovery_runner.RECOVERIES) == set(action_types.RECOVERIES)
    with pytest.raises(ValueError, match="already registered"):
        retry_recoveries.register_recovery("retry")(RECOVERIES["retry"])


@pytest.mark.parametrize(
    ("error", "signs", "action", "first", "also"),
    [
        (GateFailed(GatePoint.NOT_FOUND, "0 match", "#x"), FailureSigns(), "click", "element_not_found", "timeout"),
        (GateFailed(GatePoint.DISABLED, "", "#x"), FailureSigns(), "click", "element_not_editable", "timeout"),
        (GateFailed(GatePoint.NOT_SCOPED, "", "#x"), FailureSigns(), "click", "element_covered", "click_intercepted"),
        (UNSEEN, FailureSigns(complaints=PageProblems(status=422, fields=(MARKED,))), "click", "validation_failed", "timeout"),
        (UNSEEN, FailureSigns(complaints=PageProblems(status=200, fields=(NATIVE,))), "click", "validation_failed", "timeout"),
        (UNSEEN, FailureSigns(complaints=PageProblems(status=200, fields=(NATIVE,))), "fill", "postcondition", "timeout"),
        (UNSEEN, FailureSigns(complaints=PageProblems(status=503)), "click", "server_error", "http_503"),
        (UNSEEN, FailureSigns(complaints=PageProblems(status=500), signed_out=True), "click", "server_error", "timeout"),
        (UNSEEN, FailureSigns(signed_out=True), "click", "session_expired", "not_authenticated"),
        (UNSEEN, FailureSigns(url="chrome-error://chromewebdata/"), "click", "connection_lost", "timeout"),
        (UNSEEN, FailureSigns(states=(ErrorState(screen_id="x", reason="sold_out"),)), "click", "sold_out", "timeout"),
        (StepFailed("", error="authenticated"), FailureSigns(), "click", "session_expired", "precondition_failed"),
        (NoPath("a", "b"), FailureSigns(), "navigate", "navigation_failed", "navigation_failed"),
        (NoKnownScreen("http://x", ()), FailureSigns(), "navigate", "screen_recognition_failed", "navigation_failed"),
        (ActionFailed("fill", "no"), FailureSigns(), "fill", "action_failed", "action_failed"),
        (ActionFailed("select_option", "no"), FailureSigns(), "select_option", "option_not_found", "action_failed"),
        (ActionMisused("upload_file", "no"), FailureSigns(), "upload_file", "file_not_found", "file_not_found"),
    ],
)  # fmt: skip
def test_an_error_is_called_by_what_the_page_shows_first(error, signs, action, first, also):
    names = list_error_names(error, signs, action)
    assert names[0] == first
    assert also in names
    own = {state.reason for state in signs.states}
    known = {*ERRORS, *condition_types(), *own}
    assert [name for name in names if name not in known and not name.startswith("http_")
            and name not in {point.value for point in GatePoint}] == []  # fmt: skip


def test_a_rule_is_its_recovery_as_often_as_it_says_then_its_fallback():
    rule = ErrorRule(condition="timeout", recovery="retry", retry=True, max_retries=3, fallback="abort")
    assert [(r.recovery, r.tries, r.again) for r in list_rule_remedies(rule, "step")] == [
        ("retry", 3, True), ("abort", 1, True)
    ]  # fmt: skip
    once = ErrorRule(condition="timeout", recovery="check_current_state", max_retries=3)
    assert [(r.tries, r.again) for r in list_rule_remedies(once, "step")] == [(1, False)]


def test_a_strategy_document_is_what_it_lists_in_its_order():
    document = parse_document(
        {"type": "error_recovery", "recovery_id": "r", "conditions": ["timeout"],
         "strategies": [{"recovery": "retry", "max_retries": 2}, {"action": "refresh", "wait_time": 1}]}
    )  # fmt: skip
    assert isinstance(document, ErrorRecovery)
    found = list_document_remedies(document)
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
    told = find_violation(FieldValidation(**rules), value)
    assert told is not None
    assert told.rule == rule
    assert told.fix


@pytest.mark.parametrize(
    ("rules", "value"),
    [({}, "x"), ({"max_length": 4}, "four"), ({"min": 1, "max": 5}, "5"), ({"max": 5}, -1.5)],
)
def test_a_value_within_the_rules_is_taken(rules, value):
    assert find_violation(FieldValidation(**rules), value) is None


SITE = {"type": "website", "website_id": "s", "name": "S", "base_url": "https://s.test"}


def _checked(*documents):
    told: list[Document] = [parse_document(each) for each in (SITE, *documents)]
    return assemble([SourcedDocument(document, "x.yaml") for document in told])


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
