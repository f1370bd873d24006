"""One run of a drawn kind of fault; `make faults` makes 30 of each."""

from __future__ import annotations

import pytest

from tests.faults import browser_faults, store_faults  # noqa: F401 - they register their kinds
from tests.faults.__main__ import make_fault
from tests.faults.fault_kinds import FAULTS, CannotBeMade
from tests.support.needs import lacking
from tests.support.rotation import dice

pytestmark = pytest.mark.sampled(0.1)


@pytest.mark.parametrize("name", FAULTS)
async def test_nothing_is_lost_and_nothing_done_twice(name):
    try:
        told = await make_fault(FAULTS[name], dice(f"fault {name}").randrange(10**9))
    except CannotBeMade as exc:
        (lacking if exc.installable else pytest.skip)(str(exc))
    assert not told, told
