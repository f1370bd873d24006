"""Which steps of a trace have no effect."""

from __future__ import annotations

from agent.synthesis.traces.trace_cleanup import clean_up_steps
from kb_schema.execution_traces import TraceStep
from kb_schema.selectors import css

SEARCH, TITLE = css("#search"), css("#title")


def _fill(value: str, field=SEARCH) -> TraceStep:
    return TraceStep(action_type="fill", target=field, args={"value": value})


def _click(field=SEARCH) -> TraceStep:
    return TraceStep(action_type="click", target=field)


def _told(*steps: TraceStep) -> list[tuple[str, str | None]]:
    return [(each.action_type, (each.args or {}).get("value")) for each in clean_up_steps(steps)]


def test_a_value_that_is_typed_anew_after_clicks_into_its_field_has_no_effect():
    assert _told(_fill("Impl"), _fill(""), _click(), _click(), _fill("Implement"), _click(TITLE)) == [
        ("fill", "Implement"),
        ("click", None),
    ]


def test_a_value_counts_that_was_there_when_something_else_was_clicked():
    assert _told(_fill("Ann"), _click(TITLE), _fill("Bob")) == [
        ("fill", "Ann"),
        ("click", None),
        ("fill", "Bob"),
    ]


def test_a_click_into_a_field_counts_that_is_not_filled_in():
    assert _told(_click(), _click(), _click(TITLE)) == [("click", None), ("click", None), ("click", None)]
