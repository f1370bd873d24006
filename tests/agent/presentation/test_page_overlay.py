"""What is drawn over a page, on pages that allow little."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from agent.presentation import page_overlay as staging
from agent.presentation.page_overlay import PageOverlay

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, CDPSession, Page

STRICT = "default-src 'self'; style-src 'self'; require-trusted-types-for 'script'"


async def test_the_stage_is_drawn_on_a_page_that_allows_no_styles_of_others(context: BrowserContext):
    await PageOverlay.install(context)
    page = await context.new_page()
    await page.route(
        "**/*",
        lambda route: route.fulfill(
            body="<!doctype html><title>strict</title><p>x</p>",
            content_type="text/html",
            headers={"Content-Security-Policy": STRICT},
        ),
    )
    await page.goto("http://strict.example/")
    overlay = PageOverlay(page, speed=1_000)
    await overlay.caption("Hello")
    await overlay.point_to({"x": 10, "y": 10, "width": 20, "height": 20})
    seen = await context.new_cdp_session(page)
    assert await _style(seen, ".layer", "position") == "fixed"
    assert await _style(seen, ".caption", "position") == "absolute"
    assert await _style(seen, "path", "fill") == "rgb(255, 255, 255)"
    overlay.close()


@pytest.mark.parametrize(
    ("y", "top"), [(100, False), (660, True)], ids=["at the top of the window", "where captions lie"]
)
async def test_a_caption_does_not_lie_over_what_is_pointed_at(
    context: BrowserContext, y: float, *, top: bool
) -> None:
    page, overlay = await _staged(context)
    await page.set_viewport_size({"width": 1280, "height": 720})
    await overlay.caption("Hello")
    await overlay.point_to({"x": 630, "y": y, "width": 20, "height": 20})
    seen = await context.new_cdp_session(page)
    assert (await _style(seen, ".caption", "top") == "26px") is top
    await overlay.ring({"x": 630, "y": 100, "width": 20, "height": 20})
    assert await _style(seen, ".caption", "top") != "26px"
    await overlay.ring(None)
    assert (await _style(seen, ".caption", "top") == "26px") is top
    overlay.close()


@pytest.mark.parametrize(
    "box",
    [
        {"x": 20, "y": 660, "width": 140, "height": 30},
        {"x": 0, "y": 560, "width": 1280, "height": 160},
        {"x": 500, "y": 20, "width": 300, "height": 680},
        {"x": 20, "y": 20, "width": 400, "height": 690},
    ],
    ids=[
        "under the chapter",
        "the lower edge",
        "the middle, from top to bottom",
        "the left, from top to bottom",
    ],
)
@pytest.mark.parametrize("ring", [False, True])
async def test_the_chapter_does_not_lie_over_what_is_pointed_at_or_the_caption(
    context: BrowserContext, box: dict[str, float], *, ring: bool
) -> None:
    page, overlay = await _staged(context)
    await page.set_viewport_size({"width": 1280, "height": 720})
    await (overlay.ring(box) if ring else overlay.point_to(box))
    await overlay.chapter("A new agent")
    await overlay.caption("So I create an agent, and I call it Priya Natarajan from the team of the north.")
    seen = await context.new_cdp_session(page)
    caption, chapter = await _box(seen, ".caption"), await _box(seen, ".chapter")
    assert not _overlap(chapter, _edges(box))
    assert not _overlap(chapter, caption)
    assert not _overlap(caption, _edges(box))
    overlay.close()


def _edges(box: dict[str, float]) -> dict[str, float]:
    return {
        "left": box["x"], "top": box["y"], "right": box["x"] + box["width"], "bottom": box["y"] + box["height"]
    }  # fmt: skip


def _overlap(a: dict[str, float], b: dict[str, float]) -> bool:
    across = a["left"] < b["right"] and b["left"] < a["right"]
    return across and a["top"] < b["bottom"] and b["top"] < a["bottom"]


async def test_caption_and_chapter_do_not_overlap_in_a_narrow_window(context: BrowserContext) -> None:
    page, overlay = await _staged(context)
    await page.set_viewport_size({"width": 390, "height": 844})
    await overlay.caption("So I create an agent, and I call it Priya Natarajan from the team.")
    await overlay.chapter("A new agent with a rather long name")
    seen = await context.new_cdp_session(page)
    caption, chapter = await _box(seen, ".caption"), await _box(seen, ".chapter")
    assert caption["bottom"] <= chapter["top"]
    assert caption["left"] >= 0
    assert caption["right"] <= 390
    overlay.close()


async def test_caption_and_chapter_are_there_again_after_a_navigation(context: BrowserContext) -> None:
    page, overlay = await _staged(context)
    await overlay.caption("Hello")
    await overlay.chapter("One")
    await overlay.point_to({"x": 10, "y": 10, "width": 20, "height": 20})
    await page.goto("http://strict.example/next")
    while overlay._restoring:
        await asyncio.wait(overlay._restoring)
    seen = await context.new_cdp_session(page)
    assert await _text(seen, ".caption") == "Hello"
    assert await _text(seen, ".chapter") == "One"
    assert "30" not in await _style(seen, ".pointer", "transform")
    assert "20" in await _style(seen, ".pointer", "transform")
    overlay.close()


async def test_the_stage_goes_with_the_story_into_another_tab(context: BrowserContext) -> None:
    _, overlay = await _staged(context)
    await overlay.caption("Hello")
    other, _ = await _staged(context)
    overlay.follow(other)
    while overlay._restoring:
        await asyncio.wait(overlay._restoring)
    await overlay.chapter("Two")
    seen = await context.new_cdp_session(other)
    assert await _text(seen, ".caption") == "Hello"
    assert await _text(seen, ".chapter") == "Two"
    overlay.close()


async def test_drawing_waits_for_no_page_that_is_busy(
    context: BrowserContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging, "DRAW_S", 0.05)
    page, overlay = await _staged(context)

    async def never(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(page, "evaluate", never)
    await asyncio.wait_for(overlay.caption("Hello"), 20)
    overlay.close()


async def _staged(context: BrowserContext) -> tuple[Page, PageOverlay]:
    """A page with the stage on it, that answers at any address."""
    await PageOverlay.install(context)
    page = await context.new_page()
    await page.route(
        "**/*", lambda route: route.fulfill(body="<!doctype html><p>x</p>", content_type="text/html")
    )
    await page.goto("http://strict.example/")
    return page, PageOverlay(page, speed=1_000)


async def _text(cdp: CDPSession, selector: str) -> str:
    return str(await _asked(cdp, selector, "return this.textContent;"))


async def _box(cdp: CDPSession, selector: str) -> dict[str, float]:
    return dict(await _asked(cdp, selector, "return this.getBoundingClientRect().toJSON();"))


async def _style(cdp: CDPSession, selector: str, name: str) -> str:
    return str(await _asked(cdp, selector, f"return getComputedStyle(this).{name};"))


async def _asked(cdp: CDPSession, selector: str, body: str) -> Any:
    """What an element inside the closed shadow root answers, which only the debugger can enter."""
    root = (await cdp.send("DOM.getDocument", {"depth": -1, "pierce": True}))["root"]
    found = await cdp.send("DOM.querySelector", {"nodeId": _shadow(root), "selector": selector})
    node = await cdp.send("DOM.resolveNode", {"nodeId": found["nodeId"]})
    answer = await cdp.send(
        "Runtime.callFunctionOn",
        {
            "objectId": node["object"]["objectId"],
            "functionDeclaration": f"function () {{ {body} }}",
            "returnByValue": True,
        },
    )
    return answer["result"]["value"]


def _shadow(node: dict[str, Any]) -> int:
    """The stage's shadow root in a tree of the debugger's."""
    for child in node.get("children", []):
        if child["nodeName"] == "PP-STAGE":
            return int(child["shadowRoots"][0]["nodeId"])
        if inside := _shadow(child):
            return inside
    return 0
