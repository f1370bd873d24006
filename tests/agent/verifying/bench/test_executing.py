"""A planned step is done on the element the plan knows, or not at all; what fails is told with its evidence."""

from __future__ import annotations

import pytest

from agent.verifying.bench import Undone, build_plan, execute_step, heal_step
from kb_schema.verification import Failure
from tests.agent.verifying.bench.conftest import HASTY, requirement

FORM = """<h1>Form</h1><form aria-label=Order onsubmit="return false"><label>Name <input id=name></label>
<button id=save onclick="document.body.dataset.saved = 1 + Number(document.body.dataset.saved || 0);
  said.textContent = 'Saved'">Save</button></form><p role=status id=said></p>"""
COVER = """document.body.append(Object.assign(document.createElement('div'),
  {style: 'position:fixed;inset:0;background:red', id: 'cover'}))"""
STEPS = ("Name | fill | Ann | field_populated", "Save | click | | message:Saved")


@pytest.mark.parametrize(
    ("ruin", "failure"),
    [
        ("save.disabled = true", Failure.DISABLED),
        ("save.hidden = true", Failure.NOT_VISIBLE),
        ("save.after(save.cloneNode(true))", Failure.NOT_UNIQUE),
        (COVER, Failure.NOT_SCOPED),
        ("save.remove()", Failure.TIMEOUT),
    ],
)
async def test_a_failing_gate_has_its_name_and_nothing_was_done(ruin, failure, site, bench_of):
    site.page("/", FORM)
    async with bench_of() as bench:
        plan = await build_plan(bench, requirement(*STEPS))
        await bench.start("/")
        await bench.page.evaluate(f"() => {{ {ruin} }}")
        bench.policy = HASTY
        undone = await execute_step(bench, plan.steps[1])
        assert isinstance(undone, Undone)
        assert undone.failure is failure
        assert undone.evidence.what == "action"
        assert undone.evidence.page_changed is False
        assert (undone.evidence.cover == "div#cover") is (failure is Failure.NOT_SCOPED)
        assert undone.evidence.matched == {Failure.TIMEOUT: 0, Failure.NOT_UNIQUE: 2}.get(failure, 1)
        assert await bench.page.evaluate("document.body.dataset.saved") is None


async def test_another_element_under_the_same_selector_is_not_acted_on(site, bench_of):
    site.page(
        "/", "<button data-testid=go id=go onclick=\"document.title='gone'\">Archive</button><p>text</p>"
    )
    async with bench_of() as bench:
        plan = await build_plan(bench, requirement("Archive | click | "))
        step = type(plan.steps[0]).model_validate(
            plan.steps[0].model_dump() | {"selector": {"strategies": [{"type": "css", "value": "#go"}]}}
        )
        await bench.start("/")
        await bench.page.evaluate("() => { go.textContent = 'Delete'; go.id = 'go'; }")
        bench.policy = HASTY
        undone = await execute_step(bench, step)
        assert isinstance(undone, Undone)
        assert "another element" in undone.evidence.message
        assert await bench.page.title() != "gone"


async def test_a_moved_element_is_found_again_and_its_own_outcomes_go_with_it(site, bench_of):
    site.page("/", FORM)
    async with bench_of() as bench:
        plan = await build_plan(bench, requirement(*STEPS))
    site.page("/", FORM.replace("Name <input id=name>", "Full name <input id=name>"))
    async with bench_of() as bench:
        await bench.start("/")
        bench.policy = HASTY
        undone = await execute_step(bench, plan.steps[0])
        assert isinstance(undone, Undone)
        assert undone.evidence.nearest_verdict == "same"
        healing = await heal_step(bench, plan.steps[0], undone, 1)
        assert healing.event.success, healing.event
        assert healing.step.checks[0].selector == healing.step.selector != plan.steps[0].selector
        assert not isinstance(await execute_step(bench, healing.step, heal_round=1), Undone)
        assert (bench.compared, bench.drifted) == (1, 1)


async def test_an_outcome_that_does_not_hold_is_never_healed_and_its_action_never_repeated(site, bench_of):
    site.page("/", FORM)
    async with bench_of() as bench:
        plan = await build_plan(bench, requirement(*STEPS))
    site.page("/", FORM.replace("said.textContent = 'Saved'", ""))
    async with bench_of() as bench:
        await bench.start("/")
        bench.policy = HASTY
        undone = await execute_step(bench, plan.steps[1])
        assert isinstance(undone, Undone)
        for number in (1, 2, 3, 4):
            healing = await heal_step(bench, plan.steps[1], undone, number)
            assert not healing.event.success
            assert healing.step == plan.steps[1]
            assert isinstance(await execute_step(bench, plan.steps[1], heal_round=number), Undone)
        assert await bench.page.evaluate("document.body.dataset.saved") == "1"


async def test_a_dead_button_is_noticed_by_the_step_after_it(site, bench_of):
    site.page("/", "<button onclick=\"document.body.append(document.querySelector('template').content)\">Open</button>"
              "<template><button>Next</button></template>")  # fmt: skip
    steps = ("Open | click | ", "Next | click | ")
    async with bench_of() as bench:
        plan = await build_plan(bench, requirement(*steps))
        assert plan.coverage == 1.0
    site.page("/", "<button>Open</button>")
    async with bench_of() as bench:
        await bench.start("/")
        assert not isinstance(await execute_step(bench, plan.steps[0]), Undone)
        bench.policy = HASTY
        undone = await execute_step(bench, plan.steps[1])
        assert isinstance(undone, Undone)
        assert undone.evidence.previous_changed is False


async def test_a_site_that_is_down_and_a_server_that_fails_are_told_apart(site, bench_of):
    site.page("/broken", "Oops", status=500)
    async with bench_of() as bench:
        failed = await bench.start("/broken")
        assert isinstance(failed, Undone)
        assert (failed.evidence.what, failed.evidence.status, failed.evidence.reachable) == (
            "page",
            500,
            True,
        )
    async with bench_of(base_url="http://127.0.0.1:9", policy=HASTY) as bench:
        failed = await bench.start("/")
        assert isinstance(failed, Undone)
        assert failed.evidence.reachable is False
        plan = await build_plan(bench, requirement("Name | fill | x | "))
        assert plan.missing[0].what == "element"


async def test_pictures_are_taken_per_step_and_secrets_are_in_no_record(site, bench_of, tmp_path):
    site.page("/", FORM.replace("id=name", "id=name type=password"))
    async with bench_of(folder=tmp_path / "shots") as bench:
        plan = await build_plan(
            bench, requirement("Name | fill | literal-password | field_populated", STEPS[1])
        )
        assert plan.steps[0].password
        await bench.start("/")
        done = [await execute_step(bench, step) for step in plan.steps]
        assert [each.screenshot for each in done] == ["step-01.jpg", "step-02.jpg"]
        assert all((tmp_path / "shots" / each.screenshot).stat().st_size for each in done)
        assert "literal-password" not in done[0].model_dump_json()
