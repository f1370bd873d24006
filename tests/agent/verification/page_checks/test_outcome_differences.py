"""Every failed outcome says what was expected and what the page has instead."""

from __future__ import annotations

import pytest

from agent.verification.page_checks import FailedStep, build_plan, execute_step, open_first_page
from agent.verification.page_checks.outcome_differences import list_worded_kinds
from agent.verification.root_cause import classify
from kb_schema.expected_outcomes import OUTCOMES
from kb_schema.verification import FailureEvidence
from tests.agent.verification.page_checks.conftest import HASTY, requirement

PAGE = """<main><h1>Order</h1><form aria-label=Order onsubmit="return false">
<label>Shop name <input id=shop value="Velo Two"></label><label>Note <input id=note></label>
<label>Terms <input type=checkbox id=terms checked></label><label>News <input type=checkbox id=news></label>
<label>Kind <select id=kind><option>Serum</option><option>Blood</option></select></label>
<label>Mail <input id=mail aria-invalid=true aria-describedby=why></label><span id=why>Enter an address</span>
<label>Pass <input type=password id=pass></label>
<button id=keep type=button>Keep</button><button id=off type=button disabled>Print</button></form>
<dl><dt>Total</dt><dd id=total>42</dd></dl><ul aria-label=Rows><li>One</li><li id=two>Two</li></ul>
<a id=go href="#" onclick="event.preventDefault(); for (const each of document.querySelectorAll('#box, #said, #text')) each.hidden = false; if (typeof act === 'function') act()">Go</a>
<div role=dialog id=box hidden>Delete Ann?</div><p role=status id=said hidden>Saved</p><p id=text hidden>Total boats: 3</p></main>"""
CASES = [
    ("field_value:Shop name=Velo Two", "shop.value = 'Velo'", 'Shop name: expected "Velo Two", the field holds "Velo"'),
    ("field_populated:Shop name", "shop.value = ''", "Shop name: expected a value, the field is empty"),
    ("field_empty:Note", "note.value = 'x'", 'Note: expected no value, the field holds "x"'),
    ("checked:Terms", "terms.checked = false", "Terms: expected it to be on, it is off"),
    ("unchecked:News", "news.checked = true", "News: expected it to be off, it is on"),
    ("selected:Kind=Serum", "kind.selectedIndex = 1", 'Kind: expected "Serum", selected is "Blood"'),
    ("focused:Go", "act = () => note.focus()", "Go: expected the keyboard focus, another element has it"),
    ("enabled:Keep", "keep.disabled = true", "Keep: expected it to be enabled, it is disabled"),
    ("disabled:Print", "off.disabled = false", "Print: expected it to be disabled, it is enabled"),
    ("visible:Keep", "keep.hidden = true", "Keep: expected it to be visible, it is hidden"),
    ("visible:Keep@Order", "keep.remove()", "Keep@Order: expected it to be visible, it is not on the page"),
    ("visible:Keep", "keep.textContent = 'Hold on'", "Keep: expected it to be visible, no element has these words; where it was is button 'Hold on'"),
    ("text:Total=42", "total.textContent = '41'", 'Total: expected "42", it says "41"'),
    ("invalid:Mail=Enter an address", "why.textContent = 'Too short'", 'Mail: expected it to be marked as invalid with "Enter an address", it says "Too short"'),
    ("invalid:Mail", "mail.removeAttribute('aria-invalid')", "Mail: expected it to be marked as invalid, it is not marked as invalid"),
    ("count:listitem=2", "two.remove()", "listitem: expected 2, there are 1"),
    ("stays_on_page", "act = () => history.pushState({}, '', '/other')", 'expected the page to stay /, the page is /other, titled "A page"'),
    ("navigates_to:Order", "document.querySelector('h1').textContent = 'Basket'", 'expected the page Order (heading "Order"), the page is /, titled "A page"'),
    ("url:/", "act = () => history.pushState({}, '', '/other')", "expected the address /, it is /other"),
    ("title:A page", "document.title = 'Another'", 'expected the title "A page", it is "Another"'),
    ("heading:Order", "document.querySelector('h1').textContent = 'Basket'", 'expected the heading "Order", the page has the heading "Basket"'),
    ('shows:"Total boats: 3"', "text.textContent = 'Total boats: 2'", 'expected the text "Total boats: 3", the nearest text is "Total boats: 2"'),
    ("not_shows:Error", "text.textContent = 'Error 7'", 'expected no text "Error", the page shows "Error 7"'),
    ("message:Saved", "said.textContent = 'Failed'", 'expected the message "Saved", the page has the message "Failed"'),
    ("message:Saved", "said.textContent = ''", 'expected the message "Saved", the page has no message'),
    ("dialog_opens:Delete Ann?", "box.textContent = 'Delete Bob?'", 'expected the dialog "Delete Ann?", the page has the dialog "Delete Bob?"'),
]  # fmt: skip


async def read_failure(site, open_site_page, outcome, change, *, action="click", element="Go", value=""):
    site.page("/", PAGE)
    async with open_site_page() as site_page:
        plan = await build_plan(site_page, requirement(f"{element} | {action} | {value} | {outcome}"))
        assert not plan.missing, plan.missing
        await open_first_page(site_page, "/")
        await site_page.page.evaluate(f"() => {{ {change} }}")
        site_page.policy = HASTY
        done = await execute_step(site_page, plan.steps[0])
        assert isinstance(done, FailedStep), done
        return done


@pytest.mark.parametrize(("outcome", "change", "sentence"), CASES)
async def test_a_failed_outcome_says_what_was_expected_and_what_is_there(
    site, open_site_page, outcome, change, sentence
):
    done = await read_failure(site, open_site_page, outcome, change)
    assert str(done.evidence.difference) == sentence
    assert done.evidence.message == done.executed.error == sentence
    assert done.executed.difference == done.evidence.difference
    assert classify(done.evidence).evidence[0] == sentence


async def test_an_outcome_that_never_held_says_it_too(site, open_site_page):
    site.page("/", PAGE)
    async with open_site_page(policy=HASTY) as site_page:
        plan = await build_plan(site_page, requirement("Go | click | | field_value:Shop name=Velo"))
        assert plan.missing[0].reason == 'Shop name: expected "Velo", the field holds "Velo Two"'
        plan = await build_plan(site_page, requirement("Go | click | | dialog_closes"))
        assert plan.missing[0].reason == 'expected no open dialog, the page has the dialog "Delete Ann?"'
        plan = await build_plan(site_page, requirement("Go | click | | visible:Anchor"))
        assert plan.missing[0].difference.received == "no text on the page matches"
        for outcome, received in (
            ("downloads:report.csv", "nothing was downloaded"),
            ("hidden:Keep", "it is visible"),
        ):
            site_page.policy = HASTY
            plan = await build_plan(site_page, requirement(f"Go | click | | {outcome}"))
            assert plan.missing[0].difference.received == received


async def test_the_value_of_a_password_is_not_said(site, open_site_page):
    change = "pass.addEventListener('change', () => pass.value = 'hunter22'); pass.oninput = () => pass.value = 'hunter22'"
    done = await read_failure(
        site, open_site_page, "field_populated", change, action="fill", element="Pass", value="opensesame"
    )
    assert (
        str(done.evidence.difference)
        == "Pass: expected the value that was entered, the field holds another value"
    )
    assert "hunter22" not in done.evidence.model_dump_json()


async def test_a_step_with_a_timeout_of_its_own_waits_as_long(site, open_site_page):
    late = "<button onclick=\"setTimeout(() => said.textContent = 'Done', location.hash ? 2500 : 0)\">Go</button><p id=said></p>"
    site.page("/", late)
    async with open_site_page() as site_page:
        plan = await build_plan(site_page, requirement("Go | click | | shows:Done"))
        timed = plan.steps[0].intent.model_copy(update={"timeout_s": 20.0})
        site_page.policy = HASTY
        for intent, green in ((plan.steps[0].intent, False), (timed, True)):
            await open_first_page(site_page, f"/?{green}#slow")
            done = await execute_step(site_page, plan.steps[0].model_copy(update={"intent": intent}))
            assert isinstance(done, FailedStep) is not green, done
            assert site_page.policy == HASTY, "the next step has the run's time again"


async def test_what_came_late_names_the_setting(site, open_site_page):
    cause = classify(
        FailureEvidence(what="outcome", element="Go", action="click", step_idx=3, came_late_s=2.0)
    )
    assert cause.class_ == "timing_instability"
    assert "Give step 4 (click “Go”) 2.0 s more" in cause.recommendation
    assert "PERIPLUS_PLAYWRIGHT_TIMEOUT" in cause.recommendation


def test_every_kind_of_outcome_has_its_words():
    assert list_worded_kinds() == set(OUTCOMES)
