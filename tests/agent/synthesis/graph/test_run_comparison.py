"""A run is compared with its trace: what it pressed, what it entered, what it sent and where it ended."""

from __future__ import annotations

import pytest

from agent.synthesis.graph.run_comparison import ExpectedRun, compare_run
from kb_schema.execution_traces import ExecutionTrace, TraceActionResult, TraceStep

BASE = "http://fleet.test"


def _step(action, element, value=None, *, at="/agents/new", after=None, sends=(), ok=True):
    answers = [{"method": "POST", "url": BASE + each, "status": 303} for each in sends]
    metadata = {"url_after": BASE + (after or at), **({"answers": answers} if answers else {})}
    return TraceStep(
        action_type=action,
        target=None if element is None else {"strategies": [{"type": "id", "value": element}]},
        args=None if value is None else {"value": value},
        result=TraceActionResult(success=ok),
        source_url=BASE + at,
        metadata=metadata,
    )


def _trace(name, *more, save=None, language="Hindi"):
    steps = [
        _step("fill", "name", name),
        _step("select_option", "language", language),
        *more,
        save or _step("click", "save", after="/agents", sends=["/agents"]),
    ]
    return ExecutionTrace(trace_id=name, steps=tuple(steps))


OTHERS = (_trace("Bob"), _trace("Cid"))


def _compare(done, expected=None):
    return compare_run(done, ExpectedRun(expected or _trace("Ann"), OTHERS, {"name": "Ann"}))


def test_a_run_that_does_what_the_trace_shows_passes():
    assert _compare(_trace("Ann")).passed


def test_fields_may_be_filled_in_another_order_and_a_banner_be_closed():
    trace = _trace("Ann")
    first, second, save = trace.steps
    banner = _step("click", "cookies", at="/")
    assert _compare(trace.model_copy(update={"steps": (banner, second, first, save)})).passed


@pytest.mark.parametrize(
    ("done", "at", "found"),
    [
        (_trace("Bob"), 0, "Bob"),
        (_trace("Ann", language="Spanish"), 1, "Spanish"),
        (_trace("Ann", save=_step("click", "cancel", after="/agents")), 2, "cancel"),
        (_trace("Ann", save=_step("click", "save", after="/agents")), 3, "did not send"),
        (
            _trace("Ann", save=_step("click", "save", after="/agents", sends=["/agents", "/agents"])),
            3,
            "2 times",
        ),
        (
            _trace("Ann", save=_step("click", "save", after="/agents", sends=["/agents", "/mails"])),
            3,
            "/mails",
        ),
        (_trace("Ann", save=_step("click", "save", after="/login", sends=["/agents"])), 3, "/login"),
        (_trace("Ann", _step("fill", "greeting", "x")), 3, "greeting"),
    ],
)
def test_each_difference_is_found_with_its_step_and_both_sides(done, at, found):
    result = _compare(done)
    assert not result.passed
    assert result.divergence_point == at
    assert found in f"{result.actual_outcome}"
    assert result.expected_outcome


def test_a_run_that_failed_does_not_pass_even_if_all_steps_are_there():
    done = _trace("Ann").model_copy(update={"success": False, "error": "no message"})
    result = _compare(done)
    assert (result.passed, result.divergence_point) == (False, 3)
    assert "no message" in result.actual_outcome


def test_a_click_that_only_this_trace_has_may_be_missing():
    noisy = _trace("Ann", _step("click", "logo"))
    assert _compare(_trace("Ann"), noisy).passed
