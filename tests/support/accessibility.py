"""Chromium's own accessibility tree, element by element, to check our roles and names against."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from playwright.async_api import CDPSession, Page

UNTOLD = {"script", "style", "noscript", "template", "head", "noembed", "noframes"}
"""Elements nobody is told about; the index leaves them out, too."""


@dataclass(frozen=True)
class Exposed:
    """What Chromium says of one element. `ignored`: it is not told to anyone."""

    tag: str
    role: str
    name: str
    ignored: bool
    why: str


async def exposed_elements(page: Page) -> list[Exposed]:
    """Every element of the page in document order, shadow roots and same-origin frames where they stand."""
    session = await page.context.new_cdp_session(page)
    try:
        tree = await session.send("DOM.getDocument", {"depth": -1, "pierce": True})
        nodes = [node for root in await _trees(session, tree["root"]) for node in root["nodes"]]
        said = {node["backendDOMNodeId"]: node for node in nodes if "backendDOMNodeId" in node}
        return [_exposed(element, said.get(element["backendNodeId"])) for element in _elements(tree["root"])]
    finally:
        await session.detach()


async def _trees(session: CDPSession, document: dict[str, Any]) -> list[dict[str, Any]]:
    frames = [
        node["frameId"] for node in _elements(document) if "contentDocument" in node and "frameId" in node
    ]
    trees = [await session.send("Accessibility.getFullAXTree")]
    return trees + [await session.send("Accessibility.getFullAXTree", {"frameId": frame}) for frame in frames]


def _elements(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Pre-order: the element, its open shadow root, its children, the document in it."""
    if node.get("localName") in UNTOLD:
        return
    if node["nodeType"] == 1:
        yield node
    inner = [root for root in node.get("shadowRoots", []) if root["shadowRootType"] == "open"]
    for child in [*inner, *node.get("children", [])]:
        yield from _elements(child)
    if "contentDocument" in node:
        yield from _elements(node["contentDocument"])


def _exposed(element: dict[str, Any], node: dict[str, Any] | None) -> Exposed:
    if node is None:
        return Exposed(element["localName"], "", "", ignored=True, why="not in the tree")
    return Exposed(
        tag=element["localName"],
        role=node.get("role", {}).get("value", ""),
        name=" ".join(node.get("name", {}).get("value", "").split()),
        ignored=node.get("ignored", False),
        why=",".join(reason["name"] for reason in node.get("ignoredReasons", [])),
    )
