"""Values that several inputs make together, and rows that a value of the page chooses, as a run does them in a browser."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agent.synthesis.trace_consensus import find_gap
from agent.synthesis.utterances.utterance_templates import expand_value_forms
from tests.support.small_sites import Answered, Asked, induced, ran, running_site, visiting

if TYPE_CHECKING:
    from playwright.async_api import Page

    from agent.synthesis.synthesis_pipeline import PipelineResult

DONE = "<body><p role=status>Saved</p></body>"
FIELD = "<body><h1>Entry</h1><form method=post><label>Entry <input name=entry></label><button>Save</button></form></body>"


@dataclass
class Form:
    """A form that keeps what was sent; its page may differ from visit to visit."""

    pages: list[str]
    sent: list[dict[str, str]] = field(default_factory=list)

    def answer(self, asked: Asked) -> Answered:
        if asked.method == "POST":
            self.sent.append(dict(asked.form))
            self.pages = self.pages[1:] or self.pages
            return Answered(location="/done")
        return Answered(DONE if asked.path == "/done" else self.pages[0])


async def _induce_and_run(
    browser, tmp_path, form: Form, person, shown: list[tuple[str, Mapping[str, str]]], asked: list[str]
) -> tuple[list[bool], PipelineResult]:
    """Show the tasks with their values, then run what is asked; return which runs are complete."""
    with running_site(form.answer) as site:
        result = await induced(
            browser, site, tmp_path / "traces", person, [dict(given) for _, given in shown],
            sentences=[sentence for sentence, _ in shown],
        )  # fmt: skip
        if result.unused_sentences or find_gap(result) is not None:
            return [], result
        assert result.understanding is not None
        assert result.understanding.template is not None
        form.sent.clear()
        ends = []
        async with visiting(browser, site, tmp_path / "stores") as session:
            for sentence in asked:
                await session.page.goto(f"{site.base}/")
                values = expand_value_forms(result.understanding.template.parse(sentence))
                ends.append((await ran(session, result, values)).complete)
    return ends, result


async def enters(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    await page.get_by_label("Entry").fill(given["entry"])
    await page.get_by_role("button", name="Save").click()
    await page.wait_for_url("**/done")


def _record(entry: str, **keys: str) -> tuple[str, dict[str, str]]:
    return json.dumps(keys), {"entry": entry}


async def test_two_values_are_typed_as_one(browser, tmp_path):
    shown = [
        _record("Lovelace, Ada", given="Ada", family="Lovelace"),
        _record("Hopper, Grace", given="Grace", family="Hopper"),
        _record("Turing, Alan", given="Alan", family="Turing"),
    ]
    form = Form([FIELD])
    ends, _ = await _induce_and_run(
        browser, tmp_path, form, enters, shown, [_record("", given="Mary", family="Shelley")[0]]
    )
    assert ends == [True]
    assert form.sent == [{"entry": "Shelley, Mary"}]


async def test_a_value_is_computed_of_two_if_three_different_ones_show_it(browser, tmp_path):
    shown = [
        _record("380", budget="500", spent="120"),
        _record("25", budget="90", spent="65"),
        _record("1999", budget="2000", spent="1"),
    ]
    form = Form([FIELD])
    ends, _ = await _induce_and_run(
        browser,
        tmp_path,
        form,
        enters,
        shown,
        [_record("", budget="1000", spent="1")[0], _record("", budget="5", spent="9")[0]],
    )
    assert ends == [True, True]
    assert form.sent == [{"entry": "999"}, {"entry": "-4"}]


async def test_the_days_between_two_dates_are_computed(browser, tmp_path):
    shown = [
        _record("4", start="2026-03-01", end="2026-03-05"),
        _record("10", start="2026-02-25", end="2026-03-07"),
        _record("1", start="2025-12-31", end="2026-01-01"),
    ]
    form = Form([FIELD])
    ends, _ = await _induce_and_run(
        browser, tmp_path, form, enters, shown, [_record("", start="2028-02-28", end="2028-03-01")[0]]
    )
    assert ends == [True]
    assert form.sent == [{"entry": "2"}]


async def test_one_demonstration_that_contradicts_the_difference_makes_the_value_an_input(browser, tmp_path):
    shown = [
        _record("380", budget="500", spent="120"),
        _record("25", budget="90", spent="65"),
        _record("1998", budget="2000", spent="1"),
    ]
    ends, result = await _induce_and_run(
        browser, tmp_path, Form([FIELD]), enters, shown, [_record("", budget="9", spent="1")[0]]
    )
    assert ends == []
    assert result.unused_sentences  # the value is asked for by name instead
    assert result.lowered is not None
    assert [each.name for each in result.lowered.workflow.io_spec.inputs] == ["entry"]


def _flights(*rows: tuple[str, str, str]) -> str:
    cards = "".join(
        f"<div class=flight><b class=name>{name}</b><span class=time>{time}</span>"
        f"<form method=post><input type=hidden name=entry value={name}><button class=book>Book for {price}</button></form></div>"
        for name, time, price in rows
    )
    return f"<body><h1>Flights</h1><div id=list>{cards}</div></body>"


async def books(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    await page.locator(".flight").filter(has_text=given["name"]).get_by_role("button").click()
    await page.wait_for_url("**/done")


async def test_the_row_with_the_extreme_value_is_chosen_on_another_day(browser, tmp_path):
    form = Form(
        [
            _flights(("Blue", "9h 5m", "$1,200"), ("Red", "10h", "$90"), ("Green", "2h 30m", "$800")),
            _flights(("Amber", "1h", "$75"), ("Grey", "30m", "$400"), ("White", "12h", "$1,000")),
            _flights(("Pink", "3h", "$20"), ("Teal", "11h", "$19"), ("Lime", "2h", "$300")),
            _flights(("Rose", "8h", "$500"), ("Sand", "7h", "$600"), ("Mint", "9h", "$100")),
            _flights(("Opal", "20h", "$99"), ("Onyx", "9h", "$1,000"), ("Jade", "10h", "$98")),
            _flights(("Opal", "20h", "$99"), ("Onyx", "9h", "$1,000"), ("Jade", "10h", "$98")),
            _flights(("Opal", "20h", "$99"), ("Onyx", "9h", "$99"), ("Jade", "10h", "$100")),
        ]
    )
    shown = [
        ("Book the cheapest flight.", {"name": "Red"}),
        ("Book the longest flight.", {"name": "White"}),
        ("Book the cheapest flight.", {"name": "Teal"}),
        ("Book the shortest flight.", {"name": "Sand"}),
    ]
    asked = ["Book the cheapest flight.", "Book the shortest flight.", "Book the cheapest flight."]
    ends, _ = await _induce_and_run(browser, tmp_path, form, books, shown, asked)
    assert form.sent == [{"entry": "Jade"}, {"entry": "Onyx"}]
    assert ends == [True, True, False]  # on the last page, two are the cheapest
