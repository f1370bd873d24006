"""`PageSnapshot`: a stored page, used for live pages, traces and identification.

The HTML of our own snapshots is annotated while it is taken, so that a stored page answers the
same probes as the live one:

- `data-pp-hidden` on every element that is not rendered or not visible,
- `data-pp-value` / `data-pp-checked` on form fields (secrets are left out),
- `data-pp-name`: the accessible name, if the markup alone could give another one,
- `<pp-tag-p>` for an element that the parser would put elsewhere: scripts also put a `div` into a `p`,
- `<pp-shadow-root>` and `<pp-frame-document>` holding open shadow roots and same-origin frames.

Other HTML has none of these; its visibility is judged by the markup alone.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from kb_schema.base import Model

ANNOTATION_PREFIX = "data-pp-"
"""The prefix of all annotations. A page without any was not annotated (its `head` is never visible)."""
HIDDEN_ATTRIBUTE = "data-pp-hidden"
VALUE_ATTRIBUTE = "data-pp-value"
CHECKED_ATTRIBUTE = "data-pp-checked"
NAME_ATTRIBUTE = "data-pp-name"
PLACE_ATTRIBUTE = "data-pp-at"
"""An element's position in the agent's page index, while a page is read. Never stored."""
SHADOW_TAG = "pp-shadow-root"
FRAME_TAG = "pp-frame-document"
RENAMED_PREFIX = "pp-tag-"
"""The prefix of tags that the parser would put elsewhere."""


class Viewport(Model):
    """The size of the visible page in CSS pixels."""

    width: int = Field(ge=1)
    height: int = Field(ge=1)


class PageSnapshot(Model):
    """A stored page. On disk: `NAME.html` beside `NAME.json` (everything but `html`)."""

    url: str
    title: str = ""
    html: str = ""
    text: str | None = None
    """Plain or accessibility text, from clients that have no HTML."""
    ready_state: Literal["loading", "interactive", "complete"] | None = None
    captured_at: datetime | None = None
    viewport: Viewport | None = None
    annotated: bool = False
    """Whether the HTML carries computed visibility and form values."""
