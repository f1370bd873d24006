"""What a scripted person does with mouse and keyboard: one function per act of `widgets.yaml`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from playwright.async_api import Locator, Page

HESITATES_S = 0.15
"""Between two acts."""
_MOVES = 12
"""Steps in which the pointer goes to another place."""

Act = Callable[[Page, Any, Mapping[str, Any], Path], Awaitable[None]]
"""The page, what the act is given, the whole act, and a file to upload."""


def _find(page: Page, selector: str) -> Locator:
    return page.locator(selector).first


async def _place(page: Page, selector: str, at: list[float] | None) -> tuple[float, float]:
    """Return a place of an element in pixels; `at`: in fractions of its width and height."""
    element = _find(page, selector)
    await element.scroll_into_view_if_needed()
    box = await element.bounding_box()
    assert box is not None, f"{selector} is not shown"
    across, down = at or (0.5, 0.5)
    return box["x"] + box["width"] * across, box["y"] + box["height"] * down


async def _click(page: Page, selector: str, act: Mapping[str, Any], _: Path) -> None:
    if "at" in act:
        await page.mouse.click(*await _place(page, selector, act["at"]))
    else:
        await _find(page, selector).click()


async def _drag(page: Page, ends: list[str], act: Mapping[str, Any], _: Path) -> None:
    start, end = await _place(page, ends[0], act.get("grab")), await _place(page, ends[1], act.get("at"))
    await page.mouse.move(*start, steps=2)
    await page.mouse.down()
    await page.mouse.move(start[0] + 4, start[1] + 4, steps=2)
    await page.mouse.move(*end, steps=_MOVES)
    await asyncio.sleep(HESITATES_S)
    await page.mouse.move(end[0] + 1, end[1])
    await page.mouse.move(*end)
    await page.mouse.up()


async def _hover(page: Page, selector: str, _act: Mapping[str, Any], _: Path) -> None:
    await page.mouse.move(*await _place(page, selector, None), steps=_MOVES)
    await asyncio.sleep(2 * HESITATES_S)


async def _keys(page: Page, keys: str, _act: Mapping[str, Any], _: Path) -> None:
    for key in keys.split():
        await page.keyboard.press(key)
        await asyncio.sleep(HESITATES_S / 3)


async def _compose(page: Page, texts: list[str], _act: Mapping[str, Any], _: Path) -> None:
    session = await page.context.new_cdp_session(page)
    for text in texts:
        shown = {"text": text, "selectionStart": len(text), "selectionEnd": len(text)}
        await session.send("Input.imeSetComposition", shown)
    await session.send("Input.insertText", {"text": texts[-1]})


async def _wheel(page: Page, given: list[Any], _act: Mapping[str, Any], _: Path) -> None:
    await page.mouse.move(*await _place(page, given[0], None))
    await page.mouse.wheel(0, given[1])


ACTS: dict[str, Act] = {
    "click": _click,
    "right": lambda page, given, *_: _find(page, given).click(button="right"),
    "middle": lambda page, given, *_: _find(page, given).click(button="middle"),
    "double": lambda page, given, *_: _find(page, given).dblclick(),
    "shift_click": lambda page, given, *_: _find(page, given).click(modifiers=["Shift"]),
    "ctrl_click": lambda page, given, *_: _find(page, given).click(modifiers=["ControlOrMeta"]),
    "focus": lambda page, given, *_: _find(page, given).focus(),
    "type": lambda page, given, *_: page.keyboard.type(given),
    "autofill": lambda page, given, *_: _find(page, given[0]).fill(given[1]),
    "upload": lambda page, given, _act, file: _find(page, given).set_input_files(file),
    "see": lambda page, given, *_: _find(page, given).wait_for(),
    "pause": lambda _page, given, *_: asyncio.sleep(given / 1000),
    "drag": _drag,
    "hover": _hover,
    "keys": _keys,
    "compose": _compose,
    "wheel": _wheel,
}
PRESSES = frozenset(
    {"click", "right", "middle", "double", "shift_click", "ctrl_click", "drag", "upload", "hover", "autofill"}
)
WRITES = frozenset({"type", "keys", "compose", "autofill", "drag", "click"})
"""Acts after which a field may hold something else; a slider is moved by a click, too."""


async def do_acts(page: Page, acts: tuple[dict[str, Any], ...], file: Path) -> None:
    """Do what a widget asks for. Raises a Playwright error if that cannot be done."""
    for act in acts:
        name = next(each for each in act if each in ACTS)
        await ACTS[name](page, act[name], act, file)
        await asyncio.sleep(HESITATES_S)


def count_possible(acts: tuple[dict[str, Any], ...]) -> dict[str, int]:
    """Return how many steps of each kind a recording of the acts may have at most."""
    keys = sum(len(str(act["keys"]).split()) for act in acts if "keys" in act)
    typed = sum(len(str(act["type"])) for act in acts if "type" in act)
    presses = sum(1 for act in acts for name in act if name in PRESSES)
    writes = sum(1 for act in acts for name in act if name in WRITES)
    return {
        "navigate": 1, "refresh": 0, "navigate_back": 0, "press": keys + typed,
        "fill": typed + writes, "pointer": presses + keys,
    }  # fmt: skip
