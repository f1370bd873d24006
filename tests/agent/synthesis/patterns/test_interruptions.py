"""What comes by itself at one step of a demonstration may come at any step of a run."""

from __future__ import annotations

import pytest

from tests.agent.synthesis import synthesis_examples as g
from tests.agent.synthesis.sample_pages import Person, field_html

FORM = field_html("user", "User") + field_html("goal", "Goal") + '<button id="save">Save</button>'
REMINDER = '<div id="reminder"><p>Your session ends soon</p><button id="later">Later</button></div>'


def _demonstration(number, *, comes, after="", ignored=False):
    """A person who fills in a form; a reminder comes after the first field, and what the press on it leaves is `after`.

    `ignored`: where it does not come, it comes, too, and the person goes on beside it.
    """
    person = Person(f"t{number}", {"user": f"user {number}", "goal": f"goal {number}"}, seed=number)
    person.opens("/new").sees("/new", "New", FORM)
    person.does("input_text", 'id="user"', text=f"user {number}")
    if comes:
        person.sees("/new", "New", FORM + REMINDER).does("click", 'id="later"')
        person.sees("/new", "New", FORM + after)
    elif ignored:
        person.sees("/new", "New", FORM + REMINDER)
    person.does("input_text", 'id="goal"', text=f"goal {number}").does("click", 'id="save"')
    return person.sees("/done", "Saved", f"<p>goal {number} is saved</p>").trace()


def _induced(**reminder):
    traces = [_demonstration(n, comes=n == 2, **reminder) for n in range(4)]
    lowered = g.induce(traces, name="wf").lowered
    g.published(lowered)
    return lowered


def test_what_answered_a_reminder_is_the_recovery_of_every_step_that_it_blocks():
    lowered = _induced()
    answer = next(task for task in lowered.tasks if task.task_id == "wf_answer_1")
    (step,) = answer.steps
    assert step.action.canonical_type == "click"
    assert [each.type for each in step.skip_when] == ["none_of"]  # nothing is pressed where it is missing
    others = [task for task in lowered.tasks if task is not answer]
    assert others
    for task in others:
        rules = {each.condition: each.recovery for each in task.failure_recovery.strategies}
        assert rules == {"element_covered": "wf_answer_1", "element_not_editable": "wf_answer_1"}


@pytest.mark.parametrize(
    "reminder",
    [
        pytest.param({"after": "<p>Your session was renewed</p>"}, id="the press brought something"),
        pytest.param({"ignored": True}, id="the others went on beside it"),
        pytest.param({"after": REMINDER}, id="it stayed"),
    ],
)
def test_a_press_that_did_more_than_take_something_away_is_no_recovery(reminder):
    lowered = _induced(**reminder)
    assert not any(task.failure_recovery.strategies for task in lowered.tasks)


def test_a_press_that_sent_something_is_no_recovery():
    answers = [{"method": "POST", "url": "/renew", "status": 200}]
    traces = [_demonstration(n, comes=n == 2) for n in range(4)]
    steps = [
        step.model_copy(update={"metadata": {**step.metadata, "answers": answers}})
        if step.action_type == "click" and step is not traces[2].steps[-1]
        else step
        for step in traces[2].steps
    ]
    assert steps != list(traces[2].steps)
    traces[2] = traces[2].model_copy(update={"steps": tuple(steps)})
    lowered = g.induce(traces, name="wf").lowered
    assert not any(task.failure_recovery.strategies for task in lowered.tasks)
