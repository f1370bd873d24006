"""Widgets: a small drawn sample; `make widgets` measures all of them."""

from __future__ import annotations

import json
import random

import pytest
from rich.console import Console

from agent.recording.recorded_actions import RecordedAction
from tests.support.needs import lacking
from tests.support.rotation import dice
from tests.widgets.noisy_person import NOISE, count_allowed, name_of, plan_visit
from tests.widgets.people import ACTS, count_possible
from tests.widgets.session_figures import list_session_rows, list_shown_rows, write_shown_markdown
from tests.widgets.session_measurement import DoneAct, MeasuredSession, Visit, judge_visit, measure_session
from tests.widgets.shown_measurement import ShownWidget, measure_shown
from tests.widgets.widget_figures import VERDICTS, list_rows, make_table, renew_section, write_markdown
from tests.widgets.widget_list import Widget, given_of, list_widgets
from tests.widgets.widget_measurement import MeasuredWidget, open_bench, read_record, to_record
from tests.widgets.widget_server import PAGES, is_installed

LEAST_WIDGETS = 60
SAMPLE = 4
"""Widgets in a normal run."""


def _need_libraries() -> None:
    if not is_installed():
        lacking("the libraries of the widgets are not installed: make setup-widgets")


def test_every_listed_widget_has_a_page_an_act_and_a_state():
    listed = list_widgets()
    assert len(listed) >= LEAST_WIDGETS
    for key, widget in listed.items():
        sources = [each for each in PAGES.iterdir() if each.stem == widget.library]
        assert len(sources) == 1, f"{key}: no page of its library"
        assert f"{widget.name}:" in sources[0].read_text("utf-8") or '"native_drag' in sources[0].read_text(
            "utf-8"
        ), key
        assert all(sum(name in ACTS for name in act) == 1 for act in widget.acts), key
        assert widget.first().find_fault({}), f"{key}: any state is right"


def test_a_state_is_compared_with_the_list():
    widget = Widget(
        library="l",
        name="n",
        does="d",
        acts=(),
        leaves={"a": [1]},
        leaves_about={"b": (1, 2)},
        leaves_has={"c": "x"},
    )
    assert widget.find_fault({"a": [1], "b": "1.5", "c": "axb"}) == ""
    assert widget.find_fault({"a": [2], "b": 3, "c": "y"}) == "a is [2]; b is 3; c is 'y'"


def test_values_stand_in_acts_and_states():
    widget = list_widgets()["native.dialog"]
    filled = widget.fill("Rhodes")
    assert "Rhodes" in str(filled.acts)
    assert "Rhodes" in str(filled.leaves)
    date = list_widgets()["native.date"]
    for value in date.values:
        assert given_of(value) in str(date.fill(value).leaves)
        assert "{" not in str(date.fill(value).acts).replace("{'", "")


def test_steps_that_nobody_can_have_done_are_counted():
    assert count_possible(({"click": "#a"}, {"keys": "Tab Enter"})) == {
        "navigate": 1, "refresh": 0, "navigate_back": 0, "press": 2, "fill": 2, "pointer": 3,
    }  # fmt: skip


def test_a_result_is_read_as_it_was_kept_and_is_in_the_table():
    measured = MeasuredWidget("native.date", "lost", ("click",), "why")
    assert read_record(json.loads(json.dumps(to_record(measured)))) == measured
    row = next(each for each in list_rows([measured]) if each[0] == "native")
    assert dict(zip(VERDICTS, row[3:], strict=True))["lost"] == "1"
    assert "| native.date | types a date into a date field | lost |" in write_markdown([measured])
    console = Console(record=True, quiet=True)
    console.print(make_table([measured]))


async def test_drawn_widgets_are_recorded_or_named_and_have_no_step_that_nobody_did(browser):
    _need_libraries()
    drawn = dice("widgets").sample(sorted(list_widgets()), SAMPLE)
    async with open_bench(browser) as bench:
        measured = [await bench.measure(list_widgets()[each]) for each in drawn]
    bad = [each for each in measured if each.verdict not in ("right", "told", "failed")]
    assert bad == [], bad


@pytest.mark.parametrize("key", ["native.dialog", "radix.select"])
async def test_a_widget_is_recorded_and_repeated_to_the_same_state(browser, key):
    _need_libraries()
    async with open_bench(browser) as bench:
        measured = await bench.measure(list_widgets()[key])
    assert measured.verdict == "right", measured


def make_visit(*acts: dict[str, object], states: list[dict[str, object]]) -> Visit:
    """A visit with an act each second; `states`: before the first act and after each."""
    visit = Visit(list_widgets()["native.dialog"], begin=0.0)
    for number, act in enumerate(acts):
        begin = 1000.0 * (number + 1)
        visit.acts.append(DoneAct(act, begin, begin + 800, states[number], states[number + 1]))
    return visit


def make_step(kind: str, time: float, value: str = "") -> RecordedAction:
    return RecordedAction(kind, 0, "http://a/", time, args={"value": value})


@pytest.mark.parametrize(
    ("steps", "asked", "counts"),
    [
        ([make_step("click", 1100.0)], [], (1, 0, 0, 0)),
        ([], [(1500.0, "does it belong to the task?")], (0, 1, 0, 0)),
        ([], [], (0, 0, 1, 0)),
        ([make_step("click", 1100.0), make_step("click", 2600.0)], [], (1, 0, 0, 2)),
    ],
    ids=["in the trace", "asked", "lost", "invented"],
)
def test_a_change_is_in_the_trace_or_asked_or_lost_and_steps_in_idle_moments_are_invented(
    steps, asked, counts
):
    visit = make_visit({"click": "#a"}, {"hesitate": 800}, states=[{}, {"a": 1}, {"a": 1}])
    measured = MeasuredSession("native", 1, 1.0)
    judge_visit(measured, visit, steps, asked)
    assert measured.changes == 1
    assert (measured.held, measured.asked, len(measured.lost), len(measured.invented)) == counts


def test_what_a_page_keeps_when_a_field_is_left_is_in_the_step_that_typed_it():
    visit = make_visit({"type": "Graz"}, {"click": "#b"}, states=[{}, {}, {"city": "Graz"}])
    measured = MeasuredSession("native", 1, 1.0)
    judge_visit(measured, visit, [make_step("fill", 1400.0, "Graz")], [])
    assert (measured.held, measured.lost) == (1, [])


def test_a_noisy_person_does_the_same_for_one_seed_and_the_acts_of_the_widget_are_among_it():
    widget = list_widgets()["native.contenteditable"]
    plans = [plan_visit(widget, random.Random(number)) for number in range(60)]
    assert plans == [plan_visit(widget, random.Random(number)) for number in range(60)]
    assert {name_of(act) for plan in plans for act in plan} > {"click", "type", "slip", "undo", "scroll"}
    assert {name_of(act) for plan in plans for act in plan} <= {*ACTS, *NOISE}
    assert count_allowed(({"by_keys": "#a"}, {"reload": True}, {"hesitate": 9}))["refresh"] == 1


def test_the_tables_of_sessions_and_shown_widgets_have_their_counts_and_replace_only_their_part():
    session = MeasuredSession(
        "native", 1, 2.0, visits=3, acts=9, changes=4, held=3, asked=1, repeated={"right": 3}
    )
    assert list_session_rows([session])[-1][:9] == ["all", "2", "3", "9", "4", "3", "1", "0", "0"]
    shown = [ShownWidget("native.date", True, "right"), ShownWidget("native.time", True, "refused", "a | b")]
    assert list_shown_rows(shown)[-1] == ["all", "2", "2", "1", "0", "1", "0", "0", "0"]
    page = renew_section("# A\n<!-- x -->\n\nformer\n\n## B\n", "<!-- x -->", write_shown_markdown(shown))
    assert "former" not in page
    assert page.endswith("| native.time | refused | a / b |\n\n## B\n")


async def test_a_short_session_has_every_change_in_the_trace_or_asked_and_no_step_that_nobody_did(browser):
    _need_libraries()
    dice_ = dice("widget sessions")
    library = dice_.choice(["native", "radix", "mui", "headless", "vuetify"])
    async with open_bench(browser) as bench:
        measured = await measure_session(bench, library, 0.2, dice_.randrange(1000))
    assert measured.visits
    assert (measured.lost, measured.invented) == ([], []), measured


@pytest.mark.parametrize("key", ["native.date", "radix.select"])
async def test_a_widget_that_was_shown_twice_is_done_with_a_third_value(browser, key):
    _need_libraries()
    async with open_bench(browser) as bench:
        measured = await measure_shown(bench, list_widgets()[key])
    assert (measured.verdict, measured.varied) == ("right", True), measured
