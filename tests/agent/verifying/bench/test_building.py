"""A plan is found on the live page, step by step, before anything is written."""

from __future__ import annotations

from agent.verifying.bench import Undone, build_plan, execute_step
from kb_schema.storage import Locator
from tests.agent.verifying.bench.conftest import HASTY, requirement

LOGIN = """
<h1>Welcome</h1>
<form aria-label="Sign in" action="/home"><label>Email <input name=email></label>
<label>Password <input type=password name=password></label><button>Log in</button></form>
"""


async def test_every_element_and_outcome_is_found_and_then_executed_from_the_plan(site, bench_of):
    site.page("/", LOGIN, title="Sign in")
    site.page("/home", "<h1>Dashboard</h1><p role=status>Welcome back</p>", title="Home")
    wanted = requirement(
        "Email@Sign in | fill | ann-{unique}@example.org | field_populated",
        "Password@Sign in | type | {secret:PW} | field_populated",
        "Login@Sign in | click | | navigates_to:Dashboard; message:Welcome back",
    )
    async with bench_of(secrets={"PW": "very-secret-1"}) as bench:
        plan = await build_plan(bench, wanted)
    assert plan.missing == ()
    assert plan.coverage == 1.0
    assert [step.strategy for step in plan.steps] == ["label", "label", "role_name"]
    assert plan.steps[1].password
    assert plan.steps[2].checks[0].heading == "Dashboard"
    assert "very-secret-1" not in plan.model_dump_json()
    assert "u7k2qx" not in plan.model_dump_json()
    async with bench_of(secrets={"PW": "very-secret-1"}, unique="other1") as bench:
        assert await bench.start(plan.requirement.url) is None
        for step in plan.steps:
            done = await execute_step(bench, step)
            assert not isinstance(done, Undone), done
            assert done.status == "success"
        assert "ann-other1" in bench.page.url


async def test_what_is_not_there_is_told_with_what_is_and_the_walk_stops(site, bench_of):
    site.page("/", LOGIN)
    wanted = requirement("Email | fill | a@b.example |", "Lagin | click | | ", "Email | fill | c |")
    async with bench_of(policy=HASTY) as bench:
        plan = await build_plan(bench, wanted)
    assert len(plan.steps) == 1
    (missing,) = plan.missing
    assert (missing.step_idx, missing.what) == (1, "element")
    assert missing.nearest[0] == "Log in"


async def test_an_outcome_that_does_not_hold_is_missing_with_what_the_page_says(site, bench_of):
    site.page("/", "<p>Saved the order</p>")
    async with bench_of(policy=HASTY) as bench:
        plan = await build_plan(bench, requirement(" | | | shows:Saved the border"))
    (missing,) = plan.missing
    assert missing.what == "shows:Saved the border"
    assert "Saved the order" in missing.nearest


async def test_several_that_fit_are_nobodys_guess(site, bench_of):
    site.page(
        "/",
        "<section aria-label=One><button>Go</button></section><section aria-label=Two><button>Go</button></section>",
    )
    async with bench_of(policy=HASTY) as bench:
        plan = await build_plan(bench, requirement("Go | click | "))
        assert "may mean 2 elements" in plan.missing[0].reason
        plan = await build_plan(bench, requirement("Go@Two | click | "))
        assert plan.missing == ()


async def test_dialogs_tabs_and_late_elements_are_met_and_written_down(site, bench_of):
    site.page(
        "/",
        """<button onclick="if (confirm('Sure?')) setTimeout(() => box.hidden = false, 150)">Ask</button>
        <div id=box hidden><a href="/other" target=_blank>Elsewhere</a></div>""",
    )
    site.page("/other", "<h1>Another tab</h1>")
    wanted = requirement("Ask | click | ", "Elsewhere | click | | heading:Another tab")
    async with bench_of() as bench:
        plan = await build_plan(bench, wanted)
    assert plan.missing == ()
    ask, elsewhere = plan.steps
    assert (ask.dialog, ask.dialog_message, ask.new_tab) == ("accept", "Sure?", False)
    assert elsewhere.new_tab
    async with bench_of() as bench:
        await bench.start("/")
        for step in plan.steps:
            assert not isinstance(await execute_step(bench, step), Undone)
        assert bench.page.url.endswith("/other")


async def test_a_place_that_was_found_lately_is_verified_before_it_is_used(site, bench_of):
    site.page("/", LOGIN)
    kept = Kept()
    wanted = requirement("Email | fill | a@b.example | field_populated")
    plans = []
    for html in (LOGIN, LOGIN, LOGIN.replace("Email", "Email address")):
        site.page("/", html)
        async with bench_of(locators=kept, website_id="site") as bench:
            plans.append(await build_plan(bench, wanted))
    assert [plan.steps[0].from_cache for plan in plans] == [False, True, False]
    assert plans[2].coverage == 1.0


class Kept:
    """The locator cache in memory."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str, str], Locator] = {}

    async def put_locator(self, locator: Locator) -> None:
        self._kept[locator.website_id, locator.url, locator.element] = locator

    async def locator(self, website_id: str, url: str, element: str) -> Locator | None:
        return self._kept.get((website_id, url, element))

    async def forget_locator(self, website_id: str, url: str, element: str) -> None:
        self._kept.pop((website_id, url, element), None)
