from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.async_api import async_playwright

from agent.browser import launch as launch_module
from agent.browser.launch import BrowserMissing, LaunchSettings, find_chromium, has_display, launch
from tests.support.processes import descendants, process_is_alive

if TYPE_CHECKING:
    from playwright.async_api import Browser

STARTER = """
import asyncio
from playwright.async_api import async_playwright
from agent.browser.launch import launch

async def main():
    async with async_playwright() as playwright:
        browser = await launch(playwright)
        print("ready", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_the_browser_it_starts_shows_pages(browser: Browser) -> None:
    page = await browser.new_page()
    await page.set_content("<h1>ahoy</h1>")
    assert await page.inner_text("h1") == "ahoy"
    await page.close()


def test_the_named_chromium_is_used(
    chromium_path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "my-chromium"
    link.symlink_to(chromium_path)
    monkeypatch.setenv("PERIPLUS_CHROMIUM", str(link))
    assert find_chromium() == str(link)


def test_a_named_chromium_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERIPLUS_CHROMIUM", "/nowhere/chromium")
    with pytest.raises(BrowserMissing, match="/nowhere/chromium is not an executable file"):
        find_chromium()


def _put(folder: Path, *parts: str) -> str:
    program = folder.joinpath(*parts)
    program.parent.mkdir(parents=True, exist_ok=True)
    program.touch(mode=0o755)
    return str(program)


def test_playwrights_own_browser_comes_before_the_systems_and_a_shell_where_no_window_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    revision = launch_module._playwright_revision()
    monkeypatch.delenv("PERIPLUS_CHROMIUM", raising=False)
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    whole = _put(tmp_path, "chromium")
    assert find_chromium() == find_chromium(headless=False) == whole
    shell = _put(tmp_path, "chromium-headless-shell")
    assert (find_chromium(), find_chromium(headless=False)) == (shell, whole)
    own = _put(tmp_path / "cache", f"chromium-{revision}", "chrome-linux64", "chrome")
    assert (find_chromium(), find_chromium(headless=False)) == (shell, own)
    own_shell = _put(
        tmp_path / "cache", f"chromium_headless_shell-{revision}",
        "chrome-headless-shell-linux64", "chrome-headless-shell",
    )  # fmt: skip
    assert (find_chromium(), find_chromium(headless=False)) == (own_shell, own)


async def test_without_any_chromium_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PERIPLUS_CHROMIUM", raising=False)
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    async with async_playwright() as playwright:
        monkeypatch.setenv("PATH", str(tmp_path))
        assert find_chromium() is None
        with pytest.raises(BrowserMissing, match="apt-get install chromium"):
            await launch(playwright)
        with pytest.raises(BrowserMissing, match="not-a-browser"):
            await launch(playwright, settings=LaunchSettings(executable="not-a-browser"))


@pytest.mark.parametrize(
    ("variables", "there"), [({}, False), ({"DISPLAY": ":0"}, True), ({"WAYLAND_DISPLAY": "w"}, True)]
)
def test_a_display_is_where_x_or_wayland_is(
    variables: dict[str, str], there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert has_display() is there


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
async def test_a_killed_process_leaves_no_browser_behind() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", STARTER, stdout=asyncio.subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    family = descendants(process.pid)
    assert len(family) >= 2, "the driver and the browser"
    os.kill(process.pid, signal.SIGKILL)
    await process.wait()
    async with asyncio.timeout(20):
        while any(process_is_alive(pid) for pid in family):  # noqa: ASYNC110  # no event tells that a stranger ended
            await asyncio.sleep(0.05)
