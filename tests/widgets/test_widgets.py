"""Widgets: a small drawn sample; `make widgets` measures all of them."""

from __future__ import annotations

import json
import random

import pytest
from rich.console import Console

from tests.support.needs import lacking
from tests.support.rotation import dice
from tests.widgets.noisy_person import NOISE, count_allowed, name_of, plan_visit
from tests.widgets.people import ACTS, count_possible
from tests.widgets.recorded_sessions import (
    DoneAct,
    RecordedSession,
    SessionStep,
    SessionVisit,
    StateChange,
    read_sessions,
    write_session,
)
from tests.widgets.session_figures import list_session_rows, list_shown_rows, write_shown_markdown
from tests.widgets.session_judgement import JudgedSession, judge_session
from tests.widgets.session_measurement import record_session
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


def judge(*acts: dict[str, object], kept=(), steps=(), asked=()) -> JudgedSession:
    """Judge a visit with an act each second from second 1 on; `kept`: key, value, second and event of each change."""
    visit = SessionVisit("native.dialog", 0.0, asked=[(1000.0 * at, "?") for at in asked], repeated="right")
    changes = [StateChange(key, value, 1000.0 * at, event) for key, value, at, event in kept]
    visit.steps = [SessionStep(kind, 1000.0 * at, value, kind) for kind, at, value in steps]
    for number, act in enumerate(acts, 1):
        own = tuple(each for each in changes if number <= each.at / 1000 < number + 1)
        visit.acts.append(DoneAct(act, 1000.0 * number, 1000.0 * number + 800, own))
    return judge_session(RecordedSession("native", 1, 1.0, [visit]))


@pytest.mark.parametrize(
    ("steps", "asked", "counts"),
    [
        ([("click", 1.1, "")], [], (1, 0, 0, 0)),
        ([], [1.5], (0, 1, 0, 0)),
        ([], [], (0, 0, 1, 0)),
        ([("click", 1.1, ""), ("click", 2.6, "")], [], (1, 0, 0, 2)),
        ([("fill", 1.9, "a")], [], (1, 0, 0, 0)),
    ],
    ids=["in the trace", "asked", "lost", "invented", "a slider"],
)
def test_a_change_is_in_the_trace_or_asked_or_lost_and_steps_in_idle_moments_are_invented(
    steps, asked, counts
):
    judged = judge(
        {"click": "#a"}, {"hesitate": 800}, kept=[("a", 1, 1.2, "click")], steps=steps, asked=asked
    )
    assert judged.changes == 1
    assert (judged.held, judged.asked, len(judged.lost), len(judged.invented)) == counts


def test_a_lost_press_is_not_excused_by_what_is_typed_before_or_after_it():
    judged = judge(
        {"click": "#b"}, {"click": "#field"}, {"type": "Graz"},
        kept=[("pressed", 1, 1.2, "click"), ("city", "Graz", 3.2, "input")], steps=[("fill", 3.3, "Graz")],
    )  # fmt: skip
    assert (judged.held, len(judged.lost)) == (1, 1)
    judged = judge(
        {"type": "Graz"}, {"click": "#save"}, kept=[("city", "Graz", 2.1, "click")],
        steps=[("fill", 1.4, "Graz")],
    )  # fmt: skip
    assert (judged.held, len(judged.lost)) == (0, 1)


def test_what_a_page_keeps_when_a_field_is_left_is_in_the_step_that_typed_it():
    left = {"kept": [("city", "Graz", 2.1, "change")]}
    assert judge({"type": "Graz"}, {"keys": "Tab"}, **left, steps=[("fill", 1.4, "Graz")]).lost == []
    assert len(judge({"type": "Graz"}, {"keys": "Tab"}, **left, steps=[("fill", 1.4, "Gr")]).lost) == 1


def test_one_question_answers_for_one_change():
    judged = judge(
        {"click": "#a"}, {"click": "#b"}, asked=[1.3],
        kept=[("a", 1, 1.2, "click"), ("b", 1, 2.2, "click")],
    )  # fmt: skip
    assert (judged.asked, len(judged.lost)) == (1, 1)


def test_a_late_change_belongs_to_the_act_before_it_and_a_state_that_returns_is_no_change():
    judged = judge(
        {"click": "#a"}, {"hesitate": 800}, {"reload": True},
        kept=[("a", 1, 2.4, ""), ("a", 2, 3.5, "")], steps=[("click", 1.1, ""), ("refresh", 3.1, "")],
    )  # fmt: skip
    assert (judged.changes, judged.held) == (1, 1)


def test_a_session_is_read_as_it_was_kept(tmp_path):
    session = RecordedSession("native", 1, 0.5, [SessionVisit("native.date", 1.0)])
    session.visits[0].acts.append(DoneAct({"click": "#a"}, 1.0, 2.0, (StateChange("a", [1], 1.5, "click"),)))
    session.visits[0].steps.append(SessionStep("click", 1.2, "", "click button"))
    session.visits[0].asked.append((1.3, "?"))
    write_session(tmp_path, session)
    assert list(read_sessions(tmp_path)) == [session]
    assert list(read_sessions(tmp_path / "none")) == []


def test_a_noisy_person_does_the_same_for_one_seed_and_the_acts_of_the_widget_are_among_it():
    widget = list_widgets()["native.contenteditable"]
    plans = [plan_visit(widget, random.Random(number)) for number in range(60)]
    assert plans == [plan_visit(widget, random.Random(number)) for number in range(60)]
    assert {name_of(act) for plan in plans for act in plan} > {"click", "type", "slip", "undo", "scroll"}
    assert {name_of(act) for plan in plans for act in plan} <= {*ACTS, *NOISE}
    assert count_allowed(({"by_keys": "#a"}, {"reload": True}, {"hesitate": 9}))["refresh"] == 1


def test_the_tables_of_sessions_and_shown_widgets_have_their_counts_and_replace_only_their_part():
    session = JudgedSession(
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
        judged = judge_session(await record_session(bench, library, 0.2, dice_.randrange(1000)))
    assert judged.visits
    assert (judged.lost, judged.invented) == ([], []), judged


@pytest.mark.parametrize("key", ["native.date", "radix.select"])
async def test_a_widget_that_was_shown_twice_is_done_with_a_third_value(browser, key):
    _need_libraries()
    async with open_bench(browser) as bench:
        measured = await measure_shown(bench, list_widgets()[key])
    assert (measured.verdict, measured.varied) == ("right", True), measured
