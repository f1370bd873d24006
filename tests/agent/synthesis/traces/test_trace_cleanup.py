"""Which steps of a trace have no effect."""

from __future__ import annotations

import pytest

from agent.synthesis.traces.trace_cleanup import clean_up_steps, clean_up_traces
from kb_schema.execution_traces import ExecutionTrace, TraceStep
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


def _pressed(name: str, tag: str, *, page: str = "<p>the same</p>", **metadata: object) -> TraceStep:
    return TraceStep(
        action_type="click", target=css(f"#{name}"), html_before=page, html_after=page, source_url="http://a.test/",
        metadata={"fingerprint": {"tag": tag, "text": name}, **metadata},
    )  # fmt: skip


def _left_in_traces(*traces: tuple[TraceStep, ...]) -> list[list[str]]:
    shown = [ExecutionTrace(trace_id=f"t{number}", steps=steps) for number, steps in enumerate(traces)]
    return [
        [step.metadata["fingerprint"]["text"] for step in trace.steps] for trace in clean_up_traces(shown)
    ]


def test_a_click_beside_controls_that_changes_nothing_has_no_effect():
    save = _pressed("Save", "button")
    assert _left_in_traces((_pressed("Ann", "td"), save), (save,)) == [["Save"], ["Save"]]


def test_a_click_beside_controls_counts_that_every_trace_has_or_that_did_something():
    save, cell = _pressed("Save", "button"), _pressed("Ann", "td")
    assert _left_in_traces((cell, save), (cell, save)) == [["Ann", "Save"], ["Ann", "Save"]]
    sent = _pressed("Ann", "td", answers=[{"method": "POST", "url": "http://a.test/", "status": 200}])
    assert _left_in_traces((sent, save), (save,)) == [["Ann", "Save"], ["Save"]]
    changed = _pressed("Ann", "td", page="<p>another</p>")
    assert _left_in_traces((changed, save), (save,)) == [["Ann", "Save"], ["Save"]]


OPEN = (
    '<i>1</i><button aria-expanded="true" class=x>Tags</button><ul><li>red</li><li>blue</li></ul><p>Text</p>'
)
CLOSED = '<i>1</i><button aria-expanded="false">Tags</button><p>Text</p>'


@pytest.mark.parametrize(
    ("behind", "left"),
    [
        (CLOSED, ["Save"]),
        (CLOSED.replace("<i>1</i>", ""), ["Text", "Save"]),
        (CLOSED.replace("Text", "Next"), ["Text", "Save"]),
        (OPEN.replace("<p>Text</p>", ""), ["Text", "Save"]),
    ],
    ids=["only the menu", "something else is gone", "something is new", "the menu is open"],
)
def test_a_click_beside_controls_that_only_closes_a_menu_has_no_effect(behind, left):
    cell, save = _pressed("Text", "p", page=OPEN), _pressed("Save", "button", page=behind)
    other = _pressed("Save", "button", page=OPEN)
    assert _left_in_traces((cell, save), (other,)) == [left, ["Save"]]
    assert _left_in_traces((cell, save), (cell, save)) == [["Text", "Save"]] * 2


@pytest.mark.parametrize(("said", "left"), [("p", 1), ("button 'Close'", 2), (None, 2)])
def test_such_a_click_of_a_recording_is_known_by_its_words_if_it_has_no_fingerprint(said, left):
    beside = _pressed("Text", "p", page=OPEN).model_copy(update={"metadata": {"said": said} if said else {}})
    save = _pressed("Save", "button", page=CLOSED)
    traces = [
        ExecutionTrace(trace_id=f"t{number}", steps=steps)
        for number, steps in enumerate(((beside, save), (save,)))
    ]
    assert [len(trace.steps) for trace in clean_up_traces(traces)] == [left, 1]


def _opened(url: str, led_to: str | None = None) -> TraceStep:
    return TraceStep(action_type="navigate", args={"url": url}, metadata={"url_after": led_to or url})


@pytest.mark.parametrize(
    ("first", "left"),
    [
        (_opened("http://a.test/login"), ["http://a.test/login"]),
        (_opened("http://a.test", "http://a.test/login"), ["http://a.test/login"]),
        (_opened("http://a.test/german"), ["http://a.test/german", "http://a.test/login"]),
    ],
    ids=["the same address", "led to it", "another address"],
)
def test_an_address_that_is_opened_once_more_is_opened_once(first, left):
    assert [
        (each.args or {})["url"] for each in clean_up_steps((first, _opened("http://a.test/login")))
    ] == left


def test_a_trace_without_steps_stays_as_it_is():
    assert clean_up_traces([ExecutionTrace(trace_id="t")])[0].steps == ()
