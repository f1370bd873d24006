"""One drawn page that floods; `make floods` gives all of them to a service."""

from __future__ import annotations

import pytest

from tests.hostile.floods.__main__ import describe, give_page, is_wrong
from tests.hostile.floods.flooding_site import PAGES, flooding_site
from tests.support.rotation import dice

pytestmark = [pytest.mark.sampled(0.05), pytest.mark.timeout(600)]


async def test_a_page_that_floods_is_over_in_bounded_memory_and_the_service_goes_on(tmp_path):
    page = dice("flood").choice(sorted(PAGES))
    with flooding_site() as site:
        seen = await give_page(site, page, tmp_path)
    assert not is_wrong(seen), describe(seen)
