from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import structlog
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import async_playwright
from structlog.testing import capture_logs

from agent.browser import launch as launch_module
from agent.browser.launch import (
    BrowserMissing,
    LaunchSettings,
    SandboxMode,
    SandboxModeUnknown,
    find_chromium,
    find_sandbox_obstacle,
    has_display,
    launch,
    uses_sandbox,
)
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


NOBODY = 65_534


def _as_nobody(answer: str) -> str:
    """What Python code of this module prints in a process of a user without rights."""
    read, written = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        os.write(written, repr(eval(answer)).encode())
        os._exit(0)
    os.close(written)
    os.waitpid(pid, 0)
    with os.fdopen(read) as said:
        return said.read()


def _family_arguments(pid: int) -> str:
    return "\n".join(Path(f"/proc/{each}/cmdline").read_text() for each in descendants(pid))


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="becomes another user")
def test_root_has_no_sandbox_and_others_have_it_where_they_may_make_namespaces(monkeypatch) -> None:
    monkeypatch.delenv("PERIPLUS_BROWSER_SANDBOX", raising=False)
    assert not uses_sandbox()
    assert find_sandbox_obstacle() == "Chromium has no sandbox for root"
    shell = "launch_module.subprocess.run(['unshare', '--user', '--pid', '--fork', 'true']).returncode == 0"
    monkeypatch.setattr(sys, "executable", "/usr/bin/python3")  # one that the other user may start
    assert _as_nobody("uses_sandbox()") == _as_nobody(shell)


@pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel for namespaces")
def test_a_machine_that_forbids_namespaces_is_an_obstacle(monkeypatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: NOBODY)
    monkeypatch.setattr(launch_module, "_NAMESPACES", "raise SystemExit(1)")
    launch_module._may_make_namespaces.cache_clear()
    assert find_sandbox_obstacle() == "this user may not make user namespaces"
    launch_module._may_make_namespaces.cache_clear()


@pytest.mark.parametrize(("named", "used"), [("on", True), ("off", False)])
def test_the_setting_decides_about_the_sandbox(named: str, used: bool, monkeypatch) -> None:
    monkeypatch.setenv("PERIPLUS_BROWSER_SANDBOX", named)
    assert uses_sandbox() is used
    assert uses_sandbox(SandboxMode.ON) is True


def test_a_sandbox_that_is_off_is_logged_once_with_the_reason(monkeypatch) -> None:
    monkeypatch.setenv("PERIPLUS_BROWSER_SANDBOX", "off")
    launch_module._log_sandbox_off.cache_clear()
    configured = structlog.is_configured()
    with capture_logs() as logged:
        uses_sandbox()
        uses_sandbox()
    if not configured:
        structlog.reset_defaults()
    assert [(each["log_level"], each["reason"]) for each in logged] == [
        ("warning", "PERIPLUS_BROWSER_SANDBOX is off")
    ]


async def test_a_browser_is_started_with_or_without_the_sandbox_as_it_is_set(
    chromium_path: str, monkeypatch
) -> None:
    monkeypatch.setenv("PERIPLUS_BROWSER_SANDBOX", "off")
    async with async_playwright() as playwright:
        browser = await launch(playwright)
        assert "--no-sandbox" in _family_arguments(os.getpid())
        await browser.close()
        if os.geteuid() == 0:
            with pytest.raises(
                PlaywrightError, match=r"no usable sandbox|Running as root without --no-sandbox"
            ):
                await launch(playwright, settings=LaunchSettings(sandbox=SandboxMode.ON))


def test_a_command_without_a_log_says_nothing_about_the_sandbox() -> None:
    asked = "from agent.browser.launch import uses_sandbox; uses_sandbox()"
    done = subprocess.run(
        [sys.executable, "-c", asked],
        env={**os.environ, "PERIPLUS_BROWSER_SANDBOX": "off"}, capture_output=True, check=True,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == (b"", b"")


def test_a_mode_that_does_not_exist_is_refused(monkeypatch) -> None:
    monkeypatch.setenv("PERIPLUS_BROWSER_SANDBOX", "yes")
    with pytest.raises(SandboxModeUnknown, match="expected auto, on or off, found 'yes'"):
        uses_sandbox()
