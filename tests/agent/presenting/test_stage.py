"""What is drawn over a page, on pages that allow little."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent.presenting.stage import Stage

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, CDPSession

STRICT = "default-src 'self'; style-src 'self'; require-trusted-types-for 'script'"


async def test_the_stage_is_drawn_on_a_page_that_allows_no_styles_of_others(context: BrowserContext):
    await Stage.install(context)
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
    stage = Stage(page, speed=1_000)
    await stage.caption("Hello")
    await stage.point_to({"x": 10, "y": 10, "width": 20, "height": 20})
    seen = await context.new_cdp_session(page)
    assert await _style(seen, ".layer", "position") == "fixed"
    assert await _style(seen, ".caption", "position") == "absolute"
    assert await _style(seen, "path", "fill") == "rgb(255, 255, 255)"
    stage.close()


async def _style(cdp: CDPSession, selector: str, name: str) -> str:
    """A computed style inside the closed shadow root, which only the debugger can enter."""
    root = (await cdp.send("DOM.getDocument", {"depth": -1, "pierce": True}))["root"]
    found = await cdp.send("DOM.querySelector", {"nodeId": _shadow(root), "selector": selector})
    node = await cdp.send("DOM.resolveNode", {"nodeId": found["nodeId"]})
    answer = await cdp.send(
        "Runtime.callFunctionOn",
        {
            "objectId": node["object"]["objectId"],
            "functionDeclaration": f"function () {{ return getComputedStyle(this).{name}; }}",
        },
    )
    return str(answer["result"]["value"])


def _shadow(node: dict[str, Any]) -> int:
    """The stage's shadow root in a tree of the debugger's."""
    for child in node.get("children", []):
        if child["nodeName"] == "PP-STAGE":
            return int(child["shadowRoots"][0]["nodeId"])
        if inside := _shadow(child):
            return inside
    return 0
