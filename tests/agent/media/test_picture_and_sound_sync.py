"""Picture and sound of a film stay together, over its cuts and over five minutes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.clapper import clap, median

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.async_api import Page

pytestmark = pytest.mark.usefixtures("ffmpeg")
TOGETHER_S = 0.1


@pytest.mark.sampled(0.4)
async def test_picture_and_sound_are_together_over_cuts(page: Page, tmp_path: Path) -> None:
    measured = await clap(page, tmp_path, 12)
    assert abs(median(measured.offsets_s)) < TOGETHER_S, measured.told()


@pytest.mark.nightly
@pytest.mark.timeout(600)
async def test_picture_and_sound_stay_together_over_five_minutes(page: Page, tmp_path: Path) -> None:
    measured = await clap(page, tmp_path, 300)
    assert abs(median(measured.offsets_s)) < TOGETHER_S, measured.told()
    assert abs(measured.drift_s) < TOGETHER_S, measured.told()
