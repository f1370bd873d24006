"""Widgets: a small drawn sample; `make widgets` measures all of them."""

from __future__ import annotations

import json

import pytest
from rich.console import Console

from tests.support.needs import lacking
from tests.support.rotation import dice
from tests.widgets.people import ACTS, count_possible
from tests.widgets.widget_figures import VERDICTS, list_rows, make_table, write_markdown
from tests.widgets.widget_list import Widget, list_widgets
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
    widget = next(each for each in list_widgets().values() if each.values)
    filled = widget.fill("Rhodes")
    assert "Rhodes" in str(filled.acts)
    assert "Rhodes" in str(filled.leaves)


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
