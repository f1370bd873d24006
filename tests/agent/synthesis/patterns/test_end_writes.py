"""What the presses of all traces sent last, as a criterion."""

from __future__ import annotations

from agent.synthesis.patterns.end_writes import find_write_conditions
from kb_schema.execution_traces import ANSWERS, ExecutionTrace, TraceStep
from kb_schema.selectors import css

BASE = "http://desk.test"


def _press(*answers: tuple[str, str, int], action: str = "click") -> TraceStep:
    told = [{"method": method, "url": f"{BASE}{path}", "status": status} for method, path, status in answers]
    return TraceStep(action_type=action, target=css("button"), metadata={ANSWERS: told} if told else {})


def _trace(number: int, *steps: TraceStep) -> ExecutionTrace:
    return ExecutionTrace(trace_id=f"trace-{number}", task_description="", steps=steps)


def _found(*traces: tuple[TraceStep, ...]) -> list[tuple[str, str, bool, int]]:
    made = [_trace(number, *steps) for number, steps in enumerate(traces)]
    return [(each.method, each.pattern, each.redirect, each.count) for each in find_write_conditions(made)]


def test_the_last_write_of_all_traces_is_a_criterion_with_a_gap_for_its_id():
    opened, saved = _press(), _press
    assert _found(
        (opened, saved(("PUT", "/api/agents/7", 200))),
        (opened, opened, saved(("PUT", "/api/agents/12", 200))),
    ) == [("PUT", "/api/agents/[^/?#]+/?(?:[?#]|$)", False, 1)]


def test_a_form_that_redirects_is_another_answer_than_the_form_again():
    redirected, again = _press(("POST", "/agents", 302)), _press(("POST", "/agents", 200))
    assert _found((_press(), redirected), (_press(), redirected)) == [
        ("POST", "/agents/?(?:[?#]|$)", True, 1)
    ]
    assert _found((_press(), redirected), (_press(), again)) == []


def test_what_every_press_sends_is_none():
    counted = _press(("POST", "/visits", 200))
    assert _found((counted, counted, counted), (counted, counted)) == []


def test_a_refused_write_and_one_that_only_some_traces_sent_are_none():
    refused, saved = _press(("POST", "/agents", 400)), _press(("POST", "/agents", 200))
    assert _found((_press(), refused), (_press(), refused)) == []
    assert _found((_press(), saved), (_press(),)) == []


def test_two_writes_of_one_run_are_asked_for_both():
    saved = _press(("PUT", "/api/state", 200))
    opened = _press()
    assert _found((opened, saved, opened, saved), (opened, saved, opened, saved)) == [
        ("PUT", "/api/state/?(?:[?#]|$)", False, 2)
    ]
    assert _found((opened, saved, opened, saved), (opened, opened, saved)) == []


def test_two_writes_of_one_press_are_told_apart_by_their_addresses():
    created = _press(("POST", "/api/create", 200), ("POST", "/api/search", 200))
    found = _found((_press(), created), (_press(), created))
    assert [pattern for _, pattern, _, _ in found] == ["/api/create/?(?:[?#]|$)", "/api/search/?(?:[?#]|$)"]
