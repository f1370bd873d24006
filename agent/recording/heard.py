"""What the script in the page tells (`recorder.js`), as models."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from agent.locating.fingerprints import Fingerprints
from agent.locating.looking import read_index
from kb_schema.pages.limits import PageRefused
from kb_schema.pages.selecting.choosing import PageSelectors
from kb_schema.pages.stored import StoredPage
from kb_schema.pages.texts import squeeze
from kb_schema.selectors import Selector
from kb_schema.snapshots import PLACE_ATTRIBUTE, PageSnapshot

Kind = Literal["click", "double_click", "tick", "typed", "chosen", "uploaded", "key"]
_MARK = re.compile(rf' {PLACE_ATTRIBUTE}=(?:"|&(?:amp;)*quot;)0(?:"|&(?:amp;)*quot;)')
SAID_LENGTH = 80


class What(BaseModel):
    """What happened, without the page."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    kind: Kind
    at: int
    """Place of the element in the index; -1 where it is not in it."""
    foreign: bool
    """In a frame of another site: the page is that frame's."""
    url: str
    time: float
    tag: str | None
    field: bool
    """Whether text can be typed into it."""
    secret: bool
    id: str | None = None
    """The same while one field is typed into."""
    value: str | None = None
    checked: bool | None = None
    chosen: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    key: str | None = None
    focused: bool = True


@dataclass(frozen=True, slots=True)
class Seen:
    """The page just before, and the element as the locating layer tells it."""

    html: str
    url: str
    selector: Selector | None
    fingerprint: dict[str, Any] | None
    said: str
    """What a person would call the element."""


def read_what(texts: list[str]) -> What:
    """The event of a message. Raises `ValueError` for one that is none: pages may call what we listen on."""
    return What.model_validate_json(texts[0])


def read_seen(what: What, texts: list[str]) -> Seen | None:
    """The page and the element of a message; None where it has none. Parses the page: not for the loop."""
    if not texts[1]:
        return None
    said = json.loads(texts[1])
    html = _MARK.sub("", said["html"])
    fingerprint, name = _fingerprint(what, texts[2])
    return Seen(html, said["url"], _selector(said), fingerprint, name)


def _selector(said: dict[str, Any]) -> Selector | None:
    page = StoredPage(PageSnapshot(url=said["url"], title=said["title"], html=said["html"], annotated=True))
    try:
        elements = (each for root in page.roots for each in root.elements)
        found = next((each for each in elements if each.get(PLACE_ATTRIBUTE) is not None), None)
        return None if found is None else PageSelectors(page).of(found).selector
    except PageRefused:
        return None


def _fingerprint(what: What, index: str) -> tuple[dict[str, Any] | None, str]:
    if not index or what.at < 0:
        return None, what.tag or ""
    found = Fingerprints(read_index(json.loads(index))).of(what.at)
    if what.secret:
        kept = {name: value for name, value in found.attributes.items() if name != "value"}
        found = found.model_copy(update={"attributes": kept})
    name = squeeze(found.name or found.label or found.text or "")
    told = f"{found.role or found.tag or ''} {name!r}" if name else found.role or found.tag or ""
    return found.model_dump(mode="json", exclude_defaults=True), told[:SAID_LENGTH]
