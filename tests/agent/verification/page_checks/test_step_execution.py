"""A planned step is done on the element the plan knows, or not at all; what fails is told with its evidence."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from playwright.async_api import Page

from agent.verification.page_checks import FailedStep, build_plan, execute_step, heal_step, open_first_page
from agent.verification.root_cause import classify
from kb_schema.verification import FailureKind
from tests.agent.verification.page_checks.conftest import HASTY, requirement

FORM = """<h1>Form</h1><form aria-label=Order onsubmit="return false"><label>Name <input id=name></label>
<button id=save onclick="document.body.dataset.saved = 1 + Number(document.body.dataset.saved || 0);
  said.textContent = 'Saved'">Save</button></form><p role=status id=said></p>"""
COVER = """document.body.append(Object.assign(document.createElement('div'),
  {style: 'position:fixed;inset:0;background:red', id: 'cover'}))"""
STEPS = ("Name | fill | Ann | field_populated", "Save | click | | message:Saved")


@pytest.mark.parametrize(
    ("ruin", "failure"),
    [
        ("save.disabled = true", FailureKind.DISABLED),
        ("save.hidden = true", FailureKind.NOT_VISIBLE),
        ("save.after(save.cloneNode(true))", FailureKind.NOT_UNIQUE),
        (COVER, FailureKind.NOT_SCOPED),
        ("save.remove()", FailureKind.TIMEOUT),
    ],
)
async def test_a_failing_gate_has_its_name_and_nothing_was_done(ruin, failure, site, open_site_page):
    site.page("/", FORM)
    async with open_site_page() as site_page:
        plan = await build_plan(site_page, requirement(*STEPS))
        await open_first_page(site_page, "/")
        await site_page.page.evaluate(f"() => {{ {ruin} }}")
        site_page.policy = HASTY
        undone = await execute_step(site_page, plan.steps[1])
        assert isinstance(undone, FailedStep)
        assert undone.failure is failure
        assert undone.evidence.what == "action"
        assert undone.evidence.page_changed is False
        assert (undone.evidence.cover == "div#cover") is (failure is FailureKind.NOT_SCOPED)
        assert undone.evidence.matched == {FailureKind.TIMEOUT: 0, FailureKind.NOT_UNIQUE: 2}.get(failure, 1)
        assert await site_page.page.evaluate("document.body.dataset.saved") is None


async def test_another_element_under_the_same_selector_is_not_acted_on(site, open_site_page):
    site.page(
        "/", "<button data-testid=go id=go onclick=\"document.title='gone'\">Archive</button><p>text</p>"
    )
    async with open_site_page() as site_page:
        plan = await build_plan(site_page, requirement("Archive | click | "))
        step = type(plan.steps[0]).model_validate(
            plan.steps[0].model_dump() | {"selector": {"strategies": [{"type": "css", "value": "#go"}]}}
        )
        await open_first_page(site_page, "/")
        await site_page.page.evaluate("() => { go.textContent = 'Delete'; go.id = 'go'; }")
        site_page.policy = HASTY
        undone = await execute_step(site_page, step)
        assert isinstance(undone, FailedStep)
        assert "another element" in undone.evidence.message
        assert await site_page.page.title() != "gone"


async def test_a_moved_element_is_found_again_and_its_own_outcomes_go_with_it(
    site, open_site_page, monkeypatch
):
    site.page("/", FORM)
    async with open_site_page() as site_page:
        plan = await build_plan(site_page, requirement(*STEPS))
    site.page("/", FORM.replace("Name <input id=name>", "Full name <input id=name>"))
    async with open_site_page() as site_page:
        await open_first_page(site_page, "/")
        site_page.policy = HASTY
        undone = await execute_step(site_page, plan.steps[0])
        assert isinstance(undone, FailedStep)
        assert undone.evidence.nearest_verdict == "same"
        fronts, original = [], Page.bring_to_front

        async def noted(page):
            fronts.append(page)
            await original(page)

        monkeypatch.setattr(Page, "bring_to_front", noted)
        healing = await heal_step(site_page, plan.steps[0], undone, 1)
        assert healing.event.success, healing.event
        assert fronts == [site_page.page]
        assert healing.step.checks[0].selector == healing.step.selector != plan.steps[0].selector
        assert not isinstance(await execute_step(site_page, healing.step, heal_round=1), FailedStep)
        assert (site_page.compared, site_page.drifted) == (1, 1)


async def test_an_outcome_that_does_not_hold_is_never_healed_and_its_action_never_repeated(
    site, open_site_page
):
    site.page("/", FORM)
    async with open_site_page() as site_page:
        plan = await build_plan(site_page, requirement(*STEPS))
    site.page("/", FORM.replace("said.textContent = 'Saved'", ""))
    async with open_site_page() as site_page:
        await open_first_page(site_page, "/")
        site_page.policy = HASTY
        undone = await execute_step(site_page, plan.steps[1])
        assert isinstance(undone, FailedStep)
        for number in (1, 2, 3, 4):
            healing = await heal_step(site_page, plan.steps[1], undone, number)
            assert not healing.event.success
            assert healing.step == plan.steps[1]
            assert isinstance(await execute_step(site_page, plan.steps[1], heal_round=number), FailedStep)
        assert await site_page.page.evaluate("document.body.dataset.saved") == "1"


async def test_a_dead_button_is_noticed_by_the_step_after_it(site, open_site_page):
    site.page("/", "<button onclick=\"document.body.append(document.querySelector('template').content)\">Open</button>"
              "<template><button>Next</button></template>")  # fmt: skip
    steps = ("Open | click | ", "Next | click | ")
    async with open_site_page() as site_page:
        plan = await build_plan(site_page, requirement(*steps))
        assert plan.coverage == 1.0
    site.page("/", "<button>Open</button>")
    async with open_site_page() as site_page:
        await open_first_page(site_page, "/")
        assert not isinstance(await execute_step(site_page, plan.steps[0]), FailedStep)
        site_page.policy = HASTY
        undone = await execute_step(site_page, plan.steps[1])
        assert isinstance(undone, FailedStep)
        assert undone.evidence.previous_changed is False


async def test_a_site_that_is_down_and_a_server_that_fails_are_told_apart(site, open_site_page):
    site.page("/broken", "Oops", status=500)
    async with open_site_page() as site_page:
        failed = await open_first_page(site_page, "/broken")
        assert isinstance(failed, FailedStep)
        assert (failed.evidence.what, failed.evidence.status, failed.evidence.reachable) == (
            "page",
            500,
            True,
        )
    async with open_site_page(base_url="http://127.0.0.1:9", policy=HASTY) as site_page:
        failed = await open_first_page(site_page, "/")
        assert isinstance(failed, FailedStep)
        assert failed.evidence.reachable is False
        plan = await build_plan(site_page, requirement("Name | fill | x | "))
        assert plan.missing[0].what == "element"


async def test_pictures_are_taken_per_step_and_secrets_are_in_no_record(site, open_site_page, tmp_path):
    site.page("/", FORM.replace("id=name", "id=name type=password"))
    async with open_site_page(folder=tmp_path / "shots") as site_page:
        plan = await build_plan(
            site_page, requirement("Name | fill | literal-password | field_populated", STEPS[1])
        )
        assert plan.steps[0].password
        await open_first_page(site_page, "/")
        began = datetime.now(UTC)
        done = [await execute_step(site_page, step) for step in plan.steps]
        assert [each.screenshot for each in done] == ["step-01.jpg", "step-02.jpg"]
        assert all((tmp_path / "shots" / each.screenshot).stat().st_size for each in done)
        assert "literal-password" not in done[0].model_dump_json()
        assert began <= done[0].timestamp <= done[1].timestamp


LOGIN = """<form aria-label=Login onsubmit="return false"><label>User <input id=user></label>
<label>Password <input id=password type=password></label></form>"""
SIGN_IN = ("User | fill | {secret:SHOP_USER}", "Password | fill | {secret:SHOP_PASSWORD}")
SECRETS = {"SHOP_USER": "ann-of-the-shop", "SHOP_PASSWORD": "correct-horse"}


async def test_a_secret_is_typed_on_the_sites_own_origin_alone(site, open_site_page):
    site.page("/", LOGIN)
    elsewhere = site.base.replace("127.0.0.1", "localhost")
    async with open_site_page(secrets=SECRETS) as site_page:
        plan = await build_plan(site_page, requirement(*SIGN_IN))
        assert not plan.missing
        for step in plan.steps:
            await site_page.page.goto(elsewhere)
            undone = await execute_step(site_page, step)
            assert isinstance(undone, FailedStep)
            assert "not among the allowed origins" in undone.evidence.message
            assert await site_page.page.evaluate("user.value + password.value") == ""
    async with open_site_page(secrets=SECRETS, origins=[elsewhere]) as site_page:
        await site_page.page.goto(elsewhere)
        for step in plan.steps:
            assert not isinstance(await execute_step(site_page, step), FailedStep)
        assert await site_page.page.evaluate("user.value + password.value") == "ann-of-the-shopcorrect-horse"


async def test_a_page_that_leads_to_another_origin_while_a_plan_is_built_gets_no_secret(site, open_site_page):
    elsewhere = site.base.replace("127.0.0.1", "localhost")
    away = f"if (location.hostname !== 'localhost') location.href = '{elsewhere}/'"
    site.page("/", LOGIN + f'<script>user.addEventListener("input", () => {{ {away} }})</script>')
    async with open_site_page(secrets=SECRETS) as site_page:
        plan = await build_plan(site_page, requirement(*SIGN_IN))
        assert [each.step_idx for each in plan.missing] == [1]
        assert "not among the allowed origins" in plan.missing[0].reason
        assert await site_page.page.evaluate("password.value") == ""


async def test_a_placeholder_that_the_page_shows_is_not_resolved(site, open_site_page):
    """A name on the page came back from the plan with the secret's value, and went into the page's selectors."""
    site.page("/", LOGIN + "<button>Reset {secret:SHOP_PASSWORD}</button>")
    async with open_site_page(secrets=SECRETS) as site_page:
        plan = await build_plan(site_page, requirement(*SIGN_IN, "Reset | click"))
        assert not plan.missing
        found = plan.steps[2].model_dump_json()
        assert "Reset" in found
        assert "SHOP_PASSWORD" not in found
        used = site_page.usable(plan.steps[1]).model_dump_json()
        assert SECRETS["SHOP_PASSWORD"] not in used
        assert "{secret:SHOP_PASSWORD}" in used


async def test_a_field_is_compared_with_the_secret_that_was_typed(site, open_site_page):
    site.page("/", LOGIN + "<script>user.addEventListener('input', () => user.value = 'other')</script>")
    wanted = requirement("User | fill | {secret:SHOP_USER} | field_populated")
    async with open_site_page(secrets=SECRETS, policy=HASTY) as site_page:
        plan = await build_plan(site_page, wanted)
        assert plan.missing[0].what == "field_populated"
        assert "ann-of-the-shop" not in plan.model_dump_json()


async def test_a_step_whose_secret_has_no_value_fails_with_its_name(site, open_site_page):
    site.page("/", LOGIN)
    async with open_site_page(secrets=SECRETS) as site_page:
        plan = await build_plan(site_page, requirement(*SIGN_IN))
    async with open_site_page() as site_page:
        await open_first_page(site_page, "/")
        undone = await execute_step(site_page, plan.steps[0])
        assert isinstance(undone, FailedStep)
        assert "SHOP_USER has no value" in undone.evidence.message


@pytest.mark.parametrize(
    "script", ["while (true);", "while (true) alert('again')", "setInterval(() => confirm('again'))"]
)
async def test_a_page_that_hangs_fails_its_step_and_holds_nothing(site, open_site_page, script):
    site.page("/", f'<button onclick="if (location.hash) {{ {script} }}">Save</button><p>Ready</p>')
    wanted = requirement("Save | click", "Save | click | | visible:Save")
    policy = replace(HASTY, answer_s=1.5)
    async with open_site_page(policy=policy) as site_page:
        plan = await build_plan(site_page, wanted)
        assert not plan.missing
    async with open_site_page(policy=policy) as site_page:
        assert await open_first_page(site_page, "/#hang") is None
        undone = await execute_step(site_page, plan.steps[0])
        for _ in range(50):  # the press arrived, and what follows meets the page sooner or later
            if isinstance(undone, FailedStep):
                break
            undone = await execute_step(site_page, plan.steps[1])
        assert isinstance(undone, FailedStep)
        assert "was ended" in undone.evidence.message
        healing = await heal_step(site_page, plan.steps[1], undone, 1)
        assert not healing.event.success
        assert classify(undone.evidence).class_ == "app_defect"
    async with open_site_page(policy=policy) as site_page:
        found = await build_plan(
            site_page, requirement("Save | click", "Save | click | | shows:Never", url="/#hang")
        )
        assert "was ended" in found.missing[0].reason


async def test_a_step_that_does_not_end_is_ended(site, open_site_page):
    site.page("/", "<button>Save</button>")
    wanted = requirement("Save | click | | shows:Never")
    async with open_site_page(policy=replace(HASTY, outcome_s=600, step_s=1.0)) as site_page:
        plan = await build_plan(site_page, wanted)
        assert "step 1 took more than 1 s" in plan.missing[0].reason
