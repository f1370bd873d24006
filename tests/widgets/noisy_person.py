"""Plans what a noisy person does with a widget: its acts, with hesitation, slips, undo, stray clicks, scrolling and keys.

The noise may lead the person astray: what counts then is what the page did, not what the widget's list says.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from playwright.async_api import Page

from tests.widgets.people import ACTS, Act, count_possible
from tests.widgets.widget_list import Widget

MOST_TABS = 12
"""Times that the Tab key is pressed to reach a control."""
SLIP = "qx"
NULL_ACTS = frozenset({"hesitate", "scroll", "wander"})
"""Acts after which a recording has no step."""
_BY_SPACE = frozenset({"checkbox", "radio", "switch"})


async def _scroll(page: Page, pixels: int, *_: Any) -> None:
    await page.mouse.wheel(0, pixels)
    await asyncio.sleep(0.2)
    await page.mouse.wheel(0, -pixels)


async def _stray_click(page: Page, place: list[int], *_: Any) -> None:
    await page.mouse.click(*place)


async def _wander(page: Page, place: list[int], *_: Any) -> None:
    await page.mouse.move(*place, steps=8)


async def _let_go(page: Page, selector: str, *_: Any) -> None:
    """Press a control, move away and let go beside it."""
    box = await page.locator(selector).first.bounding_box()
    if box is None:
        return
    await page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    await page.mouse.down()
    await page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] + 90, steps=6)
    await page.mouse.up()


async def _slip(page: Page, text: str, *_: Any) -> None:
    await page.keyboard.type(text)
    for _each in text:
        await page.keyboard.press("Backspace")


async def _by_keys(page: Page, selector: str, act: Mapping[str, Any], file: Path) -> None:
    """Reach a control with the Tab key and press it; click it if that does not lead there."""
    wanted = await page.locator(selector).first.element_handle()
    for _each in range(MOST_TABS):
        await page.keyboard.press("Tab")
        said = await wanted.evaluate(
            "el => el === document.activeElement && (el.getAttribute('role') || el.type || el.localName)"
        )
        if said:
            await page.keyboard.press("Space" if said in _BY_SPACE else "Enter")
            return
    await ACTS["click"](page, selector, act, file)


NOISE: dict[str, Act] = {
    "hesitate": lambda _page, given, *_: asyncio.sleep(given / 1000),
    "scroll": _scroll,
    "wander": _wander,
    "stray_click": _stray_click,
    "let_go": _let_go,
    "slip": _slip,
    "undo": lambda page, given, *_: page.keyboard.press(given),
    "by_keys": _by_keys,
    "reload": lambda page, *_: _reload(page),
}


async def _reload(page: Page) -> None:
    await page.reload()


def plan_visit(widget: Widget, dice: random.Random) -> tuple[dict[str, Any], ...]:
    """Return the acts of one visit: those of the widget with a drawn value, and noise between them."""
    filled = widget.fill(dice.choice(widget.values)) if widget.values else widget
    return tuple(_with_noise(filled, dice))


def _with_noise(widget: Widget, dice: random.Random) -> Iterator[dict[str, Any]]:
    yield from _around(dice)
    if dice.random() < 0.05:
        yield {"reload": True}
    for act in widget.acts:
        if dice.random() < 0.35:
            yield {"hesitate": dice.randint(200, 1500)}
        yield from _disturbed(act, dice)
    if any("type" in act for act in widget.acts) and dice.random() < 0.25:
        yield {"undo": "Control+Z"}
        if dice.random() < 0.5:
            yield {"undo": "Control+Shift+Z"}
    yield from _around(dice)


def _around(dice: random.Random) -> Iterator[dict[str, Any]]:
    """Noise before the widget and after it."""
    place = [dice.randint(20, 1250), dice.randint(20, 700)]
    if dice.random() < 0.2:
        yield {"scroll": dice.choice((120, 400, 900))}
    if dice.random() < 0.2:
        yield {"wander": place}
    if dice.random() < 0.2:
        yield {"stray_click": place}


def _disturbed(act: dict[str, Any], dice: random.Random) -> Iterator[dict[str, Any]]:
    """Yield an act of the widget, perhaps in another way or after an attempt."""
    if (
        "type" in act
        and len(act["type"]) > 2
        and act["type"].replace(" ", "").isalpha()
        and dice.random() < 0.4
    ):
        at = dice.randint(1, len(act["type"]) - 1)
        yield {"type": act["type"][:at]}
        yield {"slip": SLIP}
        yield {"type": act["type"][at:]}
        return
    if "click" in act and "at" not in act:
        if dice.random() < 0.1:
            yield {"let_go": act["click"]}
        if dice.random() < 0.2:
            yield {"by_keys": act["click"]}
            return
    yield act


def name_of(act: Mapping[str, Any]) -> str:
    """Return what kind of act it is."""
    return next(each for each in act if each in ACTS or each in NOISE)


async def do_act(page: Page, act: Mapping[str, Any], file: Path) -> None:
    """Do one act. Raises a Playwright error if that cannot be done."""
    name = name_of(act)
    await (ACTS.get(name) or NOISE[name])(page, act[name], act, file)


def count_allowed(acts: tuple[dict[str, Any], ...]) -> dict[str, int]:
    """Return how many steps of each kind a recording of the acts may have at most, noise included."""
    counts = Counter(count_possible(tuple(act for act in acts if name_of(act) in ACTS)))
    for act in acts:
        name = name_of(act)
        if name in ("stray_click", "let_go"):
            counts += Counter(pointer=1, fill=1)
        elif name == "slip":
            counts += Counter(fill=1, press=2 * len(act["slip"]))
        elif name == "undo":
            counts += Counter(fill=1, press=1)
        elif name == "by_keys":
            counts += Counter(pointer=1, press=1)
        elif name == "reload":
            counts += Counter(refresh=1)
    return {kind: counts[kind] for kind in count_possible(())}
