"""A plan is found on the live page, step by step, before anything is written."""

from __future__ import annotations

import socket

import pytest

from agent.verification.graph.phase_page import BrowserPhasePage
from agent.verification.page_checks import FailedStep, build_plan, execute_step, open_first_page
from agent.verification.root_cause import classify
from kb_schema.cached_locators import Locator
from kb_schema.verification import FailureKind
from tests.agent.verification.page_checks.conftest import HASTY, requirement

LOGIN = """
<h1>Welcome</h1>
<form aria-label="Sign in" action="/home"><label>Email <input name=email></label>
<label>Password <input type=password name=password></label><button>Log in</button></form>
"""


async def test_every_element_and_outcome_is_found_and_then_executed_from_the_plan(site, open_site_page):
    site.page("/", LOGIN, title="Sign in")
    site.page("/home", "<h1>Dashboard</h1><p role=status>Welcome back</p>", title="Home")
    wanted = requirement(
        "Email@Sign in | fill | ann-{unique}@example.org | field_populated",
        "Password@Sign in | type | {secret:PW} | field_populated",
        "Login@Sign in | click | | navigates_to:Dashboard; message:Welcome back",
    )
    async with open_site_page(secrets={"PW": "very-secret-1"}) as site_page:
        plan = await build_plan(site_page, wanted)
    assert plan.missing == ()
    assert plan.coverage == 1.0
    assert [step.strategy for step in plan.steps] == ["label", "label", "role_name"]
    assert [step.confidence for step in plan.steps] == [0.92, 0.92, 0.95]
    assert all(step.discovered_at for step in plan.steps)
    assert plan.steps[1].password
    assert plan.steps[2].checks[0].heading == "Dashboard"
    assert "very-secret-1" not in plan.model_dump_json()
    assert "u7k2qx" not in plan.model_dump_json()
    async with open_site_page(secrets={"PW": "very-secret-1"}, unique="other1") as site_page:
        assert await open_first_page(site_page, plan.requirement.url) is None
        for step in plan.steps:
            done = await execute_step(site_page, step)
            assert not isinstance(done, FailedStep), done
            assert done.status == "success"
        assert "ann-other1" in site_page.page.url


async def test_what_is_not_there_is_told_with_what_is_and_the_walk_stops(site, open_site_page):
    site.page("/", LOGIN)
    wanted = requirement("Email | fill | a@b.example |", "Lagin | click | | ", "Email | fill | c |")
    async with open_site_page(policy=HASTY) as site_page:
        plan = await build_plan(site_page, wanted)
    assert len(plan.steps) == 1
    (missing,) = plan.missing
    assert (missing.step_idx, missing.what) == (1, "element")
    assert missing.nearest[0] == "Log in"


async def test_an_outcome_that_does_not_hold_is_missing_with_what_the_page_says(site, open_site_page):
    site.page("/", "<p>Saved the order</p>")
    async with open_site_page(policy=HASTY) as site_page:
        plan = await build_plan(site_page, requirement(" | | | shows:Saved the border"))
    (missing,) = plan.missing
    assert missing.what == "shows:Saved the border"
    assert "Saved the order" in missing.nearest


async def test_several_that_fit_are_nobodys_guess(site, open_site_page):
    site.page(
        "/",
        "<section aria-label=One><button>Go</button></section><section aria-label=Two><button>Go</button></section>",
    )
    async with open_site_page(policy=HASTY) as site_page:
        plan = await build_plan(site_page, requirement("Go | click | "))
        assert "may mean 2 elements" in plan.missing[0].reason
        plan = await build_plan(site_page, requirement("Go@Two | click | "))
        assert plan.missing == ()


async def test_dialogs_tabs_and_late_elements_are_met_and_written_down(site, open_site_page):
    site.page(
        "/",
        """<button onclick="if (confirm('Sure?')) setTimeout(() => box.hidden = false, 150)">Ask</button>
        <div id=box hidden><a href="/other" target=_blank>Elsewhere</a></div>""",
    )
    site.page("/other", "<h1>Another tab</h1>")
    wanted = requirement("Ask | click | ", "Elsewhere | click | | heading:Another tab")
    async with open_site_page() as site_page:
        plan = await build_plan(site_page, wanted)
    assert plan.missing == ()
    ask, elsewhere = plan.steps
    assert (ask.dialog, ask.dialog_message, ask.new_tab) == ("accept", "Sure?", False)
    assert elsewhere.new_tab
    async with open_site_page() as site_page:
        await open_first_page(site_page, "/")
        for step in plan.steps:
            assert not isinstance(await execute_step(site_page, step), FailedStep)
        assert site_page.page.url.endswith("/other")


async def test_a_place_that_was_found_lately_is_verified_before_it_is_used(site, open_site_page):
    site.page("/", LOGIN)
    kept = Kept()
    wanted = requirement("Email | fill | a@b.example | field_populated")
    plans = []
    for html in (LOGIN, LOGIN, LOGIN.replace("Email", "Email address")):
        site.page("/", html)
        async with open_site_page(locators=kept, website_id="site") as site_page:
            plans.append(await build_plan(site_page, wanted))
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


async def failure_of(site_page, *steps, url="/"):
    """Return the plan and the root cause of a requirement that cannot be planned."""
    built = await BrowserPhasePage(site_page, "shots").build(requirement(*steps, url=url))
    return built.plan.missing[0], classify(built.evidence.model_copy(update={"failure": FailureKind.TIMEOUT}))


async def test_names_that_are_listed_can_be_used(site, open_site_page):
    site.page("/", "<div>Edit full name</div><input id=modal-input-field>")
    async with open_site_page(policy=HASTY) as site_page:
        missing, _ = await failure_of(site_page, "Given name | fill | Ada")
        assert "input" not in missing.nearest, "no element is found by this name"
        assert missing.nearest
        for name in missing.nearest:
            plan = await build_plan(site_page, requirement(f"{name} | fill | Ada"))
            assert plan.missing == (), name


async def test_a_misspelt_name_is_perhaps_a_typo_and_no_change_of_the_site(site, open_site_page):
    site.page("/", "<h1>Settings</h1><button>Preferences</button><button>Profile</button>")
    async with open_site_page(policy=HASTY) as site_page:
        _, root = await failure_of(site_page, "Preferencs | click |", url="/")
    assert root.class_ == "data_issue"
    assert "perhaps a typo: “Preferences”?" in root.message
    assert not any("leads to" in each for each in root.evidence)


async def test_what_is_listed_as_similar_is_not_denied_in_the_next_line(site, open_site_page):
    site.page("/", "<h2>Register new passkey</h2>")
    async with open_site_page(policy=HASTY) as site_page:
        missing, root = await failure_of(site_page, " | | | heading:Register a passkey", url="/#/security")
    assert missing.nearest == ("Register new passkey",)
    said = " ".join(root.evidence)
    assert "/#/security has “Register new passkey”" in said
    assert "nothing like it" not in said


async def test_a_panel_that_is_no_dialog_is_told_how_to_be_expected(site, open_site_page):
    panel = "<div class=modal-overlay><h2>Edit name</h2></div>"
    site.page(
        "/", f"<button onclick='document.body.insertAdjacentHTML(`beforeend`, `{panel}`)'>Edit</button>"
    )
    async with open_site_page(policy=HASTY) as site_page:
        missing, _ = await failure_of(site_page, "Edit | click | | dialog_opens:Edit name")
    assert "role dialog or alertdialog" in missing.reason
    assert "heading:TEXT" in missing.reason


async def test_a_site_that_does_not_answer_is_named_by_its_own_address(open_site_page):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        nowhere = f"http://127.0.0.1:{closed.getsockname()[1]}"
        async with open_site_page(policy=HASTY, base_url=nowhere) as site_page:
            missing, root = await failure_of(site_page, "Save | click |", url="/orders")
    assert missing.what == "page"
    assert (root.class_, root.message) == ("env_fault", f"{nowhere}/orders does not answer")
    assert "chrome-error" not in root.model_dump_json()


@pytest.mark.parametrize(
    ("html", "step", "expected", "says"),
    [
        ("<button disabled>Go</button>", "Go | click | ", "enablement_issue", "“Go” is disabled"),
        (
            "<style>@keyframes m {to {left: 90px}} button {position: relative; animation: m .7s infinite}</style><button>Go</button>",
            "Go | click | ", "timing_instability", "“Go” never came to rest",
        ),
        ("<button>Go</button><p>Or</p><button>Go</button>", "Go | click | ", "selector_drift", "several elements fit “Go”"),
        (
            "<label>Size <select><option>Small</option></select></label>",
            "Size | select | Huge", "data_issue", "Huge",
        ),
        ("<button>Other</button>", "Go | click | ", "selector_drift", "“Go” is not found"),
        ("<button style='display: none'>Go</button>", "Go | click | ", "visibility_issue", "“Go” is there and cannot be seen"),
        ("<label hidden>Size <input></label>", "Size | fill | 9", "visibility_issue", "“Size” is there and cannot be seen"),
        ("<button hidden>Go</button>", "Go | fill | 9", "selector_drift", "“Go” is not found"),
    ],
)  # fmt: skip
async def test_the_cause_of_an_element_that_is_there_and_cannot_be_used_says_so(
    site, open_site_page, html, step, expected, says
):
    site.page("/", html)
    async with open_site_page(policy=HASTY) as site_page:
        built = await BrowserPhasePage(site_page, "shots").build(requirement(step))
    failure = built.evidence.failure
    evidence = built.evidence.model_copy(
        update={"failure": FailureKind.TIMEOUT if failure is FailureKind.NONE else failure}
    )
    cause = classify(evidence)
    assert (cause.class_, says in cause.message) == (expected, True), cause
