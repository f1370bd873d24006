"""Pictures of pages on which secrets are covered by what the browser says was laid out, not by the page's own styles.

`secret_mask` covers secrets while a page is painted, and a page can go around that: by styles of its own, generated content, SVG, closed shadow
roots. So the browser is asked over its protocol (`DOMSnapshot`) which texts it laid out and where, before and after the picture, and
the boxes of those that tell a secret are painted over in another page. If that cannot be done for sure, there is no picture.
"""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from playwright.async_api import Browser, CDPSession, FloatRect, Page
from playwright.async_api import Error as PlaywrightError

from agent.redaction import Secrets

Box = tuple[float, float, float, float]
"""Left, top, width and height in CSS pixels of the whole page."""
TRIES = 3
"""Pictures that are taken until the texts with secrets stay where they are."""
PAUSE_S = 0.2
"""Seconds between them."""
PAINT_S = 10.0
_SPLIT = 500
"""Characters of an element in whose parts a secret is searched."""
_LEVELS = 4
"""Elements around a text that are looked at."""
_AROUND = 2.0
"""CSS pixels around a box that are painted over, too."""
_STYLES = (
    "-webkit-text-security",
    "text-shadow",
    "filter",
    "-webkit-box-reflect",
    "hyphenate-character",
    "text-emphasis-style",
)
_LETTERS = 4
"""Characters of a box of text that may be a part of a secret, wherever it is laid out."""
_LINE = 4.0
"""CSS pixels by which the middles of such boxes on one line may differ."""
_REUSED = frozenset({"DEFS", "PATTERN", "MARKER", "SYMBOL", "MASK", "CLIPPATH"})
"""Parts of SVG that are drawn where others name them."""
_STRING = re.compile(r"\"((?:[^\"\\\\]|\\\\.)*)\"|'((?:[^'\\\\]|\\\\.)*)'")
_SHADOW_OF_PART = re.compile(
    r"::(?:highlight|selection|target-text|first-line|first-letter|spelling-error|grammar-error|search-text)\b[^{}]*\{[^{}]*text-shadow\s*:(?!\s*none)",
    re.IGNORECASE,
)
"""Shadows of parts of a text, which no computed style of an element tells."""
_FIELDS = frozenset({"INPUT", "TEXTAREA", "SELECT"})
_DRAWN = frozenset({"alt", "placeholder", "value", "label"})
"""Attributes whose values browsers draw."""
_PAINT = """async ({ picture, boxes, width, quality }) => {
  const image = new Image();
  image.src = `data:image/png;base64,${picture}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
  const pen = canvas.getContext("2d");
  pen.drawImage(image, 0, 0);
  const scale = image.naturalWidth / width;
  pen.fillStyle = "#334155";
  for (const [x, y, w, h] of boxes) pen.fillRect(Math.floor(x * scale), Math.floor(y * scale), Math.ceil(w * scale) + 1, Math.ceil(h * scale) + 1);
  return canvas.toDataURL("image/jpeg", quality / 100).split(",")[1];
}"""


@dataclass(frozen=True, slots=True)
class SecretPlaces:
    """Where a page shows secrets."""

    boxes: tuple[Box, ...] = ()
    elsewhere: bool = False
    """Whether one of them is or may be drawn elsewhere, too: by a shadow, a reflection, a part of SVG that others name, marks of style sheets."""


async def take_covered_picture(
    page: Page,
    secrets: Secrets,
    *,
    quality: int,
    timeout_ms: float,
    clip: FloatRect | None = None,
    scale: Literal["css", "device"] = "device",
) -> bytes | None:
    """Return a JPEG of a page with what it shows of secrets painted over; None if that is not sure. Raises the driver's errors.

    `clip`: a part of the whole page, not what the window shows. `quality`: 0 to 100.
    """

    async def shoot(kind: Literal["jpeg", "png"]) -> bytes:
        return await page.screenshot(
            type=kind, quality=quality if kind == "jpeg" else None, timeout=timeout_ms, clip=clip, full_page=clip is not None, scale=scale
        )  # fmt: skip

    if not secrets:
        return await shoot("jpeg")
    session = await page.context.new_cdp_session(page)
    try:
        for _ in range(TRIES):
            places = await _find_places(session, secrets)
            picture = await shoot("png" if places.boxes else "jpeg")  # a JPEG keeps some of a box beside it
            if await _is_moving(session) or places != await _find_places(session, secrets):
                await asyncio.sleep(PAUSE_S)
                continue
            sheets = await _read_style_sheets(session)
            if places.elsewhere or _draw_secrets(sheets, secrets, shown=bool(places.boxes)):
                return None
            if not places.boxes:
                return picture
            if page.context.browser is None:
                return None
            part = clip or await _find_view(session)
            moved = [
                (x - part["x"] - _AROUND, y - part["y"] - _AROUND, w + 2 * _AROUND, h + 2 * _AROUND)
                for x, y, w, h in places.boxes
            ]
            return await _paint(page.context.browser, picture, moved, part["width"], quality)
    finally:
        await session.detach()
    return None


async def _find_view(session: CDPSession) -> FloatRect:
    """Return what of the page the window shows."""
    view = (await session.send("Page.getLayoutMetrics"))["cssVisualViewport"]
    return {
        "x": view["pageX"],
        "y": view["pageY"],
        "width": view["clientWidth"],
        "height": view["clientHeight"],
    }


async def _paint(
    browser: Browser, picture: bytes, boxes: Sequence[Box], width: float, quality: int
) -> bytes | None:
    try:
        async with asyncio.timeout(PAINT_S), await browser.new_context() as context:
            painter = await context.new_page()
            given = {
                "picture": base64.b64encode(picture).decode(),
                "boxes": boxes,
                "width": width,
                "quality": quality,
            }
            return base64.b64decode(await painter.evaluate(_PAINT, given))
    except (TimeoutError, PlaywrightError):
        return None


async def _find_places(session: CDPSession, secrets: Secrets) -> SecretPlaces:
    snapshot = await session.send("DOMSnapshot.captureSnapshot", {"computedStyles": list(_STYLES)})
    return find_secret_places(snapshot, secrets)


async def _is_moving(session: CDPSession) -> bool:
    """Whether the browser draws what a page showed before above it (a view transition)."""
    root = (await session.send("DOM.getDocument", {"depth": 1}))["root"]
    pseudo = (each for child in root.get("children", ()) for each in child.get("pseudoElements", ()))
    return any(each["pseudoType"].startswith("view-transition") for each in pseudo)


async def _read_style_sheets(session: CDPSession) -> list[str]:
    """Return the texts of all style sheets, also of those that a script made."""
    found = list[str]()
    session.on("CSS.styleSheetAdded", lambda told: found.append(told["header"]["styleSheetId"]))
    try:
        await session.send("DOM.enable")
        await session.send("CSS.enable")
        return [
            (await session.send("CSS.getStyleSheetText", {"styleSheetId": each}))["text"] for each in found
        ]
    finally:
        await session.send("CSS.disable")


def _draw_secrets(sheets: Sequence[str], secrets: Secrets, *, shown: bool) -> bool:
    """Whether style sheets draw a secret: on the buttons and markers of a scroller, or, where a page shows one, as the shadow of a part of
    a text.
    """
    if shown and any(map(_SHADOW_OF_PART.search, sheets)):
        return True
    said = ("".join(_list_strings(each)) for each in sheets if "::scroll-" in each.lower())
    return any(secrets.redact(each) != each for each in said)


def _list_strings(style: str) -> Iterator[str]:
    return (first or second for first, second in _STRING.findall(style))


def find_secret_places(snapshot: Mapping[str, Any], secrets: Secrets) -> SecretPlaces:
    """Return where a page and its frames show secrets, by what `DOMSnapshot.captureSnapshot` says with the styles `_STYLES`.

    A frame that shows one is covered whole.
    """
    strings = snapshot["strings"]
    documents = [_Document(each, strings, secrets) for each in snapshot["documents"]]
    boxes, elsewhere = list[Box](), False
    for at, document in enumerate(documents):
        found = document.find_nodes()
        elsewhere = elsewhere or document.draws_elsewhere(found)
        boxes += _raise(documents, at, found)
    return SecretPlaces(tuple(dict.fromkeys(boxes)), elsewhere)


def _raise(documents: Sequence[_Document], at: int, nodes: set[int]) -> Iterator[Box]:
    """Yield the boxes of nodes in the page itself: those in a frame are those of the frame."""
    for _ in documents:
        if not nodes or at == 0:
            break
        owners = (
            (up, node) for up, each in enumerate(documents) for node, inner in each.frames if inner == at
        )
        at, owner = next(owners, (0, -1))
        nodes = {owner}
    for node in sorted(nodes):
        yield from documents[at].list_boxes(node)


class _Document:
    """One document of a snapshot."""

    def __init__(self, document: Mapping[str, Any], strings: Sequence[str], secrets: Secrets) -> None:
        self._nodes, self._layout, self._strings, self._secrets = (
            document["nodes"],
            document["layout"],
            strings,
            secrets,
        )
        self._document = document
        self._laid: dict[int, list[int]] = {}
        for entry, node in enumerate(self._layout["nodeIndex"]):
            self._laid.setdefault(node, []).append(entry)
        inner = self._nodes.get("contentDocumentIndex") or {"index": (), "value": ()}
        self.frames = [*zip(inner["index"], inner["value"], strict=True)]

    def find_nodes(self) -> set[int]:
        """Return the laid out nodes that show a secret."""
        texts = {
            node: text
            for node, entries in self._laid.items()
            if (text := "".join(self._say(self._layout["text"][entry]) for entry in entries)).strip()
        }
        found = {node for node, text in texts.items() if self._tells(text)}
        found |= {node for group in self._group(texts, found) for node in group} | self._find_scattered()
        return found | {node for node in self._laid if self._draws(node)}

    def list_boxes(self, node: int) -> Iterator[Box]:
        for entry in self._laid.get(node, ()):
            x, y, width, height = self._layout["bounds"][entry]
            if width and height:
                yield (round(x, 1), round(y, 1), round(width, 1), round(height, 1))

    def draws_elsewhere(self, shown: Collection[int]) -> bool:
        """Whether a secret is or may be drawn where nothing is laid out. `shown`: the nodes that show one."""
        if any(map(self._has_effect, shown)) or any(map(self._tells, self._list_marks())):
            return True
        names = [self._say(each).upper() for each in self._nodes["nodeName"]]
        in_drawing = {
            at for at, name in enumerate(names) if name in _REUSED or (name == "SVG" and "USE" in names)
        }
        for at, up in enumerate(self._nodes["parentIndex"]):  # parents come first
            if up in in_drawing:
                in_drawing.add(at)
        return self._tells("".join(self._say(self._nodes["nodeValue"][at]) for at in sorted(in_drawing)))

    def _list_marks(self) -> Iterator[str]:
        """Yield the hyphens of styles, and what styles put above the texts, one text after the other."""
        texts = [entry for entry, text in enumerate(self._layout["text"]) if self._say(text).strip()]
        hyphens, marks = zip(*(self._styles(each)[-2:] for each in texts), strict=True) if texts else ((), ())
        yield from map("".join, map(_list_strings, set(hyphens)))
        yield "".join("".join(_list_strings(each)) for each in marks)

    def _has_effect(self, node: int) -> bool:
        """Whether a style of a node or of what is around it draws it elsewhere, too."""
        while node >= 0:
            for entry in self._laid.get(node, ()):
                _, shadow, effect, mirror, *_ = self._styles(entry)
                if shadow != "none" or "drop-shadow" in effect or "url(" in effect or mirror != "none":
                    return True
            node = self._nodes["parentIndex"][node]
        return False

    def _find_scattered(self) -> set[int]:
        """Return the nodes of letters that tell a secret in the order in which a person reads them, whatever their order in the document."""
        boxes = self._document.get("textBoxes") or {
            "layoutIndex": (),
            "bounds": (),
            "start": (),
            "length": (),
        }
        letters = list[tuple[float, float, int, str]]()
        for entry, (x, y, width, height), start, length in zip(
            boxes["layoutIndex"], boxes["bounds"], boxes["start"], boxes["length"], strict=True
        ):
            text = self._say(self._layout["text"][entry])[start : start + length].strip()
            if width and height and 0 < len(text) <= _LETTERS:
                letters.append((y + height / 2, x, self._layout["nodeIndex"][entry], text))
        letters.sort()
        lines = list[list[tuple[float, float, int, str]]]()
        for each in letters:
            if not lines or each[0] - lines[-1][-1][0] > _LINE:
                lines.append([])
            lines[-1].append(each)
        across = [sorted(line, key=lambda each: each[1]) for line in lines]
        orders = (
            *across,
            [each for line in across for each in line],
            sorted(letters, key=lambda each: each[1]),
        )
        return {
            node
            for order in orders
            if len(order) > 1 and self._tells("".join(text for *_, text in order))
            for _, _, node, _ in order
        }

    def _group(self, texts: Mapping[int, str], found: set[int]) -> Iterator[list[int]]:
        """Yield the texts of the smallest elements that tell a secret together, and none of them alone."""
        parents = self._nodes["parentIndex"]
        below: dict[int, list[int]] = {}
        for node in sorted(set(texts) - found):
            up = node
            for _ in range(_LEVELS):
                up = parents[up]
                if up < 0:
                    break
                below.setdefault(up, []).append(node)
        for nodes in below.values():
            together = "".join(texts[node] for node in nodes)
            if len(nodes) > 1 and len(together) <= _SPLIT and self._tells(together):
                yield nodes

    def _draws(self, node: int) -> bool:
        """Whether an element draws a secret that is no text below it: the value of a field, what stands for a picture."""
        name = self._say(self._nodes["nodeName"][node]).upper()
        said = [value for key, value in self._attributes(node) if key in _DRAWN]
        if name not in _FIELDS:
            return name in {"IMG", "AREA"} and any(map(self._tells, said))
        said += [self._find_rare("inputValue", node), self._find_rare("textValue", node)]
        if name == "SELECT":
            said += self._list_inner(node)
        covers = any(self._styles(entry)[0] not in ("", "none") for entry in self._laid[node])
        return not covers and any(map(self._tells, said))

    def _list_inner(self, node: int) -> Iterator[str]:
        parents, values = self._nodes["parentIndex"], self._nodes["nodeValue"]
        inner = {node}
        for at in range(node + 1, len(parents)):
            if parents[at] in inner:
                inner.add(at)
                yield self._say(values[at])
                yield from (value for key, value in self._attributes(at) if key in _DRAWN)

    def _attributes(self, node: int) -> Iterator[tuple[str, str]]:
        said = [self._say(each) for each in self._nodes["attributes"][node] or ()]
        return zip(said[::2], said[1::2], strict=False)

    def _find_rare(self, kind: str, node: int) -> str:
        rare = self._nodes.get(kind) or {"index": (), "value": ()}
        return next(
            (self._say(value) for at, value in zip(rare["index"], rare["value"], strict=True) if at == node),
            "",
        )

    def _styles(self, entry: int) -> list[str]:
        said = [self._say(each) for each in self._layout["styles"][entry]]
        return said if len(said) == len(_STYLES) else ["", "none", "none", "none", "", ""]

    def _tells(self, text: str) -> bool:
        return bool(text.strip()) and self._secrets.redact(text) != text

    def _say(self, at: int) -> str:
        return self._strings[at] if at >= 0 else ""
