"""Demos and the voices they are told in."""

from __future__ import annotations

from pathlib import Path

import pytest

from periplus.errors import UserError
from periplus.presenting.show import ShowSettings, open_show
from periplus.presenting.venue import VenueSettings, open_venue
from periplus.seeds import find_seed

HARBOUR = Path(__file__).parent.parent / "data" / "harbour"


@pytest.mark.usefixtures("espeak")
async def test_a_voice_that_is_not_installed_is_told_before_anything_is_shown(site, tmp_path: Path) -> None:
    settings = VenueSettings(tmp_path, base_url=site.url, headed=False)
    async with open_venue(find_seed(str(HARBOUR)), settings) as venue:
        with pytest.raises(UserError, match="xx-nobody") as caught:
            async with open_show(venue, ShowSettings(speaker="xx-nobody")):
                pass
    assert caught.value.fix is not None
    assert site.state()["boats"] == []
