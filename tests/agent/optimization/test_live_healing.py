from __future__ import annotations

import pytest

from agent.optimization.execution_records import read_remembered_elements
from agent.optimization.live_healing import LivePolicy, open_healer
from agent.optimization.suite_runner import (
    RaiseFailure,
    SubstituteLocator,
    WaitLonger,
    records_folder,
    run_suite,
)
from kb_schema.suite_optimization import ExecutionRequest
from tests.agent.optimization import shop

pytestmark = pytest.mark.sampled(0.5)

QUICK = LivePolicy(late_s=1.5, late_beside_s=0.05)


@pytest.fixture
def suite(tmp_path, chromium_path):
    return shop.suite_in(tmp_path, chromium_path)


async def healed(suite, base, file, known=None):
    """The result, what was answered to each failing call, and which repeated calls came off."""
    answers, worked = [], []
    request = ExecutionRequest(execution_id="heal", test_file_paths=(file,))
    async with open_healer(known, policy=QUICK) as ask:

        async def noted(failure):
            answers.append((failure, verdict := await ask(failure)))
            return verdict

        result = await run_suite(
            request,
            shop.on(suite, base),
            on_failure=noted,
            on_repeated=lambda _f, _v, came: worked.append(came),
        )
    return result, answers, worked


async def test_one_healing_run_finds_every_drifted_locator_and_no_more_than_that(suite):
    before = ExecutionRequest(execution_id="before", test_file_paths=("test_shop.py",))
    with shop.served(drifted=False) as base:
        await run_suite(before, shop.on(suite, base), remember=True)
    seen = {
        (each.test_id, each.selector): each
        for each in read_remembered_elements(records_folder(before, suite))
    }

    def known(failure):
        used = failure.failed.locator
        each = used and seen.get((failure.failed.test_id, used.selector))
        return each.fingerprint if each else None

    with shop.served(drifted=True) as base:
        result, answers, worked = await healed(suite, base, "test_shop.py", known)
    found = {
        failure.failed.locator.selector: verdict.candidate.expression
        for failure, verdict in answers
        if isinstance(verdict, SubstituteLocator)
    }
    assert found == {
        'internal:label="Email"s': 'get_by_label("Email address")',
        "#pw": 'get_by_label("Password")',
        'form#sign-up >> internal:testid=[data-testid="save"s]': 'locator("form#sign-up").get_by_test_id("store")',
        'iframe >> internal:control=enter-frame >> internal:role=button[name="Add to basket"i]': (
            'frame_locator("iframe").get_by_role("button", name="Add to the basket")'
        ),
    }
    assert worked
    assert all(worked)
    # The message that no longer comes is the application's defect, and stays one.
    assert [each.test_id for each in result.failed_tests] == ["test_shop.py::test_says_so[chromium]"]
    failed = result.failed_tests[0]
    assert failed.action == "expect.to_have_text"
    assert (failed.evidence.matched, failed.evidence.expected) == (0, "Saved")


async def test_without_a_memory_two_witnesses_find_it_in_the_other_api_as_well(suite):
    with shop.served(drifted=True) as base:
        result, answers, worked = await healed(suite, base, "test_async.py")
    told = [(failure.failed.action, verdict) for failure, verdict in answers]
    assert [action for action, _ in told] == ["fill", "click", "expect.to_have_value"]
    assert all(isinstance(verdict, SubstituteLocator) for _, verdict in told)
    assert all(
        len(verdict.candidate.witnesses) > 1 for _, verdict in told if isinstance(verdict, SubstituteLocator)
    )
    assert worked == [True, True, True]
    assert result.status == "passed"


async def test_what_comes_by_itself_is_waited_for_and_not_replaced(suite):
    with shop.served(drifted=False) as base:
        result, answers, worked = await healed(suite, base, "test_late.py")
    verdict = answers[0][1]
    assert isinstance(verdict, WaitLonger)
    assert not verdict.within_own_time
    assert verdict.timeout_ms >= verdict.came_after_s * 1000
    assert (worked, result.status) == ([True], "passed")


async def test_a_failure_whose_page_is_gone_is_raised(suite):
    (suite.root / "test_it.py").write_text(
        "def test_closes(page):\n    page.close()\n    page.get_by_role('button').click()\n"
    )
    with shop.served(drifted=False) as base:
        result, answers, _ = await healed(suite, base, "test_it.py")
    assert all(isinstance(verdict, RaiseFailure) for _, verdict in answers)
    assert result.failed_tests[0].error_type == "TargetClosedError"


async def test_what_is_expected_has_its_own_time_before_it_is_a_failure(suite):
    (suite.root / "test_it.py").write_text(
        "from playwright.sync_api import expect\n\n\ndef test_pays_late(page, base_url):\n"
        '    page.goto(base_url + "/late")\n    expect(page.get_by_role("button", name="Pay")).to_be_visible()\n'
    )
    request = ExecutionRequest(execution_id="own", test_file_paths=("test_it.py",))
    asked = []

    async def nobody_knows(failure):
        asked.append(failure)
        return RaiseFailure("nobody knows")

    with shop.served(drifted=False) as base:
        result = await run_suite(request, shop.on(suite, base), on_failure=nobody_knows)
    assert (len(asked), asked[0].shortened, result.status) == (1, True, "passed")


async def test_what_was_put_elsewhere_once_is_not_waited_for_again(suite):
    (suite.root / "test_it.py").write_text(
        "def test_twice(page, base_url):\n    page.goto(base_url)\n"
        '    for _ in range(2):\n        page.get_by_label("Email", exact=True).fill("x")\n'
    )
    with shop.served(drifted=True) as base:
        result, answers, worked = await healed(suite, base, "test_it.py")
    assert (worked, result.status) == ([True, True], "passed")
    first, second = (failure.failed.message for failure, _ in answers)
    assert "Timeout 700ms" in first
    assert "Timeout 300ms" in second


async def test_an_element_that_never_comes_on_an_idle_page_is_noted(suite):
    (suite.root / "test_it.py").write_text(
        "def test_waits(page):\n    page.set_content('<p>x')\n    page.get_by_role('button', name='Pay').click()\n"
    )
    _, answers, _ = await healed(suite, "", "test_it.py")
    assert [verdict.evidence.page_idle for _, verdict in answers] == [True]
