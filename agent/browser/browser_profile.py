"""The browser that a site is verified in: engine, viewport, and the device that Playwright emulates.

Starting it is `launch`'s job; `BrowserProfile.context_options` is what a new context gets.
"""

from __future__ import annotations

import difflib
import re
from enum import StrEnum
from typing import Any, Literal, get_args

from pydantic import Field, JsonValue

from kb_schema.base import Model

Engine = Literal["chromium", "firefox", "webkit"]
ENGINES: tuple[Engine, ...] = get_args(Engine)
VIEWPORT = (1280, 720)
"""Width and height in CSS pixels, also the default of pytest-playwright."""
LARGEST = 10_000
"""Longest side of a viewport."""
_NO_CONTEXT_OPTIONS = ("default_browser_type",)


class SandboxMode(StrEnum):
    """When Chromium's sandbox is on."""

    AUTO = "auto"
    """Where this process is not root and may make user namespaces."""
    ON = "on"
    """Always; where the machine forbids it, Chromium does not start."""
    OFF = "off"


class ProfileInvalid(ValueError):
    """A browser profile that cannot be used. `fix` says what to give instead."""

    def __init__(self, message: str, fix: str) -> None:
        super().__init__(message)
        self.message, self.fix = message, fix


class BrowserProfile(Model):
    """Engine, viewport and device; the default is Chromium with 1280 x 720."""

    engine: Engine = "chromium"
    viewport: tuple[int, int] | None = None
    """Width and height in CSS pixels; None: the device's, else 1280 x 720."""
    device: str | None = None
    """A name of Playwright's list of devices. It does not choose the engine."""
    device_options: dict[str, JsonValue] = Field(default_factory=dict)
    """What Playwright's list says of the device, read once by `read_device_options`."""

    def context_options(self) -> dict[str, Any]:
        """Return the options of `Browser.new_context`: those of the device, then the viewport."""
        options: dict[str, Any] = {
            name: value for name, value in self.device_options.items() if name not in _NO_CONTEXT_OPTIONS
        }
        if self.viewport is not None or "viewport" not in options:
            width, height = self.viewport or VIEWPORT
            options["viewport"] = {"width": width, "height": height}
        return options


def parse_viewport(text: str) -> tuple[int, int]:
    """Return width and height of `390x844`. Raises `ProfileInvalid`."""
    found = re.fullmatch(r"\s*(\d{1,5})\s*x\s*(\d{1,5})\s*", text, re.IGNORECASE)
    sides = (int(found[1]), int(found[2])) if found else (0, 0)
    if not all(1 <= each <= LARGEST for each in sides):
        raise ProfileInvalid(
            f"expected a viewport, found {text!r}",
            f"write WIDTHxHEIGHT in pixels up to {LARGEST:,}, such as 390x844",
        )
    return sides


async def read_device_options(name: str, engine: Engine) -> dict[str, JsonValue]:
    """Return what Playwright's list says of a device. Raises `ProfileInvalid` for a name that it does not have, and
    for a mobile device in Firefox, which emulates none.
    """
    from playwright.async_api import async_playwright  # noqa: PLC0415 - slow import

    async with async_playwright() as playwright:
        devices: dict[str, dict[str, JsonValue]] = playwright.devices
    if name not in devices:
        by_case = {each.casefold(): each for each in devices}
        near = difflib.get_close_matches(name.casefold(), by_case, n=3, cutoff=0.5)
        known = ", ".join(by_case[each] for each in near) or "iPhone 13, Pixel 7, iPad Mini"
        raise ProfileInvalid(f"Playwright knows no device {name!r}", f"names of its list, such as: {known}")
    if engine == "firefox" and devices[name].get("is_mobile"):
        raise ProfileInvalid(
            f"Firefox emulates no mobile device, and {name!r} is one",
            "use chromium or webkit, or a viewport without a device",
        )
    return devices[name]
