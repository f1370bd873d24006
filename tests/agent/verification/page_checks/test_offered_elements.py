"""Elements under other words: used for a step, offered, or left alone; and lists without the option."""

from __future__ import annotations

from agent.verification.page_checks import FailedStep, build_plan, execute_step, heal_step, open_first_page
from agent.verification.root_cause import classify
from tests.agent.verification.page_checks.conftest import HASTY, requirement

PAGE = """<main><h1>Order</h1><form aria-label=Order onsubmit="return false">
<label>Name <input name=who></label><label>Note <input name=note></label>
<label>Kind <select name=kind><option>Serum</option><option>Blood</option></select></label>
<button id=keep onclick="said.textContent = 'Kept'; {more}">Reserve</button></form><p role=status id=said></p></main>"""
POST = "fetch('/kept', {method: 'POST'})"
PRESS = ("Reserve | click | | message:Kept",)


async def fail(site_page, steps, change, *, at=0):
    """Build the plan, change the page, and return the step, its failure and the round of healing after it."""
    plan = await build_plan(site_page, requirement(*steps))
    await open_first_page(site_page, "/")
    await site_page.page.evaluate(f"() => {{ {change} }}")
    site_page.policy = HASTY
    step = plan.steps[at]
    undone = await execute_step(site_page, step)
    assert isinstance(undone, FailedStep), undone
    return step, undone, await heal_step(site_page, step, undone, 1)


async def test_a_plan_knows_which_steps_sent_data(site, open_site_page):
    for more, sent in ((POST, True), ("fetch('/kept')", False), ("", False)):
        site.page("/", PAGE.format(more=more))
        async with open_site_page() as site_page:
            plan = await build_plan(site_page, requirement("Name | fill | Ann | ", *PRESS))
            assert [each.sent_data for each in plan.steps] == [False, sent]


async def test_without_its_identifier_it_is_pressed_only_if_pressing_it_sent_no_data(site, open_site_page):
    for more, used in (("", True), (POST, False)):
        site.page("/", PAGE.format(more=more))
        async with open_site_page() as site_page:
            change = "keep.textContent = 'Hold on'; keep.id = 'other'"
            step, undone, healing = await fail(site_page, PRESS, change)
            assert healing.event.success is used
            assert undone.evidence.nearest_verdict == ("same" if used else "offered")
            if used:
                assert not isinstance(await execute_step(site_page, healing.step, heal_round=1), FailedStep)
                continue
            assert "no identifier stayed" in healing.event.reason
            offered = undone.evidence.offered
            assert (offered.step_idx, offered.element) == (step.step_idx, "Reserve")
            assert offered.description == "button 'Hold on'"
            assert offered.against == ("no identifier stayed, and pressing it may change data",)
            assert offered.selector is not None
            assert undone.evidence.answers[0].method == "POST", (
                "of the walk through the old page; the site knows no POST"
            )
            facts = {"held_before": True, "heal_rounds": 1, "answers": ()}
            evidence = undone.evidence.model_copy(update=facts)
            assert classify(evidence).class_ == "healing_declined"
            assert await site_page.page.inner_text("#said") == "", "nothing was pressed"


async def test_what_is_gone_is_not_healed_by_what_stood_beside_it(site, open_site_page):
    site.page("/", PAGE.format(more="").replace("</form>", "<button>Print</button></form>"))
    async with open_site_page() as site_page:
        _, undone, healing = await fail(site_page, PRESS, "keep.remove()")
        assert not healing.event.success
        assert undone.evidence.offered is None
        assert undone.evidence.compared == 0, (
            "the missing one is not among the others that are where they were"
        )
        evidence = undone.evidence.model_copy(update={"held_before": True, "heal_rounds": 1, "compared": 3})
        assert classify(evidence).class_ == "app_defect"


async def test_a_list_without_the_option_is_not_healed_and_names_those_that_it_has(site, open_site_page):
    site.page("/", PAGE.format(more=""))
    async with open_site_page() as site_page:
        steps = ("Kind | select | Blood | selected:Blood",)
        change = "document.querySelectorAll('option')[1].textContent = 'Blood test'"
        _, undone, healing = await fail(site_page, steps, change)
        assert not healing.event.success
        assert (undone.evidence.missing_option, undone.evidence.options) == ("Blood", ("Serum", "Blood test"))
        cause = classify(undone.evidence.model_copy(update={"held_before": True}))
        assert cause.class_ == "data_issue"
        assert "choose “Blood test” if it is meant" in cause.recommendation


async def test_a_link_that_became_a_button_is_the_element_of_an_outcome_too(site, open_site_page):
    link = '<main><h1>Rooms</h1><a href="#form" onclick="said.textContent=1">Book a room</a><p role=status id=said></p></main>'
    site.page("/", link)
    async with open_site_page() as site_page:
        steps = ("Book a room | click | | message:1", "Book a room | hover | | visible:Book a room")
        plan = await build_plan(site_page, requirement(*steps))
        site.page("/", link.replace("<a", "<button").replace("</a>", "</button>"))
        await open_first_page(site_page, "/")
        site_page.policy = HASTY
        for step in plan.steps:
            done, healed = await execute_step(site_page, step), step
            for number in (1, 2, 3):
                if isinstance(done, FailedStep):
                    healed = (await heal_step(site_page, healed, done, number)).step
                    done = await execute_step(site_page, healed, heal_round=number)
            assert not isinstance(done, FailedStep), done.evidence.message


async def test_two_identifiers_that_stayed_do_not_outweigh_harmful_words(site, open_site_page):
    site.page("/", PAGE.format(more="").replace("id=keep", "id=keep data-testid=keep"))
    async with open_site_page() as site_page:
        _, undone, healing = await fail(site_page, PRESS, "keep.textContent = 'Archive for ever'")
        assert not healing.event.success
        assert undone.evidence.nearest_verdict == "offered"
        assert "'Archive for ever' deletes" in undone.evidence.offered.against


async def test_another_verb_is_used_for_what_sent_data_only_by_an_identifier_that_says_what_it_is(
    site, open_site_page
):
    for name, used in (("create-order", True), ("submit", False)):
        page = PAGE.format(more=POST).replace("id=keep", f"id={name}").replace("Reserve", "Create")
        site.page("/", page)
        async with open_site_page() as site_page:
            steps = ("Create | click | | message:Kept",)
            change = f"document.getElementById('{name}').textContent = 'Save it'"
            _, undone, healing = await fail(site_page, steps, change)
            assert healing.event.success is used, healing.event
            assert undone.evidence.nearest == "button 'Save it'"
            if not used:
                assert "does something else" in healing.event.reason
