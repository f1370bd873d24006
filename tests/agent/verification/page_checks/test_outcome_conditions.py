"""Every kind of expected outcome is found while a plan is built, holds again, and can fail."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.verification.page_checks import FailedStep, build_plan, execute_step, open_first_page
from agent.verification.page_checks.outcome_conditions import OUTCOME_QUERIES
from kb_schema.expected_outcomes import JUDGED, OUTCOMES
from kb_schema.verification import FailureKind
from tests.agent.verification.page_checks.conftest import HASTY, requirement

PAGE = """
<h1>Orders</h1><p id=note>A note of the page</p>
<form aria-label="Order" onsubmit="return false">
<label>Name <input name=name value=""></label>
<label>City <input name=city value="Porto"></label>
<label>Size <select name=size><option value=s>Small</option><option value=l selected>Large</option></select></label>
<label><input type=checkbox name=gift checked> Gift</label>
<label><input type=checkbox name=rush> Rush</label>
<label>Code <input name=code aria-invalid=true aria-describedby=code-error></label>
<span id=code-error>Use six digits</span>
<button>Send</button><button disabled>Archive</button>
</form>
<dl><dt>Total</dt><dd id=total>24</dd></dl>
<div role=status>Saved for later</div>
<section aria-label="Fruit"><ul><li>Apple</li><li>Pear</li></ul></section>
<div role=tablist><button role=tab aria-selected=true>Open</button></div>
<dialog id=ask aria-labelledby=t><h2 id=t>Really?</h2><button onclick="ask.close()">Close it</button></dialog>
<div id=hint>Short hint</div>
<button onclick="hint.hidden = true">Hide</button>
<button onclick="ask.showModal()">Ask</button>
<a href="/file.txt" download="report.txt">Download</a>
"""

HOLDS = {
    "field_populated": ("Name | fill | Ann", "field_populated", "document.querySelector('[name=name]').value = ''"),
    "field_value": ("", "field_value:City=Porto", "document.querySelector('[name=city]').value = 'Lisbon'"),
    "field_empty": ("", "field_empty:Name", "document.querySelector('[name=name]').value = 'x'"),
    "checked": ("", "checked:Gift", "document.querySelector('[name=gift]').checked = false"),
    "unchecked": ("", "unchecked:Rush", "document.querySelector('[name=rush]').checked = true"),
    "selected": ("", "selected:Size=Large", "document.querySelector('[name=size]').value = 's'"),
    "focused": ("Name | focus |", "focused", "document.querySelector('[name=city]').focus()"),
    "enabled": ("", "enabled:Send", "document.querySelector('form button').disabled = true"),
    "disabled": ("", "disabled:Archive", "document.querySelectorAll('form button')[1].disabled = false"),
    "visible": ("", "visible:Send", "document.querySelector('form button').hidden = true"),
    "hidden": ("Hide | click |", "hidden:Short hint", "hint.hidden = false"),
    "text": ("", "text:Total=24", "total.textContent = '25'"),
    "invalid": ("", "invalid:Code=Use six digits", "document.querySelector('[name=code]').removeAttribute('aria-invalid')"),
    "count": ("", "count:listitem@Fruit=2", "document.querySelector('li').remove()"),
    "navigates_to": ("", "navigates_to:Orders", "document.querySelector('h1').textContent = 'Bills'"),
    "stays_on_page": ("", "stays_on_page", "history.pushState({}, '', '/elsewhere')"),
    "url": ("", "url:/", "history.pushState({}, '', '/elsewhere')"),
    "title": ("", "title:A page", "document.title = 'Another'"),
    "heading": ("", "heading:Orders", "document.querySelector('h1').textContent = 'Bills'"),
    "shows": ("", "shows:A note of the page", "note.remove()"),
    "not_shows": ("", "not_shows:Bankrupt", "note.textContent = 'Bankrupt'"),
    "message": ("", "message:Saved", "document.querySelector('[role=status]').textContent = 'Lost'"),
    "dialog_opens": ("Ask | click |", "dialog_opens:Really?", "ask.close()"),
    "dialog_closes": ("", "dialog_closes", "ask.showModal()"),
    "downloads": ("Download | click |", "downloads:report.*", None),
    "no_console_errors": ("", "no_console_errors", "console.error('broken')"),
}  # fmt: skip


IMPATIENT = replace(HASTY, outcome_s=0.4, late_s=0.1)


def test_every_kind_of_the_vocabulary_can_be_asked_and_is_tried_here():
    assert OUTCOME_QUERIES.keys() == OUTCOMES.keys() == HOLDS.keys() | {JUDGED}  # test_judged_outcomes.py


@pytest.mark.sampled(0.3)
@pytest.mark.parametrize("kind", HOLDS)
async def test_an_outcome_is_resolved_holds_again_and_fails_where_it_does_not(kind, site, open_site_page):
    action, expected, ruin = HOLDS[kind]
    site.page("/", PAGE)
    site.pages["/file.txt"], site.status["/file.txt"] = "text", 200
    wanted = requirement(f"{action or ' | | '} | {expected}")
    async with open_site_page() as site_page:
        plan = await build_plan(site_page, wanted)
        assert plan.missing == ()
        (step,) = plan.steps
        await open_first_page(site_page, "/")
        done = await execute_step(site_page, step)
        assert not isinstance(done, FailedStep), done
        assert done.checks == (expected,)
        if ruin is None:
            return
        await site_page.page.evaluate(f"() => {{ {ruin} }}")
        site_page.policy = IMPATIENT
        site_page.met.clear()  # as if none had been met when healing began
        if kind == "no_console_errors":
            site_page.monitor.step_idx = 0
        still = step.model_copy(update={"intent": step.intent.model_copy(update={"action": ""})})
        undone = await execute_step(site_page, still, heal_round=1)
        assert isinstance(undone, FailedStep)
        assert undone.failure is FailureKind.TIMEOUT
        assert undone.evidence.what == "outcome"
        assert undone.evidence.outcome is not None


async def test_what_the_page_says_instead_is_evidence(site, open_site_page):
    site.page("/", PAGE)
    async with open_site_page() as site_page:
        plan = await build_plan(site_page, requirement(" | | | text:Total=24"))
        await site_page.page.evaluate("() => { total.textContent = '25'; console.error('odd'); }")
        site_page.policy = HASTY
        undone = await execute_step(site_page, plan.steps[0])
    assert isinstance(undone, FailedStep)
    assert (undone.evidence.expected, undone.evidence.received) == ("24", "25")
    assert "25" not in plan.model_dump_json()
    assert [line.text for line in undone.evidence.console] == ["odd"]


async def test_an_outcome_that_comes_late_is_told_by_how_much(site, open_site_page):
    site.page("/", "<button onclick=\"setTimeout(() => { document.body.append('Done') }, late)\">Go</button>"
              "<script>late = 0</script>")  # fmt: skip
    async with open_site_page() as site_page:
        plan = await build_plan(site_page, requirement("Go | click | | shows:Done"))
        await open_first_page(site_page, "/")
        await site_page.page.evaluate("late = 2000")
        site_page.policy = replace(HASTY, late_s=5.0)
        undone = await execute_step(site_page, plan.steps[0])
    assert isinstance(undone, FailedStep)
    assert undone.evidence.came_late_s is not None
