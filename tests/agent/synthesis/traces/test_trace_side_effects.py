"""Questions, downloads and other tabs, from recorded traces to the calls of a workflow's steps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.synthesis.errors import TraceNormalizationError
from agent.synthesis.traces.trace_normalization import TraceNormalizer
from agent.synthesis.traces.trace_side_effects import InterleavedTabs, linearize_tabs
from kb_schema.execution_traces import TraceStep
from tests.agent.synthesis import synthesis_examples as g
from tests.agent.synthesis.synthesis_examples import examples


def click(name, args=None, **metadata):
    return TraceStep(action_type="click", target=g.by_id(name), args=args, metadata=metadata)


def calls(*rows):
    """The calls of what was made of these rows, and what the report warns of."""
    result = g.induce([g.trace_of(row, n, input_data={"n": n}) for n, row in enumerate(rows)])
    assert g.published(result.lowered)
    steps = [step.action for task in result.lowered.tasks for step in task.steps]
    return steps, result.synthesis_report.warnings, result


def test_what_is_beside_the_page_is_said_in_the_calls_of_the_steps():
    yes = {"on_dialog": "accept"}
    rows = [[click("delete", yes), click("report", download=f"{n}.csv"), click("list")] for n in range(2)]
    (delete, report, _), warnings, _ = calls(*rows)
    assert (delete.on_dialog.accept, delete.on_dialog.text) == (True, None)
    assert report.download == "download_2"
    assert warnings == ()


def test_a_question_that_comes_only_sometimes_is_answered_and_one_answered_both_ways_is_a_persons():
    no = {"on_dialog": "dismiss"}
    (delete,), warnings, _ = calls([click("delete", no)], [click("delete")])
    assert not delete.on_dialog.accept
    assert warnings == ()
    (delete,), warnings, _ = calls([click("delete", no)], [click("delete", {"on_dialog": "accept"})])
    assert delete.on_dialog is None
    assert any("accepted in some traces and dismissed in others" in each for each in warnings)


def test_what_is_typed_into_a_prompt_is_an_input_where_it_varies():
    rows = [[click("move", {"on_dialog": {"accept": True, "text": f"berth {n}"}})] for n in range(3)]
    (move,), _, result = calls(*rows)
    (spec,) = result.lowered.workflow.io_spec.inputs
    assert (spec.name, move.on_dialog.text) == ("n", "berth {n}")
    (move,), _, _ = calls(*[[click("move", {"on_dialog": {"accept": True, "text": "7 {aft}"}})]] * 2)
    assert move.on_dialog.text == "{literal_1}"  # words in braces are no variable


def test_a_tab_that_is_worked_in_is_followed_and_closed_and_one_that_is_not_is_closed_at_once():
    rows = [
        [click("open", opens_tab=1), click("read", tab=1), click("next"), click("peek", opens_tab=2), click("end")]
        for _ in range(2)
    ]  # fmt: skip
    steps, _, _ = calls(*rows)
    told = [(each.canonical_type, each.new_tab) for each in steps]
    assert told == [
        ("click", "follow"), ("click", None), ("close_tab", None), ("click", None), ("click", "close"), ("click", None),
    ]  # fmt: skip


def test_a_trace_that_goes_back_and_forth_between_tabs_is_refused_with_its_place():
    steps = [click("open", opens_tab=1), click("read", tab=1), click("next"), click("more", tab=1)]
    with pytest.raises(
        TraceNormalizationError, match="switches to tab 1; a run can only follow a tab when it opens"
    ) as told:
        TraceNormalizer().normalize([g.trace_of(steps)])
    assert (told.value.trace_id, told.value.step_index) == ("t0", 3)


@examples
@given(st.data())
def test_following_and_closing_leads_every_step_to_its_tab_or_the_trace_is_refused(data):
    """A run is simulated: it knows nothing of tabs but `follow` and `close_tab`."""
    count = data.draw(st.integers(1, 8))
    steps, opened = [], 0
    for _ in range(count):
        tab = data.draw(st.integers(0, opened))
        opens = data.draw(st.booleans())
        opened += opens
        steps.append(click("a", tab=tab, **({"opens_tab": opened} if opens else {})))
    try:
        made = linearize_tabs(steps)
    except InterleavedTabs:
        return
    here = [steps[0].metadata["tab"]]
    for step in made:
        if step.action_type == "close_tab":
            here.pop()
            continue
        assert step.metadata["tab"] == here[-1]
        if step.metadata.get("beside", {}).get("new_tab") == "follow":
            here.append(step.metadata["opens_tab"])
    assert [each for each in made if each.action_type != "close_tab"] == [
        step.model_copy(update={"metadata": each.metadata})
        for step, each in zip(steps, (e for e in made if e.action_type != "close_tab"), strict=True)
    ]
