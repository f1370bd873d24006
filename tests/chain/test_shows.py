"""Shows at one venue: several at once, each by itself, and nothing left of them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from periplus.errors import UserError
from periplus.presenting.show import ShowSettings, open_show
from periplus.presenting.venue import Venue, VenueSettings, open_venue
from periplus.seeds import find_seed

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

pytestmark = pytest.mark.sampled(0.5)

HARBOUR = Path(__file__).parent.parent / "data" / "harbour"
INSTANT = ShowSettings(speed=0)


def _venue(site, tmp_path: Path) -> AbstractAsyncContextManager[Venue]:
    return open_venue(find_seed(str(HARBOUR)), VenueSettings(tmp_path, base_url=site.url, headed=False))


async def test_shows_at_one_venue_share_nothing_but_the_venue_and_leave_nothing_open(site, tmp_path):
    async with _venue(site, tmp_path) as venue:
        async with open_show(venue, INSTANT) as one, open_show(venue, INSTANT) as other:
            assert len(venue.browser.contexts) == 2
            one.session.context.session["guest"] = "Ann"
            told = await asyncio.gather(one.play(), other.play())
            assert [each.shown_count for each in told] == [3, 3]
            assert "guest" not in other.session.context.session
        assert venue.browser.contexts == []
        runs = await venue.runs.runs(website_id="harbour")
        assert [(run.kind, run.subject, run.status) for run in runs] == [
            ("demo", "harbour_tour", "success")
        ] * 2
    assert len(site.state()["boats"]) == 2


async def test_a_show_that_fails_is_recorded_and_closes_its_page(site, tmp_path):
    async with _venue(site, tmp_path) as venue:
        with pytest.raises(RuntimeError, match="a defect"):
            async with open_show(venue, INSTANT):
                raise RuntimeError("a defect")
        assert venue.browser.contexts == []
        (run,) = await venue.runs.runs(website_id="harbour")
        assert run.status != "success"


async def test_a_flow_or_a_language_that_is_not_there_is_told_with_those_that_are(site, tmp_path):
    async with _venue(site, tmp_path) as venue:
        with pytest.raises(UserError, match="harbour_tour") as caught:
            async with open_show(venue, ShowSettings(speed=0, language="fr")):
                pass
        assert "en" in (caught.value.fix or "")
        with pytest.raises(UserError):
            async with open_show(venue, ShowSettings("no_such_flow", speed=0)):
                pass
        assert venue.browser.contexts == []
