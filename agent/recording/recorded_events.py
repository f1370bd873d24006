"""Models of the events that the script in the page sends (`demonstration_recorder.js`)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from agent.locators.page_fingerprints import PageFingerprints, describe_fingerprint
from agent.locators.page_scan import parse_page_index
from kb_schema.action_calls import DropPlace, Modifier
from kb_schema.page_snapshots import PLACE_ATTRIBUTE, PageSnapshot
from kb_schema.selectors import Selector
from web_pages.page_limits import PageRefused
from web_pages.selectors.selector_generator import PageSelectors
from web_pages.stored_pages import StoredPage

RecordedEventKind = Literal[
    "click",
    "double_click",
    "right_click",
    "drag",
    "hover",
    "tick",
    "typed",
    "chosen",
    "uploaded",
    "key",
    "unheard",
    "listening",
    "pressed",
    "moved",
    "lost",
]
"""`unheard`: a press of which nothing else was told. The last four are no actions and come without a page: a document
listens, a button or key was pressed (whatever becomes of it), the page itself reloads or moves in its history (`unread` says which),
and the script failed on what a person did."""
_MARK = re.compile(rf' {PLACE_ATTRIBUTE}=(?:"|&(?:amp;)*quot;)0(?:"|&(?:amp;)*quot;)')


class RecordedEvent(BaseModel):
    """An event, without the page."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    kind: RecordedEventKind
    at: int
    """Place of the element in the page index; -1 if it is not in the index."""
    foreign: bool
    """Whether it happened in a frame of another website; the page is that of the frame."""
    url: str
    time: float
    tag: str | None
    field: bool
    """Whether it is a text field."""
    pointer: bool = False
    """Whether the page shows a control's pointer over it."""
    fading: bool = False
    """Whether it has no words and was being drawn in or out, such as the backdrop of a dialog that closes."""
    around: bool = False
    """Whether it has no words of its own and holds controls."""
    secret: bool
    id: str | None = None
    """A number that is constant while the person types into one field."""
    node: str | None = None
    """A number of the text field, as long as its page is open; None for other elements."""
    value: str | None = None
    former: str | None = None
    """What an editor with formatted text held before it was typed into; None for other fields."""
    undone: bool = False
    """Whether a script took typing back in an editor with formatted text."""
    checked: bool | None = None
    chosen: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    key: str | None = None
    """The key of a press, or the one that made the browser click."""
    focused: bool = True
    modifiers: tuple[Modifier, ...] = ()
    grab: tuple[float, float] = (0.5, 0.5)
    """Where in the element a drag takes hold, in fractions of its width and height."""
    place: tuple[float, float] = (0.5, 0.5)
    """Where in the element below a drag ends."""
    spot: tuple[float, float] | None = None
    """Where a drawing or a large cell without words was pressed, in fractions of its size; None for other elements."""
    drop: str = ""
    """The page at the end of a drag, with the element below marked."""
    accepted: bool = False
    """Whether the page took what the browser's own drag and drop brought."""
    drawing: tuple[int, int] | None = None
    """Where on a drawing (canvas) it happened, in pixels."""
    after: str = ""
    """The page after a press of which nothing was told."""
    button: str = ""
    """What it was pressed with, if not with the left button."""
    unread: str = ""
    """Why the page before it could not be read, or why the script failed; empty where neither is so."""
    signs: str | None = None
    """The signs of a refusal that the page showed before (`agent.page.page_refusals`), as JSON."""


@dataclass(frozen=True, slots=True)
class PageBeforeEvent:
    """The page before an event, and the element with its selector and fingerprint."""

    html: str
    url: str
    selector: Selector | None
    fingerprint: dict[str, Any] | None
    said: str
    """The name of the element for people."""
    drop: DropPlace | None = None
    """Where a drag ends; None where no selector leads there."""
    after: str | None = None
    """The page after a press of which nothing was told."""


def parse_recorded_event(texts: list[str]) -> RecordedEvent:
    """Parse an event. Raises `ValueError` for an invalid message."""
    return RecordedEvent.model_validate_json(texts[0])


def parse_page_before_event(what: RecordedEvent, texts: list[str]) -> PageBeforeEvent | None:
    """Parse the page and element of a message; None if it has none. Slow: do not call it on the event loop."""
    if not texts[1]:
        return None
    said = json.loads(texts[1])
    html = _MARK.sub("", said["html"])
    fingerprint, name = _fingerprint(what, texts[2])
    target = _selector(json.loads(what.drop)) if what.drop else None
    drop = None if target is None else DropPlace(target=target, at=what.place, grab=what.grab)
    after = _MARK.sub("", json.loads(what.after)["html"]) if what.after else None
    return PageBeforeEvent(html, said["url"], _selector(said), fingerprint, name, drop, after)


def _selector(said: dict[str, Any]) -> Selector | None:
    page = StoredPage(PageSnapshot(url=said["url"], title=said["title"], html=said["html"], annotated=True))
    try:
        elements = (each for root in page.roots for each in root.elements)
        found = next((each for each in elements if each.get(PLACE_ATTRIBUTE) is not None), None)
        return None if found is None else PageSelectors(page).of(found).selector
    except PageRefused:
        return None


def _fingerprint(what: RecordedEvent, index: str) -> tuple[dict[str, Any] | None, str]:
    if not index or what.at < 0:
        return None, what.tag or ""
    found = PageFingerprints(parse_page_index(json.loads(index))).of(what.at)
    if what.secret:
        kept = {name: value for name, value in found.attributes.items() if name != "value"}
        found = found.model_copy(update={"attributes": kept})
    return found.model_dump(mode="json", exclude_defaults=True), describe_fingerprint(found)
