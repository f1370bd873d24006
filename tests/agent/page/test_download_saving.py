"""A download is kept under a harmless name, and stopped when it is too large."""

from __future__ import annotations

import pytest

from agent.page.download_saving import DownloadGuard, DownloadTooLarge
from tests.hostile.floods.flooding_site import flooding_site

LINK = """const link = document.createElement('a'); link.download = %r; link.href = 'data:text/csv,a,b'; link.click()"""


async def _save(page, script, folder):
    guard = DownloadGuard(page, 5)
    guard.start()
    async with page.expect_download() as began:
        await page.evaluate(f"void (() => {{ {script} }})()")
    try:
        return await guard.save(await began.value, folder)
    finally:
        await guard.close()


async def test_a_download_without_end_is_stopped_at_its_limit(page, tmp_path):
    with flooding_site() as site:
        await page.goto(f"{site}/load/plain")
        with pytest.raises(DownloadTooLarge, match="larger than 5 MB and was stopped"):
            await _save(page, "location.href = '/endless.bin'", tmp_path)
    assert [each for each in tmp_path.iterdir() if each.stat().st_size] == []


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("report.csv", "report.csv"),
        ("x" * 300 + ".csv", "x" * 150 + ".csv"),
        ("ü" * 300 + ".csv", "ü" * 75 + ".csv"),
        ("../../x.csv", "x.csv"),
        ("a." + "y" * 300, None),
    ],
)
async def test_its_name_is_harmless_and_short_enough_for_a_file(page, tmp_path, name, kept):
    for number in (1, 2):
        path = await _save(page, LINK % name, tmp_path)
        assert path.read_text() == "a,b"
        assert path.parent == tmp_path
        assert number == 2 or kept is None or path.name.strip("_.") == kept.strip("_.")
    assert len(list(tmp_path.iterdir())) == 2
