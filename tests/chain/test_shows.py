"""Shows at one venue: several at once, each by itself, and nothing left of them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from periplus.demos.demo_environment import DemoEnvironment, DemoEnvironmentSettings, open_demo_environment
from periplus.demos.live_presentation import LivePresentationSettings, open_live_presentation
from periplus.errors import UserError
from periplus.seed_sites.seed_manifests import find_seed

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

pytestmark = pytest.mark.sampled(0.5)

HARBOUR = Path(__file__).parent.parent / "data" / "harbour"
INSTANT = LivePresentationSettings(speed=0)


def _environment(site, tmp_path: Path) -> AbstractAsyncContextManager[DemoEnvironment]:
    return open_demo_environment(
        find_seed(str(HARBOUR)), DemoEnvironmentSettings(tmp_path, base_url=site.url, headed=False)
    )


async def test_shows_at_one_venue_share_nothing_but_the_venue_and_leave_nothing_open(site, tmp_path):
    async with _environment(site, tmp_path) as environment:
        async with (
            open_live_presentation(environment, INSTANT) as one,
            open_live_presentation(environment, INSTANT) as other,
        ):
            assert len(environment.browser.contexts) == 2
            one.session.context.session["guest"] = "Ann"
            told = await asyncio.gather(one.play(), other.play())
            assert [each.shown_count for each in told] == [3, 3]
            assert "guest" not in other.session.context.session
        assert environment.browser.contexts == []
        runs = await environment.runs.runs(website_id="harbour")
        assert [(run.kind, run.subject, run.status) for run in runs] == [
            ("demo", "harbour_tour", "success")
        ] * 2
    assert len(site.state()["boats"]) == 2


async def test_a_show_that_fails_is_recorded_and_closes_its_page(site, tmp_path):
    async with _environment(site, tmp_path) as environment:
        with pytest.raises(RuntimeError, match="a defect"):
            async with open_live_presentation(environment, INSTANT):
                raise RuntimeError("a defect")
        assert environment.browser.contexts == []
        (run,) = await environment.runs.runs(website_id="harbour")
        assert run.status != "success"


async def test_a_flow_or_a_language_that_is_not_there_is_told_with_those_that_are(site, tmp_path):
    async with _environment(site, tmp_path) as environment:
        with pytest.raises(UserError, match="harbour_tour") as caught:
            async with open_live_presentation(environment, LivePresentationSettings(speed=0, language="fr")):
                pass
        assert "en" in (caught.value.fix or "")
        with pytest.raises(UserError):
            async with open_live_presentation(environment, LivePresentationSettings("no_such_flow", speed=0)):
                pass
        assert environment.browser.contexts == []
