"""The browser of a verification: engine, viewport and device. Only Chromium is installed here; of the others it is
tested what they are started with, and what is said if they are not there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from playwright.async_api import async_playwright

from agent.browser.browser_profile import BrowserProfile, ProfileInvalid, parse_viewport, read_device_options
from agent.browser.launch import BrowserMissing, LaunchSettings, launch
from periplus.errors import UserError
from periplus.session_setup import open_fresh_context, start_browser


def test_the_default_is_chromium_with_1280_by_720():
    assert BrowserProfile().engine == "chromium"
    assert BrowserProfile().context_options() == {"viewport": {"width": 1280, "height": 720}}


@pytest.mark.parametrize("text", ["390x844", " 390 X 844 "])
def test_a_viewport_is_width_by_height(text):
    assert parse_viewport(text) == (390, 844)


@pytest.mark.parametrize("text", ["390", "0x844", "390x10001", "390x844px", "x", ""])
def test_what_is_no_viewport_is_refused_with_an_example(text):
    with pytest.raises(ProfileInvalid) as refused:
        parse_viewport(text)
    assert repr(text) in refused.value.message
    assert "390x844" in refused.value.fix


async def test_a_page_has_the_size_and_the_touch_screen_of_the_device(browser):
    phone = await read_device_options("iPhone 13", "chromium")
    profile = BrowserProfile(device="iPhone 13", device_options=phone)
    async with open_fresh_context(browser, profile=profile) as context:
        page = await context.new_page()
        assert page.viewport_size == phone["viewport"]
        assert "iPhone" in await page.evaluate("navigator.userAgent")
        assert await page.evaluate("navigator.maxTouchPoints") > 0
    wider = profile.model_copy(update={"viewport": (600, 900)})
    async with open_fresh_context(browser, profile=wider) as context:
        page = await context.new_page()
        assert page.viewport_size == {"width": 600, "height": 900}


async def test_an_unknown_device_is_refused_with_those_that_are_like_it():
    with pytest.raises(ProfileInvalid) as refused:
        await read_device_options("iphone13", "chromium")
    assert "iPhone 13" in refused.value.fix


async def test_firefox_emulates_no_phone():
    with pytest.raises(ProfileInvalid, match="Firefox emulates no mobile device"):
        await read_device_options("iPhone 13", "firefox")
    assert (await read_device_options("Desktop Firefox", "firefox"))["is_mobile"] is False


@pytest.mark.parametrize("engine", ["firefox", "webkit"])
async def test_another_engine_is_started_as_playwright_installed_it_without_flags_of_chromium(
    engine, chromium_path, monkeypatch
):
    monkeypatch.setenv("PERIPLUS_CHROMIUM", "/nowhere/chromium")
    given: dict[str, Any] = {}

    async def start(**options: Any) -> str:
        given.update(options)
        return "a browser"

    kind = SimpleNamespace(executable_path=chromium_path, launch=start)
    playwright: Any = SimpleNamespace(**{engine: kind})
    assert await launch(playwright, settings=LaunchSettings(engine=engine)) == "a browser"
    assert given["executable_path"] == chromium_path
    assert given["args"] == []
    assert "chromium_sandbox" not in given


@pytest.mark.parametrize("engine", ["firefox", "webkit"])
async def test_an_engine_that_is_not_installed_is_named_with_the_command_that_installs_it(
    engine, monkeypatch, tmp_path
):
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    async with async_playwright() as playwright:
        with pytest.raises(BrowserMissing, match=f"playwright install {engine}"):
            await launch(playwright, settings=LaunchSettings(engine=engine))
    with pytest.raises(UserError) as told:
        async with start_browser(headed=False, engine=engine):
            pass
    assert engine in told.value.message.casefold()
    assert f"playwright install {engine}" in (told.value.fix or "")
