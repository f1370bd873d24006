"""Demos and the voices they are told in."""

from __future__ import annotations

from pathlib import Path

import pytest

from periplus.demos.demo_environment import DemoEnvironmentSettings, open_demo_environment
from periplus.demos.live_presentation import LivePresentationSettings, open_live_presentation
from periplus.errors import UserError
from periplus.seed_sites.seed_manifests import find_seed

HARBOUR = Path(__file__).parent.parent / "data" / "harbour"


@pytest.mark.usefixtures("espeak")
async def test_a_voice_that_is_not_installed_is_told_before_anything_is_shown(site, tmp_path: Path) -> None:
    settings = DemoEnvironmentSettings(tmp_path, base_url=site.url, headed=False)
    async with open_demo_environment(find_seed(str(HARBOUR)), settings) as environment:
        with pytest.raises(UserError, match="xx-nobody") as caught:
            async with open_live_presentation(environment, LivePresentationSettings(speaker="xx-nobody")):
                pass
    assert caught.value.fix is not None
    assert site.state()["boats"] == []
