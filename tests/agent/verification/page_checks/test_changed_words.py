"""What one change of words leads to elsewhere: the neighbours of a renamed field, a message in other words, several
hidden elements of a name, and an outcome that held while another was still looked for.
"""

from __future__ import annotations

import pytest

from agent.verification.page_checks import FailedStep, build_plan, execute_step, heal_step, open_first_page
from agent.verification.root_cause import classify
from tests.agent.verification.page_checks.conftest import HASTY, requirement

PAGE = """<main><h1>Watches</h1><form aria-label=Watch onsubmit="return false"><label><span id=words>Web page</span>
<input id=address></label><button id=go onclick="press()">Watch</button></form><p id=said role=status></p></main>
<script>function press() { said.textContent = 'Watch added'; address.value = ''; setTimeout(() => said.textContent = '', 700); }
</script>"""
STEPS = (
    "Web page | fill | apples | field_populated",
    "Watch | click | | message:Watch added; field_empty:Web page",
)


async def run(site_page, steps, change):
    """Build the plan, change the page, and return the last step with what came of it; healing included."""
    plan = await build_plan(site_page, requirement(*steps))
    assert plan.missing == ()
    site_page.plan = plan.steps
    await open_first_page(site_page, "/")
    await site_page.page.evaluate(f"() => {{ {change} }}")
    site_page.policy = HASTY
    for planned in plan.steps:
        step, rounds = planned, []
        done = await execute_step(site_page, step)
        while isinstance(done, FailedStep) and len(rounds) < site_page.policy.max_heal_rounds:
            healing = await heal_step(site_page, step, done, len(rounds) + 1)
            rounds.append(healing.event)
            step = healing.step
            done = await execute_step(site_page, step, heal_round=len(rounds))
        if isinstance(done, FailedStep):
            break
    return done, rounds


def cause_of(undone, **facts):
    return classify(undone.evidence.model_copy(update={"held_before": True, "answers": (), **facts}))


async def test_a_message_that_was_seen_is_not_asked_for_again_when_another_outcome_is_healed(
    site, open_site_page
):
    site.page("/", PAGE)
    async with open_site_page() as site_page:
        # The press makes the field anew, so that the outcome about it has to be found again after the message has gone.
        change = """const old = press; press = () => { old(); words.textContent = 'Address'; address.id = 'a2';
            document.getElementById('a2').outerHTML = '<input id=url>'; }"""
        done, rounds = await run(site_page, STEPS, change)
        assert not isinstance(done, FailedStep), done.evidence.message
        assert any(each.success for each in rounds)
        assert await site_page.page.inner_text("#said") == ""


async def test_a_renamed_neighbour_does_not_speak_against_a_renamed_button(site, open_site_page):
    site.page("/", PAGE)
    async with open_site_page() as site_page:
        change = "words.textContent = 'Address'; go.textContent = 'Start watching'"
        done, rounds = await run(site_page, STEPS, change)
        assert not isinstance(done, FailedStep), done.evidence.message
        healed = next(each for each in rounds if each.success)
        assert (healed.element, healed.found) == ("Watch", "button 'Start watching'")


@pytest.mark.parametrize(("now", "cause"), [("Page added", "assertion_mismatch"), ("Page not added", "app_defect"),
    ("Watch deleted", "app_defect"), ("", "app_defect")])  # fmt: skip
async def test_a_message_in_other_words_is_no_defect_unless_it_says_something_else(
    now, cause, site, open_site_page
):
    site.page("/", PAGE)
    async with open_site_page() as site_page:
        change = f"press = () => {{ said.textContent = '{now}'; address.value = ''; }}"
        undone, _ = await run(site_page, STEPS, change)
        assert isinstance(undone, FailedStep)
        assert undone.evidence.appeared == ((now,) if now else ())
        found = cause_of(undone)
        assert found.class_ == cause, found
        assert ("instead of" in found.message) is (now == "Watch deleted"), (
            "the button's name is no wrong message"
        )


async def test_hidden_elements_of_the_name_are_not_several_that_fit(site, open_site_page):
    dialog = "<dialog id={0} aria-label={0}><button>Cancel</button></dialog>"
    shown = "<dialog id=ask aria-label=Delete open><p>Sure?</p><button>Yes</button>"
    shown += "<button id=no onclick='ask.close()'>Cancel</button></dialog>"
    site.page("/", shown + dialog.format("language") + dialog.format("search"))
    async with open_site_page() as site_page:
        undone, rounds = await run(
            site_page, ("Cancel@Delete | click | | dialog_closes",), "no.textContent = 'Keep it'; no.id = ''"
        )
        assert isinstance(undone, FailedStep)
        assert "opposite" not in " ".join(each.reason for each in rounds)
        found = cause_of(undone, heal_rounds=3)
        assert (found.class_, undone.evidence.nearest) == ("healing_declined", "button 'Keep it'"), found


async def test_the_negated_verb_is_not_pressed(site, open_site_page):
    site.page("/", PAGE)
    async with open_site_page() as site_page:
        undone, rounds = await run(site_page, STEPS, "go.textContent = 'Unwatch'")
        assert isinstance(undone, FailedStep)
        assert await site_page.page.inner_text("#said") == "", "nothing was pressed"
        assert "'Unwatch' is the opposite of 'Watch'" in rounds[0].reason
        found = cause_of(undone, heal_rounds=3)
        assert undone.evidence.previous_changed is None, "filling a field changes no page"
        assert found.class_ == "healing_declined"
        assert "does something else" in found.recommendation


async def test_a_message_about_another_entry_is_a_defect(site, open_site_page):
    table = "<table><tr><td>Emma</td><td><button onclick='done(this)'>Return</button></td></tr><tr><td>Cosmos</td></tr></table>"
    script = "<script>function done(b) { said.textContent = b.closest('tr').cells[0].textContent + ' was returned'; }</script>"
    site.page("/", f"<main><h1>Loans</h1>{table}<p id=said role=status></p></main>{script}")
    async with open_site_page() as site_page:
        steps = ("Return@Emma | click | | message:Emma was returned",)
        undone, _ = await run(site_page, steps, "done = () => { said.textContent = 'Cosmos was returned'; }")
        assert isinstance(undone, FailedStep)
        assert undone.evidence.expected_data == ("Emma",)
        assert cause_of(undone).class_ == "app_defect"


ROWS = """<main><h1>Crew</h1><table><tr><td>Emil</td><td><form onsubmit="said.textContent='out'; return false">
<button name=action value=out>Remove</button></form></td></tr><tr><td>Cleo</td><td><form onsubmit="return false">
<button name=action value=in>Remove</button></form></td></tr></table><a id=no href="/list">Cancel</a><p id=said role=status></p></main>"""


async def test_a_button_found_without_its_words_is_healed_by_name_or_left_alone(site, open_site_page):
    for name, used in (("Take out", True), ("Do not remove", False)):
        site.page("/", ROWS)
        async with open_site_page() as site_page:
            steps = ("Remove@Emil | click | | message:out",)
            done, rounds = await run(
                site_page, steps, f"document.querySelector('button').textContent = '{name}'"
            )
            assert isinstance(done, FailedStep) is not used, (name, done)
            if used:
                assert rounds[0].found == "button 'Take out'"
            else:
                assert await site_page.page.inner_text("#said") == "", "nothing was pressed"
                assert cause_of(done, heal_rounds=3).class_ == "healing_declined"


async def test_the_same_address_does_not_excuse_harmful_words(site, open_site_page):
    site.page("/", ROWS)
    site.page("/list", "<h1>Crew list</h1>")
    async with open_site_page() as site_page:
        undone, rounds = await run(
            site_page, ("Cancel | click | | heading:Crew list",), "no.textContent = 'Remove all'"
        )
        assert isinstance(undone, FailedStep)
        assert "destroys" in rounds[0].reason
        assert not site_page.page.url.endswith("/list"), "nothing was pressed"


async def test_a_heading_does_not_stand_for_a_message_that_did_not_come(site, open_site_page):
    site.page("/", PAGE)
    async with open_site_page() as site_page:
        change = (
            "press = () => { document.querySelector('h1').textContent = 'Page added'; address.value = ''; }"
        )
        undone, _ = await run(site_page, STEPS, change)
        assert isinstance(undone, FailedStep)
        assert undone.evidence.appeared == ("Page added",)
        assert cause_of(undone).class_ == "app_defect"


async def test_a_message_with_another_choice_is_a_defect(site, open_site_page):
    page = """<main><h1>Stock</h1><form aria-label=Item onsubmit="save(); return false"><label>Place <select id=place>
    <option>North</option><option>South</option></select></label><button>Register</button></form><p id=said role=status></p></main>
    <script>function save() { said.textContent = 'Lamp is registered in ' + place.value; }</script>"""
    site.page("/", page)
    async with open_site_page() as site_page:
        steps = (
            "Place | select | South | selected:South",
            "Register | click | | message:Lamp is registered in South",
        )
        undone, _ = await run(
            site_page, steps, "save = () => { said.textContent = 'Lamp is registered in North'; }"
        )
        assert isinstance(undone, FailedStep)
        assert "South" in undone.evidence.expected_data
        assert cause_of(undone).class_ == "app_defect"
