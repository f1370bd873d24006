"""Recordings that contradict each other: what tells their elements apart is found, or the workflow is refused."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pytest

from agent.synthesis.synthesis_pipeline import PipelineResult
from agent.synthesis.trace_consensus import find_gap
from agent.synthesis.utterances.utterance_templates import expand_value_forms
from tests.support.rotation import dice
from tests.support.small_sites import Answered, Asked, induced, ran, running_site, visiting

if TYPE_CHECKING:
    from playwright.async_api import Page

LABELS = (
    {"kind": "Kind:", "owner": "Owner:", "year": "Year:"},
    {"kind": "Kind", "owner": "Owner name", "year": "Year"},
    {"kind": "Kind", "owner": "Owner", "year": "Year"},
    {"kind": "Boat kind", "owner": "Owner name", "year": "Built in"},
    {"kind": "Kind", "owner": "Owner", "year": "Year"},
)
"""What the five layouts of one form call its fields."""
FORMS: tuple[Callable[[str, str], str], ...] = (
    lambda label, field: f"<p><span>{label}</span>{field}</p>",
    lambda label, field: f"<div class=row><div>{label}</div>{field}</div>",
    lambda label, field: f"<tr><th>{label}</th><td>{field}</td></tr>",
    lambda label, field: f"<div class=field><div class=l>{label}</div><div class=i>{field}</div></div>",
    lambda label, field: f"<div class=entry>{field}<div class=l>{label}</div></div>",
)
FIELDS = ("kind", "owner", "year")
SHOWN = (
    {"kind": "yawl", "owner": "Patrick", "year": "1973"},
    {"kind": "cutter", "owner": "Knapp", "year": "2007"},
    {"kind": "ketch", "owner": "Walsh", "year": "1987"},
    {"kind": "sloop", "owner": "Moreno", "year": "1999"},
    {"kind": "lugger", "owner": "Ivers", "year": "2011"},
)
NEW = {"kind": "dory", "owner": "O'Brien", "year": "1964"}


class Forms:
    """One form in five layouts, its rows in any order."""

    def __init__(self, *, labelled: bool) -> None:
        self.labelled = labelled
        self.layout, self.order = 0, list(FIELDS)
        self.sent: list[dict[str, str]] = []

    def answer(self, asked: Asked) -> Answered:
        if asked.method == "POST":
            self.sent.append(dict(asked.form))
            return Answered("<h1>Sent</h1>")
        rows = "".join(
            FORMS[self.layout](
                LABELS[self.layout][name] if self.labelled else "", f"<input data-x={name} type=text>"
            )
            for name in self.order
        )
        body = f"<table><tbody>{rows}</tbody></table>" if self.layout == 2 else rows
        return Answered(
            f"<body><h1>Boats</h1><form method=post action=/sent>{body}<button>Search</button></form><script>"
            # A name from which a selector could be made is given when the form is sent.
            "const names = new Map([...document.querySelectorAll('input')].map(i => [i, i.dataset.x]));"
            "names.forEach((_, i) => i.removeAttribute('data-x'));"
            "document.querySelector('form').addEventListener('submit', () => names.forEach((n, i) => i.name = n));"
            "</script></body>"
        )

    def shuffled(self, layout: int, dice: random.Random) -> None:
        self.layout, self.order = layout, dice.sample(FIELDS, 3)


def _says(given: Mapping[str, str]) -> str:
    return f"Search for {given['kind']} boats of {given['owner']} built in {given['year']}."


def _searcher(forms: Forms):
    async def searches(page: Page, given: Mapping[str, str], dice: random.Random) -> None:
        for name in dice.sample(FIELDS, 3):
            await page.locator("input").nth(forms.order.index(name)).fill(given[name])
        await page.click("button")
        await page.wait_for_url("**/sent")

    return searches


async def _shown_in_all_layouts(browser, folder, forms, site) -> PipelineResult:
    orders = [list(each) for each in itertools.permutations(FIELDS)]

    def prepare(number: int) -> None:
        forms.layout, forms.order = number, orders[(number * 2 + 1) % 6]

    return await induced(
        browser, site, folder, _searcher(forms), SHOWN, sentences=list(map(_says, SHOWN)), prepare=prepare
    )


async def test_fields_at_contradictory_places_are_told_by_the_words_beside_them(browser, tmp_path):
    forms, rolled = Forms(labelled=True), dice("layouts")
    with running_site(forms.answer) as site:
        result = await _shown_in_all_layouts(browser, tmp_path / "traces", forms, site)
        assert find_gap(result) is None
        assert result.understanding is not None
        assert result.understanding.template is not None
        inputs = expand_value_forms(result.understanding.template.parse(_says(NEW)))
        async with visiting(browser, site, tmp_path / "stores") as session:
            for layout in range(5):
                forms.shuffled(layout, rolled)
                await session.page.goto(f"{site.base}/")
                done = await ran(session, result, inputs)
                assert done.complete, (layout, forms.order, done.error)
                assert forms.sent[-1] == NEW, (layout, forms.order)


async def test_without_words_beside_them_contradictory_places_are_refused_with_two_recordings(
    browser, tmp_path
):
    forms = Forms(labelled=False)
    with running_site(forms.answer) as site:
        result = await _shown_in_all_layouts(browser, tmp_path / "traces", forms, site)
    assert find_gap(result) is not None
    assert result.synthesis_report is not None
    told = [each for each in result.synthesis_report.refusals if "contradict" in each]
    assert len(told) == len(FIELDS)
    assert [each.count("#") for each in told] == [2] * len(FIELDS), told


# -- buttons

NAMES = ("Resolve", "Archive", "Reopen")
OTHERS = ("Ann", "Bo", "Cy")
SIGNS = "<ul>" + "".join(f"<li><button type=button>{each}</button></li>" for each in "✓✗↺") + "</ul>"
TAGGED = "<button type=button>Resolve</button><a href='#a'>Archive</a><span tabindex=0>Reopen</span>"
BOXES = "<div tabindex=0></div>" * 3


@pytest.mark.parametrize(
    ("body", "sentences"),
    [
        (TAGGED, [f"Choose {name} here" for name in NAMES]),
        (BOXES, ["Tidy up the problem"] * 3),
    ],
    ids=["named by their texts", "boxes without words"],
)
async def test_three_buttons_pressed_in_one_place_are_not_alternatives(browser, tmp_path, body, sentences):
    result = await _press_in_turn(browser, tmp_path, body, sentences)
    assert find_gap(result) is not None, [step.action for task in result.lowered.tasks for step in task.steps]


async def test_buttons_that_no_sentence_tells_are_an_input_of_their_own(browser, tmp_path):
    result = await _press_in_turn(browser, tmp_path, SIGNS, [f"Tidy up what {who} wrote" for who in OTHERS])
    assert find_gap(result) is None
    assert "do not tell which element is meant" in result.unused_sentences
    assert result.lowered.workflow.sentences == ()
    inputs = {each.name: each for each in result.lowered.workflow.io_spec.inputs}
    assert all(each.required for each in inputs.values())
    assert "'✓'" in inputs["row_2"].description


async def _press_in_turn(browser, tmp_path, body, sentences) -> PipelineResult:
    async def presses(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
        at = int(given["at"])
        await page.locator("nav b", has_text=NAMES[at] if "Choose" in str(sentences) else OTHERS[at]).click()
        await page.locator("main").locator("button, a, [tabindex]").nth(at).click()

    html = (
        "<head><style>main div { width: 40px; height: 40px; background: #ddd; margin: 4px }</style></head>"
        f"<body><nav>{''.join(f'<b>{each}</b> ' for each in (*NAMES, *OTHERS))}</nav><main>{body}</main>"
        "<p id=said></p><script>"
        "document.querySelectorAll('nav b, main button, main a, main [tabindex]').forEach((e, at) =>"
        " e.onclick = () => { document.querySelector('#said').textContent = 'done ' + at; return false; });"
        "</script></body>"
    )
    with running_site(lambda _: Answered(html)) as site:
        return await induced(
            browser, site, tmp_path, presses, [{"at": str(at)} for at in range(3)], sentences=sentences
        )
