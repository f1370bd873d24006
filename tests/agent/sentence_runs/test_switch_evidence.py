"""Which switch or box of a page a text of the sentence names."""

from __future__ import annotations

import pytest

from agent.locators.page_scan import scan_page
from agent.sentence_runs.switch_evidence import SwitchEvidence, read_switch
from kb_schema.sentence_plans import SentencePlan

PAGE = """<label><input type=checkbox checked> Show tax column on invoices</label>
<label><input type=checkbox> Show tax</label> <label><input type=checkbox> Reports (weekly)</label>
<label><input type=checkbox checked> Reports (daily)</label> <label><input type=checkbox> Twice</label>
<label><input type=checkbox checked> Twice</label><div role=switch aria-checked=true aria-label=Beta tabindex=0>x</div>
<button>Show all</button>"""


DRAWN = """<div class=toggle-row><span class=toggle-label>Weekly digest</span><div class="toggle-switch %s" style="width:40px;height:20px;cursor:pointer">
<div class=toggle-knob style="width:9px;height:9px"></div></div></div>
<div class=toggle-row><span>Alerts</span><div class="toggle-switch on" style="width:40px;height:20px;cursor:pointer"></div></div>
<label>Beta <input type=checkbox><span class=toggle-slider style="display:inline-block;width:9px;height:9px"></span></label>"""


@pytest.mark.parametrize("state", ["on", "active", ""])
async def test_a_switch_that_is_only_drawn_is_on_if_a_class_says_so(page, state):
    await page.set_content(DRAWN % state)
    index = await scan_page(page)
    assert [read_switch(index, each) for each in ("weekly digest", "alerts", "beta")] == [
        bool(state),
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("words", "on"),
    [
        ("show tax column", True),
        ("show tax", False),
        ("beta", True),
        ("reports", None),
        ("twice", None),
        ("show all", None),
        ("tax colu", None),
    ],
)
async def test_a_switch_is_named_by_all_its_words_or_as_the_only_one_that_has_them(page, words, on):
    await page.set_content(PAGE)
    assert read_switch(await scan_page(page), words) is on


async def test_only_a_switch_that_stood_otherwise_when_it_was_first_seen_is_evidence(page):
    evidence = SwitchEvidence(SentencePlan(on_when_done=["Show tax"], off_when_done=["Beta", "Twice"]))
    await page.set_content(PAGE)
    evidence.note_page("/first", await scan_page(page))
    await page.set_content(
        PAGE.replace("<input type=checkbox> Show tax", "<input type=checkbox checked> Show tax")
    )
    after = await scan_page(page)
    evidence.note_page("/first", after)
    assert [evidence.find_page(each) for each in ("show tax", "beta", "twice")] == ["/first", "/first", None]
    assert [evidence.holds(after, each) for each in ("show tax", "beta")] == [True, False]
