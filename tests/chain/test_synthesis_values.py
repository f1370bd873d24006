"""Values of the task in other notations, in parts and in lists, and values that the page shows beside a name."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from agent.synthesis.trace_consensus import find_gap
from agent.synthesis.utterances.utterance_templates import UtteranceMismatch, expand_value_forms
from tests.support.small_sites import Answered, Asked, induced, ran, running_site, visiting

if TYPE_CHECKING:
    from playwright.async_api import Page

    from agent.synthesis.synthesis_pipeline import PipelineResult

DONE = "<body><p role=status>Saved</p></body>"


@dataclass
class Form:
    """A form that keeps what was sent."""

    html: str
    sent: list[dict[str, str]] = field(default_factory=list)

    def answer(self, asked: Asked) -> Answered:
        if asked.method == "POST":
            self.sent.append(dict(asked.form))
            return Answered(location="/done")
        return Answered(DONE if asked.path == "/done" else self.html)


async def _says(
    browser, tmp_path, form: Form, person, shown: list[tuple[str, Mapping[str, str]]], asked: list[str]
) -> tuple[list[bool], PipelineResult]:
    """Show the sentences with their values, then run what is asked; return which runs are complete."""
    with running_site(form.answer) as site:
        result = await induced(
            browser, site, tmp_path / "traces", person, [dict(given) for _, given in shown],
            sentences=[sentence for sentence, _ in shown],
        )  # fmt: skip
        assert find_gap(result) is None
        template = result.understanding.template if result.understanding else None
        assert template is not None
        form.sent.clear()
        ends = []
        async with visiting(browser, site, tmp_path / "stores") as session:
            for sentence in asked:
                await session.page.goto(f"{site.base}/")
                done = await ran(session, result, expand_value_forms(template.parse(sentence)))
                ends.append(done.complete)
    return ends, result


RATES = {"Euro": "1.09", "Krone": "0.14", "Lira": "0.03", "Peso": "0.05", "Zloty": "0.25"}


async def enters_a_rate(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    await page.get_by_label("Rate").fill(RATES[given["money"]])
    await page.get_by_role("button", name="Save").click()
    await page.wait_for_url("**/done")


async def test_what_the_page_shows_beside_a_name_is_read_there_and_an_unknown_name_is_not_done(
    browser, tmp_path
):
    rows = "".join(
        f"<div class=line><b>{name}</b><span class=rate>{rate}</span></div>" for name, rate in RATES.items()
    )
    form = Form(
        f"<body><h1>Rates</h1>{rows}<form method=post><label>Rate <input name=rate></label><button>Save</button></form></body>"
    )
    shown = [
        (f"Enter the rate of {each} and save it.", {"money": each}) for each in ("Krone", "Lira", "Zloty")
    ]
    ends, _ = await _says(
        browser, tmp_path, form, enters_a_rate, shown,
        ["Enter the rate of Peso and save it.", "Enter the rate of Guilder and save it."],
    )  # fmt: skip
    assert ends == [True, False]
    assert form.sent == [{"rate": "0.05"}]


BOOKINGS = (
    ("Ada Lovelace", "4:05 PM", "(210) 555-0199", "hull, mast", "Rhodes"),
    ("Ben Moor", "9:30 AM", "(210) 555-0111", "sail", "Kos"),
    ("Cid Vane", "12:45 PM", "(331) 555-0145", "mast, sail, hull", "Rhodes"),
)
NEW = ("Ida Holm", "12:10 AM", "(404) 555-0170", "hull", "Delos")


def _record(name: str, time: str, telephone: str, parts: str, port: str) -> str:
    return json.dumps({
        "Owner": name, "Time": time, "Telephone": telephone, "Parts": parts.split(", "), "Port": port,
    })  # fmt: skip


def _given(name: str, time: str, telephone: str, parts: str, port: str) -> dict[str, str]:
    return {"name": name, "time": time, "telephone": telephone, "parts": parts, "port": port}


async def books(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    first, last = given["name"].split()
    await page.get_by_label("Given name").fill(first)
    await page.get_by_label("Family name").fill(last)
    clock, half = given["time"].split()
    await page.get_by_label("Time").click()
    await page.keyboard.type(f"{clock.replace(':', '').zfill(4)}{half}")
    await page.get_by_label("Telephone").fill("".join(filter(str.isdigit, given["telephone"])))
    await page.get_by_label("Parts").select_option(label=given["parts"].split(", "))
    await page.get_by_label("Port").fill(given["port"])
    await page.get_by_role("button", name="Save").click()
    await page.wait_for_url("**/done")


async def test_a_task_that_is_a_record_gives_inputs_by_key_in_the_notations_of_the_page(browser, tmp_path):
    form = Form(
        "<body><h1>Repair</h1><form method=post><label>Given name <input name=given></label>"
        "<label>Family name <input name=family></label><label>Time <input type=time name=time></label>"
        "<label>Telephone <input name=telephone></label>"
        "<label>Parts <select multiple name=parts><option>hull<option>mast<option>sail</select></label>"
        "<label>Port <input name=port></label><button>Save</button></form></body>"
    )
    shown = [(_record(*each), _given(*each)) for each in BOOKINGS]
    ends, result = await _says(browser, tmp_path, form, books, shown, [_record(*NEW)])
    assert ends == [True]
    (sent,) = form.sent
    assert sent == {
        "given": "Ida", "family": "Holm", "time": "00:10", "telephone": "4045550170", "parts": "hull",
        "port": "Delos",
    }  # fmt: skip
    template = result.understanding.template if result.understanding else None
    assert template is not None
    more = {**json.loads(_record(*NEW)), "Urgent": "yes"}
    with pytest.raises(UtteranceMismatch):
        template.parse(json.dumps(more))  # nobody showed what to do then


async def chooses_by_place(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    await page.locator("input[type=checkbox]").nth(int(given["box"]) - 1).check()
    await page.locator("input[type=text]").nth(int(given["field"]) - 1).fill(given["text"])
    await page.get_by_role("button", name="Save").click()
    await page.wait_for_url("**/done")


def _place(number: int) -> str:
    return {1: "1st", 2: "2nd", 3: "3rd"}[number]


async def test_the_n_th_of_a_kind_is_chosen_by_the_number_of_the_sentence_though_it_was_not_shown(
    browser, tmp_path
):
    boxes = "".join(f"<input type=checkbox name=box value=b{number}>" for number in (1, 2, 3))
    fields = "".join(f"<input type=text name=t{number} id=text-{number}>" for number in (1, 2, 3))
    form = Form(
        f"<body><form method=post><div>{boxes}</div><div>{fields}</div><button>Save</button></form></body>"
    )
    sentence = 'Tick the {} box and write "{}" into the {} field.'
    shown = [
        (sentence.format(_place(box), text, _place(at)), {"box": str(box), "text": text, "field": str(at)})
        for box, text, at in ((1, "Ada", 2), (2, "Ben", 2), (2, "Cid", 1), (1, "Dan", 1))
    ]
    ends, _ = await _says(
        browser, tmp_path, form, chooses_by_place, shown, [sentence.format("3rd", "Eve", "3rd")]
    )
    assert ends == [True]
    assert form.sent == [{"box": "b3", "t1": "", "t2": "", "t3": "Eve"}]


async def writes_in_letters(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    await page.get_by_label("Sign").fill(given["sign"])
    await page.get_by_role("button", name="Save").click()
    await page.wait_for_url("**/done")


async def test_a_word_of_the_sentence_says_in_which_letters_a_value_is_written(browser, tmp_path):
    form = Form(
        "<body><form method=post><label>Sign <input name=sign></label><button>Save</button></form></body>"
    )
    sentence = 'Write "{}" in {} case letters.'
    shown = [
        (sentence.format("Ada", "upper"), {"sign": "ADA"}),
        (sentence.format("Ben", "lower"), {"sign": "ben"}),
        (sentence.format("Cid", "upper"), {"sign": "CID"}),
    ]
    ends, _ = await _says(
        browser, tmp_path, form, writes_in_letters, shown,
        [sentence.format("Ida", "lower"), sentence.format("Eve", "upper")],
    )  # fmt: skip
    assert ends == [True, True]
    assert form.sent == [{"sign": "ida"}, {"sign": "EVE"}]


NOTES = ("Rope is dear", "The mast leans", "Keys at Ann's")


async def copies_a_note(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    await page.get_by_label("Copy").fill(NOTES[int(given["at"]) - 1])
    await page.get_by_role("button", name="Save").click()
    await page.wait_for_url("**/done")


async def test_what_the_n_th_field_holds_is_read_by_the_number_of_the_sentence(browser, tmp_path):
    notes = "".join(f"<textarea name=n{at}>{note}</textarea>" for at, note in enumerate(NOTES))
    form = Form(
        f"<body><div id=notes>{notes}</div><form method=post><label>Copy <input name=copy></label>"
        "<button>Save</button></form></body>"
    )
    sentence = "Copy the text of the {} note and save it."
    shown = [(sentence.format(_place(at)), {"at": str(at)}) for at in (3, 1)]
    ends, _ = await _says(
        browser, tmp_path, form, copies_a_note, [*shown, shown[0]],
        [sentence.format("2nd"), sentence.format("5th")],
    )  # fmt: skip
    assert ends == [True, False]
    assert form.sent == [{"copy": NOTES[1]}]


async def ticks_a_box(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    await page.locator("input[type=checkbox]").nth(int(given["box"]) - 1).check()
    await page.get_by_role("button", name="Save").click()
    await page.wait_for_url("**/done")


async def test_a_number_that_is_no_ordinal_is_no_place_though_it_was_the_place_in_every_demonstration(
    browser, tmp_path
):
    boxes = "".join(f"<input type=checkbox name=box value=b{number}>" for number in (1, 2, 3, 4))
    form = Form(f"<body><form method=post>{boxes}<button>Save</button></form></body>")
    with running_site(form.answer) as site:
        result = await induced(
            browser, site, tmp_path / "traces", ticks_a_box, [{"box": str(at)} for at in (1, 2, 3)],
            sentences=[f"Mark berth {at} as taken." for at in (1, 2, 3)],
        )  # fmt: skip
    assert find_gap(result) is not None


async def presses_a_button(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    shown = page.locator(".close") if given["name"] == "x" else page.get_by_role("button", name=given["name"])
    await shown.click()
    await page.wait_for_url("**/done")


async def test_a_button_that_was_not_shown_is_found_by_its_name_beside_one_that_has_none(browser, tmp_path):
    form = Form(
        "<body><form method=post><input type=hidden name=said><button name=b value=ok>OK</button>"
        "<button name=b value=cancel>Cancel</button><span class=close style='cursor: pointer'>&times;</span></form>"
        "<script>document.querySelector('.close').onclick = () => document.forms[0].submit()</script></body>"
    )
    sentence = 'Press the button that is labeled "{}".'
    shown = [(sentence.format(each), {"name": each}) for each in ("OK", "x", "OK", "x")]
    ends, _ = await _says(browser, tmp_path, form, presses_a_button, shown, [sentence.format("Cancel")])
    assert ends == [True]
    assert [each.get("b") for each in form.sent] == ["cancel"]
