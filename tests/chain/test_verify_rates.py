"""Every seeded trouble gets its root cause, no bug of the application comes out green, drift is recovered.

All of it is the nightly's; a few cases, others every day, are in the normal run. The rates over all of them
are `python -m benchmarks.verify_rates`.
"""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser

from tests.support.verification import Laboratory, changed, laboratory, troubles

SHARE = 0.02
"""Of the cases that are in every run: each takes 5 to 30 seconds."""


@pytest.fixture(scope="module")
async def lab(browser: Browser) -> AsyncIterator[Laboratory]:
    async with laboratory(browser) as opened:
        yield opened


@pytest.mark.sampled(SHARE)
@pytest.mark.parametrize("trouble", troubles(), ids=lambda each: each.id)
async def test_trouble_has_its_root_cause_and_no_bug_comes_out_green(lab, trouble):
    came = await lab.meet(trouble)
    assert not (trouble.red and came.green), f"masked\n{came.told()}"
    assert came.cause == trouble.expected, came.told()
    assert came.report.rca.recommendation


@pytest.mark.sampled(SHARE)
@pytest.mark.parametrize("req_id", sorted({each.requirement for each in troubles()}))
async def test_redesign_is_recovered_from(lab, req_id):
    came = await lab.redesigned(req_id)
    assert came.green, came.told()
    assert came.recovered == came.drifted


async def test_every_case_names_a_requirement_and_every_requirement_has_a_case(lab):
    assert {each.requirement for each in troubles()} == set(lab.requirements)
    assert len({each.id for each in troubles()}) == len(troubles())


async def test_change_of_a_requirement_is_a_change(lab):
    for trouble in troubles():
        before = lab.requirements[trouble.requirement]
        assert (changed(before, trouble.change) != before) == bool(trouble.change)
